/* Tests the modelled source on scripted machines: CPU time is counted and assigned to packages, and files
 * about CPU time may be missing.
 *
 * Note: expected joules are computed by hand from seconds and the seed table's watts. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/string.h"
#include "joule/cost/cost.h"
#include "joule/api/open.h"
#include "joule/sources/cpu/cpu_map.h"
#include "support/check.h"
#include "support/machine.h"

#define S INT64_C(1000000000)

extern const struct source_ops source_estimated;

static const char xeon[] = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 63\n"
                           "model name\t: Intel(R) Xeon(R) CPU E5-2620 v3 @ 2.40GHz\nstepping\t: 2\n"
                           "flags\t\t: fpu vme tsc lm\n\nprocessor\t: 1\n";
static const char guest[] = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\n"
                            "model name\t: Intel(R) Xeon(R) Processor\nflags\t\t: fpu tsc hypervisor lm\n";

/* The machine has two packages of two cores with two threads each. CPUs n and n+4 share a core. CPUs 0 and 1
 * are in package 0, CPUs 2 and 3 in package 1. */
#define CPUS 8
struct machine {
    struct joule_host *host;
    joule_meter *meter;
    int64_t opened_ns;
    double share[CPUS]; /* busy fraction since the meter was opened */
    bool is_offline[CPUS];
    const char *garbage; /* replaces the whole text of /proc/stat */
    unsigned reads;      /* number of readings of /proc/stat */
    int64_t cost_ns;     /* duration of one reading of /proc/stat */
};

static ssize_t write_stat(void *context, int64_t time_ns, char *buffer, size_t size)
{
    struct machine *m = context;
    m->reads++;
    struct text text;
    text_init(&text, buffer, size);
    if (m->cost_ns)
        host_script_set_time(m->host, time_ns + m->cost_ns);
    if (m->garbage) {
        text_add(&text, m->garbage);
        return (ssize_t)(text.length < size ? text.length : size - 1);
    }
    text_add(&text, "cpu  1 2 3 4 5 6 7 8 0 0\n");
    for (int i = 0; i < CPUS; i++) {
        double busy_s = 1000 + m->share[i] * (double)(time_ns - m->opened_ns) * 1e-9;
        if (m->opened_ns && !m->is_offline[i])
            text_printf(&text, "cpu%d %lu 0 %lu 77777 12 0 0 5 0 0\n", i, (unsigned long)(busy_s * 50),
                        (unsigned long)(busy_s * 100) - (unsigned long)(busy_s * 50));
    }
    text_add(&text, "intr 1 2 3\nctxt 12\n");
    return (ssize_t)(text.length < size ? text.length : size - 1);
}

static void start(struct machine *m, const char *cpuinfo)
{
    m->host = host_script_open();
    assert_non_null(m->host);
    host_script_set_time(m->host, 100 * S);
    m->opened_ns = 100 * S;
    if (cpuinfo)
        assert_true(host_script_text(m->host, "/proc/cpuinfo", cpuinfo));
    assert_true(host_script_file(m->host, "/proc/stat", write_stat, m));
}

static void add_topology(struct machine *m)
{
    assert_true(host_script_text(m->host, "/sys/devices/system/cpu/online", "0-7\n"));
    for (int i = 0; i < CPUS; i++) {
        char path[128], text[32];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", i);
        assert_true(host_script_text(m->host, path, i % 4 < 2 ? "0\n" : "1\n"));
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", i);
        snprintf(text, sizeof text, "%d,%d\n", i % 4, i % 4 + 4);
        assert_true(host_script_text(m->host, path, text));
    }
}

static void set_frequency(struct machine *m, int cpu, const char *khz)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu);
    assert_true(host_script_text(m->host, path, khz));
}

static void open_meter(struct machine *m)
{
    joule_error error = {0};
    joule_options options = {.struct_size = sizeof options, .sources = "estimated"};
    assert_ok(meter_open_on(m->host, false, &options, &m->meter, &error), &error);
}

static void stop(struct machine *m)
{
    joule_close(m->meter);
    m->host->ops->close(m->host);
}

/* Reads every `step_ns` until `seconds` after the opening. */
static void run_until(struct machine *m, double seconds, int64_t step_ns)
{
    int64_t end_ns = m->opened_ns + (int64_t)(seconds * 1e9);
    for (int64_t now = meter_now_ns(m->meter); now < end_ns;) {
        now = now + step_ns < end_ns ? now + step_ns : end_ns;
        host_script_set_time(m->host, now);
        meter_tick(m->meter);
    }
}

