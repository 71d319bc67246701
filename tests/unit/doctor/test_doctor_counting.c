/* Tests the doctor's findings if `joule run` cannot create a cgroup: the reason, the method that is used
 * instead, and a solution. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "support/check.h"
#include "support/doctor_bench.h"

#define WRITABLE  "35 24 0:30 / /sys/fs/cgroup rw,nosuid,nodev - cgroup2 cgroup2 rw,nsdelegate\n"
#define READ_ONLY "35 24 0:30 / /sys/fs/cgroup ro,nosuid,nodev - cgroup2 cgroup rw\n"
#define OLDER     "31 23 0:28 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"

/* Returns a machine on which `joule run` uses a subreaper, with these mounts and no other problem. */
static struct doctor_bench *mounted(void **state, const char *mounts)
{
    struct doctor_bench *bench = *state;
    bench->run_method = ATTRIBUTE_SUBREAPER;
    doctor_bench_add_zone(bench->host, true);
    host_script_text(bench->host, "/proc/filesystems",
                     "nodev\tsysfs\nnodev\tcgroup\nnodev\tcgroup2\n\text4\n");
    host_script_text(bench->host, "/proc/self/mountinfo", mounts);
    return bench;
}

static void be_root(struct doctor_bench *bench)
{
    host_script_text(bench->host, "/proc/self/status", "Name:\tjoule\nUid:\t1000\t0\t0\t0\n");
}

static void assert_why(const struct doctor_bench *bench, const char *id, const char *words)
{
    const char *why = doctor_bench_find(bench, id)->why;
    assert_contains(why, words);
}

static void test_usable_cgroups_need_no_advice(void **state)
{
    struct doctor_bench *bench = mounted(state, WRITABLE);
    bench->run_method = ATTRIBUTE_CGROUP;
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_nothing_to_do(bench);
    doctor_bench_assert_absent(bench, "cgroup_denied");
}

static void test_shell_of_a_user_with_a_systemd(void **state)
{
    struct doctor_bench *bench = mounted(state, WRITABLE);
    host_script_env(bench->host, "XDG_RUNTIME_DIR", "/run/user/1000");
    host_script_text(bench->host, "/run/user/1000/systemd/notify", "");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "cgroup_denied", FINDING_ADVICE, "systemd-run --user --scope");
    assert_contains(doctor_bench_find(bench, "cgroup_denied")->what, "by process (subreaper)");
}

static void test_shell_of_a_user_without_a_systemd(void **state)
{
    struct doctor_bench *bench = mounted(state, WRITABLE);
    host_script_env(bench->host, "XDG_RUNTIME_DIR", "/run/user/1000");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "cgroup_denied", FINDING_LIMIT, NULL);
    assert_why(bench, "cgroup_denied", "login session");
}

static void test_method_is_named(void **state)
{
    struct doctor_bench *bench = mounted(state, WRITABLE);
    bench->run_method = ATTRIBUTE_WAIT4;
    doctor_bench_examine(bench, 25);
    assert_contains(doctor_bench_find(bench, "cgroup_denied")->what, "(wait4)");
}

static void test_containers_get_the_command_for_their_runtime(void **state)
{
    static const struct {
        const char *cgroup, *mounts, *command;
    } cases[] = {
        {"0::/system.slice/docker-0123.scope\n", READ_ONLY,
         "docker run --security-opt writable-cgroups=true"},
        {"0::/user.slice/libpod-0123.scope\n", READ_ONLY, "podman run --security-opt unmask=/sys/fs/cgroup"},
        {"0::/kubepods/pod0123\n", READ_ONLY, NULL},
        {"0::/system.slice/docker-0123.scope\n", WRITABLE, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (i > 0) {
            doctor_bench_tear_down(state);
            doctor_bench_set_up(state);
        }
        struct doctor_bench *bench = mounted(state, cases[i].mounts);
        host_script_text(bench->host, "/proc/self/cgroup", cases[i].cgroup);
        doctor_bench_examine(bench, 25);
        doctor_bench_assert_finding(bench, "cgroup_denied", cases[i].command ? FINDING_ADVICE : FINDING_LIMIT,
                                    cases[i].command);
    }
}

static void test_root_may_mount(void **state)
{
    struct doctor_bench *bench = mounted(state, OLDER);
    be_root(bench);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "cgroup_missing", FINDING_ADVICE, "mount -t cgroup2");
    doctor_bench_assert_absent(bench, "cgroup_denied");
}

static void test_a_user_may_not_mount(void **state)
{
    struct doctor_bench *bench = mounted(state, OLDER);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "cgroup_missing", FINDING_LIMIT, NULL);
}

static void test_kernel_without_cgroups(void **state)
{
    struct doctor_bench *bench = mounted(state, "");
    be_root(bench);
    host_script_text(bench->host, "/proc/filesystems", "nodev\tsysfs\n\text4\n");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "cgroup_missing", FINDING_LIMIT, NULL);
}

/* On a recorded machine no trial run is possible. The findings then depend only on the recorded mounts,
 * although these do not show whether a cgroup can be created. */
static void test_mounts_of_a_recorded_machine_are_enough(void **state)
{
    struct doctor_bench *bench = mounted(state, WRITABLE);
    bench->run_method = ATTRIBUTE_NONE;
    doctor_bench_examine(bench, NAN);
    doctor_bench_assert_nothing_to_do(bench);
}

static void test_recorded_machine_without_cgroups(void **state)
{
    struct doctor_bench *bench = mounted(state, OLDER);
    bench->run_method = ATTRIBUTE_NONE;
    doctor_bench_examine(bench, NAN);
    doctor_bench_assert_finding(bench, "cgroup_missing", FINDING_LIMIT, NULL);
}

#define machine(test) cmocka_unit_test_setup_teardown(test, doctor_bench_set_up, doctor_bench_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        machine(test_usable_cgroups_need_no_advice),
        machine(test_shell_of_a_user_with_a_systemd),
        machine(test_shell_of_a_user_without_a_systemd),
        machine(test_method_is_named),
        machine(test_containers_get_the_command_for_their_runtime),
        machine(test_root_may_mount),
        machine(test_a_user_may_not_mount),
        machine(test_kernel_without_cgroups),
        machine(test_mounts_of_a_recorded_machine_are_enough),
        machine(test_recorded_machine_without_cgroups),
    };
    return cmocka_run_group_tests_name("doctor_counting", tests, NULL, NULL);
}
