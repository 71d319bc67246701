/* joule/host/perf.h - reads counts of the kernel's perf events, for open_perf and read_perf of the real
 * host. */
#ifndef JOULE_HOST_PERF_H
#define JOULE_HOST_PERF_H

#include "joule/host/host.h"

/* Have the arguments and results of host_ops.open_perf and read_perf; the handle is a file descriptor. */
int perf_open(const struct host_perf_event *event);
int perf_read(int fd, uint64_t *out_value);

#endif
