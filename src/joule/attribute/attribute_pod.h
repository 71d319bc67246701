/* joule/attribute/attribute_pod.h - finds the names of pods and containers without a query to Kubernetes.
 *
 * The names come from the kubelet's logs: /var/log/pods/NAMESPACE_POD_UID and the links
 * /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log. Cgroups contain only the UID and the ID.
 * Note: no name in Kubernetes contains an underscore. File names that were truncated to 255 bytes are
 * ignored.
 */
#ifndef JOULE_ATTRIBUTE_POD_H
#define JOULE_ATTRIBUTE_POD_H

#include "joule/attribute/attribute_tenant.h"

/* Parse the name of a folder in /var/log/pods, or of a link in /var/log/containers. Members of *out that the
 * name does not contain become empty. Return false, and write nothing, for any other text. */
bool pod_read_folder(const char *folder, struct tenant_name *out);
bool pod_read_log(const char *file, struct tenant_name *out);

/* Sets the names of tenants with a pod UID, if the kubelet has created their logs. Only for tenants that were
 * seen at now_ns and are due for a search. Lists both folders at most once for all tenants; does not list
 * them if no tenant is due. */
void pods_name(struct tenants *tenants, int64_t now_ns);

#endif
