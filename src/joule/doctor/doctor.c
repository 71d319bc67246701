/* joule/doctor/doctor.c - derives findings from facts; see doctor.h.
 *
 * Note: a finding suggests a command only if the facts show that the command helps. For example, no command
 * loads a driver in a virtual machine, or grants a permission for a counter that does not exist.
 */
#include "joule/doctor/doctor.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/string.h"
#include "joule/doctor/doctor_exam.h"

#define SLOW_CLOCK_NS  150.0 /* 15 to 50 ns with the vDSO, 150 ns and more with a system call */
#define SET_CAPABILITY "sudo setcap cap_perfmon+ep \"$(command -v joule)\""

const char *finding_severity_name(enum finding_severity severity)
{
    static const char *const names[] = {"fact", "limit", "advice"};
    return names[severity];
}

/* Returns the formatted text, at most 639 bytes, in the diagnosis's arena; "" if out of memory. */
static const char *vformat(struct exam *exam, const char *format, va_list arguments)
{
    char text[640];
    vsnprintf(text, sizeof text, format, arguments);
    const char *copy = arena_copy(&exam->out->arena, text, sizeof text);
    return copy ? copy : "";
}

struct finding *exam_find(struct exam *exam, enum finding_severity severity, const char *id, const char *what,
                          ...)
{
    struct diagnosis *out = exam->out;
    struct finding *finding =
        &out->findings[out->count < DOCTOR_MAX_FINDINGS - 1 ? out->count++ : out->count];
    va_list arguments;
    va_start(arguments, what);
    *finding = (struct finding){severity, id, vformat(exam, what, arguments), "", NULL};
    va_end(arguments);
    return finding;
}

const char *exam_format(struct exam *exam, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *result = vformat(exam, format, arguments);
    va_end(arguments);
    return result;
}

/* --- environment ---------------------------------------------------------------------------------------- */

static void check_virtual_machine(struct exam *exam)
{
    const struct doctor_facts *facts = &exam->facts;
    if (!facts->is_virtual)
        return;
    bool named = facts->hypervisor[0] || facts->product[0];
    struct finding *finding =
        exam_find(exam, exam->package ? FINDING_FACT : FINDING_LIMIT, "virtual_machine",
                  "This is a virtual machine%s%s%s%s%s.", named ? " (" : "", facts->hypervisor,
                  facts->hypervisor[0] && facts->product[0] ? ", " : "", facts->product, named ? ")" : "");
    if (exam->package) {
        finding->why =
            "The host passes its energy counters on; these may cover more than this virtual machine.";
        return;
    }
    finding->why =
        "The energy counters of the processor belong to the host, so figures come from the model. To "
        "get measured figures, use a physical machine, or ask the host's operator to pass the counters "
        "on (QEMU 9.1 and later: -accel kvm,rapl=true,rapl-helper-socket=PATH).";
}

static void check_container(struct exam *exam)
{
    const struct doctor_facts *facts = &exam->facts;
    if (!facts->is_container)
        return;
    exam_find(exam, FINDING_FACT, "container", "This is a container (%s).", facts->container)->why =
        "Energy totals are those of the whole machine, not of this container alone.";
}

/* --- energy of the CPU ---------------------------------------------------------------------------------- */

static void check_cpu_energy(struct exam *exam)
{
    const struct channel *ch = exam->package;
    if (!ch)
        return;
    /* a recording may contain only one reading of a counter, which then does not move */
    bool is_seen = ch->moved || ch->mode != CHANNEL_COUNTER;
    exam_find(exam, FINDING_FACT, "cpu_energy", "The energy of the CPU %s %s by %s.",
              is_seen ? "is" : "would be", joule_class_name(ch->info.cls), ch->info.source);
}

/* Reports that no sensor measures the CPU. Runs after the CPU's other checks, and reports nothing if one of
 * them explains the missing figure. */
