/* tools/helper/worker.c - see worker.h. It lists the sources with the capabilities that opening them
 * needs. */
#include "helper/worker.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "common/options.h"
#include "helper/confine.h"
#include "helper/sensors.h"

#define PACE_S   0.1 /* seconds; period of a source that states none */
#define FIRST    3   /* first descriptor after the standard streams */
#define CAN(cap) (UINT64_C(1) << (cap))

extern const struct source_ops source_nvml, source_amdgpu, source_amd_smi, source_rocm_smi, source_level_zero,
    source_hlml, source_hwmon;

static const struct {
    const struct source_ops *ops;
    uint64_t needs;
} guarded[] = {
    {&source_nvml, 0},
    {&source_amdgpu, 0},
    {&source_amd_smi, 0},
    {&source_rocm_smi, 0},
    {&source_level_zero, CAN(CAP_PERFMON)},
    {&source_hlml, 0},
    {&source_hwmon, CAN(CAP_DAC_READ_SEARCH)}, /* counters that only root may read */
};

/* --- running -------------------------------------------------------------------------------------------- */

struct worker {
    int fd;
    pid_t helper;
    int64_t pace_ns;
    struct sensors sensors;
    uint8_t bytes[HELPER_HEADER_BYTES + HELPER_MAX_CHANNELS * HELPER_CHANNEL_BYTES];
};

/* Makes the kernel end the worker when the helper ends. Call it again after a change of user, which clears
 * this setting. */
static void end_with_helper(const struct worker *w)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != w->helper)
        _exit(1);
}

/* Closes all descriptors except the socket and the standard streams. Ignores signals meant for the helper,
 * because the worker must not end before the helper. */
static void drop_descriptors_and_signals(struct worker *w)
{
    if (w->fd != FIRST && dup2(w->fd, FIRST) != FIRST)
        _exit(1);
    w->fd = FIRST;
#ifdef SYS_close_range
    syscall(SYS_close_range, FIRST + 1u, ~0u, 0u);
#endif
    signal(SIGCHLD, SIG_DFL); /* libraries wait for their own children */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    end_with_helper(w);
}

/* Sends a message with `entry` bytes per channel. Drops the message if the socket is full, because the next
 * one will be newer. */
static void send_message(struct worker *w, enum helper_kind kind, size_t entry, int flags)
{
    struct helper_header header = {.version = HELPER_VERSION,
                                   .kind = (uint16_t)kind,
                                   .count = (uint32_t)w->sensors.count,
                                   .now_ns = clock_now_ns(),
                                   .pace_ns = w->pace_ns};
    size_t size = HELPER_HEADER_BYTES + w->sensors.count * entry;
    helper_write_header(&header, w->bytes);
    if (send(w->fd, w->bytes, size, flags | MSG_NOSIGNAL) < 0 && errno != EAGAIN && errno != EINTR)
        _exit(0); /* the helper is gone */
}

static void send_list(struct worker *w)
{
    for (size_t i = 0; i < w->sensors.count; i++)
        helper_write_channel(w->sensors.channels[i],
                             w->bytes + HELPER_HEADER_BYTES + i * HELPER_CHANNEL_BYTES);
    send_message(w, HELPER_HELLO, HELPER_CHANNEL_BYTES, 0);
}

static void send_values(struct worker *w)
{
    sensors_read(&w->sensors, clock_now_ns());
    for (size_t i = 0; i < w->sensors.count; i++)
        helper_write_value(&w->sensors.values[i], w->bytes + HELPER_HEADER_BYTES + i * HELPER_VALUE_BYTES);
    send_message(w, HELPER_READ, HELPER_VALUE_BYTES, MSG_DONTWAIT);
}

static int64_t pace_of(const struct source *source, int64_t min_period_ns)
{
    double own_s = source->period_s > 0 ? source->period_s : source->ops->period_s;
    int64_t pace_ns = (int64_t)((own_s > 0 ? own_s : PACE_S) * 1e9);
    return pace_ns > min_period_ns ? pace_ns : min_period_ns;
}

/* Opens the source with only the rights in `needs`, then drops all rights. Other rights are dropped first,
 * because threads that a library starts would keep them. */
static joule_status open_source(struct worker *w, const struct source_ops *ops, uint64_t needs,
                                int64_t min_period_ns, joule_error *error)
{
    joule_status status = confine_capabilities(needs, error);
    if (status == JOULE_OK)
        status = sensors_open_source(&w->sensors, ops, error);
    if (status == JOULE_OK)
        status = confine_rights(error);
    if (status != JOULE_OK)
        return status;
    end_with_helper(w);
    w->pace_ns = pace_of(&w->sensors.sources[0], min_period_ns);
    sensors_describe(&w->sensors, w->pace_ns);
    return JOULE_OK;
}

static _Noreturn void send_values_forever(struct worker *w)
{
    send_list(w);
    for (int64_t due_ns = clock_now_ns();; due_ns += w->pace_ns) {
        int64_t now_ns = clock_now_ns();
        if (now_ns - due_ns > w->pace_ns) /* late readings are skipped */
            due_ns = now_ns;
        struct timespec due = clock_timespec(due_ns);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
            ;
        send_values(w);
    }
}

/* --- starting ------------------------------------------------------------------------------------------- */

static size_t find_source(const char *name, size_t length)
{
    size_t i = 0;
    while (i < sizeof guarded / sizeof *guarded &&
           (strlen(guarded[i].ops->name) != length || strncmp(guarded[i].ops->name, name, length) != 0))
        i++;
    return i;
}

joule_status worker_start(const char *name, size_t length, struct joule_host *host, int64_t min_period_ns,
                          struct guard *out_guard, joule_error *out_error)
{
    static struct worker worker;
    joule_error error;
    int pair[2];
    size_t which = find_source(name, length);
    if (which == sizeof guarded / sizeof *guarded)
        return error_set(out_error, JOULE_INVALID, "cannot guard source '%.*s'; see --help", (int)length,
                         name);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return error_set(out_error, JOULE_FAILED, "cannot create a socket for a guard: %s", strerror(errno));
    const struct source_ops *ops = guarded[which].ops;
    worker = (struct worker){.fd = pair[1], .helper = getpid(), .sensors = {.host = host}};
    signal(SIGCHLD, SIG_IGN); /* the kernel reaps ended workers */
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        drop_descriptors_and_signals(&worker);
        if (open_source(&worker, ops, guarded[which].needs, min_period_ns, &error) == JOULE_OK)
            send_values_forever(&worker);
        complain("", "%s: %s", ops->name, error.message);
        _exit(1);
    }
    close(pair[1]);
    guard_begin(out_guard, ops->name, pair[0], pid);
    return pid > 0 ? JOULE_OK
                   : error_set(out_error, JOULE_FAILED,
                               "cannot create a process for a guard: %s; check TasksMax of the unit",
                               strerror(errno));
}
