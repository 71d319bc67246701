/* joule/host/drm.h - queries to the kernel's graphics drivers, for ask_drm of the real host. */
#ifndef JOULE_HOST_DRM_H
#define JOULE_HOST_DRM_H

#include "joule/host/host.h"

/* As host_ops.ask_drm. */
ssize_t drm_ask(const char *device, enum host_drm_question question, void *buffer, size_t size);

#endif