static void check_no_sensor(struct exam *exam)
{
    if (exam->package)
        return;
    if (exam->whole)
        exam_find(exam, FINDING_FACT, "whole_machine",
                  "The energy of the CPU together with other parts is %s by %s.",
                  joule_class_name(exam->whole->info.cls), exam->whole->info.source);
    for (size_t i = 0; i < exam->out->count; i++)
        if (exam->out->findings[i].severity != FINDING_FACT)
            return;
    if (exam->whole)
        return;
    struct finding *finding =
        exam_find(exam, FINDING_LIMIT, "no_sensor", "No sensor of the CPU's energy was found.");
    finding->why = "Figures come from the model.";
    if (exam->other)
        finding->why = exam_format(exam, "The CPU's figures come from the model; %s is %s, by %s.",
                                   exam->other->info.name, joule_class_name(exam->other->info.cls),
                                   exam->other->info.source);
}

/* Reports that the energy events exist, but perf_event_open needs a permission that this process lacks. */
static void check_perf_permission(struct exam *exam)
{
    const struct doctor_facts *facts = &exam->facts;
    if (exam->package || !facts->has_package_event || facts->has_perfmon == YES ||
        facts->perf_paranoid <= 0 || facts->perf_paranoid == INT_MAX)
        return;
    struct finding *finding =
        exam_find(exam, FINDING_ADVICE, "perf_denied",
                  "Permission denied for perf events of a whole CPU (perf_event_paranoid is %d).",
                  facts->perf_paranoid);
    finding->why = "The processor's energy counters need them. The capability permits them to joule alone; "
                   "sudo sysctl kernel.perf_event_paranoid=0 permits them to every program.";
    finding->command = SET_CAPABILITY;
    if (facts->is_container && facts->bound_perfmon == YES) {
        finding->what = "The container has CAP_PERFMON, but this user does not.";
        finding->why = "Only root gets the capabilities of a container. To grant this one to joule, run the "
                       "command in the image.";
        finding->command = "setcap cap_perfmon+ep \"$(command -v joule)\"";
    } else if (facts->is_container) {
        finding->why = "The processor's energy counters need them.";
        finding->command = "docker run --cap-add PERFMON ...";
    }
}

/* Reports that a security policy refuses perf_event_open: the process has all permissions, and the counter is
 * still refused. */
static void check_perf_policy(struct exam *exam)
{
    const struct doctor_facts *facts = &exam->facts;
    bool may = facts->has_perfmon == YES || facts->perf_paranoid <= 0;
    if (exam->package || !facts->has_package_event || !may || !exam->has_refused_package ||
        facts->can_read_zone == NO)
        return;
    struct finding *finding =
        exam_find(exam, FINDING_ADVICE, "perf_policy",
                  "A security policy forbids perf_event_open, which reads the energy counters.");
    finding->why = facts->is_container ? "Container runtimes filter this system call."
                                       : "The cause is a seccomp filter or a security module.";
    if (facts->is_container)
        finding->command = "docker run --cap-add PERFMON --security-opt seccomp=unconfined ...";
    else
        finding->severity = FINDING_LIMIT;
}

static void check_masked_zones(struct exam *exam)
{
    if (exam->package || !exam->facts.is_zone_masked)
        return;
    struct finding *finding =
        exam_find(exam, FINDING_ADVICE, "powercap_masked",
                  "The container runtime hides the energy counters in /sys/class/powercap.");
    finding->why = "Runtimes hide these counters because power readings can reveal secrets of other users "
                   "(CVE-2020-8694).";
    finding->command = exam->facts.has_package_event ? "docker run --cap-add PERFMON ..."
                                                     : "docker run --security-opt systempaths=unconfined ...";
}

static void check_unreadable_zones(struct exam *exam)
{
    const struct doctor_facts *facts = &exam->facts;
    if (exam->package || facts->can_read_zone != NO || facts->has_package_event)
        return; /* the permissions of the files do not matter, because perf events are read instead */
    struct finding *finding = exam_find(exam, FINDING_ADVICE, "powercap_denied",
                                        "Only root may read the energy counters in /sys/class/powercap.");
    finding->why =
        "This command lasts until the next boot. Any user can then read the counters, which on shared "
        "machines can reveal secrets of others (CVE-2020-8694).";
    finding->command = "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj "
                       "/sys/class/powercap/intel-rapl:*/intel-rapl:*/energy_uj";
}

