/* tools/joule/measurement.c - see measurement.h.
 *
 * Note: without sensors the machine's total is a model of everything that runs, but the command's CPU time is
 * exact. The report and the budget then use the modelled energy of the command.
 */
#include "measurement.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"
#include "joule/api/open.h"
#include "joule/meter/cover_choice.h"
#include "joule/meter/last_reading.h"
#include "joule/meter/meter_lanes.h"
#include "joule/session/session.h"
#include "joule/sources/cpu/cpu_map.h"
#include "joule/sources/cpu/estimated.h"

#define READY_WITHIN_NS  (250 * 1000000LL)
#define SETTLE_WITHIN_NS (250 * 1000000LL)
#define SETTLE_SLEEP_NS  (1 * 1000000LL)
#define SLOW_SLEEP_NS    (10 * 1000000LL)
#define FULL_COVERAGE    0.995 /* coverage from which a value counts as complete */
#define SESSION_VARIABLE "JOULE_SESSION"

static double run_seconds(const struct measured_run *run)
{
    return clock_seconds(run->end_ns - run->begin_ns);
}

static bool is_set(const char *variable)
{
    const char *value = secure_getenv(variable);
    return value && *value;
}

/* Returns true if NVIDIA hardware may exist. NVIDIA's library and program need a device file. The function
 * returns true without a device file for a recorded machine, or if the user names another library or
 * program. */
