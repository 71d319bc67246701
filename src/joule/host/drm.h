/* joule/host/drm.h - queries the kernel's graphics drivers, for query_drm of the real host. */
#ifndef JOULE_HOST_DRM_H
#define JOULE_HOST_DRM_H

#include "joule/host/host.h"

/* Has the arguments and results of host_ops.query_drm. */
ssize_t drm_query(const char *device, enum host_drm_query query, void *buffer, size_t size);

#endif
