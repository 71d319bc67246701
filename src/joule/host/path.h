/* joule/host/path.h - paths of machines that are not this one.
 *
 * Owns the walk over a path in which every link, absolute or not, stays below the machine's own root, and the names
 * under which recorded and scripted machines keep perf events.
 * Newcomers: the kernel's own resolution cannot be used on a recorded tree: its absolute links would lead to the
 * real /sys.
 */
#ifndef JOULE_HOST_PATH_H
#define JOULE_HOST_PATH_H

#include <stddef.h>
#include <sys/types.h>
#include "joule/host/host.h"

#define HOST_PATH_MAX 1024

/* The target of a link, terminated; its length, or < 0 where `path` is no link. */
typedef ssize_t (*path_link_fn)(void *context, const char *path, char *buffer, size_t size);

/* Writes the absolute path, free of links, "." and "..", that `path` stands for; what does not exist is kept as
 * written. `follow_last`: whether a link at the end is followed too. 0, -EINVAL for a relative path, -ELOOP or
 * -ENAMETOOLONG. The root itself is "/". */
int path_resolve(const char *path, bool follow_last, path_link_fn read_link, void *context,
                 char out_path[HOST_PATH_MAX]);

/* "/perf/TYPE/0xCONFIG/CPU" and "/dev/cpu/CPU/msr". */
void path_of_perf(const struct host_perf_event *event, char out_path[HOST_PATH_MAX]);
void path_of_registers(unsigned cpu, char out_path[HOST_PATH_MAX]);

/* Whether open() itself says so, as a missing right does, or only the read that follows, as a dead sensor does. */
bool path_errno_is_of_open(int errno_value);

#endif
