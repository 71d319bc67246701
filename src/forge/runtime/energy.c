/* runtime/energy.c - see energy.h.
 *
 * Note: windows end at ticks of a sensor. libjoule interpolates energy between ticks, and an interpolated end
 * of a window would blur the attribution. Without ticks, windows have a fixed length.
 */
#include "forge/runtime/energy.h"

#include <forge/energy.h>
#include <joule/model.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/error.h"

/* size of the ring of spans; pages that are never written use no memory */
#define SPANS_BYTES     ((size_t)16 << 20)
#define MIN_WINDOW_NS   (NS_PER_S / 200) /* shorter windows would add cost, but little information */
#define FIXED_WINDOW_NS (NS_PER_S / 2)   /* length of a window without ticks */
#define TICKS           256              /* number of ticks that are read at once */
#define MIN_COVERAGE    0.99             /* a window with less coverage is not attributed */
#define CLOCK_ERROR     0.01             /* error of CPU times, relative to the window */
#define PAUSE_NS        (NS_PER_S / 100) /* time between two readings of the meter in forge_energy_finish */

/* --- life ----------------------------------------------------------------------------------------------- */

void energy_free(struct energy *e)
{
    if (!e)
        return;
    spans_free(&e->spans);
    items_free(&e->items);
    attribution_free(e->attribution);
    attribution_answer_free(e->answer);
    free(e->active_s);
    free(e->group_of);
    free(e->part);
    free(e->expected);
    free(e->collected);
    free(e);
}

static struct energy *energy_new(const forge_program *program)
{
    struct energy *e = calloc(1, sizeof *e);
    if (!e || !items_make(&e->items, program) || !spans_init(&e->spans, program->launches.count, SPANS_BYTES))
        goto none;
    e->attribution = attribution_new(e->items.count);
    e->active_s = calloc(e->items.count, sizeof *e->active_s);
    e->group_of = calloc(e->items.count, sizeof *e->group_of);
    e->part = calloc(e->items.count, sizeof *e->part);
    e->expected = calloc(e->items.count, sizeof *e->expected);
    e->collected = calloc(e->items.count, sizeof *e->collected);
    if (e->attribution && e->active_s && e->group_of && e->part && e->expected && e->collected)
        return e;
none:
    energy_free(e);
    return NULL;
}

