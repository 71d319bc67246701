/* joule/host/perf.c - see perf.h.
 *
 * Note: all attributes except type, config and CPU must be 0, because the energy PMUs refuse exclusion bits
 * and sampling.
 */
#include "joule/host/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int perf_open(const struct host_perf_event *event)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = event->type;
    attr.config = event->config;
    long fd = syscall(SYS_perf_event_open, &attr, -1, event->cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd >= 0 ? (int)fd : -errno;
}

int perf_read(int fd, uint64_t *out_value)
{
    ssize_t count;
    do
        count = read(fd, out_value, sizeof *out_value);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return -errno;
    return count == (ssize_t)sizeof *out_value ? 0 : -EIO;
}
