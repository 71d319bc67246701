/* port/elsewhere/drm.c - replaces joule/host/drm.c: only Linux has these drivers. */
#include <errno.h>
#include "joule/host/drm.h"

ssize_t drm_query(const char *device, enum host_drm_query question, void *buffer, size_t size)
{
    (void)device, (void)question, (void)buffer, (void)size;
    return -ENOSYS;
}
