/* joule/host/path.c - see path.h. */
#include "joule/host/path.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINKS_MAX 40 /* the limit of Linux */

/* Sets *out_component to the next component of *path and moves *path behind it. Returns the component's
 * length; 0 at the end. */
static size_t next_component(const char **path, const char **out_component)
{
    *path += strspn(*path, "/");
    *out_component = *path;
    size_t length = strcspn(*path, "/");
    *path += length;
    return length;
}

/* Removes the last component from the path; the root ("") stays unchanged. */
static void drop_last(char *path, size_t *length)
{
    while (*length > 0 && path[*length - 1] != '/')
        --*length;
    if (*length > 0)
        --*length;
    path[*length] = '\0';
}

/* Sets `pending` to the link's target, followed by `rest`, the rest of the path. `rest` may point into
 * `pending`. Returns 0 or -ENAMETOOLONG. */
static int follow(char pending[HOST_PATH_MAX], const char *target, const char *rest)
{
    char joined[HOST_PATH_MAX];
    int length = snprintf(joined, sizeof joined, "%s%s", target, rest);
    if (length < 0 || length >= HOST_PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(pending, joined, (size_t)length + 1);
    return 0;
}

int path_resolve(const char *path, bool follow_last, path_link_fn read_link, void *context,
                 char out_path[HOST_PATH_MAX])
{
    char pending[HOST_PATH_MAX], target[HOST_PATH_MAX];
    if (path[0] != '/')
        return -EINVAL;
    int rc = follow(pending, path, "");
    const char *rest = pending, *component;
    size_t out = 0, length;
    int links = 0;
    out_path[0] = '\0';
    while (rc == 0 && (length = next_component(&rest, &component)) > 0) {
        if (length == 1 && component[0] == '.')
            continue;
        if (length == 2 && memcmp(component, "..", 2) == 0) {
            drop_last(out_path, &out);
            continue;
        }
        if (out + 1 + length >= HOST_PATH_MAX)
            return -ENAMETOOLONG;
        out_path[out] = '/';
        memcpy(out_path + out + 1, component, length);
        out_path[out + 1 + length] = '\0';
        bool is_last = rest[strspn(rest, "/")] == '\0';
        if ((is_last && !follow_last) || read_link(context, out_path, target, sizeof target) < 0) {
            out += 1 + length;
            continue;
        }
        if (++links > LINKS_MAX)
            return -ELOOP;
        if (target[0] == '/')
            out = 0;
        out_path[out] = '\0';
        rc = follow(pending, target, rest);
        rest = pending;
    }
    if (out == 0)
        memcpy(out_path, "/", 2);
    return rc;
}

void path_of_perf(const struct host_perf_event *event, char out_path[HOST_PATH_MAX])
{
    snprintf(out_path, HOST_PATH_MAX, "/perf/%" PRIu32 "/0x%" PRIx64 "/%d", event->type, event->config,
             event->cpu);
}

void path_of_registers(unsigned cpu, char out_path[HOST_PATH_MAX])
{
    snprintf(out_path, HOST_PATH_MAX, "/dev/cpu/%u/msr", cpu);
}

bool path_errno_is_of_open(int errno_value)
{
    return errno_value != EIO && errno_value != ENODATA && errno_value != EINVAL;
}