/* Returns the CPU time of all threads, including those that have ended, in s; NaN if unknown. */
static double process_cpu_s(void)
{
    struct timespec used;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
        return NAN;
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

joule_status forge_energy_start(forge_instance *instance, joule_meter *meter, int32_t domain,
                                joule_error *out_error)
{
    joule_quantity joules;
    bool is_metered = !instance->device->ops->expect;
    if (is_metered && joule_energy_joules(meter, domain, &joules) == JOULE_INVALID)
        return error_set(out_error, JOULE_INVALID, "the meter has no energy domain %d", (int)domain);
    if (is_metered)
        joule_sample_now(meter);
    struct energy *e = energy_new(instance->program);
    if (!e)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot count energy: out of memory");
    e->device = instance->device;
    e->meter = meter;
    e->domain = domain;
    e->basis = is_metered ? FORGE_ENERGY_UNKNOWN : FORGE_ENERGY_EXPECTED;
    e->begin_ns = e->cut_ns = e->first_ns = device_now_ns(instance->device);
    e->cut_cpu_s = process_cpu_s();
    energy_free(instance->energy);
    instance->energy = e;
    return JOULE_OK;
}

void forge_energy_stop(forge_instance *instance)
{
    energy_free(instance->energy);
    instance->energy = NULL;
}

/* --- windows -------------------------------------------------------------------------------------------- */

/* Returns the standard deviation of q, in q's unit. As in libjoule, errors of models are relative. */
static double sd_of(joule_quantity q)
{
    double z = q.cls >= JOULE_CLASS_MODELLED && q.value > 0 ? log(q.high / q.value) : q.high / q.value - 1;
    return q.value * z / ATTRIBUTION_Z90;
}

/* Estimates the error that all windows share, and returns the rest of this window's variance, in J^2. Because
 * of the shared error, the variance of a long window is greater than the sum of the variances of its parts.
 * If no long window is known, the last estimate of the shared error is used. */
static double own_variance(struct energy *e, joule_quantity joules, int64_t end_ns)
{
    double variance = sd_of(joules) * sd_of(joules);
    joule_quantity all;
    e->joules += joules.value;
    e->squares += joules.value * joules.value;
    e->variance += variance;
    double products = e->joules * e->joules - e->squares;
    if (products > 0 && joule_window_joules(e->meter, e->domain, e->first_ns, end_ns, &all, NULL) == JOULE_OK)
        e->gain_sd = sqrt(fmax(sd_of(all) * sd_of(all) - e->variance, 0) / products);
    double common = e->gain_sd * joules.value;
    return fmax(variance - common * common, 1e-4 * variance);
}

/* Restarts the sums of own_variance at end_ns, the end of a gap. If first_ns stayed before the gap, the long
 * window from first_ns on would contain the energy of the gap, but the sums would not. gain_sd does not
 * change. */
static void reset_sums(struct energy *e, int64_t end_ns)
{
    e->first_ns = end_ns;
    e->joules = e->squares = e->variance = 0;
}

/* Adds the window from e->cut_ns to end_ns to the attribution. variance: variance of the window's independent
 * error, in J^2; NaN: use own_variance. */
static void add_window(struct energy *e, int64_t end_ns, joule_quantity joules, double variance,
                       double coverage)
{
    struct attribution_window window = {.seconds = clock_seconds(end_ns - e->cut_ns), .joules = NAN};
    memset(e->active_s, 0, e->items.count * sizeof *e->active_s);
    bool is_whole = spans_take(&e->spans, e->cut_ns, end_ns, e->items.item_of, e->active_s);
    double rest_s = window.seconds;
    for (size_t i = 0; i + 1 < e->items.count; i++)
        rest_s -= e->active_s[i];
    e->active_s[e->items.count - 1] = fmax(rest_s, 0);
    if (is_whole && coverage >= MIN_COVERAGE && isfinite(joules.value)) {
        window.joules = joules.value;
        window.variance = isnan(variance) ? own_variance(e, joules, end_ns) : variance;
        e->cls = joules.cls > e->cls ? joules.cls : e->cls;
        e->seen_s += window.seconds;
        e->joules_seen += joules.value;
        e->windows++;
    } else {
        reset_sums(e, end_ns);
        e->lost_joules += isfinite(joules.value) ? joules.value : 0;
        e->cls = isfinite(joules.value) && joules.cls > e->cls ? joules.cls : e->cls;
    }
    attribution_add_window(e->attribution, &window, e->active_s);
    e->cut_ns = end_ns;
}

/* Adds the window from e->cut_ns to end_ns. Returns false if the sensors have no update after end_ns yet. */
static bool end_window(struct energy *e, int64_t end_ns)
{
    joule_quantity joules;
    double coverage;
    joule_status status = joule_window_joules(e->meter, e->domain, e->cut_ns, end_ns, &joules, &coverage);
    if (status == JOULE_PENDING)
        return false;
    if (status != JOULE_OK)
        joules.value = NAN;
    add_window(e, end_ns, joules, NAN, coverage);
    return true;
}

/* --- basis: the machine's energy, or this process's ---------------------------------------------------- */

static bool is_model(joule_class cls)
{
    return cls >= JOULE_CLASS_MODELLED;
}

/* Returns FORGE_ENERGY_OF_PROCESS if the energy of the CPUs is modelled, else FORGE_ENERGY_OF_MACHINE.
 * Returns FORGE_ENERGY_UNKNOWN until the meter reports a class. The class of a total is not sufficient: one
 * device with assumed watts weakens it, although the processor may be measured. */
static forge_energy_basis find_basis(const struct energy *e)
{
    joule_quantity all, cpu;
    if (joule_energy_joules(e->meter, e->domain, &all) != JOULE_OK)
        return FORGE_ENERGY_UNKNOWN;
    bool is_sum = e->domain == JOULE_TOTAL || e->domain == JOULE_CPU;
    if (!is_sum || !is_model(all.cls))
        return FORGE_ENERGY_OF_MACHINE;
    bool is_measured = joule_energy_joules(e->meter, JOULE_CPU, &cpu) == JOULE_OK && !is_model(cpu.cls);
    return is_measured ? FORGE_ENERGY_OF_MACHINE : FORGE_ENERGY_OF_PROCESS;
}

/* Adds the window from e->cut_ns to the present time, with joules that are modelled from this process's CPU
 * time. The error of the model is common to all windows, and the error of the CPU clock is independent. */
static void end_process_window(struct energy *e)
{
    int64_t now_ns = clock_now_ns();
    double cpu_s = process_cpu_s(), seconds = clock_seconds(now_ns - e->cut_ns);
    joule_quantity joules, busy = {.value = NAN};
    bool is_known = joule_cpu_work_joules(fmax(cpu_s - e->cut_cpu_s, 0), seconds, &joules) == JOULE_OK &&
                    joule_cpu_work_joules(seconds, seconds, &busy) == JOULE_OK;
    if (is_known && busy.value > 0)
        e->relative_sd = e->gain_sd = sd_of(busy) / busy.value;
    add_window(e, now_ns, joules, is_known ? pow(CLOCK_ERROR * busy.value, 2) : NAN, is_known ? 1 : 0);
    e->cut_cpu_s = cpu_s;
}

joule_quantity energy_part(const struct energy *e, double value)
{
    double z = ATTRIBUTION_Z90 * (e->basis == FORGE_ENERGY_OF_PROCESS ? e->relative_sd : e->gain_sd);
    bool is_factor = is_model(e->cls);
    return (joule_quantity){.value = value,
                            .low = is_factor ? value * exp(-z) : fmax(value * (1 - z), 0),
                            .high = is_factor ? value * exp(z) : value * (1 + z),
                            .cls = e->cls};
}

static void free_answer(struct energy *e)
{
    attribution_answer_free(e->answer);
    e->answer = NULL;
}

/* Collects the expected energy of all runs so far. A device that only estimates has no sensor, so there is no
 * update to wait for. */
static void collect_expected(forge_instance *instance)
{
    struct energy *e = instance->energy;
    energy_add_expected(instance);
    memcpy(e->collected, e->expected, e->items.count * sizeof *e->collected);
    e->collected_runs = e->expected_runs;
    e->cut_ns = device_now_ns(e->device);
    e->seen_s = clock_seconds(e->cut_ns - e->begin_ns);
    free_answer(e);
}

/* Adds all windows that end before end_ns and before the last updates of the sensors. */
static void collect_metered(struct energy *e, int64_t end_ns)
{
    int64_t ticks[TICKS], first_ns = e->cut_ns, before_ns;
    size_t count, known;
    do {
        before_ns = e->cut_ns;
        count = joule_ticks(e->meter, e->domain, e->cut_ns, ticks, TICKS);
        known = count < TICKS ? count : TICKS;
        for (size_t i = 0; i < known; i++)
            if (ticks[i] > end_ns || (ticks[i] - e->cut_ns >= MIN_WINDOW_NS && !end_window(e, ticks[i])))
                break;
    } while (count > known && e->cut_ns > before_ns);
    while (count == 0 && end_ns - e->cut_ns >= FIXED_WINDOW_NS && end_window(e, e->cut_ns + FIXED_WINDOW_NS))
        ;
    if (e->cut_ns > first_ns)
        free_answer(e);
}

/* Adds a window of this process's energy if the last window ended at least min_ns ago. */
static void collect_process(struct energy *e, int64_t min_ns)
{
    if (clock_now_ns() - e->cut_ns < min_ns)
        return;
    end_process_window(e);
    free_answer(e);
}

joule_status forge_energy_collect(forge_instance *instance)
{
    struct energy *e = instance->energy;
    if (!e)
        return JOULE_ABSENT;
    if (e->basis == FORGE_ENERGY_UNKNOWN)
        e->basis = find_basis(e);
    if (e->basis == FORGE_ENERGY_EXPECTED)
        collect_expected(instance);
    else if (e->basis == FORGE_ENERGY_OF_PROCESS)
        collect_process(e, MIN_WINDOW_NS);
    else
        collect_metered(e, clock_now_ns());
    return JOULE_OK;
}

/* Adds all windows up to end_ns; the last one ends at end_ns. Returns false if the sensors have no update
 * after end_ns yet. */
static bool end_rest(struct energy *e, int64_t end_ns)
{
    collect_metered(e, end_ns);
    if (e->cut_ns >= end_ns || !end_window(e, end_ns))
        return e->cut_ns >= end_ns;
    free_answer(e);
    return true;
}

/* Adds the energy from e->cut_ns to end_ns to e->lost_joules, because the sensors have not confirmed it. */
static void discard_rest(struct energy *e, int64_t end_ns)
{
    joule_quantity joules;
    joule_status status = joule_window_joules(e->meter, e->domain, e->cut_ns, end_ns, &joules, NULL);
    if (status != JOULE_OK && status != JOULE_PENDING)
        joules.value = NAN;
    add_window(e, end_ns, joules, NAN, 0);
    free_answer(e);
}

joule_status forge_energy_finish(forge_instance *instance, double wait_s)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int64_t end_ns = clock_now_ns();
    struct energy *e = instance->energy;
    bool has_ended = false;
    if (!e)
        return JOULE_ABSENT;
    if (e->basis == FORGE_ENERGY_EXPECTED)
        return forge_energy_collect(instance);
    for (;;) {
        joule_sample_now(e->meter);
        if (e->basis == FORGE_ENERGY_UNKNOWN)
            e->basis = find_basis(e);
        if (e->basis == FORGE_ENERGY_OF_PROCESS)
            collect_process(e, 1);
        has_ended = e->basis == FORGE_ENERGY_OF_PROCESS || end_rest(e, end_ns);
        if (has_ended || clock_seconds(clock_now_ns() - end_ns) >= wait_s)
            break;
        nanosleep(&pause, NULL);
    }
    if (!has_ended)
        discard_rest(e, end_ns);
    return JOULE_OK;
}

