/* joule/attribute/attribute_group.c - see attribute.h.
 *
 * Note: while this process is a subreaper, it is the parent of orphaned descendants instead of init. With a
 * cgroup, the parent of the command's daemons is init, as usual.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/string.h"
#include "joule/attribute/attribute.h"
#include "joule/attribute/attribute_cgroup.h"
#include "joule/attribute/attribute_tree.h"

#define MAX_EARLIER 64 /* maximum number of children that existed before the command */

/* A command that is measured. */
struct attribute_group {
    struct joule_host *host;
    enum attribute_method method;
    struct cgroup cgroup;
    bool was_subreaper;
    pid_t command;
    pid_t earlier[MAX_EARLIER]; /* children that this process already had */
    size_t earlier_count;
    double reaped_cpu_s;
    double start_cpu_s; /* CPU seconds of the cgroup or the tree at attribute_start */
    double tree_cpu_s;  /* CPU seconds of the tree at its last update */
    /* start time of the attached process, which identifies it because process ids are reused */
    uint64_t start_ticks;
    struct machine_time start;
};

/* --- children ------------------------------------------------------------------------------------------- */

/* Returns true if this process has a child, living or not yet reaped. */
static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Adds a child of this process to the list of earlier children. context: the group. */
static void remember_earlier(const struct tree_process *process, void *context)
{
    struct attribute_group *group = context;
    if (process->parent == getpid() && group->earlier_count < MAX_EARLIER)
        group->earlier[group->earlier_count++] = process->pid;
}

/* Returns true for a child that existed before attribute_begin. */
static bool is_earlier(const struct attribute_group *group, pid_t pid)
{
    for (size_t i = 0; i < group->earlier_count; i++)
        if (group->earlier[i] == pid)
            return true;
    return false;
}

/* State of find_living, and its result. */
struct living {
    const struct attribute_group *group;
    pid_t skipped[MAX_EARLIER * 4]; /* earlier children and their descendants */
    size_t skipped_count;
    double cpu_s;
    pid_t *pids;
    size_t size, count;
};

/* Returns true for an earlier child and for a child of a skipped process. */
static bool is_skipped(const struct living *living, const struct tree_process *process)
{
    if (is_earlier(living->group, process->pid))
        return true;
    for (size_t i = 0; i < living->skipped_count; i++)
        if (living->skipped[i] == process->parent)
            return true;
    return false;
}

/* Adds the CPU time and id of a process, unless it is an earlier child or a descendant of one. Called for
 * parents before their children. context: struct living. */
static void add_living(const struct tree_process *process, void *context)
{
    struct living *living = context;
    if (is_skipped(living, process)) {
        if (living->skipped_count < sizeof living->skipped / sizeof living->skipped[0])
            living->skipped[living->skipped_count++] = process->pid;
        return;
    }
    living->cpu_s += process->cpu_s;
    if (!process->is_alive)
        return;
    if (living->count < living->size)
        living->pids[living->count] = process->pid;
    living->count++;
}

/* Finds the living descendants of a subreaper, and the CPU seconds of all descendants that were not reaped.
 * Writes up to `size` ids to pids. */
static struct living find_living(const struct attribute_group *group, pid_t *pids, size_t size)
{
    struct living living = {.group = group, .pids = pids, .size = size};
    if (has_children()) /* a process without children has no descendants, so /proc need not be read */
        tree_below(group->host, getpid(), add_living, &living);
    return living;
}

/* --- an attached process -------------------------------------------------------------------------------- */

/* Reads the attached process from /proc. Returns false if it does not exist. */
static bool read_process(const struct attribute_group *group, struct tree_process *out_process)
{
    char path[48], stat[1024];
    string_print(path, sizeof path, "/proc/%d/stat", (int)group->command);
    return group->host->ops->read_file(group->host, path, stat, sizeof stat) > 0 &&
           tree_parse(stat, out_process);
}

static void add_cpu(const struct tree_process *process, void *context)
{
    double *sum_s = context;
    *sum_s += process->cpu_s;
}

