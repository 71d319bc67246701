/* joule/collector/ledger.c - see ledger.h. */
#include "joule/collector/ledger.h"

#include <math.h>

double share_variance(double x, double presence, const struct sweep_energy *energy, unsigned group)
{
    double joules = presence * energy->joules[group];
    if (!(joules > 0) || !(x > 0))
        return 0;
    double within_steps = fmin(presence * energy->step_variance[group], joules * joules);
    double scale = x / joules;
    return scale * scale * (presence * presence * energy->variance[group] + (1 - presence) * within_steps);
}

void ledger_add(struct ledger *ledger, unsigned group, const struct share *share,
                const struct sweep_energy *energy)
{
    struct ledger_line *line = &ledger->lines[group];
    line->covered_s += share->covered_s;
    line->window += share->window;
    line->attributed += share->attributed;
    line->self += share->self;
    if (!(energy->joules[group] > 0) || !(share->window > 0))
        return;
    double presence = fmin(1, share->window / energy->joules[group]);
    double alone = share->attributed > 0 ? presence * fmin(1, share->self / share->attributed) : 0;
    line->window_var += share_variance(share->window, presence, energy, group);
    line->attributed_var += share_variance(share->attributed, presence, energy, group);
    line->self_var += share_variance(share->self, alone, energy, group);
}

void ledger_merge(struct ledger *ledger, const struct ledger *other)
{
    for (unsigned g = 0; g < GROUPS; g++) {
        struct ledger_line *line = &ledger->lines[g];
        const struct ledger_line *more = &other->lines[g];
        line->window += more->window;
        line->attributed += more->attributed;
        line->self += more->self;
        line->window_var += more->window_var;
        line->attributed_var += more->attributed_var;
        line->self_var += more->self_var;
        line->covered_s += more->covered_s;
    }
}

/* --- groups --------------------------------------------------------------------------------------------- */

/* Adds a domain to a cover. */
static void take(struct cover *cover, int32_t id, joule_class cls)
{
    cover->ids[cover->count++] = id;
    if (cls > cover->cls)
        cover->cls = cls;
}

/* Returns true if a cover contains a domain. */
static bool contains(const struct cover *cover, int32_t id)
{
    for (size_t i = 0; i < cover->count; i++)
        if (cover->ids[i] == id)
            return true;
    return false;
}

/* Returns the group of the GPU to which a domain belongs. */
static unsigned gpu_group(joule_meter *meter, int32_t id)
{
    int32_t device = meter->channels[id].channel->info.device_index;
    unsigned group = GROUP_GPU0 + (device > 0 ? (unsigned)device : 0);
    return group < GROUPS ? group : GROUPS - 1;
}

void group_covers_choose(struct group_covers *covers, joule_meter *meter, int64_t begin_ns, int64_t end_ns)
{
    struct cover total, gpus;
    *covers = (struct group_covers){0};
    meter_cover(meter, JOULE_TOTAL, begin_ns, end_ns, &total);
    meter_cover(meter, JOULE_CPU, begin_ns, end_ns, &covers->covers[GROUP_CPU]);
    meter_cover(meter, JOULE_GPU, begin_ns, end_ns, &gpus);
    for (size_t i = 0; i < gpus.count; i++)
        take(&covers->covers[gpu_group(meter, gpus.ids[i])], gpus.ids[i],
             meter->channels[gpus.ids[i]].channel->info.cls);
    for (size_t i = 0; i < total.count; i++)
        if (!contains(&covers->covers[GROUP_CPU], total.ids[i]) && !contains(&gpus, total.ids[i]))
            take(&covers->covers[GROUP_REST], total.ids[i], meter->channels[total.ids[i]].channel->info.cls);
    for (unsigned g = 0; g < GROUPS; g++) {
        const struct cover *cover = &covers->covers[g];
        covers->known |= (uint32_t)(cover->count > 0) << g;
        covers->in_total |= (uint32_t)(cover->count > 0 && contains(&total, cover->ids[0])) << g;
    }
}

uint32_t group_covers_summed(const struct group_covers *covers, uint32_t claims)
{
    return claims == GROUPS_ALL ? covers->in_total : claims & covers->known;
}

/* --- results -------------------------------------------------------------------------------------------- */

/* Returns an estimate of `value` joules. Its common errors, relative to the value, are those of `base`. Its
 * independent variance is `variance` (J^2). */
static struct estimate shaped_like(const struct estimate *base, double value, double variance)
{
    if (!(base->value > 0))
        return estimate_make(value, JOULE_CLASS_DERIVED, sqrt(variance), CAUSE_NONE, 0);
    struct estimate e = estimate_scale(*base, value / base->value);
    e.value = value;
    e.variance = variance;
    return e;
}

/* The five energies of a result. */
struct sums {
    struct estimate window, attributed, self, cpu, gpu;
};

/* Adds a term to *sum, which may be unknown. */
static void add(struct estimate *sum, const struct estimate *term)
{
    *sum = isnan(sum->value) ? *term : estimate_add(*sum, 1, term);
}

/* Adds the sums of one group. base: the group's energy over the same time, for its relative errors. */
static void add_group(struct sums *sums, unsigned group, const struct ledger_line *line,
                      const struct estimate *base)
{
    struct estimate window = shaped_like(base, line->window, line->window_var);
    struct estimate attributed = shaped_like(base, line->attributed, line->attributed_var);
    struct estimate self = shaped_like(base, line->self, line->self_var);
    attributed = estimate_weaken(attributed, JOULE_CLASS_DERIVED);
    self = estimate_weaken(self, JOULE_CLASS_DERIVED);
    add(&sums->window, &window);
    add(&sums->attributed, &attributed);
    add(&sums->self, &self);
    if (group == GROUP_CPU)
        add(&sums->cpu, &window);
    if (1u << group & GROUPS_GPU)
        add(&sums->gpu, &window);
}

void ledger_result(const struct ledger *ledger, uint32_t claims, const struct group_covers *covers,
                   joule_meter *meter, int64_t begin_ns, int64_t end_ns, joule_result *out_result)
{
    struct estimate unknown = estimate_unknown();
    struct sums sums = {unknown, unknown, unknown, unknown, unknown};
    uint32_t summed = group_covers_summed(covers, claims);
    for (unsigned g = 0; g < GROUPS; g++) {
        if (!(summed & 1u << g) || !(ledger->lines[g].covered_s > 0))
            continue;
        struct window base = meter_cover_window(meter, &covers->covers[g], begin_ns, end_ns);
        add_group(&sums, g, &ledger->lines[g], &base.joules);
    }
    out_result->window = estimate_quantity(&sums.window);
    out_result->attributed = estimate_quantity(&sums.attributed);
    out_result->self = estimate_quantity(&sums.self);
    out_result->cpu = estimate_quantity(&sums.cpu);
    out_result->gpu = estimate_quantity(&sums.gpu);
}

joule_result result_unknown(void)
{
    joule_quantity none = quantity_unknown();
    return (joule_result){.struct_size = sizeof(joule_result),
                          .window = none,
                          .attributed = none,
                          .self = none,
                          .cpu = none,
                          .gpu = none};
}