/* FORGE_ENERGY_OF_MACHINE: the meter returns the energy since forge_energy_start. FORGE_ENERGY_OF_PROCESS:
 * the energy is the sum of the collected windows. */
joule_status forge_energy_now(forge_instance *instance, joule_quantity *out_joules)
{
    struct energy *e = instance->energy;
    forge_energy_sum sum = {.struct_size = sizeof sum};
    *out_joules = (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
    joule_status status = forge_energy_collect(instance);
    if (status != JOULE_OK)
        return status;
    if (e->basis == FORGE_ENERGY_OF_MACHINE) {
        status = joule_window_joules(e->meter, e->domain, e->begin_ns, clock_now_ns(), out_joules, NULL);
        return isfinite(out_joules->value) ? JOULE_OK : status;
    }
    if (e->basis == FORGE_ENERGY_EXPECTED) {
        status = forge_energy_total(instance, &sum);
        *out_joules = sum.joules;
        return status;
    }
    if (e->basis == FORGE_ENERGY_UNKNOWN)
        return JOULE_PENDING;
    if (!(e->seen_s > 0 || e->lost_joules > 0))
        collect_process(e, 1); /* a short first window is better than no result */
    if (!(e->seen_s > 0 || e->lost_joules > 0))
        return JOULE_PENDING;
    *out_joules = energy_part(e, e->joules_seen + e->lost_joules);
    return JOULE_OK;
}

joule_status energy_solve(const forge_instance *instance)
{
    struct energy *e = instance->energy;
    if (e->answer)
        return JOULE_OK;
    if (e->device->ops->expect)
        return energy_expect(instance);
    struct attribution_group *groups = calloc(e->items.count, sizeof *groups);
    if (!groups)
        return JOULE_NO_MEMORY;
    struct attribution_meter meter = {
        .cls = e->cls, .gain_sd = e->gain_sd, .is_exact = e->basis == FORGE_ENERGY_OF_PROCESS};
    items_prior(&e->items, instance, groups);
    joule_status status = attribution_solve(e->attribution, groups, &meter, &e->answer);
    if (status == JOULE_OK)
        status = attribution_merge(e->answer, e->group_of);
    free(groups);
    return status;
}
