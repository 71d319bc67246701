/* port/elsewhere/perf.c - replaces joule/host/perf.c: only Linux has perf events. */
#include <errno.h>
#include "joule/host/perf.h"

int perf_open(const struct host_perf_event *event)
{
    (void)event;
    return -ENOSYS;
}

int perf_read(int fd, uint64_t *out_value)
{
    (void)fd, (void)out_value;
    return -ENOSYS;
}