static double energy(struct machine *m, int32_t domain)
{
    joule_quantity q = {0};
    joule_status status = joule_energy_joules(m->meter, domain, &q);
    if (status != JOULE_OK)
        return NAN;
    assert_int_equal(q.cls, JOULE_CLASS_MODELLED);
    assert_true(q.value == 0 || (q.low < q.value && q.value < q.high));
    return q.value;
}

static struct cost_table table_of(struct machine *m)
{
    struct cost_cpu cpu;
    struct cost_table table;
    assert_true(cpu_map_identify(m->host, &cpu));
    cost_cpu_table(&cpu, &table);
    return table;
}

#define CLOSE(a, b, relative)                                                                                \
    do {                                                                                                     \
        double a_ = (a), b_ = (b);                                                                           \
        if (!(fabs(a_ - b_) <= (relative)*fabs(b_)))                                                         \
            fail_msg("%s is %.9g, not %.9g", #a, a_, b_);                                                    \
    } while (0)

static void test_describes_each_package(void **state)
{
    (void)state;
    struct machine m = {0};
    start(&m, xeon);
    add_topology(&m);
    open_meter(&m);
    assert_int_equal(joule_domain_count(m.meter), 2);
    joule_domain d = {.struct_size = sizeof d};
    assert_int_equal(joule_domain_get(m.meter, 1, &d), JOULE_OK);
    assert_string_equal(d.name, "package-1");
    assert_string_equal(d.device, "cpu:1");
    assert_string_equal(d.source, "estimated");
    assert_string_equal(d.measurement, "estimated");
    assert_string_equal(d.vendor, "intel");
    assert_string_equal(d.model, "Xeon E5-2620 v3");
    assert_string_equal(d.label, "cpu-seed-1/intel-haswell-server");
    assert_int_equal(d.tier, 1);
    assert_int_equal(d.scope, JOULE_SCOPE_PACKAGE);
    assert_int_equal(d.cls, JOULE_CLASS_MODELLED);
    stop(&m);
}

static void test_an_idle_machine_needs_its_idle_watts(void **state)
{
    (void)state;
    struct machine m = {0};
    start(&m, xeon);
    add_topology(&m);
    open_meter(&m);
    run_until(&m, 10, S / 10);
    double idle = table_of(&m).joules[COST_PACKAGE_SECONDS];
    CLOSE(energy(&m, 0), 10 * idle, 0.002);
    CLOSE(energy(&m, 1), 10 * idle, 0.002);
    CLOSE(energy(&m, JOULE_TOTAL), 20 * idle, 0.002);
    stop(&m);
}

static void test_busy_cores_threads_and_packages(void **state)
{
    (void)state;
    struct machine m = {.share = {[0] = 1, [1] = 0.5, [5] = 0.5, [2] = 1, [6] = 1}};
    start(&m, xeon);
    add_topology(&m);
    open_meter(&m);
    run_until(&m, 20, S / 10);
    struct cost_table t = table_of(&m);
    double idle = t.joules[COST_PACKAGE_SECONDS], shared = t.joules[COST_SHARED_SECONDS];
    double core = t.joules[COST_CORE_SECONDS] + t.joules[COST_CUBIC_SECONDS];
    /* CPU 0 is alone on its core. CPUs 1 and 5 share a core; each is busy half of the time, independently of
     * the other. */
    CLOSE(energy(&m, 0), 20 * (idle + 1.75 * core + 0.25 * shared), 0.005);
    CLOSE(energy(&m, 1), 20 * (idle + core + shared), 0.005); /* CPUs 2 and 6 share a core all the time */
    stop(&m);
}

static void test_power_follows_the_frequency(void **state)
{
    (void)state;
    struct machine m = {.share = {1, 0, 1, 0}};
    start(&m, xeon);
    add_topology(&m);
    assert_true(
        host_script_text(m.host, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3200000\n"));
    set_frequency(&m, 0, "1385641\n");  /* half of the reference frequency, sqrt(2.4 GHz x 3.2 GHz) */
    set_frequency(&m, 2, "99000000\n"); /* an impossible value is limited to twice the reference frequency */
    open_meter(&m);
    run_until(&m, 50, S / 10);
    struct cost_table t = table_of(&m);
    double fixed = t.joules[COST_PACKAGE_SECONDS] + t.joules[COST_CORE_SECONDS],
           cubic = t.joules[COST_CUBIC_SECONDS];
    CLOSE(energy(&m, 0), 50 * (fixed + cubic / 8), 0.005);
    CLOSE(energy(&m, 1), 50 * (fixed + cubic * 8), 0.005);
    stop(&m);
}

/* The kernel reports CPU time in ticks of 10 ms. Frequent readings lose no CPU time, and no reading shows
 * more energy than the busy cores could use. */
static void test_reading_often_changes_nothing(void **state)
{
    (void)state;
    double joules[3];
    static const int64_t steps[] = {S / 1000, S / 77, S};
    for (int i = 0; i < 3; i++) {
        struct machine m = {.share = {0.3, 0.9, 1, 0.05}};
        start(&m, xeon);
        add_topology(&m);
        open_meter(&m);
        struct cost_table t = table_of(&m);
        double last = 0, watts_limit = 2 * t.joules[COST_PACKAGE_SECONDS] +
                                       4 * (t.joules[COST_CORE_SECONDS] + t.joules[COST_CUBIC_SECONDS]);
        for (int k = 1; k <= 20; k++) {
            run_until(&m, 0.5 * k, steps[i] < S / 2 ? steps[i] : S / 2);
            double now = energy(&m, JOULE_TOTAL);
            assert_true(now > last && now - last <= 0.53 * watts_limit);
            last = now;
        }
        joules[i] = last;
        stop(&m);
    }
    CLOSE(joules[1], joules[0], 0.01);
    CLOSE(joules[2], joules[0], 0.01);
}

/* If reading /proc/stat is slow, the source reads it less often, and still counts all of the work. */
static void test_expensive_readings_are_rarer(void **state)
{
    (void)state;
    struct machine m = {.share = {0.5, 1}, .cost_ns = S / 1000};
    start(&m, xeon);
    add_topology(&m);
    open_meter(&m);
    run_until(&m, 60, S / 20);
    struct cost_table t = table_of(&m);
    double core = t.joules[COST_CORE_SECONDS] + t.joules[COST_CUBIC_SECONDS];
    /* the last half second has not been read yet */
    CLOSE(energy(&m, 0), 60 * (t.joules[COST_PACKAGE_SECONDS] + 1.5 * core), 0.02);
    assert_true(m.reads < 60 * 3);
    stop(&m);
}

static void test_short_runs_move(void **state)
{
    (void)state;
    struct machine m = {.share = {1}};
    start(&m, xeon);
    add_topology(&m);
    open_meter(&m);
    run_until(&m, 1, S / 10);
    int64_t begin = meter_now_ns(m.meter);
    run_until(&m, 1.05, S / 200);
    struct window window = meter_window(m.meter, JOULE_TOTAL, begin - 20000000, begin + 20000000);
    double idle = 2 * table_of(&m).joules[COST_PACKAGE_SECONDS];
    assert_true(window.joules.value > 0.04 * idle);
    stop(&m);
}

static void test_a_cpu_goes_offline_and_comes_back(void **state)
{
    (void)state;
    struct machine m = {.share = {[0] = 1, [1] = 1}};
    start(&m, xeon);
    add_topology(&m);
    open_meter(&m);
    run_until(&m, 5, S / 10);
    m.is_offline[1] = true;
    run_until(&m, 10, S / 10);
    struct cost_table t = table_of(&m);
    double core = t.joules[COST_CORE_SECONDS] + t.joules[COST_CUBIC_SECONDS];
    CLOSE(energy(&m, 0), 10 * t.joules[COST_PACKAGE_SECONDS] + 15 * core, 0.005);
    /* While the CPU was offline its work was not observed. When it comes back, that work must not be
     * counted. */
    m.is_offline[1] = false;
    run_until(&m, 15, S / 10);
    CLOSE(energy(&m, 0), 15 * t.joules[COST_PACKAGE_SECONDS] + 25 * core, 0.01);
    stop(&m);
}

static void test_guest_has_one_package(void **state)
{
    (void)state;
    struct machine m = {.share = {1, 1}};
    start(&m, guest);
    add_topology(&m); /* a virtual machine shows sockets that are not real */
    open_meter(&m);
    assert_int_equal(joule_domain_count(m.meter), 1);
    joule_domain d = {.struct_size = sizeof d};
    joule_domain_get(m.meter, 0, &d);
    assert_string_equal(d.label, "guest's part of cpu-seed-1/intel-emerald-rapids/virtual");
    run_until(&m, 10, S / 10);
    struct cost_table t = table_of(&m);
    double core = t.joules[COST_CORE_SECONDS] + t.joules[COST_CUBIC_SECONDS];
    CLOSE(energy(&m, 0), 10 * (t.joules[COST_PACKAGE_SECONDS] + 2 * core), 0.005);
    stop(&m);
}

static void test_a_bare_container(void **state)
{
    (void)state;
    struct machine m = {.share = {1}};
    start(&m, NULL); /* the machine has /proc/stat and no other file */
    open_meter(&m);
    struct cost_cpu cpu;
    assert_true(cpu_map_identify(m.host, &cpu));
    assert_int_equal(cpu.threads, CPUS);
    assert_int_equal(cpu.cores, CPUS);
    assert_int_equal(cpu.packages, 1);
    run_until(&m, 10, S / 10);
    struct cost_table t = table_of(&m);
    assert_string_equal(t.id, "cpu-seed-1/generic");
    double core = t.joules[COST_CORE_SECONDS] + t.joules[COST_CUBIC_SECONDS];
    CLOSE(energy(&m, 0), 10 * (t.joules[COST_PACKAGE_SECONDS] + core), 0.005);
    stop(&m);
}

static const struct host_ops *plain_ops;
static int open_handles;

static int counted_open(struct joule_host *host, const char *path)
{
    int handle = plain_ops->open_file(host, path);
    open_handles += handle >= 0;
    return handle;
}

static void counted_close(struct joule_host *host, int handle)
{
    plain_ops->close_handle(host, handle);
    open_handles--;
}

/* Tries to open the source. If that fails, no handle may be open afterwards. */
static joule_status try_open(struct joule_host *host, bool *out_has_path)
{
    const struct cpu_info unknown = {0};
    struct source source = {.ops = &source_estimated, .host = host, .cpu = &unknown};
    struct host_ops counting = *host->ops;
    plain_ops = host->ops;
    counting.open_file = counted_open;
    counting.close_handle = counted_close;
    host->ops = &counting;
    joule_status status = source_estimated.open(&source);
    host->ops = plain_ops;
    assert_int_equal(open_handles, 0);
    *out_has_path = strstr(source.remedy, "/proc") != NULL;
    arena_free(&source.arena);
    return status;
}

static void test_without_proc_stat(void **state)
{
    (void)state;
    static const char *const garbage[] = {"",
                                          "cpu",
                                          "cpu0",
                                          "cpu0 1 2\n",
                                          "cpu0 1 2 3 4 5 6",
                                          "cpu0 1 2 3 4 5 6 -7\n",
                                          "cpu99999999999999999999 1 2 3 4 5 6 7\n",
                                          "\xff\xff\n",
                                          "cpu1a 1 2 3 4 5 6 7\n"};
    struct joule_host *host = host_script_open();
    bool has_path;
    assert_int_equal(try_open(host, &has_path), JOULE_ABSENT);
    assert_true(has_path);
    assert_true(host_script_error(host, "/proc/stat", EACCES));
    assert_int_equal(try_open(host, &has_path), JOULE_DENIED);
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        assert_true(host_script_text(host, "/proc/stat", garbage[i]));
        assert_int_equal(try_open(host, &has_path), JOULE_FAILED);
    }
    host->ops->close(host);
}

static void test_failing_read_is_reported_and_recovers(void **state)
{
    (void)state;
    struct machine m = {.share = {1}};
    start(&m, xeon);
    add_topology(&m);
    open_meter(&m);
    run_until(&m, 1, S / 10);
    m.garbage = "nothing of use\n";
    run_until(&m, 2, S / 10);
    joule_domain d = {.struct_size = sizeof d};
    joule_domain_get(m.meter, 0, &d);
    assert_int_equal(d.state, JOULE_FAILED);
    m.garbage = NULL;
    run_until(&m, 3, S / 10);
    joule_domain_get(m.meter, 0, &d);
    assert_int_equal(d.state, JOULE_OK);
    stop(&m);
}

/* The dies of the package have their own meters. The model uses the zones of these meters, so that its energy
 * is never added to RAPL's. */
static void test_dies_with_their_own_meters_have_their_own_zones(void **state)
{
    (void)state;
    struct machine m = {.share = {0}};
    start(&m, xeon);
    add_topology(&m);
    for (int i = 0; i < CPUS; i++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/die_id", i);
        assert_true(host_script_text(m.host, path, i % 4 == 1 ? "1\n" : "0\n"));
    }
    open_meter(&m);
    assert_int_equal(joule_domain_count(m.meter), 3);
    assert_string_equal(machine_channel(m.meter, "package-0-die-0")->zone, "cpu0.0/package");
    assert_string_equal(machine_channel(m.meter, "package-0-die-1")->zone, "cpu0.1/package");
    assert_string_equal(machine_channel(m.meter, "package-1")->zone, "cpu1/package");
    stop(&m);
}

static void test_vendors_are_recognised(void **state)
{
    (void)state;
    static const struct {
        const char *cpuinfo, *vendor;
        unsigned family, model;
        bool is_virtual;
    } cases[] = {
        {"vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9654\nflags\t: "
         "fpu\n",
         "amd", 25, 17, false},
        {"processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "arm", 0, 0xd0c, false},
        {"processor\t: 0\nCPU implementer\t: 0xc0\nCPU part\t: 0xac4\n", "arm", 0, 0, false},
        {"vendor_id\t: HygonGenuine\ncpu family\t: 24\nflags : a hypervisor b\n", "hygon", 24, 0, true},
        /* A guest may see an older CPU model than the host has. The flag amx_tile then shows that the CPU is
         * newer. Outside of guests the model number is right. It is also right if CPUs of this model have
         * tiles. */
        {"vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 167\nflags\t: fpu hypervisor amx_tile\n",
         "intel", 6, 143, true},
        {"vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\nflags\t: fpu hypervisor amx_tile\n",
         "intel", 6, 207, true},
        {"vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 167\nflags\t: fpu hypervisor\n", "intel", 6,
         167, true},
        {"vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 167\nflags\t: fpu amx_tile\n", "intel", 6,
         167, false},
        {"", "", 0, 0, false},
        {":::\n::\n\n: \nvendor_id:", "", 0, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct joule_host *host = host_script_open();
        host_script_text(host, "/proc/cpuinfo", cases[i].cpuinfo);
        struct cost_cpu cpu;
        assert_true(cpu_map_identify(host, &cpu));
        assert_string_equal(cpu.vendor, cases[i].vendor);
        assert_int_equal(cpu.family, cases[i].family);
        assert_int_equal(cpu.model, cases[i].model);
        assert_int_equal(cpu.is_virtual, cases[i].is_virtual);
        host->ops->close(host);
    }
}

static void test_arm_guests_are_recognised(void **state)
{
    (void)state;
    static const struct {
        const char *vendor, *product;
        bool is_virtual;
    } cases[] = {{"Amazon EC2\n", "c7g.large\n", true},
                 {"Amazon EC2\n", "c7g.metal\n", false},
                 {"QEMU\n", "KVM Virtual Machine\n", true},
                 {"OpenStack Foundation\n", "OpenStack Nova\n", true},
                 {"Google\n", "Google Compute Engine\n", true},
                 {"NVIDIA\n", "Grace CPU\n", false},
                 {"Microsoft Corporation\n", "Virtual Machine\n", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct joule_host *host = host_script_open();
        host_script_text(host, "/proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
        host_script_text(host, "/sys/class/dmi/id/sys_vendor", cases[i].vendor);
        host_script_text(host, "/sys/class/dmi/id/product_name", cases[i].product);
        struct cost_cpu cpu;
        assert_true(cpu_map_identify(host, &cpu));
        assert_int_equal(cpu.is_virtual, cases[i].is_virtual);
        host->ops->close(host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_describes_each_package),
        cmocka_unit_test(test_an_idle_machine_needs_its_idle_watts),
        cmocka_unit_test(test_busy_cores_threads_and_packages),
        cmocka_unit_test(test_power_follows_the_frequency),
        cmocka_unit_test(test_reading_often_changes_nothing),
        cmocka_unit_test(test_expensive_readings_are_rarer),
        cmocka_unit_test(test_short_runs_move),
        cmocka_unit_test(test_a_cpu_goes_offline_and_comes_back),
        cmocka_unit_test(test_guest_has_one_package),
        cmocka_unit_test(test_a_bare_container),
        cmocka_unit_test(test_without_proc_stat),
        cmocka_unit_test(test_failing_read_is_reported_and_recovers),
        cmocka_unit_test(test_dies_with_their_own_meters_have_their_own_zones),
        cmocka_unit_test(test_vendors_are_recognised),
        cmocka_unit_test(test_arm_guests_are_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
