/* Tests the energy of tenants (jobs, containers, services and users): cgroup paths are parsed, and the shares
 * of tenants and the rest add up to the meter's total.
 *
 * Note: a cgroup's CPU time is a function of virtual time, so every true share is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "joule/attribute/attribute_pod.h"
#include "support/check.h"
#include "support/fake_nvml.h"
#include "support/rig.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* --- names ---------------------------------------------------------------------------------------------- */

static void test_paths_name_their_tenants(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        struct tenant_name name; /* an empty kind means that the path is not a tenant's */
    } cases[] = {
        {"/slurm/uid_1000/job_42", {"slurm", "42", "1000", "", "", ""}},
        {"/slurm/uid_1000/job_42/step_0", {.kind = ""}},
        {"/slurm/uid_1000", {.kind = ""}},
        {"/system.slice/slurmstepd.scope/job_7", {"slurm", "7", "", "", "", ""}},
        {"/slurm_node1/uid_0/job_123456", {"slurm", "123456", "0", "", "", ""}},
        {"/slurm/job_x", {.kind = ""}},
        {"/docker/" ID, {"container", "", "", ID, "", ""}},
        {"/system.slice/docker-" ID ".scope", {"container", "", "", ID, "", ""}},
        {"/system.slice/docker-" ID ".scope/init.scope", {.kind = ""}},
        {"/machine.slice/libpod-" ID ".scope", {"container", "", "", ID, "", ""}},
        {"/kubepods/burstable/pod1a2b-3c/" ID, {"container", "", "", ID, "1a2b-3c", ""}},
        {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1a2b_3c.slice/cri-containerd-" ID
         ".scope",
         {"container", "", "", ID, "1a2b-3c", ""}},
        {"/kubepods.slice/kubepods-pod1a2b_3c.slice/crio-" ID ".scope",
         {"container", "", "", ID, "1a2b-3c", ""}},
        {"/kubepods.slice/kubepods-pod1a2b_3c.slice", {.kind = ""}},
        {"/" ID, {.kind = ""}},
        {"/docker/0123", {.kind = ""}},
        {"/system.slice/nginx.service", {"service", "", "", "", "", "nginx.service"}},
        {"/system.slice", {.kind = ""}},
        {"/user.slice/user-1000.slice", {"user", "", "1000", "", "", ""}},
        {"/user.slice/user-1000.slice/user@1000.service", {.kind = ""}},
        {"", {.kind = ""}},
        {"/", {.kind = ""}},
        {"//", {.kind = ""}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tenant_name name;
        bool is_one = tenant_name_read(cases[i].path, &name);
        if (is_one != (cases[i].name.kind[0] != '\0'))
            fail_msg("%s is %sa tenant", cases[i].path, is_one ? "" : "not ");
        if (!is_one)
            continue;
        assert_string_equal(name.kind, cases[i].name.kind);
        assert_string_equal(name.slurm_job, cases[i].name.slurm_job);
        assert_string_equal(name.user, cases[i].name.user);
        assert_string_equal(name.container_id, cases[i].name.container_id);
        assert_string_equal(name.pod_uid, cases[i].name.pod_uid);
        assert_string_equal(name.unit, cases[i].name.unit);
    }
}

/* --- shares of the processors' energy ------------------------------------------------------------------- */

/* A cgroup that uses `cpus` CPUs from from_s on. */
struct user {
    double cpus, from_s;
};

static double used_s(const struct user *user, int64_t time_ns)
{
    return user->cpus * fmax(0, (double)time_ns * 1e-9 - user->from_s);
}

static ssize_t cpu_stat(void *user, int64_t time_ns, char *text, size_t size)
{
    return snprintf(text, size, "usage_usec %.0f\nuser_usec 1\nsystem_usec 1\n", used_s(user, time_ns) * 1e6);
}

static ssize_t cpuacct_usage(void *user, int64_t time_ns, char *text, size_t size)
{
    return snprintf(text, size, "%.0f\n", used_s(user, time_ns) * 1e9);
}

#define V2 "/sys/fs/cgroup"
#define V1 "/sys/fs/cgroup/cpuacct"

static const struct load load_200 = {.levels = {{0, 200}}, .count = 1};
static struct sensor package;

