/* joule/host/drm.c - queries the i915 and xe drivers for their boards' memory regions; see drm.h.
 *
 * The structures are those of uapi/drm/i915_drm.h and xe_drm.h, which are missing in older kernel headers.
 * Note: i915 accepts any buffer that is large enough and zeroed. xe requires the exact length, so a first
 * query asks for the length.
 */
#include "joule/host/drm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/string.h"

/* Has the layout of the kernel's struct drm_i915_query_item. */
struct i915_item {
    uint64_t id;
    int32_t length; /* length of the answer, or -errno */
    uint32_t flags;
    uint64_t data;
};

/* Has the layout of the kernel's struct drm_i915_query. */
struct i915_query {
    uint32_t count, flags;
    uint64_t items;
};

/* Has the layout of the kernel's struct drm_xe_device_query. */
struct xe_query {
    uint64_t extensions;
    uint32_t id, length;
    uint64_t data, reserved[2];
};

#define I915_QUERY          _IOWR('d', 0x79, struct i915_query)
#define I915_MEMORY_REGIONS 4
#define XE_QUERY            _IOWR('d', 0x40, struct xe_query)
#define XE_MEMORY_REGIONS   1

/* Calls ioctl, and repeats it if a signal interrupts. Returns 0 or -errno. */
static int call(int fd, unsigned long request, void *argument)
{
    int rc;
    do
        rc = ioctl(fd, request, argument);
    while (rc < 0 && (errno == EINTR || errno == EAGAIN));
    return rc < 0 ? -errno : 0;
}

/* Returns the length of the answer in `buffer`, or -errno. */
static ssize_t query_i915(int fd, void *buffer, size_t size)
{
    struct i915_item item = {
        .id = I915_MEMORY_REGIONS, .length = (int32_t)size, .data = (uint64_t)(uintptr_t)buffer};
    struct i915_query query = {.count = 1, .items = (uint64_t)(uintptr_t)&item};
    int rc = call(fd, I915_QUERY, &query);
    return rc < 0 ? rc : item.length;
}

/* Returns the length of the answer in `buffer`, or -errno. */
static ssize_t query_xe(int fd, void *buffer, size_t size)
{
    struct xe_query query = {.id = XE_MEMORY_REGIONS};
    int rc = call(fd, XE_QUERY, &query);
    if (rc == 0 && query.length > size)
        rc = -ENOBUFS;
    query.data = (uint64_t)(uintptr_t)buffer;
    if (rc == 0)
        rc = call(fd, XE_QUERY, &query);
    return rc < 0 ? rc : (ssize_t)query.length;
}

ssize_t drm_query(const char *device, enum host_drm_query query, void *buffer, size_t size)
{
    char path[64];
    string_print(path, sizeof path, "/dev/dri/%s", device);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISCHR(info.st_mode)) {
        close(fd);
        return -ENODEV;
    }
    memset(buffer, 0, size);
    ssize_t length = query == HOST_XE_MEMORY ? query_xe(fd, buffer, size) : query_i915(fd, buffer, size);
    close(fd);
    return length;
}
