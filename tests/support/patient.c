/* tests/support/patient.c - see patient.h. */
#include "support/patient.h"

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

const char patient_cpu[] = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
                           "model name\t: Intel(R) Xeon(R) w9-3595X\nflags\t\t: fpu tsc\n\n";

int patient_set_up(void **state)
{
    static struct patient patient;
    patient = (struct patient){.host = host_script_open(), .run_method = ATTRIBUTE_CGROUP};
    struct joule_host *host = patient.host;
    host_script_set_time(host, 1000000000);
    host_script_text(host, "/proc/cpuinfo", patient_cpu);
    host_script_text(host, "/proc/self/status",
                     "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\n");
    host_script_text(host, "/proc/sys/kernel/perf_event_paranoid", "2\n");
    host_script_text(host, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    host_script_text(host, "/sys/devices/system/clocksource/clocksource0/available_clocksource",
                     "tsc hpet acpi_pm \n");
    *state = &patient;
    return 0;
}

static void dismiss(struct patient *patient)
{
    diagnosis_free(&patient->diagnosis);
    joule_close(patient->meter);
}

int patient_tear_down(void **state)
{
    struct patient *patient = *state;
    dismiss(patient);
    patient->host->ops->close(patient->host);
    return 0;
}

void patient_examine(struct patient *patient, double clock_read_ns)
{
    joule_error error;
    if (patient->meter)
        dismiss(patient);
    assert_ok(meter_open_on(patient->host, false, NULL, &patient->meter, &error), &error);
    for (int64_t end_ns = patient->meter->begin_ns + 2000000000,
                 time_ns = patient->meter->begin_ns + 100000000;
         time_ns < end_ns; time_ns += 100000000) {
        host_script_set_time(patient->host, time_ns);
        meter_tick(patient->meter);
    }
    struct doctor_trials trials = {.clock_read_ns = clock_read_ns, .run_method = patient->run_method};
    doctor_examine(patient->host, patient->meter, trials, &patient->diagnosis);
}

const struct finding *patient_find(const struct patient *patient, const char *id)
{
    for (size_t i = 0; i < patient->diagnosis.count; i++)
        if (strcmp(patient->diagnosis.findings[i].id, id) == 0)
            return &patient->diagnosis.findings[i];
    return NULL;
}

void patient_assert_absent(const struct patient *patient, const char *id)
{
    if (patient_find(patient, id))
        fail_msg("%s has no business here: %s", id, patient_find(patient, id)->what);
}

void patient_assert_finding(const struct patient *patient, const char *id, enum finding_severity severity,
                            const char *command_part)
{
    const struct finding *finding = patient_find(patient, id);
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

void patient_assert_nothing_to_do(const struct patient *patient)
{
    for (size_t i = 0; i < patient->diagnosis.count; i++)
        if (patient->diagnosis.findings[i].severity != FINDING_FACT)
            fail_msg("%s: %s", patient->diagnosis.findings[i].id, patient->diagnosis.findings[i].what);
}

static ssize_t sixty_watts(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    return snprintf(buffer, size, "%lld\n", (long long)(time_ns / 1000 * 60));
}

void patient_add_zone(struct joule_host *host, bool is_readable)
{
    host_script_text(host, ZONE "/name", "package-0\n");
    host_script_text(host, ZONE "/max_energy_range_uj", "262143328850\n");
    if (is_readable)
        host_script_file(host, ZONE "/energy_uj", sixty_watts, NULL);
    else
        host_script_error(host, ZONE "/energy_uj", EACCES);
}

void patient_make_virtual(struct joule_host *host)
{
    static const uint32_t kvm[4] = {0x40000001, 0x4b4d564b, 0x564b4d56, 0x0000004d};
    host_script_text(host, "/proc/cpuinfo",
                     "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
                     "flags\t\t: fpu tsc hypervisor\n\n");
    host_script_text(host, "/sys/class/dmi/id/product_name", "Google Compute Engine\n");
    host_script_cpuid(host, 0x40000000, 0, kvm);
}