/* Adds a package of 200 W with 4 CPUs. */
static void put_machine(struct rig *rig, bool is_v2)
{
    package = sensor_intel(&load_200);
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", INTEL_RANGE, &package);
    host_script_text(rig->host, "/sys/devices/system/cpu/online", "0-3\n");
    if (is_v2)
        host_script_text(rig->host, V2 "/cgroup.controllers", "cpu memory\n");
    else
        host_script_text(rig->host, V1 "/cpuacct.usage", "12345\n");
    host_script_text(rig->host, is_v2 ? V2 "/cpu.stat" : V1 "/tasks", "usage_usec 1\n");
}

/* Reads as joule serve does: sensors ten times per second, cgroups once. */
static void run(struct tenants *tenants, double seconds)
{
    for (int i = 0; i < (int)seconds; i++) {
        machine_run(tenants->meter, 1, 0.1);
        assert_int_equal(tenants_update(tenants), JOULE_OK);
    }
}

static const struct tenant *tenant(const struct tenants *tenants, const char *path)
{
    for (size_t i = 0; i < tenants->count; i++)
        if (strcmp(tenants->list[i].path, path) == 0)
            return &tenants->list[i];
    fail_msg("no tenant is called %s", path);
    return NULL;
}

/* Fails unless all shares and the rest add up to the meter's joules in the settled windows. */
static void expect_conserved(const struct tenants *tenants, double joules)
{
    double sum = tenants->rest_cpu_joules + tenants->ended_cpu_joules;
    for (size_t i = 0; i < tenants->count; i++)
        sum += tenants->list[i].cpu_joules;
    assert_near(sum, joules, 0.5);
}

static void test_shares_by_cpu_time(void **state)
{
    struct rig *rig = *state;
    struct user job = {2, 0}, box = {0.5, 0}, daemon = {0.001, 0}, late = {1, 15.5};
    put_machine(rig, true);
    host_script_file(rig->host, V2 "/system.slice/slurmstepd.scope/job_42/cpu.stat", cpu_stat, &job);
    host_script_file(rig->host, V2 "/system.slice/slurmstepd.scope/job_42/step_0/cpu.stat", cpu_stat, &job);
    host_script_file(rig->host, V2 "/system.slice/docker-" ID ".scope/cpu.stat", cpu_stat, &box);
    host_script_file(rig->host, V2 "/system.slice/cron.service/cpu.stat", cpu_stat, &daemon);
    rig_open_powercap(rig);
    struct tenants tenants = {.meter = rig->meter};
    run(&tenants, 11); /* ten windows have ended, and the energy of nine is attributed */
    assert_int_equal(tenants.count, 3);
    assert_near(tenant(&tenants, "/system.slice/slurmstepd.scope/job_42")->cpu_joules, 900, 1);
    assert_near(tenant(&tenants, "/system.slice/slurmstepd.scope/job_42")->cpu_s, 18, 0.01);
    assert_near(tenant(&tenants, "/system.slice/docker-" ID ".scope")->cpu_joules, 225, 0.5);
    assert_near(tenant(&tenants, "/system.slice/cron.service")->cpu_joules, 0.45, 0.01);
    assert_near(tenants.rest_cpu_joules, 2000 - 900 - 225 - 0.45, 2);
    expect_conserved(&tenants, 2000); /* the sum includes the meter's joules from before the first update */
    assert_int_equal(tenants.cpu_class, JOULE_CLASS_DERIVED);
    host_script_file(rig->host, V2 "/user.slice/user-1000.slice/cpu.stat", cpu_stat, &late);
    run(&tenants, 10);
    assert_int_equal(tenants.count, 4);
    double late_joules = tenant(&tenants, "/user.slice/user-1000.slice")->cpu_joules;
    assert_true(late_joules > 150 && late_joules < 300);
    expect_conserved(&tenants, 4000);
    tenants_free(&tenants);
}