bool attribute_update(struct attribute_group *group)
{
    struct tree_process top;
    if (!read_process(group, &top) || top.start_ticks != group->start_ticks)
        return false;
    double sum_s = top.cpu_s;
    tree_below(group->host, group->command, add_cpu, &sum_s);
    /* The sum decreases if a process ended and its parent did not wait for it. */
    group->tree_cpu_s = fmax(group->tree_cpu_s, sum_s);
    return top.is_alive;
}

/* --- groups --------------------------------------------------------------------------------------------- */

struct attribute_group *attribute_attach(struct joule_host *host, pid_t pid)
{
    struct tree_process top;
    struct attribute_group *group = calloc(1, sizeof *group);
    if (!group)
        return NULL;
    *group =
        (struct attribute_group){.host = host, .method = ATTRIBUTE_TREE, .command = pid, .start_cpu_s = NAN};
    if (read_process(group, &top) && top.is_alive) {
        group->start_ticks = top.start_ticks;
        return group;
    }
    free(group);
    errno = ESRCH;
    return NULL;
}

/* Makes this process a subreaper and sets the method; falls back to ATTRIBUTE_WAIT4. */
static void become_subreaper(struct attribute_group *group)
{
    int was = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &was);
    group->was_subreaper = was;
    char own[64];
    bool works = group->host->ops->read_file(group->host, "/proc/self/stat", own, sizeof own) > 0 &&
                 prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
    group->method = works ? ATTRIBUTE_SUBREAPER : ATTRIBUTE_WAIT4;
}

struct attribute_group *attribute_begin(struct joule_host *host, enum attribute_method best)
{
    struct attribute_group *group = calloc(1, sizeof *group);
    if (!group)
        return NULL;
    *group = (struct attribute_group){.host = host, .method = ATTRIBUTE_WAIT4, .start_cpu_s = NAN};
    if (has_children())
        tree_below(host, getpid(), remember_earlier, group);
    if (best <= ATTRIBUTE_CGROUP && host == host_real() && cgroup_open(&group->cgroup, host))
        group->method = ATTRIBUTE_CGROUP;
    else if (best <= ATTRIBUTE_SUBREAPER)
        become_subreaper(group);
    return group;
}

enum attribute_method attribute_group_method(const struct attribute_group *group)
{
    return group->method;
}

pid_t attribute_spawn(struct attribute_group *group, spawn_fn be, void *context)
{
    bool is_inside = false;
    pid_t pid = -1;
    if (group->method == ATTRIBUTE_CGROUP)
        pid = cgroup_spawn(&group->cgroup, be, context, &is_inside);
    if (pid > 0 && !is_inside) {
        waitpid(pid, NULL, 0); /* the child ended at once, because it could not enter the cgroup */
        cgroup_close(&group->cgroup);
        become_subreaper(group);
    }
    if (group->method != ATTRIBUTE_CGROUP)
        pid = spawn(-1, be, context);
    group->command = pid;
    return pid;
}

void attribute_start(struct attribute_group *group)
{
    if (group->method == ATTRIBUTE_CGROUP)
        group->start_cpu_s = cgroup_cpu_s(&group->cgroup);
    if (group->method == ATTRIBUTE_TREE && attribute_update(group))
        group->start_cpu_s = group->tree_cpu_s;
    group->start = attribute_machine(group->host);
}

void attribute_reaped(struct attribute_group *group, pid_t pid, double cpu_s)
{
    bool counts = group->method == ATTRIBUTE_WAIT4 ? pid == group->command : !is_earlier(group, pid);
    if (counts)
        group->reaped_cpu_s += cpu_s;
}

size_t attribute_alive(struct attribute_group *group, pid_t *out_pids, size_t size)
{
    switch (group->method) {
    case ATTRIBUTE_CGROUP:
        return cgroup_alive(&group->cgroup, out_pids, size);
    case ATTRIBUTE_SUBREAPER:
        return find_living(group, out_pids, size).count;
    default:
        return 0;
    }
}

void attribute_free(struct attribute_group *group)
{
    if (!group)
        return;
    if (group->method == ATTRIBUTE_CGROUP)
        cgroup_close(&group->cgroup);
    if (group->method == ATTRIBUTE_SUBREAPER)
        prctl(PR_SET_CHILD_SUBREAPER, group->was_subreaper);
    free(group);
}

/* --- shares --------------------------------------------------------------------------------------------- */

