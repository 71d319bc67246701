/* Tests attribution: which CPU time each method attributes to the command, and which share of the energy
 * follows from this time. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "joule/attribute/attribute.h"
#include "joule/attribute/attribute_cgroup.h"
#include "joule/attribute/attribute_tree.h"
#include "support/check.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- usable cgroups ------------------------------------------------------------------------------------- */

static void test_cgroup_folder_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *what, *mountinfo, *self, *path;
    } cases[] = {
        {"unified", "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n",
         "0::/user.slice/user-1000.slice/session-3.scope\n",
         "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope"},
        {"hybrid",
         "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup "
         "cgroup rw,cpu\n"
         "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:5 master:2 - cgroup2 cgroup2 rw\n",
         "9:name=systemd:/a\n1:cpu:/b\n0::/c\n", "/sys/fs/cgroup/unified/c"},
        {"the root", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/\n", "/sys/fs/cgroup"},
        {"mounted from a part of the tree", "29 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
         "0::/docker/abc/init\n", "/sys/fs/cgroup/init"},
        {"mounted from just here", "29 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
         "0::/docker/abc\n", "/sys/fs/cgroup"},
        {"a part that only looks alike", "29 23 0:26 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
         "0::/docker/abc\n", NULL},
        {"out of sight", "29 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/../other\n", NULL},
        {"space in the path", "29 23 0:26 / /mnt/a\\040b\\134c rw - cgroup2 cgroup2 rw\n", "0::/x\n",
         "/mnt/a b\\c/x"},
        {"an escape that is cut", "29 23 0:26 / /mnt/a\\1 rw - cgroup2 cgroup2 rw\n", "0::/x\n",
         "/mnt/a\\1/x"},
        {"an escape beyond a byte", "29 23 0:26 / /mnt/a\\777 rw - cgroup2 cgroup2 rw\n", "0::/x\n",
         "/mnt/a\\777/x"},
        {"a mount called cgroup2 that is none", "29 23 0:26 / /mnt rw - tmpfs cgroup2 rw\n", "0::/x\n", NULL},
        {"v1 alone", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "1:cpu:/b\n", NULL},
        {"v2 without a mount", "32 31 0:29 / / rw - ext4 /dev/vda rw\n", "0::/b\n", NULL},
        {"cut in the middle", "29 23 0:26 / /sys/fs/cgroup rw - cgr", "0::/\n", NULL},
        {"too few fields", "29 23\n\n -\n", "0::/\n", NULL},
        {"nothing", "", "", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char path[256] = "";
        bool found = cgroup_locate(cases[i].mountinfo, cases[i].self, path, sizeof path);
        if (found != (cases[i].path != NULL) || (found && strcmp(path, cases[i].path) != 0))
            fail_msg("%s: %s", cases[i].what, found ? path : "not found");
    }
    char tight[10];
    assert_false(cgroup_locate(cases[0].mountinfo, cases[0].self, tight, sizeof tight));
}

static void test_stat_line_is_read(void **state)
{
    (void)state;
    struct tree_process p;
    double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    assert_true(
        tree_parse("12 (a b) c) (d) R 7 12 12 0 -1 4194304 100 0 0 0 10 20 3 4 20 0 1 0 99 0 0\n", &p));
    assert_int_equal(p.pid, 12);
    assert_int_equal(p.parent, 7);
    assert_true(p.is_alive);
    assert_near(p.cpu_s, 37 * tick_s, 1e-9);
    assert_true(tree_parse("13 (z) Z 12 13 13 0 -1 0 0 0 0 0 1 0 0 0 20 0 1 0 99 0 0\n", &p));
    assert_false(p.is_alive);
    static const char *const bad[] = {"",
                                      "12",
                                      "12 (a",
                                      "12 (a) R",
                                      "x (a) R 7 1 1 0 -1 4 1 0 0 0 1 2 3 4",
                                      "12 (a) R 7 12 12 0 -1 4194304 100 0 0 0 10 20 3"};
    for (size_t i = 0; i < COUNT(bad); i++)
        if (tree_parse(bad[i], &p))
            fail_msg("taken: '%s'", bad[i]);
}

static void count_process(const struct tree_process *process, void *context)
{
    (void)process;
    ++*(unsigned *)context;
}

/* Process ids can be reused while /proc is read. Process 10 may then appear as the parent of 11, and process
 * 11 as the parent of 10. */
static void test_parents_in_a_circle(void **state)
{
    (void)state;
    struct joule_host *host = host_script_open();
    host_script_text(host, "/proc/10/stat", "10 (a) R 11 1 1 0 -1 4 1 0 0 0 1 2 3 4 20 0 1 0 99 0 0\n");
    host_script_text(host, "/proc/11/stat", "11 (b) R 10 1 1 0 -1 4 1 0 0 0 1 2 3 4 20 0 1 0 99 0 0\n");
    host_script_text(host, "/proc/12/stat", "12 (c) R 11 1 1 0 -1 4 1 0 0 0 1 2 3 4 20 0 1 0 99 0 0\n");
    unsigned count = 0;
    assert_true(tree_below(host, 10, count_process, &count));
    assert_int_equal(count, 3);
    host->ops->close(host);
}

/* --- ownership of CPU time ------------------------------------------------------------------------------ */

#define BURN_S 0.15

static double own_cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Uses CPU time, writes the number of seconds to the pipe, and exits. */
static void use_cpu_and_report(int to)
{
    while (own_cpu_s() < BURN_S)
        ;
    double used_s = own_cpu_s();
    if (write(to, &used_s, sizeof used_s) != sizeof used_s)
        _exit(1);
    _exit(0);
}

/* Runs as a command of three processes: itself, a child that it waits for, and a daemon that outlives it. */
static void be_family(int to)
{
    pid_t child = fork();
    if (child == 0)
        use_cpu_and_report(to);
    waitpid(child, NULL, 0);
    if (fork() == 0) {
        setsid();
        if (fork() == 0)
            use_cpu_and_report(to);
        _exit(0);
    }
    use_cpu_and_report(to);
}

/* Runs as a command with a child that calls setsid(). Both processes wait until they are killed. */
static void be_couple(int to)
{
    if (fork() == 0)
        setsid();
    if (write(to, "", 1) == 1)
        pause();
    _exit(0);
}

/* This test starts itself as these commands. The arguments select the command and the pipe to which it
 * writes. */
static const struct {
    const char *name;
    void (*be)(int to);
} roles[] = {{"family", be_family}, {"couple", be_couple}};

struct part {
    const char *role;
    /* the storage is static, because sanitizers would report the child's use of the stack as a leak */
    char to[12];
};

static void execute(void *context)
{
    const struct part *part = context;
    execl("/proc/self/exe", "test_attribute", part->role, part->to, NULL);
    _exit(127);
}

static void end_at_once(void *unused)
{
    (void)unused;
    _exit(0);
}

static void sleep_long(void *unused)
{
    (void)unused;
    execlp("sleep", "sleep", "1000", NULL);
    _exit(127);
}

static void reap(struct attribute_group *group, pid_t command)
{
    int status;
    struct rusage u;
    for (pid_t pid; (pid = wait4(-1, &status, 0, &u)) > 0;) {
        attribute_reaped(group, pid,
                         (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                             1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec));
        if (pid == command)
            assert_int_equal(status, 0);
    }
}

static struct attribution measure_family(enum attribute_method method, double *out_used_s)
{
    struct attribute_group *group = attribute_begin(host_real(), method);
    assert_non_null(group);
    if (attribute_group_method(group) != method) {
        attribute_free(group);
        return (struct attribution){.method = ATTRIBUTE_NONE};
    }
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    attribute_start(group);
    struct part part = {"family", ""};
    snprintf(part.to, sizeof part.to, "%d", ends[1]);
    pid_t pid = attribute_spawn(group, execute, &part);
    assert_true(pid > 0);
    close(ends[1]);
    double used_s = 0;
    *out_used_s = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(read(ends[0], &used_s, sizeof used_s), sizeof used_s);
        *out_used_s += used_s;
    }
    char rest;
    /* the end of the file shows that all processes have ended */
    assert_int_equal(read(ends[0], &rest, 1), 0);
    close(ends[0]);
    reap(group, pid);
    struct attribution a = attribute_finish(group);
    attribute_free(group);
    return a;
}