/* A job that begins between two updates gets its joules from its begin on. */
static void test_new_job_is_counted_from_its_begin(void **state)
{
    struct rig *rig = *state;
    struct user box = {1, 0}, job = {2, 0};
    put_machine(rig, true);
    host_script_file(rig->host, V2 "/system.slice/a.service/cpu.stat", cpu_stat, &box);
    rig_open_powercap(rig);
    struct tenants tenants = {.meter = rig->meter};
    run(&tenants, 5);
    job.from_s = (double)meter_now_ns(rig->meter) * 1e-9 + 0.25;
    host_script_file(rig->host, V2 "/slurm/uid_7/job_1/cpu.stat", cpu_stat, &job);
    run(&tenants, 6);
    double seconds = (double)tenants.begin_ns * 1e-9 - job.from_s;
    assert_near(tenant(&tenants, "/slurm/uid_7/job_1")->cpu_joules, 50 * job.cpus * seconds, 2);
    expect_conserved(&tenants, 2000);
    tenants_free(&tenants);
}

/* The joules that a job uses after its last update are not attributed. Its earlier joules remain counted, at
 * first in the row of the job. */
static void test_ended_job_keeps_its_joules(void **state)
{
    struct rig *rig = *state;
    struct user job = {2, 0}, box = {1, 0};
    put_machine(rig, true);
    host_script_file(rig->host, V2 "/slurm/uid_7/job_1/cpu.stat", cpu_stat, &job);
    host_script_file(rig->host, V2 "/system.slice/a.service/cpu.stat", cpu_stat, &box);
    rig_open_powercap(rig);
    struct tenants tenants = {.meter = rig->meter};
    run(&tenants, 6);
    host_script_text(rig->host, V2 "/slurm/uid_7/job_1/cpu.stat", NULL);
    run(&tenants, 4);
    double joules = tenant(&tenants, "/slurm/uid_7/job_1")->cpu_joules;
    assert_near(joules, 500, 1);
    run(&tenants, 310);
    assert_int_equal(tenants.count, 1);
    assert_near(tenants.ended_cpu_joules, joules, 1e-9);
    assert_near(tenants.ended_cpu_s, 10, 0.01);
    expect_conserved(&tenants, 200 * 319);
    tenants_free(&tenants);
}

static void test_first_version_of_cgroups(void **state)
{
    struct rig *rig = *state;
    struct user job = {2, 0};
    put_machine(rig, false);
    host_script_file(rig->host, V1 "/slurm/uid_7/job_1/cpuacct.usage", cpuacct_usage, &job);
    rig_open_powercap(rig);
    struct tenants tenants = {.meter = rig->meter};
    run(&tenants, 6);
    assert_near(tenant(&tenants, "/slurm/uid_7/job_1")->cpu_joules, 400, 1);
    expect_conserved(&tenants, 1000);
    tenants_free(&tenants);
}

/* No tenant gets joules for an invalid CPU time: a time that decreases because another cgroup has the same
 * name, invalid text, or an unreadable file. */
static void test_invalid_cpu_times_give_no_joules(void **state)
{
    struct rig *rig = *state;
    put_machine(rig, true);
    host_script_text(rig->host, V2 "/system.slice/a.service/cpu.stat", "usage_usec 5000000000\n");
    host_script_text(rig->host, V2 "/system.slice/b.service/cpu.stat", "usage_usec lots\n");
    host_script_text(rig->host, V2 "/system.slice/c.service/cpu.stat", "");
    rig_open_powercap(rig);
    struct tenants tenants = {.meter = rig->meter};
    run(&tenants, 3);
    host_script_text(rig->host, V2 "/system.slice/a.service/cpu.stat", "usage_usec 1\n");
    run(&tenants, 3);
    assert_int_equal(tenants.count, 1);
    assert_true(tenant(&tenants, "/system.slice/a.service")->cpu_joules == 0);
    host_script_text(rig->host, V2 "/system.slice/a.service/cpu.stat", "usage_usec 900000000000\n");
    run(&tenants, 3); /* the time is more than all CPUs can use, so at most the total is attributed */
    assert_true(tenant(&tenants, "/system.slice/a.service")->cpu_joules <= 201);
    expect_conserved(&tenants, 200 * 8);
    tenants_free(&tenants);
}