#define MIN_TICKS 0.99 /* less than a tick, because ticks are stored as seconds, which are rounded */

static double tick_seconds(void)
{
    return 1 / (double)sysconf(_SC_CLK_TCK);
}

/* Returns the CPU seconds of the command since attribute_start; NaN: unknown. */
static double command_cpu_s(const struct attribute_group *group)
{
    switch (group->method) {
    case ATTRIBUTE_CGROUP:
        return cgroup_cpu_s(&group->cgroup) - group->start_cpu_s;
    case ATTRIBUTE_SUBREAPER:
        return group->reaped_cpu_s + find_living(group, NULL, 0).cpu_s;
    case ATTRIBUTE_WAIT4:
        return group->reaped_cpu_s;
    case ATTRIBUTE_TREE: { /* the time is counted in ticks, so less than one tick is unknown */
        double used_s = group->tree_cpu_s - group->start_cpu_s;
        return used_s < MIN_TICKS * tick_seconds() ? NAN : used_s;
    }
    default:
        return NAN;
    }
}

/* Returns the standard error of a share of CPU time that is used as a share of energy. */
static double share_sd(double share, double busy_s)
{
    double by_ticks = fmin(share * tick_seconds() / busy_s, 0.5);
    double by_power = share * (1 - share) * ATTRIBUTE_SPREAD_LOG_SD;
    return hypot(by_ticks, by_power);
}

/* Returns true if less than one tick has passed, so that the kernel's count for the machine is still 0. Also
 * returns true if the machine's busy time is less than a tick although the command used more time. */
static bool is_too_short(const struct attribution *a)
{
    double min_s = MIN_TICKS * tick_seconds();
    return a->machine_cpu_s < min_s ||
           (a->machine_busy_cpu_s < min_s && a->command_cpu_s > a->machine_busy_cpu_s);
}

/* Sets share and share_sd for a time that is_too_short. The rest of the machine was busy for less than a
 * tick, so the share lies between a minimum and 1. */
static void bound_share(struct attribution *a)
{
    double min_share = a->command_cpu_s / (a->command_cpu_s + tick_seconds());
    a->machine_busy_cpu_s = NAN;
    if (a->machine_cpu_s < MIN_TICKS * tick_seconds())
        a->machine_cpu_s = NAN;
    if (!(a->command_cpu_s > 0))
        return;
    a->share = (1 + min_share) / 2;
    a->share_sd = hypot((1 - min_share) / 2 / Z90, a->share * (1 - a->share) * ATTRIBUTE_SPREAD_LOG_SD);
}

struct attribution attribute_finish(struct attribute_group *group)
{
    if (group->method == ATTRIBUTE_TREE)
        attribute_update(group);
    struct machine_time end = attribute_machine(group->host);
    struct attribution a = {.method = group->method,
                            .command_cpu_s = command_cpu_s(group),
                            .machine_busy_cpu_s = end.busy_s - group->start.busy_s,
                            .machine_cpu_s = end.total_s - group->start.total_s,
                            .share = NAN,
                            .share_sd = NAN};
    if (is_too_short(&a)) {
        bound_share(&a);
        return a;
    }
    /* The machine's clock ticks may lag behind the command's exact time. The machine was busy for
     * at least that time. */
    double busy_s = fmax(a.machine_busy_cpu_s, a.command_cpu_s);
    if (isnan(a.machine_busy_cpu_s) || isnan(a.command_cpu_s) || busy_s <= 0)
        return a;
    a.share = fmax(a.command_cpu_s, 0) / busy_s;
    a.share_sd = share_sd(a.share, busy_s);
    return a;
}

/* --- a trial -------------------------------------------------------------------------------------------- */

/* Runs in the child of attribute_try. */
static void end_at_once(void *context)
{
    (void)context;
    spawn_end(0);
}

enum attribute_method attribute_try(void)
{
    struct attribute_group *group = attribute_begin(host_real(), ATTRIBUTE_CGROUP);
    if (!group)
        return ATTRIBUTE_NONE;
    pid_t pid = attribute_spawn(group, end_at_once, NULL);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    enum attribute_method method = pid > 0 ? attribute_group_method(group) : ATTRIBUTE_NONE;
    attribute_free(group);
    return method;
}