static void test_all_descendants_count(void **state)
{
    enum attribute_method method = *(enum attribute_method *)*state;
    double used_s = 0;
    struct attribution a = measure_family(method, &used_s);
    if (a.method == ATTRIBUTE_NONE) {
        printf("skipped: no %s on this machine\n", attribute_method_name(method));
        skip();
    }
    if (method == ATTRIBUTE_WAIT4)
        used_s -= BURN_S; /* the daemon's time is missing, because no process waited for the daemon */
    assert_int_equal(a.method, method);
    assert_true(a.command_cpu_s > used_s - 0.02);
    assert_true(a.command_cpu_s < used_s + 0.1); /* forks use some CPU time, too */
    assert_true(a.share > 0 && a.share <= 1);
    assert_true(a.share_sd >= 0 && a.share_sd <= 0.6);
}

/* Sandboxes and old kernels do not allow clone3. The child then enters its cgroup before it does anything
 * else. */
static void test_without_clone3_the_child_enters_its_cgroup_first(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        struct sock_filter program[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog filter = {COUNT(program), program};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
            _exit(77);
        double used_s = 0;
        struct attribution a = measure_family(ATTRIBUTE_CGROUP, &used_s);
        if (a.method == ATTRIBUTE_NONE)
            _exit(77);
        _exit(a.method == ATTRIBUTE_CGROUP && fabs(a.command_cpu_s - used_s) < 0.1 ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    if (status == 77 << 8) {
        printf("skipped: no cgroup or no system call filter on this machine\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void test_a_child_from_before_does_not_count(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t earlier = fork();
    if (earlier == 0)
        use_cpu_and_report(ends[1]);
    struct attribute_group *group = attribute_begin(host_real(), ATTRIBUTE_SUBREAPER);
    attribute_start(group);
    pid_t pid = attribute_spawn(group, end_at_once, NULL);
    reap(group, pid);
    struct attribution a = attribute_finish(group);
    attribute_free(group);
    close(ends[0]);
    close(ends[1]);
    assert_true(a.command_cpu_s < BURN_S / 2);
}

/* --- running processes ---------------------------------------------------------------------------------- */

static void test_living_descendants_are_listed(void **state)
{
    enum attribute_method method = *(enum attribute_method *)*state;
    struct attribute_group *group = attribute_begin(host_real(), method);
    int ends[2];
    char folder[64];
    struct stat info;
    assert_int_equal(pipe(ends), 0);
    struct part part = {"couple", ""};
    snprintf(part.to, sizeof part.to, "%d", ends[1]);
    pid_t pid = attribute_spawn(group, execute, &part);
    char byte;
    for (int i = 0; i < 2; i++)
        assert_int_equal(read(ends[0], &byte, 1), 1);
    pid_t pids[4] = {0};
    size_t count = attribute_alive(group, pids, COUNT(pids));
    assert_int_equal(count, 2);
    assert_true(pids[0] == pid || pids[1] == pid);
    assert_int_equal(attribute_alive(group, NULL, 0), 2);
    bool is_cgroup = attribute_group_method(group) == ATTRIBUTE_CGROUP;
    snprintf(folder, sizeof folder, "/sys/fs/cgroup/unified/joule-%d", getpid());
    attribute_free(group); /* the processes must survive this call */
    assert_int_equal(kill(pids[0], 0), 0);
    assert_int_equal(kill(pids[1], 0), 0);
    assert_true(!is_cgroup || stat(folder, &info) != 0);
    for (int i = 0; i < 2; i++)
        kill(pids[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
    close(ends[0]);
    close(ends[1]);
}

/* A killed `joule run` leaves its cgroup, which may contain processes and child cgroups. */
static void test_leftovers_are_removed(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork(), orphan = 0;
    if (pid == 0) {
        struct cgroup dead;
        bool is_inside;
        if (!cgroup_open(&dead, host_real()))
            _exit(77);
        orphan = cgroup_spawn(&dead, sleep_long, NULL, &is_inside);
        mkdirat(dead.folder, "inner", 0755);
        _exit(write(ends[1], &orphan, sizeof orphan) != sizeof orphan);
    }
    int status;
    waitpid(pid, &status, 0);
    close(ends[1]);
    if (WEXITSTATUS(status) == 77) {
        close(ends[0]);
        printf("skipped: no cgroup can be made here\n");
        skip();
    }
    assert_int_equal(read(ends[0], &orphan, sizeof orphan), sizeof orphan);
    /* the pipe is closed: the orphan has called exec and holds no lock */
    assert_int_equal(read(ends[0], &status, 1), 0);
    close(ends[0]);
    struct cgroup next;
    char name[40];
    struct stat info;
    snprintf(name, sizeof name, "joule-%d", pid);
    assert_true(cgroup_open(&next, host_real()));
    assert_int_not_equal(fstatat(next.parent, name, &info, 0), 0);
    assert_int_equal(kill(orphan, SIGKILL), 0); /* the orphan was moved to another cgroup, and is alive */
    /* A cgroup whose owner is alive is not removed. */
    struct cgroup own = next;
    pid = fork();
    if (pid == 0) {
        struct cgroup other;
        _exit(cgroup_open(&other, host_real()) && (cgroup_close(&other), 1) ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(fstatat(own.parent, own.name, &info, 0), 0);
    cgroup_close(&next);
}

/* --- shares --------------------------------------------------------------------------------------------- */

static void test_machine_time_is_busy_and_idle_time(void **state)
{
    (void)state;
    struct joule_host *host = host_script_open();
    assert_non_null(host);
    host_script_text(host, "/proc/stat", "cpu  1000 50 300 80000 70 10 20 999 5 5\ncpu0 1 2 3\n");
    struct attribute_group *group = attribute_begin(host, ATTRIBUTE_WAIT4);
    attribute_start(group);
    pid_t pid = attribute_spawn(group, end_at_once, NULL);
    waitpid(pid, NULL, 0);
    attribute_reaped(group, pid, 1.5);
    attribute_reaped(group, pid + 1, 100); /* this reaped process is not the command and does not count */
    host_script_text(host, "/proc/stat", "cpu  1200 60 380 80600 80 15 25 5999 105 5\ncpu0 1 2 3\n");
    struct attribution a = attribute_finish(group);
    double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    assert_near(a.machine_busy_cpu_s, 300 * tick_s, 1e-9);
    assert_near(a.machine_cpu_s, 910 * tick_s, 1e-9);
    assert_near(a.share, 1.5 / (300 * tick_s), 1e-9);
    host_script_text(host, "/proc/stat", "cpu  garbage\n");
    a = attribute_finish(group);
    assert_true(isnan(a.share) && isnan(a.machine_busy_cpu_s));
    attribute_free(group);
    host->ops->close(host);
}

/* If /proc/stat has risen by less than one tick, the CPU time of other processes is unknown, not zero. */
static void test_less_than_a_tick(void **state)
{
    (void)state;
    double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    struct joule_host *host = host_script_open();
    host_script_text(host, "/proc/stat", "cpu  1000 0 0 80000 0 0 0 0 0 0\n");
    struct attribute_group *group = attribute_begin(host, ATTRIBUTE_WAIT4);
    attribute_start(group);
    pid_t pid = attribute_spawn(group, end_at_once, NULL);
    waitpid(pid, NULL, 0);
    attribute_reaped(group, pid, 0.1 * tick_s);
    struct attribution a = attribute_finish(group);
    assert_true(isnan(a.machine_busy_cpu_s) && isnan(a.machine_cpu_s));
    assert_near(a.share, (1 + 1 / 11.0) / 2, 1e-9);
    assert_true(a.share - 1.65 * a.share_sd < 1 / 11.0 && a.share + 1.65 * a.share_sd > 1);
    host_script_text(host, "/proc/stat", "cpu  1000 0 0 80400 0 0 0 0 0 0\n");
    a = attribute_finish(group);
    assert_true(isnan(a.machine_busy_cpu_s));
    assert_near(a.machine_cpu_s, 400 * tick_s, 1e-9);
    assert_true(a.share < 1);
    attribute_free(group);
    host->ops->close(host);
}

static struct estimate measured(double joules, double sd)
{
    return estimate_make(joules, JOULE_CLASS_MEASURED, sd, CAUSE_NONE, 0);
}

/* --- a process that ran before the measurement ---------------------------------------------------------- */

/* Writes /proc/PID/stat. All times are clock ticks; `children` is the CPU time of reaped children. */
static void put_process(struct joule_host *host, int pid, int parent, char letter, int own, int children,
                        int start)
{
    char path[32], stat[160];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    snprintf(stat, sizeof stat, "%d (p) %c %d 1 1 0 -1 4 1 0 0 0 %d 0 %d 0 20 0 1 0 %d 0 0\n", pid, letter,
             parent, own, children, start);
    host_script_text(host, path, stat);
}

static void test_a_process_from_before(void **state)
{
    (void)state;
    double tick_s = 1 / (double)sysconf(_SC_CLK_TCK);
    struct joule_host *host = host_script_open();
    host_script_text(host, "/proc/stat", "cpu  1000 0 0 9000 0 0 0 0 0 0\n");
    put_process(host, 40, 1, 'R', 500, 30, 77); /* CPU time before the measurement does not count */
    put_process(host, 41, 40, 'S', 60, 0, 80);
    put_process(host, 99, 1, 'R', 5000, 0, 50); /* this process is not in the tree */
    errno = 0;
    assert_null(attribute_attach(host, 42));
    assert_int_equal(errno, ESRCH);
    struct attribute_group *group = attribute_attach(host, 40);
    assert_non_null(group);
    attribute_start(group);
    host_script_text(host, "/proc/stat", "cpu  1090 0 0 9000 0 0 0 0 0 0\n");
    struct attribution nothing = attribute_finish(group); /* the tree used less than one tick */
    assert_true(isnan(nothing.command_cpu_s) && isnan(nothing.share));
    put_process(host, 40, 1, 'R', 520, 30, 77);
    put_process(host, 41, 40, 'S', 65, 0, 80);
    put_process(host, 43, 41, 'R', 7, 0, 90);
    host_script_text(host, "/proc/stat", "cpu  1100 0 0 9000 0 0 0 0 0 0\n");
    assert_true(attribute_update(group));
    struct attribution share = attribute_finish(group);
    assert_int_equal(share.method, ATTRIBUTE_TREE);
    assert_near(share.command_cpu_s, 32 * tick_s, 1e-9);
    assert_near(share.share, 0.32, 1e-9);
    /* The child leaves the tree. Its CPU time until then belongs to the command. */
    put_process(host, 41, 1, 'S', 65, 0, 80);
    assert_near(attribute_finish(group).command_cpu_s, 32 * tick_s, 1e-9);
    put_process(host, 40, 1, 'Z', 620, 100, 77);
    /* the process has ended: its last values are stored before the next query */
    assert_false(attribute_update(group));
    assert_near(attribute_finish(group).command_cpu_s, 130 * tick_s, 1e-9);
    put_process(host, 40, 1, 'R', 9000, 0, 1000); /* the id now belongs to another process */
    assert_false(attribute_update(group));
    assert_near(attribute_finish(group).command_cpu_s, 130 * tick_s, 1e-9);
    attribute_free(group);
    host->ops->close(host);
}

/* --- energy --------------------------------------------------------------------------------------------- */

static void test_energy_is_the_share_above_idle(void **state)
{
    (void)state;
    struct attribution a = {.method = ATTRIBUTE_CGROUP, .share = 0.25, .share_sd = 0.02};
    struct estimate total = measured(100, 4), idle = measured(20, 3);
    struct estimate own = attribute_energy(&a, &total, &idle);
    assert_near(own.value, 20, 1e-9);
    assert_int_equal(own.cls, JOULE_CLASS_DERIVED);
    assert_near(estimate_sd(&own), sqrt(pow(0.25 * 5, 2) + pow(80 * 0.02, 2)), 1e-9);
    own = attribute_energy(&a, &total, NULL);
    assert_near(own.value, 25, 1e-9);
    struct estimate unknown = estimate_unknown();
    own = attribute_energy(&a, &total, &unknown);
    assert_near(own.value, 25, 1e-9);
    struct estimate cold = measured(15, 4); /* the energy is less than idle energy, because of noise */
    own = attribute_energy(&a, &cold, &idle);
    assert_true(own.value >= 0 && own.value < 1e-9);
    assert_near(estimate_sd(&own), 0.25 * 5, 1e-9);
    own = attribute_energy(&a, &unknown, &idle);
    assert_true(isnan(own.value));
    a.share = NAN;
    own = attribute_energy(&a, &total, &idle);
    assert_true(isnan(own.value));
}

/* The shares of all processes and of idle time add up to the total. */
static void test_shares_add_up_to_the_total(void **state)
{
    (void)state;
    static const double busy_s[] = {0.1, 3.7, 12.25, 0.000001};
    struct estimate total = measured(437.125, 1), idle = measured(101.5, 1);
    double all_s = 0, joules = idle.value;
    for (size_t i = 0; i < COUNT(busy_s); i++)
        all_s += busy_s[i];
    for (size_t i = 0; i < COUNT(busy_s); i++) {
        struct attribution a = {.method = ATTRIBUTE_CGROUP, .share = busy_s[i] / all_s, .share_sd = 0};
        joules += attribute_energy(&a, &total, &idle).value;
    }
    assert_near(joules, total.value, 1e-9);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < COUNT(roles); i++)
        if (strcmp(argv[1], roles[i].name) == 0)
            roles[i].be(atoi(argv[2]));
    alarm(100);
    static enum attribute_method by_cgroup = ATTRIBUTE_CGROUP, by_subreaper = ATTRIBUTE_SUBREAPER,
                                 by_wait4 = ATTRIBUTE_WAIT4;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cgroup_folder_is_found),
        cmocka_unit_test(test_stat_line_is_read),
        cmocka_unit_test(test_parents_in_a_circle),
        {"test_all_descendants_count by cgroup", test_all_descendants_count, NULL, NULL, &by_cgroup},
        {"test_all_descendants_count by subreaper", test_all_descendants_count, NULL, NULL, &by_subreaper},
        {"test_all_descendants_count by wait4", test_all_descendants_count, NULL, NULL, &by_wait4},
        cmocka_unit_test(test_without_clone3_the_child_enters_its_cgroup_first),
        cmocka_unit_test(test_a_child_from_before_does_not_count),
        {"test_living_descendants_are_listed by cgroup", test_living_descendants_are_listed, NULL, NULL,
         &by_cgroup},
        {"test_living_descendants_are_listed by subreaper", test_living_descendants_are_listed, NULL, NULL,
         &by_subreaper},
        cmocka_unit_test(test_leftovers_are_removed),
        cmocka_unit_test(test_machine_time_is_busy_and_idle_time),
        cmocka_unit_test(test_less_than_a_tick),
        cmocka_unit_test(test_a_process_from_before),
        cmocka_unit_test(test_energy_is_the_share_above_idle),
        cmocka_unit_test(test_shares_add_up_to_the_total),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