static void test_without_cgroups_tenants_are_absent(void **state)
{
    struct rig *rig = *state;
    rig_open_powercap(rig);
    struct tenants tenants = {.meter = rig->meter};
    assert_int_equal(tenants_update(&tenants), JOULE_ABSENT);
    assert_int_equal(tenants_update(&tenants), JOULE_ABSENT);
    tenants_free(&tenants);
}

/* --- shares of devices' energy -------------------------------------------------------------------------- */

/* One process uses half of a board of 400 W; processors have no sensor. Updates once per second for
 * `seconds`. */
static struct tenants run_board(struct fake_nvml *fake, const char *script, int seconds)
{
    static struct user job = {0.1, 0};
    if (!fake_nvml_prepare(fake, TEST_BINARY_DIR, "580", script))
        skip();
    host_script_text(fake->host, V2 "/cgroup.controllers", "cpu\n");
    host_script_file(fake->host, V2 "/slurm/uid_7/job_1/cpu.stat", cpu_stat, &job);
    host_script_text(fake->host, "/proc/1000/cgroup", "0::/slurm/uid_7/job_1/step_0/task_0\n");
    fake_nvml_open_devices(fake);
    struct tenants tenants = {.meter = fake->meter};
    for (int i = 0; i < seconds; i++) {
        fake_nvml_run(fake, 1);
        assert_int_equal(tenants_update(&tenants), JOULE_OK);
    }
    return tenants;
}

#define BOARD "watts=400; peak_watts=400; duty=0.5; processes=1; "

static void test_device_energy_goes_to_its_processes(void **state)
{
    (void)state;
    struct fake_nvml fake;
    struct tenants tenants = run_board(&fake, BOARD, 12);
    const struct tenant *mine = tenant(&tenants, "/slurm/uid_7/job_1");
    /* the energy of eleven windows is attributed */
    assert_near(mine->gpu_joules + tenants.rest_gpu_joules, 4400, 20);
    assert_near(mine->gpu_joules, 2200, 400);
    tenants_free(&tenants);
    fake_nvml_close(&fake);
}

/* The joules of a slow sensor arrive late. All of them are then attributed. */
static void test_slow_device_is_waited_for(void **state)
{
    (void)state;
    struct fake_nvml fake;
    struct tenants tenants = run_board(&fake, BOARD "update_ms=3700", 40);
    const struct tenant *mine = tenant(&tenants, "/slurm/uid_7/job_1");
    double shared = mine->gpu_joules + tenants.rest_gpu_joules;
    if (!(shared > 400 * (39 - 2 * 3.7) && shared <= 400 * 39.0))
        fail_msg("%g J were shared out", shared);
    assert_near(mine->gpu_joules, shared / 2, 800);
    tenants_free(&tenants);
    fake_nvml_close(&fake);
}

/* --- pods by name --------------------------------------------------------------------------------------- */

static void test_names_of_logs(void **state)
{
    (void)state;
    struct tenant_name name;
    assert_true(pod_read_folder("kube-system_coredns-5d78c9869d-abcde_1a2b-3c", &name));
    assert_string_equal(name.namespace, "kube-system");
    assert_string_equal(name.pod, "coredns-5d78c9869d-abcde");
    assert_string_equal(name.pod_uid, "1a2b-3c");
    assert_string_equal(name.container, "");
    assert_true(pod_read_log("web.example-0_shop_log-tail-" ID ".log", &name));
    assert_string_equal(name.pod, "web.example-0");
    assert_string_equal(name.namespace, "shop");
    assert_string_equal(name.container, "log-tail");
    assert_string_equal(name.container_id, ID);
    static const char *const folders[] = {"",     "_",       "__",    "a_b_",    "a_b",     "a_b_c_d", "_b_c",
                                          "a__c", "1a2b-3c", "A_b_c", "a_b_c\n", "a_b/c_d", "a_\"b_c"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (pod_read_folder(folders[i], &name))
            fail_msg("'%s' names a pod", folders[i]);
    static const char *const logs[] = {
        "",     "a_b_c-" ID,  "a_b_" ID ".log",     "a_b_-" ID ".log",    "a-b_c_d.log",
        ".log", "a_b_c-.log", "a_b_c_d-" ID ".log", "a_b_c-" ID ID ".log"};
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++)
        if (pod_read_log(logs[i], &name))
            fail_msg("'%s' names a container", logs[i]);
    char long_name[400] = "a_";
    memset(long_name + 2, 'b', 300); /* longer than any name that Kubernetes allows */
    assert_false(pod_read_folder(strcat(long_name, "_1a2b"), &name));
}

