/* runtime/energy.c - see energy.h.
 *
 * Newcomers: windows end where a sensor ticked, since libjoule interpolates between ticks and shares would be smeared. Where
 * no ticks come, windows have a fixed length.
 */
#include "forge/runtime/energy.h"

#include <forge/energy.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/error.h"

#define SPANS_BYTES     ((size_t)16 << 20) /* touched as far as it is needed */
#define LEAST_WINDOW_NS (NS_PER_S / 200)   /* closer ticks tell little and cost as much */
#define FIXED_WINDOW_NS (NS_PER_S / 2)
#define TICKS           256
#define LEAST_COVERAGE  0.99

/* --- life --------------------------------------------------------------------------------------------------- */

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
    free(e->is_in);
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
    e->is_in = calloc(e->items.count, sizeof *e->is_in);
    e->expected = calloc(e->items.count, sizeof *e->expected);
    e->collected = calloc(e->items.count, sizeof *e->collected);
    if (e->attribution && e->active_s && e->group_of && e->is_in && e->expected && e->collected)
        return e;
none:
    energy_free(e);
    return NULL;
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
        return error_set(out_error, JOULE_NO_MEMORY, "memory for counting joules is used up");
    e->device = instance->device;
    e->meter = meter;
    e->domain = domain;
    e->begin_ns = e->cut_ns = e->first_ns = device_now_ns(instance->device);
    energy_free(instance->energy);
    instance->energy = e;
    return JOULE_OK;
}

void forge_energy_stop(forge_instance *instance)
{
    energy_free(instance->energy);
    instance->energy = NULL;
}

/* --- windows ------------------------------------------------------------------------------------------------ */

/* As libjoule makes low and high: models err by factors. */
static double sd_of(joule_quantity q)
{
    double z = q.cls >= JOULE_CLASS_MODELLED && q.value > 0 ? log(q.high / q.value) : q.high / q.value - 1;
    return q.value * z / ATTRIBUTION_Z90;
}

/* The error that all windows have in common makes the variance of a long window greater than the sum of those of its parts;
 * what is left of a window's variance is its own. Without a known long window nothing is taken off. */
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

/* After a gap long windows would hold energy that no window has. The sums begin anew; the gain stays as it is. */
static void forget_sums(struct energy *e, int64_t end_ns)
{
    e->first_ns = end_ns;
    e->joules = e->squares = e->variance = 0;
}

/* Joins the window from the last cut to end_ns. */
static void join(struct energy *e, int64_t end_ns, joule_quantity joules, double coverage)
{
    struct attribution_window window = {.seconds = clock_seconds(end_ns - e->cut_ns), .joules = NAN};
    memset(e->active_s, 0, e->items.count * sizeof *e->active_s);
    bool is_whole = spans_take(&e->spans, e->cut_ns, end_ns, e->items.item_of, e->active_s);
    double rest_s = window.seconds;
    for (size_t i = 0; i + 1 < e->items.count; i++)
        rest_s -= e->active_s[i];
    e->active_s[e->items.count - 1] = fmax(rest_s, 0);
    if (is_whole && coverage >= LEAST_COVERAGE && isfinite(joules.value)) {
        window.joules = joules.value;
        window.variance = own_variance(e, joules, end_ns);
        e->cls = joules.cls > e->cls ? joules.cls : e->cls;
        e->seen_s += window.seconds;
        e->windows++;
    } else {
        forget_sums(e, end_ns);
    }
    attribution_feed(e->attribution, &window, e->active_s);
    e->cut_ns = end_ns;
}

/* False: the sensors have not seen its end. */
static bool cut(struct energy *e, int64_t end_ns)
{
    joule_quantity joules;
    double coverage;
    joule_status status = joule_window_joules(e->meter, e->domain, e->cut_ns, end_ns, &joules, &coverage);
    if (status == JOULE_PENDING)
        return false;
    if (status != JOULE_OK)
        joules.value = NAN;
    join(e, end_ns, joules, coverage);
    return true;
}

static void forget_answer(struct energy *e)
{
    attribution_answer_free(e->answer);
    e->answer = NULL;
}

/* All is known at once where nothing is metered. */
static void collect_expected(forge_instance *instance)
{
    struct energy *e = instance->energy;
    energy_add_expected(instance);
    memcpy(e->collected, e->expected, e->items.count * sizeof *e->collected);
    e->collected_runs = e->expected_runs;
    e->cut_ns = device_now_ns(e->device);
    e->seen_s = clock_seconds(e->cut_ns - e->begin_ns);
    forget_answer(e);
}

/* Feeds the attribution with every window that the sensors have seen the end of. */
static void collect_metered(struct energy *e)
{
    int64_t ticks[TICKS], first_ns = e->cut_ns, before_ns, now_ns = clock_now_ns();
    size_t count, known;
    do {
        before_ns = e->cut_ns;
        count = joule_ticks(e->meter, e->domain, e->cut_ns, ticks, TICKS);
        known = count < TICKS ? count : TICKS;
        for (size_t i = 0; i < known; i++)
            if (ticks[i] - e->cut_ns >= LEAST_WINDOW_NS && !cut(e, ticks[i]))
                break;
    } while (count > known && e->cut_ns > before_ns);
    while (count == 0 && now_ns - e->cut_ns >= FIXED_WINDOW_NS && cut(e, e->cut_ns + FIXED_WINDOW_NS))
        ;
    if (e->cut_ns > first_ns)
        forget_answer(e);
}

joule_status forge_energy_collect(forge_instance *instance)
{
    if (!instance->energy)
        return JOULE_ABSENT;
    if (instance->device->ops->expect)
        collect_expected(instance);
    else
        collect_metered(instance->energy);
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
    struct attribution_meter meter = {.cls = e->cls, .gain_sd = e->gain_sd};
    items_expect(&e->items, instance, groups);
    joule_status status = attribution_solve(e->attribution, groups, &meter, &e->answer);
    if (status == JOULE_OK)
        status = attribution_merge(e->answer, e->group_of);
    free(groups);
    return status;
}