static void check_missing_driver(struct exam *exam)
{
    const struct doctor_facts *facts = &exam->facts;
    bool has_counters = strcmp(facts->cpu.vendor, "intel") == 0 || cpu_is_amd(&facts->cpu);
    if (exam->package || facts->is_virtual || !has_counters || facts->has_power_pmu || facts->has_zones ||
        facts->is_zone_masked)
        return;
    struct finding *finding = exam_find(exam, FINDING_ADVICE, "no_rapl_driver",
                                        "No driver for the processor's energy counters is loaded.");
    finding->why = "One of these modules is enough; rapl needs the fewest permissions.";
    finding->command = "sudo modprobe rapl || sudo modprobe intel_rapl_msr || sudo modprobe msr";
}

static void check_filter(struct exam *exam)
{
    const struct doctor_facts *facts = &exam->facts;
    bool is_rapl = exam->package && strcmp(exam->package->info.measurement, "rapl") == 0;
    if (!is_rapl || facts->is_virtual || facts->is_filtered == NO ||
        (facts->is_filtered == UNKNOWN && !facts->has_sgx))
        return;
    const char *why = "The filter adds noise to hide secrets. It affects short measurements: let regions "
                      "last 0.5 s, or repeat them. Disabling SGX in the firmware removes the filter.";
    if (facts->is_filtered == YES) {
        exam_find(exam, FINDING_LIMIT, "energy_filter", "The processor filters its energy readings.")->why =
            why;
        return;
    }
    struct finding *finding = exam_find(
        exam, FINDING_ADVICE, "energy_filter",
        "The processor may filter its energy readings, because it has SGX; the setting cannot be read.");
    finding->why = exam_format(exam, "%s To check, run this; 1 means filtered.", why);
    finding->command = "sudo modprobe msr && sudo rdmsr -f 0:0 0xbc";
}

/* --- clock ---------------------------------------------------------------------------------------------- */

static bool is_fast_source(const char *name)
{
    static const char *const names[] = {
        "tsc",      "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter",
        "timebase", "tod",       "riscv_clocksource",           NULL};
    return string_is_one_of(name, names);
}