#define POD   "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1a2b_3c.slice"
#define FIRST POD "/cri-containerd-" ID ".scope"
#define PAUSE POD "/cri-containerd-fedcba9876543210.scope"
#define LINK  "/var/log/containers/web-0_shop_nginx-" ID ".log"

static void test_pods_have_names(void **state)
{
    struct rig *rig = *state;
    struct user user = {1, 0};
    put_machine(rig, true);
    host_script_file(rig->host, V2 FIRST "/cpu.stat", cpu_stat, &user);
    host_script_file(rig->host, V2 PAUSE "/cpu.stat", cpu_stat, &user);
    host_script_text(rig->host, "/var/log/pods/shop_web-0_1a2b-3c/nginx/0.log", "");
    host_script_text(rig->host, "/var/log/pods/shop_web-1_4d5e-6f/nginx/0.log", "");
    host_script_text(rig->host, "/var/log/pods/garbage/0.log", "");
    rig_open_powercap(rig);
    struct tenants tenants = {.meter = rig->meter};
    run(&tenants, 2);
    assert_string_equal(tenant(&tenants, FIRST)->name.pod, "web-0");
    assert_string_equal(tenant(&tenants, FIRST)->name.namespace, "shop");
    assert_string_equal(tenant(&tenants, FIRST)->name.container, "");
    host_script_text(rig->host, LINK, ""); /* the link is created after the container has started */
    host_script_text(rig->host, "/var/log/containers/web-0_shop_nginx-0123.log", "");
    run(&tenants, 3);
    assert_string_equal(tenant(&tenants, FIRST)->name.container, "nginx");
    assert_string_equal(tenant(&tenants, FIRST)->name.container_id, ID);
    assert_string_equal(tenant(&tenants, FIRST)->name.pod_uid, "1a2b-3c");
    assert_string_equal(tenant(&tenants, PAUSE)->name.pod, "web-0");
    assert_string_equal(tenant(&tenants, PAUSE)->name.container, ""); /* this container has no log */
    tenants_free(&tenants);
}

/* The folders are listed when a new process appears and a few times after that, then no longer. */
static void test_pods_without_logs(void **state)
{
    struct rig *rig = *state;
    struct user user = {1, 0};
    put_machine(rig, true);
    host_script_file(rig->host, V2 FIRST "/cpu.stat", cpu_stat, &user);
    rig_open_powercap(rig);
    struct tenants tenants = {.meter = rig->meter};
    run(&tenants, 130);
    host_script_text(rig->host, "/var/log/pods/shop_web-0_1a2b-3c/nginx/0.log", "");
    host_script_text(rig->host, LINK, "");
    run(&tenants, 130);
    assert_string_equal(tenant(&tenants, FIRST)->name.pod, "");
    assert_string_equal(tenant(&tenants, FIRST)->name.container, "");
    tenants_free(&tenants);
}

static struct tenants open_pods(struct fake_nvml *fake)
{
    static struct user user = {0.1, 0};
    host_script_text(fake->host, V2 "/cgroup.controllers", "cpu\n");
    host_script_file(fake->host, V2 FIRST "/cpu.stat", cpu_stat, &user);
    host_script_file(fake->host, V2 PAUSE "/cpu.stat", cpu_stat, &user);
    host_script_text(fake->host, "/var/log/pods/shop_web-0_1a2b-3c/nginx/0.log", "");
    host_script_text(fake->host, LINK, "");
    host_script_text(fake->host, "/proc/1000/cgroup", "0::" FIRST "\n");
    host_script_text(fake->host, "/proc/1001/cgroup", "0::" FIRST "\n");
    host_script_link(fake->host, "/proc/self/ns/pid", "pid:[4026531836]");
    fake_nvml_open_devices(fake);
    return (struct tenants){.meter = fake->meter};
}

