/* joule/host/path.h - resolves paths of recorded and scripted machines, and names their perf events and
 * registers.
 *
 * No link, absolute or relative, leads out of the machine's root.
 * Note: the kernel cannot resolve paths of a recorded tree, because its absolute links would lead to the real
 * /sys.
 */
#ifndef JOULE_HOST_PATH_H
#define JOULE_HOST_PATH_H

#include <stddef.h>
#include <sys/types.h>
#include "joule/host/host.h"

#define HOST_PATH_MAX 1024

/* Writes the terminated target of a link. Returns the length of the target, or < 0 if `path` is not a
 * link. */
typedef ssize_t (*path_link_fn)(void *context, const char *path, char *buffer, size_t size);

/* Resolves links, "." and ".." to an absolute path; components that do not exist stay in the path.
 * follow_last: also follow a link at the end. The root is "/". Returns 0, -EINVAL for a relative path, -ELOOP
 * or -ENAMETOOLONG. */
int path_resolve(const char *path, bool follow_last, path_link_fn read_link, void *context,
                 char out_path[HOST_PATH_MAX]);

/* Write the path of an event, "/perf/TYPE/0xCONFIG/CPU", or of a CPU's registers, "/dev/cpu/CPU/msr". */
void path_of_perf(const struct host_perf_event *event, char out_path[HOST_PATH_MAX]);
void path_of_registers(unsigned cpu, char out_path[HOST_PATH_MAX]);

/* Returns true if open() itself reports this error, such as a denied permission. Returns false if only a
 * later read reports it, such as from a broken sensor. */
bool path_errno_is_of_open(int errno_value);

#endif
