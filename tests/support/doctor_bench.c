/* tests/support/doctor_bench.c - see doctor_bench.h. */
#include "support/doctor_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "joule/api/open.h"
#include "support/check.h"

#define ZONE "/sys/class/powercap/intel-rapl:0"

const char doctor_bench_cpu[] = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
                                "model name\t: Intel(R) Xeon(R) w9-3595X\nflags\t\t: fpu tsc\n\n";

int doctor_bench_set_up(void **state)
{
    static struct doctor_bench bench;
    bench = (struct doctor_bench){.host = host_script_open(), .run_method = ATTRIBUTE_CGROUP};
    struct joule_host *host = bench.host;
    host_script_set_time(host, 1000000000);
    host_script_text(host, "/proc/cpuinfo", doctor_bench_cpu);
    host_script_text(host, "/proc/self/status",
                     "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\n");
    host_script_text(host, "/proc/sys/kernel/perf_event_paranoid", "2\n");
    host_script_text(host, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    host_script_text(host, "/sys/devices/system/clocksource/clocksource0/available_clocksource",
                     "tsc hpet acpi_pm \n");
    *state = &bench;
    return 0;
}

static void dismiss(struct doctor_bench *bench)
{
    diagnosis_free(&bench->diagnosis);
    joule_close(bench->meter);
}

int doctor_bench_tear_down(void **state)
{
    struct doctor_bench *bench = *state;
    dismiss(bench);
    bench->host->ops->close(bench->host);
    return 0;
}

void doctor_bench_examine(struct doctor_bench *bench, double clock_read_ns)
{
    joule_error error;
    if (bench->meter)
        dismiss(bench);
    assert_ok(meter_open_on(bench->host, false, NULL, &bench->meter, &error), &error);
    for (int64_t end_ns = bench->meter->begin_ns + 2000000000, time_ns = bench->meter->begin_ns + 100000000;
         time_ns < end_ns; time_ns += 100000000) {
        host_script_set_time(bench->host, time_ns);
        meter_tick(bench->meter);
    }
    struct doctor_trials trials = {.clock_read_ns = clock_read_ns, .run_method = bench->run_method};
    doctor_examine(bench->host, bench->meter, trials, &bench->diagnosis);
}

const struct finding *doctor_bench_find(const struct doctor_bench *bench, const char *id)
{
    for (size_t i = 0; i < bench->diagnosis.count; i++)
        if (strcmp(bench->diagnosis.findings[i].id, id) == 0)
            return &bench->diagnosis.findings[i];
    return NULL;
}

void doctor_bench_assert_absent(const struct doctor_bench *bench, const char *id)
{
    if (doctor_bench_find(bench, id))
        fail_msg("%s has no business here: %s", id, doctor_bench_find(bench, id)->what);
}

void doctor_bench_assert_finding(const struct doctor_bench *bench, const char *id,
                                 enum finding_severity severity, const char *command_part)
{
    const struct finding *finding = doctor_bench_find(bench, id);
    if (!finding)
        fail_msg("no finding %s", id);
    assert_string_equal(finding_severity_name(finding->severity), finding_severity_name(severity));
    assert_true(finding->what[0] != '\0');
    if (!command_part)
        assert_null(finding->command);
    else if (!finding->command || !strstr(finding->command, command_part))
        fail_msg("%s: no \"%s\" in the command \"%s\"", id, command_part,
                 finding->command ? finding->command : "(none)");
}

void doctor_bench_assert_nothing_to_do(const struct doctor_bench *bench)
{
    for (size_t i = 0; i < bench->diagnosis.count; i++)
        if (bench->diagnosis.findings[i].severity != FINDING_FACT)
            fail_msg("%s: %s", bench->diagnosis.findings[i].id, bench->diagnosis.findings[i].what);
}

static ssize_t sixty_watts(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    return snprintf(buffer, size, "%lld\n", (long long)(time_ns / 1000 * 60));
}

void doctor_bench_add_zone(struct joule_host *host, bool is_readable)
{
    host_script_text(host, ZONE "/name", "package-0\n");
    host_script_text(host, ZONE "/max_energy_range_uj", "262143328850\n");
    if (is_readable)
        host_script_file(host, ZONE "/energy_uj", sixty_watts, NULL);
    else
        host_script_error(host, ZONE "/energy_uj", EACCES);
}

void doctor_bench_make_virtual(struct joule_host *host)
{
    static const uint32_t kvm[4] = {0x40000001, 0x4b4d564b, 0x564b4d56, 0x0000004d};
    host_script_text(host, "/proc/cpuinfo",
                     "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
                     "flags\t\t: fpu tsc hypervisor\n\n");
    host_script_text(host, "/sys/class/dmi/id/product_name", "Google Compute Engine\n");
    host_script_cpuid(host, 0x40000000, 0, kvm);
}
