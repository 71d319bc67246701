/* joule/attribute/attribute_pod.h - what pods and their containers are called, without asking Kubernetes.
 *
 * Owns the names that the kubelet gives to logs: /var/log/pods/NAMESPACE_POD_UID, and the links
 * /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log. Nothing of cgroups, which know the UID and the ID alone.
 * Newcomers: no name in Kubernetes holds an underscore. A name that was cut, as a file's has 255 bytes at most, is none.
 */
#ifndef JOULE_ATTRIBUTE_POD_H
#define JOULE_ATTRIBUTE_POD_H

#include "joule/attribute/attribute_tenant.h"

/* What the name of a folder or of a link says: fields of *out that it does not name are empty. False, and nothing written, for
 * any other text. */
bool pod_read_folder(const char *folder, struct tenant_name *out);
bool pod_read_log(const char *file, struct tenant_name *out);

/* Gives names to tenants with a pod's UID that were seen at now_ns and are due, if the kubelet has told them by now. Both
 * folders are listed once for all of them, and not at all when none is due. */
void pods_name(struct tenants *tenants, int64_t now_ns);

#endif
