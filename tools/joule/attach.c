/* tools/joule/attach.c - see attach.h.
 *
 * Note: the CPU time of a process cannot be read after its parent has waited for it. Therefore the process is
 * queried repeatedly, which takes less than 1 % of a CPU. Its work after the last query is not counted.
 */
#include "attach.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/string.h"

#define MIN_QUERY_NS (50 * 1000000LL) /* minimum time between two queries */
#define QUERY_PAUSES 100              /* minimum time between two queries, relative to the time of a query */

bool attach_open(struct attached *attached, const struct signals *signals, pid_t pid)
{
    *attached = (struct attached){.signals = signals, .process_fd = -1, .signal_fd = -1};
    attached->group = attribute_attach(host_real(), pid);
    if (!attached->group)
        return false;
    attached->process_fd = (int)syscall(SYS_pidfd_open, pid, 0); /* since Linux 5.3 */
    attached->signal_fd = signalfd(-1, &signals->taken, SFD_CLOEXEC);
    if (attached->signal_fd >= 0)
        return true;
    int errno_value = errno;
    attach_close(attached);
    errno = errno_value;
    return false;
}

static void query_process(struct attached *attached)
{
    int64_t begin_ns = clock_now_ns();
    attached->has_ended = !attribute_update(attached->group);
    int64_t end_ns = clock_now_ns(), pause_ns = (end_ns - begin_ns) * QUERY_PAUSES;
    attached->query_ns = end_ns + (pause_ns > MIN_QUERY_NS ? pause_ns : MIN_QUERY_NS);
}

static int take_signal(const struct signals *signals)
{
    const struct timespec no_time = {0};
    siginfo_t info;
    int taken = sigtimedwait(&signals->taken, &info, &no_time);
    return taken > 0 ? taken : 0;
}

int attach_wait(struct attached *attached, int64_t until_ns)
{
    while (!attached->has_ended && clock_now_ns() < until_ns) {
        int64_t now_ns = clock_now_ns(),
                next_ns = attached->query_ns < until_ns ? attached->query_ns : until_ns;
        struct timespec left = clock_timespec(next_ns > now_ns ? next_ns - now_ns : 0);
        struct pollfd polls[] = {{.fd = attached->signal_fd, .events = POLLIN},
                                 {.fd = attached->process_fd, .events = POLLIN}};
        ppoll(polls, 2, &left, NULL);
        if (polls[1].revents || clock_now_ns() >= attached->query_ns)
            query_process(attached);
        attached->has_ended = attached->has_ended || polls[1].revents;
        int taken = polls[0].revents ? take_signal(attached->signals) : 0;
        stop_with_terminal(taken);
        if (taken)
            return taken;
    }
    return 0;
}

void attach_name(pid_t pid, char *out_name, size_t size)
{
    char path[48], comm[64] = "";
    struct joule_host *host = host_real();
    string_print(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    ssize_t length = host->ops->read_file(host, path, out_name, size);
    for (ssize_t i = 0; i + 1 < length; i++)
        out_name[i] = out_name[i] ? out_name[i] : ' ';
    if (length > 0)
        return;
    string_print(path, sizeof path, "/proc/%d/comm", (int)pid);
    host->ops->read_file(host, path, comm, sizeof comm);
    comm[strcspn(comm, "\n")] = '\0';
    string_print(out_name, size, "[%s]", comm);
}

void attach_close(struct attached *attached)
{
    if (attached->process_fd >= 0)
        close(attached->process_fd);
    if (attached->signal_fd >= 0)
        close(attached->signal_fd);
    attribute_free(attached->group);
}