static const struct tenant_name *pod_after(struct tenants *tenants, struct fake_nvml *fake, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        fake_nvml_run(fake, 1);
        assert_int_equal(tenants_update(tenants), JOULE_OK);
    }
    return tenants_pod_on(tenants, "gpu:0");
}

/* Two processes use the board. First, both processes are in one container, then in two containers of one pod.
 * Then one of the processes is in no pod, or its cgroup is unknown. */
static void test_pod_that_has_a_board_alone(void **state)
{
    (void)state;
    struct fake_nvml fake;
    if (!fake_nvml_prepare(&fake, TEST_BINARY_DIR, "580", "processes=2"))
        skip();
    struct tenants tenants = open_pods(&fake);
    const struct tenant_name *pod = pod_after(&tenants, &fake, 6);
    assert_non_null(pod);
    assert_string_equal(pod->pod, "web-0");
    assert_string_equal(pod->namespace, "shop");
    assert_string_equal(pod->container, "nginx");
    assert_null(tenants_pod_on(&tenants, "gpu:1"));
    host_script_text(fake.host, "/proc/1001/cgroup", "0::" PAUSE "\n");
    pod = pod_after(&tenants, &fake, 3);
    assert_non_null(pod);
    assert_string_equal(pod->pod, "web-0");
    assert_string_equal(pod->container, "");
    host_script_text(fake.host, "/proc/1001/comm", "nvidia-cuda-mps\n");
    assert_null(pod_after(&tenants, &fake, 3));
    host_script_text(fake.host, "/proc/1001/comm", "python3\n");
    assert_non_null(pod_after(&tenants, &fake, 3));
    host_script_text(fake.host, "/proc/1001/cgroup", "0::/user.slice\n");
    assert_null(pod_after(&tenants, &fake, 3));
    host_script_text(fake.host, "/proc/1001/cgroup", NULL);
    assert_null(pod_after(&tenants, &fake, 3));
    tenants_free(&tenants);
    fake_nvml_close(&fake);
}

/* The list of processes is too long for the driver's limit and may be incomplete, so no pod is named. */
static void test_no_pod_on_a_crowded_board(void **state)
{
    (void)state;
    struct fake_nvml fake;
    if (!fake_nvml_prepare(&fake, TEST_BINARY_DIR, "580", "processes=100"))
        skip();
    struct tenants tenants = open_pods(&fake);
    for (int i = 0; i < 100; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/cgroup", 1000 + i);
        host_script_text(fake.host, path, "0::" FIRST "\n");
    }
    assert_null(pod_after(&tenants, &fake, 6));
    tenants_free(&tenants);
    fake_nvml_close(&fake);
}

/* Inside a container, processes have other numbers than those that the driver reports. */
static void test_pod_is_unknown_in_another_pid_namespace(void **state)
{
    (void)state;
    struct fake_nvml fake;
    if (!fake_nvml_prepare(&fake, TEST_BINARY_DIR, "580", "processes=1"))
        skip();
    struct tenants tenants = open_pods(&fake);
    host_script_link(fake.host, "/proc/self/ns/pid", "pid:[4026532201]");
    assert_null(pod_after(&tenants, &fake, 6));
    host_script_link(fake.host, "/proc/self/ns/pid", "pid:[4026531836]");
    assert_non_null(pod_after(&tenants, &fake, 3));
    tenants_free(&tenants);
    fake_nvml_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_name_their_tenants),
        cmocka_unit_test_setup_teardown(test_shares_by_cpu_time, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(test_new_job_is_counted_from_its_begin, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(test_ended_job_keeps_its_joules, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(test_first_version_of_cgroups, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_cpu_times_give_no_joules, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(test_without_cgroups_tenants_are_absent, rig_set_up, rig_tear_down),
        cmocka_unit_test(test_device_energy_goes_to_its_processes),
        cmocka_unit_test(test_slow_device_is_waited_for),
        cmocka_unit_test(test_names_of_logs),
        cmocka_unit_test_setup_teardown(test_pods_have_names, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(test_pods_without_logs, rig_set_up, rig_tear_down),
        cmocka_unit_test(test_pod_that_has_a_board_alone),
        cmocka_unit_test(test_no_pod_on_a_crowded_board),
        cmocka_unit_test(test_pod_is_unknown_in_another_pid_namespace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