/* Returns a fast clock source that the kernel offers but does not use; NULL: none. */
static const char *better_source(struct exam *exam)
{
    char list[sizeof exam->facts.clocksources];
    char *rest = NULL;
    string_copy(list, sizeof list, exam->facts.clocksources);
    for (char *name = strtok_r(list, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        if (is_fast_source(name) && strcmp(name, exam->facts.clocksource) != 0)
            return exam_format(exam, "%s", name);
    return NULL;
}

static void check_clock(struct exam *exam)
{
    const char *source = exam->facts.clocksource;
    bool is_timed = !isnan(exam->trials.clock_read_ns);
    bool is_slow = is_timed ? exam->trials.clock_read_ns > SLOW_CLOCK_NS : *source && !is_fast_source(source);
    if (!is_timed && !*source)
        return;
    const char *cost = is_timed ? exam_format(exam, ", %.0f ns", exam->trials.clock_read_ns) : "";
    if (!is_slow) {
        exam_find(exam, FINDING_FACT, "clock", "Reading the clock takes no system call (%s%s).",
                  *source ? source : "unknown source", cost);
        return;
    }
    const char *better = better_source(exam);
    struct finding *finding =
        exam_find(exam, better ? FINDING_ADVICE : FINDING_LIMIT, "clock_slow",
                  "Reading the clock takes a system call (%s%s).", *source ? source : "unknown source", cost);
    finding->why = "Every region takes two timestamps, so regions shorter than about 10 us appear too long.";
    if (better)
        finding->command = exam_format(
            exam, "echo %s | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
            better);
}

/* --- examination ---------------------------------------------------------------------------------------- */

/* Updates the best class of a package, and the first sensor of each kind, from one channel. */
static void query_channel(struct exam *exam, const struct channel *ch)
{
    bool is_package = ch->info.scope == JOULE_SCOPE_PACKAGE;
    bool is_whole = ch->info.scope == JOULE_SCOPE_MODULE || ch->info.scope == JOULE_SCOPE_NODE ||
                    ch->info.scope == JOULE_SCOPE_PSYS || ch->info.scope == JOULE_SCOPE_BATTERY;
    if (ch->mode == CHANNEL_GAUGE)
        return;
    exam->has_refused_package |= is_package && ch->info.state == JOULE_DENIED;
    if (ch->info.state != JOULE_OK || !(ch->moved || exam->is_recorded))
        return;
    joule_class *best = &exam->out->cpu_class;
    if (is_package && (*best == JOULE_CLASS_NONE || ch->info.cls < *best))
        *best = ch->info.cls;
    const struct channel **first = is_package ? &exam->package : is_whole ? &exam->whole : &exam->other;
    if (!*first && ch->info.cls < JOULE_CLASS_MODELLED)
        *first = ch;
}

/* Reports each source that the user has configured by a variable, such as JOULE_PDU, but that cannot be
 * read. */
static void check_configured_sources(struct exam *exam)
{
    for (size_t i = 0; i < exam->meter->lane_count; i++) {
        struct lane *lane = exam->meter->lanes[i];
        pthread_mutex_lock(&lane->lock);
        for (size_t k = 0; k < lane->source_count && lane->opened; k++) {
            const struct source *source = lane->sources[k];
            const char *variable = source->ops->variable;
            const char *value = variable ? exam->host->ops->env(exam->host, variable) : NULL;
            if (value && *value && source->state != JOULE_OK)
                exam_find(exam, FINDING_LIMIT, "asked_for", "%s is set, but its source cannot be read (%s).",
                          variable, joule_status_name(source->state))
                    ->why = exam_format(exam, "%s", source->remedy);
        }
        pthread_mutex_unlock(&lane->lock);
    }
}

static void query_meter(struct exam *exam)
{
    for (size_t i = 0; i < meter_channel_count(exam->meter); i++) {
        const struct meter_channel *mc = &exam->meter->channels[i];
        pthread_mutex_lock(&mc->lane->lock);
        query_channel(exam, mc->channel);
        pthread_mutex_unlock(&mc->lane->lock);
    }
}

void doctor_examine(struct joule_host *host, joule_meter *meter, struct doctor_trials trials,
                    struct diagnosis *out_diagnosis)
{
    static void (*const checks[])(struct exam *) = {
        check_cpu_energy,
        check_helper,
        check_perf_permission,
        check_perf_policy,
        check_masked_zones,
        check_unreadable_zones,
        check_missing_driver,
        check_filter,
        check_clock,
        check_still_counters,
        check_virtual_machine,
        check_container,
        check_no_sensor,
        check_nvidia_driver,
        check_nvml,
        check_other_gpus,
        check_hidden,
        check_counting,
        check_calibration,
        check_configured_sources,
    };
    *out_diagnosis = (struct diagnosis){0};
    struct exam exam = {.host = host,
                        .meter = meter,
                        .trials = trials,
                        .is_recorded = strcmp(host->ops->name, "tree") == 0,
                        .out = out_diagnosis};
    doctor_query_facts(host, &exam.facts);
    query_meter(&exam);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        checks[i](&exam);
}

void diagnosis_free(struct diagnosis *diagnosis)
{
    arena_free(&diagnosis->arena);
}

/* Returns the duration of one clock reading in nanoseconds. */
static double time_clock(void)
{
    enum { BATCHES = 20, READINGS = 1000 };
    double best_ns = INFINITY; /* minimum of many batches, because some are interrupted */
    for (int batch = 0; batch < BATCHES; batch++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int i = 0; i < READINGS; i++)
            clock_gettime(CLOCK_MONOTONIC, &end);
        double ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
        best_ns = fmin(best_ns, ns / READINGS);
    }
    return best_ns;
}

struct doctor_trials doctor_run_trials(void)
{
    return (struct doctor_trials){.clock_read_ns = time_clock(), .run_method = attribute_try()};
}

struct doctor_trials doctor_skip_trials(void)
{
    return (struct doctor_trials){.clock_read_ns = NAN, .run_method = ATTRIBUTE_NONE};
}