static bool may_have_nvidia(const char *root)
{
    return root || is_set("JOULE_NVML_LIB") || is_set("JOULE_NVIDIA_SMI") ||
           access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

/* Returns the sources to open; NULL: all. Sources of gauges are opened only if they are read, because no
 * report of a run shows gauges. Without NVIDIA hardware, NVIDIA's sources are excluded, because each of them
 * would need a thread. */
static const char *default_sources(const char *root, bool reads_gauges)
{
    bool has_nvidia = may_have_nvidia(root);
    if (reads_gauges)
        return has_nvidia ? NULL : "-nvml,-nvidia_smi";
    return has_nvidia ? "-thermal" : "-thermal,-nvml,-nvidia_smi";
}

/* --- open and start ------------------------------------------------------------------------------------- */

/* Creates the session shared with the command. Its memory is a file, whose size RLIMIT_FSIZE limits.
 * Therefore the limit is raised during the creation and restored for the command. Without a session the
 * command's libjoule measures by itself. */
static void create_session(struct measurement *m)
{
    char path[512];
    struct rlimit before = {0};
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    bool is_known = getrlimit(RLIMIT_FSIZE, &before) == 0;
    const struct rlimit hard = {before.rlim_max, before.rlim_max};
    bool is_raised = is_known && (setrlimit(RLIMIT_FSIZE, &none) == 0 || setrlimit(RLIMIT_FSIZE, &hard) == 0);
    m->has_session = session_create_shared(path, sizeof path, &m->session_error) == JOULE_OK;
    if (m->has_session)
        setenv(SESSION_VARIABLE, path, 1);
    if (is_raised)
        setrlimit(RLIMIT_FSIZE, &before);
}

joule_status measurement_open(struct measurement *m, const struct measurement_options *options,
                              size_t max_runs, joule_error *out_error)
{
    /* The meter's threads rarely allocate, so an arena for each would cost more than lock contention. */
    mallopt(M_ARENA_MAX, 1);
    *m = (struct measurement){.is_recorded = options->is_recorded,
                              .idle = options->idle,
                              .seeks_idle = options->uses_idle && isnan(options->idle.total_watts.value),
                              .budget_joules = options->budget_joules,
                              .overshoot_bound_joules = NAN,
                              .noticed_joules = NAN};
    m->runs = calloc(max_runs, sizeof *m->runs);
    if (!m->runs)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot measure %zu runs: out of memory", max_runs);
    create_session(m);
    joule_options chosen = {
        .struct_size = sizeof chosen,
        .flags = JOULE_OPEN_NO_SESSION | (options->reads_state ? JOULE_OPEN_DEVICES : 0),
        .period_s = options->period_s,
        .wait_s = -1,
        .sources = options->sources
                       ? options->sources
                       : default_sources(options->root, options->is_recorded || options->reads_state),
        .root = options->root};
    joule_status status = meter_open(&chosen, false, &m->meter, out_error);
    if (status != JOULE_OK) {
        measurement_leave();
        free(m->runs);
        return status;
    }
    m->period_s = m->meter->period_s;
    m->open_ns = meter_now_ns(m->meter);
    return JOULE_OK;
}

static double process_cpu_s(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

void measurement_wait_ready(struct measurement *m)
{
    meter_lanes_wait(m->meter, m->open_ns + READY_WITHIN_NS);
    joule_budget_options budget = {
        .struct_size = sizeof budget, .domain = JOULE_TOTAL, .max_joules = m->budget_joules};
    if (m->budget_joules > 0 && !m->budget)
        joule_budget_begin(m->meter, &budget, &m->budget, NULL);
    if (m->run_count == 0)
        m->begin_cpu_s = process_cpu_s();
}

void measurement_started(struct measurement *m)
{
    if (m->run_count == 0)
        session_remove_leftovers();
}

int64_t measurement_watch_ns(const struct measurement *m)
{
    return m->watches ? INT64_MAX : m->open_ns + (int64_t)(m->period_s / 2 * 1e9);
}

void measurement_watch(struct measurement *m)
{
    m->watches = true;
    meter_watch(m->meter); /* if no thread can be started, only the reading at the end is available */
}

void measurement_leave(void)
{
    session_remove_shared();
}

/* --- energy --------------------------------------------------------------------------------------------- */

static const struct channel *channel_of(const struct measurement *m, const struct cover *cover, size_t i)
{
    return m->meter->channels[cover->ids[i]].channel;
}

static bool is_modelled(const struct measurement *m, const struct cover *cover)
{
    for (size_t i = 0; i < cover->count; i++)
        if (channel_of(m, cover, i)->info.cls < JOULE_CLASS_MODELLED)
            return false;
    return true;
}

/* Returns true for a GPU, or for a part of a GPU that is in the cover instead of the GPU. */
static bool is_of_gpu(const struct channel *ch)
{
    return ch->info.scope == JOULE_SCOPE_GPU ||
           (!cover_can_count(ch) && string_starts(ch->info.device, "gpu:"));
}

static bool has_gpu(const struct measurement *m, const struct cover *cover)
{
    for (size_t i = 0; i < cover->count; i++)
        if (is_of_gpu(channel_of(m, cover, i)))
            return true;
    return false;
}

/* Finds the description of this machine's CPUs; reuses that of the source `estimated` if it is open. */
static void find_cpu(struct measurement *m)
{
    const struct lane *prompt = m->meter->lanes[0];
    const struct cost_cpu *cpu = NULL;
    for (size_t i = 0; i < prompt->source_count && !cpu && prompt->host == host_real(); i++)
        cpu = estimated_cpu(prompt->sources[i]);
    if (cpu)
        m->cpu = *cpu;
    m->has_cpu = cpu || cpu_map_identify(host_real(), &m->cpu);
}

/* Returns the modelled energy of the command's own CPU time, independent of other work on the machine. */
static struct estimate modelled_energy(struct measurement *m, const struct attribution *share, double wall_s)
{
    if (!m->has_cpu)
        find_cpu(m);
    if (!m->has_cpu || isnan(share->command_cpu_s))
        return estimate_unknown();
    return cost_cpu_energy(&m->cpu, share->command_cpu_s, wall_s);
}

/* Returns the command's part of a run's energy. If the total contains a GPU, only the CPUs' part is
 * attributed, because CPU time does not measure the use of GPUs. */
static struct estimate command_joules(struct measurement *m, const struct measured_run *run,
                                      const struct cover *cover, const struct estimate *total)
{
    double wall_s = run_seconds(run);
    if (is_modelled(m, cover))
        return modelled_energy(m, &run->share, wall_s);
    struct estimate part = *total, idle_watts = m->idle.total_watts;
    if (has_gpu(m, cover)) {
        part = meter_window(m->meter, JOULE_CPU, run->begin_ns, run->end_ns).joules;
        idle_watts = m->idle.cpu_watts;
    }
    struct estimate idle = estimate_scale(idle_watts, wall_s);
    return attribute_energy(&run->share, &part, &idle);
}

static void find_idle(struct measurement *m, const struct cover *cover)
{
    char name[IDLE_COVER_SIZE];
    meter_cover_name(m->meter, cover, name, sizeof name);
    if (m->seeks_idle)
        m->idle = idle_load(name);
    else if (strcmp(m->idle.cover, name) != 0)
        m->idle = idle_unknown(); /* measured for other parts of the machine */
    if (m->idle.total_watts.cls != cover->cls)
        m->idle = idle_unknown(); /* a difference between a model and a measurement has no meaning */
    m->seeks_idle = false;
}

/* Computes the energy of runs in order, up to the first run whose window is not final; `all`: of every run.
 * Called after each run, because the curves of long measurements lose detail. */
static void close_runs(struct measurement *m, bool all)
{
    for (; m->closed_count < m->run_count; m->closed_count++) {
        struct measured_run *run = &m->runs[m->closed_count];
        struct cover cover;
        meter_cover(m->meter, JOULE_TOTAL, run->begin_ns, run->end_ns, &cover);
        struct window window = meter_cover_window(m->meter, &cover, run->begin_ns, run->end_ns);
        if (!window.is_final && !all)
            break;
        find_idle(m, &cover);
        run->total = window.joules;
        run->coverage = window.length_s > 0 ? window.covered_s / window.length_s : NAN;
        run->is_modelled = is_modelled(m, &cover);
        run->command = command_joules(m, run, &cover, &run->total);
    }
}

void measurement_add(struct measurement *m, int64_t begin_ns, int64_t end_ns, const struct attribution *share)
{
    joule_sample_now(m->meter);
    close_runs(m, false);
    m->cpu_s = process_cpu_s() - m->begin_cpu_s;
    m->runs[m->run_count++] = (struct measured_run){.begin_ns = begin_ns, .end_ns = end_ns, .share = *share};
}

/* Returns true if no further reading is needed. This is the case if the energy of all runs is known, no
 * sensor can be read, or only a model is used. A model can compute the energy up to now without a further
 * tick. A record must contain that tick, so the function then returns false for a model. */
static bool has_settled(const struct measurement *m)
{
    const struct measured_run *last = &m->runs[m->run_count - 1];
    struct cover cover;
    meter_cover(m->meter, JOULE_TOTAL, last->begin_ns, last->end_ns, &cover);
    return m->closed_count == m->run_count || cover.count == 0 || (!m->is_recorded && is_modelled(m, &cover));
}

/* Sleeps between two checks. The sleep is longer during a long wait, so that other measurements are not
 * disturbed. */
static void sleep_briefly(int64_t waited_ns)
{
    const struct timespec length = {.tv_nsec =
                                        waited_ns < SETTLE_WITHIN_NS ? SETTLE_SLEEP_NS : SLOW_SLEEP_NS};
    nanosleep(&length, NULL);
}

void measurement_finish(struct measurement *m, bool (*is_asked_to_end)(void))
{
    const struct measured_run *last_run = &m->runs[m->run_count - 1];
    struct last_reading last = last_reading_start(m->meter, last_run->begin_ns, last_run->end_ns);
    int64_t waited_ns = 0;
    bool is_slow = last_reading_is_due(&last);
    for (close_runs(m, false); is_slow || (!has_settled(m) && waited_ns < SETTLE_WITHIN_NS);
         close_runs(m, false)) {
        sleep_briefly(waited_ns);
        joule_sample_now(m->meter);
        waited_ns = meter_now_ns(m->meter) - last.start_ns;
        is_slow = last_reading_is_due(&last) && !is_asked_to_end();
    }
    m->waited_for = waited_ns > SETTLE_WITHIN_NS ? last.source : NULL;
    m->waited_s = m->waited_for ? clock_seconds(waited_ns) : 0;
    close_runs(m, true);
}

/* --- the budget ----------------------------------------------------------------------------------------- */

/* Returns the maximum energy of the modelled machine within one period, in joules. */
static double modelled_bound(const struct measurement *m)
{
    struct estimate all = cost_cpu_energy(&m->cpu, m->cpu.threads, 1);
    return estimate_quantity(&all).high * m->period_s;
}

static struct budget_state evaluate_budget(const struct measurement *m, const struct estimate *joules)
{
    joule_quantity q = estimate_quantity(joules);
    joule_budget_status status = joule_budget_judge(q, m->budget_joules);
    return (struct budget_state){.joules = q,
                                 .status = status,
                                 .probability = joule_probability_below(q, m->budget_joules),
                                 .is_over = status == JOULE_BUDGET_OVER || q.value > m->budget_joules};
}

/* Returns the bound of the overshoot in joules. It includes the energy that can be used before an exceeded
 * budget is noticed, and the energy used from then to the end of all processes. `is_all`: the energy used is
 * fully known, so its 95 % point also limits the overshoot. */
static double overshoot_bound(const struct measurement *m, joule_quantity used, bool is_all)
{
    double afterwards = isnan(m->noticed_joules) ? 0 : used.value - m->noticed_joules;
    double bound = m->overshoot_bound_joules + (afterwards > 0 ? afterwards : 0);
    return is_all && !isnan(used.high) ? fmin(bound, fmax(0, used.high - m->budget_joules)) : bound;
}

/* Returns the modelled energy of all ended runs and of the current run. */
static struct estimate modelled_so_far(struct measurement *m, const struct measured_run *now)
{
    struct estimate sum = modelled_energy(m, &now->share, run_seconds(now));
    for (size_t i = 0; i < m->run_count; i++) {
        struct estimate own = modelled_energy(m, &m->runs[i].share, run_seconds(&m->runs[i]));
        sum = estimate_add(sum, 1, &own);
    }
    return sum;
}

struct budget_state measurement_budget(struct measurement *m, int64_t begin_ns, struct attribute_group *group)
{
    struct measured_run now = {.begin_ns = begin_ns, .end_ns = meter_now_ns(m->meter)};
    int64_t first_ns = m->run_count ? m->runs[0].begin_ns : begin_ns;
    joule_budget_result bound = {.struct_size = sizeof bound};
    struct cover cover;
    struct estimate joules;
    joule_sample_now(m->meter);
    meter_cover(m->meter, JOULE_TOTAL, first_ns, now.end_ns, &cover);
    if (is_modelled(m, &cover)) {
        now.share = attribute_finish(group);
        joules = modelled_so_far(m, &now);
        m->overshoot_bound_joules = modelled_bound(m);
    } else {
        joules = meter_cover_window(m->meter, &cover, first_ns, now.end_ns).joules;
        if (joule_budget_now(m->budget, &bound) == JOULE_OK)
            m->overshoot_bound_joules = bound.overshoot_bound_joules;
    }
    struct budget_state state = evaluate_budget(m, &joules);
    state.is_machine = !is_modelled(m, &cover);
    m->noticed_joules = state.is_over ? state.joules.value : NAN;
    return state;
}

/* --- the report ----------------------------------------------------------------------------------------- */

static struct attribution sum_of_shares(const struct measurement *m)
{
    struct attribution sum = m->runs[0].share;
    double busy_s = 0; /* derived from the runs' shares, because clock ticks do not show all busy time */
    for (size_t i = 0; i < m->run_count; i++) {
        const struct attribution *share = &m->runs[i].share;
        busy_s += share->share > 0 ? share->command_cpu_s / share->share : share->machine_busy_cpu_s;
        if (i == 0)
            continue;
        sum.command_cpu_s += share->command_cpu_s;
        sum.machine_busy_cpu_s += share->machine_busy_cpu_s;
        sum.machine_cpu_s += share->machine_cpu_s;
        if (share->method > sum.method)
            sum.method = share->method;
    }
    if (m->run_count > 1)
        sum.share = sum.command_cpu_s / busy_s;
    return sum;
}

static void report_idle(const struct measurement *m, const struct estimate *total, struct report *report)
{
    struct estimate idle = estimate_scale(m->idle.total_watts, report->duration_s);
    report->idle_watts = estimate_quantity(&m->idle.total_watts);
    report->net_joules = baseline_net(total, &idle);
    report->idle_busy = m->idle.busy;
    if (m->idle.date[0])
        report->idle_date = arena_copy(&report->arena, m->idle.date, IDLE_DATE_SIZE);
}

static void report_runs(const struct measurement *m, struct report *report)
{
    report->each_run = arena_alloc(&report->arena, m->run_count * sizeof *report->each_run);
    if (!report->each_run)
        return;
    report->runs = (unsigned)m->run_count;
    for (size_t i = 0; i < m->run_count; i++)
        report->each_run[i] = (struct report_run){.joules = estimate_quantity(&m->runs[i].total),
                                                  .command_joules = estimate_quantity(&m->runs[i].command),
                                                  .seconds = run_seconds(&m->runs[i])};
}

joule_status measurement_report(struct measurement *m, const char *program, struct report *out_report)
{
    int64_t begin_ns = m->runs[0].begin_ns, end_ns = m->runs[m->run_count - 1].end_ns;
    joule_status status = report_collect(out_report, m->meter, program, begin_ns, end_ns);
    if (status != JOULE_OK)
        return status;
    struct estimate command = estimate_zero();
    for (size_t i = 0; i < m->run_count; i++)
        command = estimate_add(command, 1, &m->runs[i].command);
    struct cover cover;
    meter_cover(m->meter, JOULE_TOTAL, begin_ns, end_ns, &cover);
    struct estimate total = meter_cover_window(m->meter, &cover, begin_ns, end_ns).joules;
    bool is_model = is_modelled(m, &cover);
    out_report->share = sum_of_shares(m);
    out_report->command_joules = estimate_quantity(&command);
    out_report->overhead_cpu_s = m->cpu_s;
    out_report->overhead_share = m->cpu_s / out_report->duration_s;
    out_report->waited_s = m->waited_s;
    out_report->waited_for = m->waited_for;
    report_idle(m, &total, out_report);
    report_runs(m, out_report);
    report_clear_machine(out_report);
    if (m->budget_joules > 0) {
        struct budget_state state = evaluate_budget(m, is_model ? &command : &total);
        m->is_over = state.is_over;
        out_report->budget_joules = m->budget_joules;
        out_report->budget_status = state.status;
        out_report->budget_probability = state.probability;
        out_report->overshoot_bound_joules = overshoot_bound(
            m, state.joules, is_model || (out_report->coverage >= FULL_COVERAGE && !out_report->is_partial));
    }
    return JOULE_OK;
}
