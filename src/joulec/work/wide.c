/* joulec/work/built_loop.c - see built_loop.h. */
#include "joulec/work/wide.h"

#include <math.h>
#include "joulec/source/place.h"

/* Cycles before and after a vector loop: broadcasts, reductions, tests for overlap. */
static const double around[BOUNDS] = {2, 12, 40};
/* Lowest factor for a loop whose built version is unknown: the saving of vectors of 256 bits with floats. */
#define UNJOINED_BEST (1.0 / 8)

/* --- finding the built loop
 * ------------------------------------------------------------------------------------- */

/* Returns the first built loop at this place; NULL: there is none, or several with different factors. */
static const struct wide_loop *find(const struct function *f, const struct source_place *place)
{
    size_t low = 0, high = f->wide ? f->wide_count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (source_place_order(&f->wide[middle].place, place) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (!f->wide || low == f->wide_count || source_place_order(&f->wide[low].place, place) != 0)
        return NULL;
    for (size_t i = low + 1; i < f->wide_count && source_place_order(&f->wide[i].place, place) == 0; i++)
        if (f->wide[i].is_vector && f->wide[i].at_once < f->wide[low].at_once)
            return NULL;
    return &f->wide[low];
}

static bool is_in_wide(const struct loops *loops, size_t loop)
{
    for (int32_t at = loops->list[loop].parent; at >= 0; at = loops->list[at].parent)
        if (loops->list[at].wide)
            return true;
    return false;
}

void wide_join(const struct module *module, const struct function *function, struct loops *loops)
{
    for (size_t i = 0; i < loops->count; i++) {
        struct loop *loop = &loops->list[i];
        const struct wide_loop *wide = loop->place.file ? find(function, &loop->place) : NULL;
        bool is_changed = wide && (wide->is_vector || loop->is_outer);
        if (is_changed && wide->is_whole && !wide->round.call_count)
            loop->wide = wide;
        bool is_nothing_done = module->is_built && !function->wide;
        loop->is_unjoined = !loop->is_outer && !wide && !is_nothing_done && !is_in_wide(loops, i);
    }
}

/* --- the work of an iteration
 * ----------------------------------------------------------------------------------- */

static struct cost_flow flow_of(const struct target *target, const struct wide_loop *wide, enum bound bound,
                                const struct wide_order *order)
{
    struct cost_flow flow = {.chain_cycles = sum_chain_cycles(&wide->round, &target->core),
                             .streamed = order->streamed};
    flow.chain_cycles += wide->at_once * order->wait_cycles[bound];
    return flow;
}

/* Returns the work of one iteration of the source in the build, with the cache lines of `iteration`. */
static struct cost_features share_of(const struct target *target, const struct wide_loop *wide,
                                     enum bound bound, const struct wide_order *order,
                                     const struct cost_features *round)
{
    struct cost_features work = sum_features(&wide->round);
    double fewer =
        round->amount[COST_UOPS] > 0 ? work.amount[COST_UOPS] / wide->at_once / round->amount[COST_UOPS] : 1;
    struct cost_flow flow = flow_of(target, wide, bound, order);
    if (bound != BOUND_HIGH)
        flow.chain_cycles = cost_core_restarted(&target->core, flow.chain_cycles, fewer * order->entry_uops);
    for (int i = COST_L2_LINES; i <= COST_DRAM_LINES; i++)
        work.amount[i] = wide->at_once * round->amount[i];
    sum_set_cycles(target, bound, &flow, &work);
    for (int i = 0; i < COST_FEATURES; i++)
        work.amount[i] /= wide->at_once;
    return work;
}

/* The iterations of one entry. */
struct split {
    double together; /* run by the vectorised or unrolled body */
    double alone;    /* run by the remainder loop */
};

/* Returns the maximum remainder: factor - 1 if a count of one less than a multiple of the factor is
 * possible. */
static double most_left_over(const struct loop_times *times, double at_once)
{
    double before_multiple = floor((times->most + 1) / at_once) * at_once - 1;
    bool is_within = isinf(times->most) || before_multiple >= times->least;
    return is_within ? at_once - 1 : fmod(times->most, at_once);
}

/* Lists the possible splits of the iterations of an entry; returns their number. If entries have different
 * counts, both multiples of the factor, without a remainder, and counts with the maximum remainder are
 * possible. The estimate uses the count itself. */
static size_t find_splits(const struct wide_loop *wide, const struct loop_times *times, enum bound bound,
                          struct split out[3])
{
    double rounds = times->times[bound], at_once = wide->at_once, whole = floor(rounds / at_once) * at_once;
    double alone = 0, next = rounds > times->least ? rounds : ceil(rounds / at_once) * at_once;
    bool varies = bound != BOUND_EST && times->least < times->most && at_once <= times->most;
    size_t count = 1;
    out[0] = (struct split){whole, rounds - whole};
    if (varies && next <= times->most)
        out[count++] = (struct split){next, 0};
    if (varies)
        alone = fmin(rounds, most_left_over(times, at_once));
    if (bound == BOUND_HIGH && wide->is_checked)
        alone = rounds;
    if (alone > 0)
        out[count++] = (struct split){rounds - alone, alone};
    return count;
}

static void widen(const struct target *target, const struct wide_loop *wide, enum bound bound,
                  const struct loop_times *times, const struct wide_order *order, struct cost_features *round)
{
    struct cost_features share = share_of(target, wide, bound, order, round), plain = *round;
    double rounds = times->times[bound];
    struct split splits[3];
    size_t count = rounds > 0 ? find_splits(wide, times, bound, splits) : 0;
    for (size_t s = 0; s < count; s++) {
        struct cost_features one = plain;
        double cycles = wide->is_vector && splits[s].together > 0 ? around[bound] : 0;
        for (int i = 0; i < COST_FEATURES; i++)
            one.amount[i] =
                (splits[s].together * share.amount[i] + splits[s].alone * plain.amount[i]) / rounds;
        sum_set_time(target, &one, one.amount[COST_CYCLES] + cycles / rounds);
        double more = cost_joules(&target->table, &one) - cost_joules(&target->table, round);
        if (s == 0 || (bound == BOUND_LOW ? more < 0 : more > 0))
            *round = one;
    }
}

/* Scales the work of unrolled inner loops by the same factor. */
static void scale_inner(const struct loops *loops, size_t loop, const double by[BOUNDS],
                        struct amounts *inner)
{
    for (size_t i = loop + 1; i < loops->count; i++)
        for (int b = 0; b < BOUNDS && loop_is_within(loops, (int32_t)i, (int32_t)loop); b++)
            for (int k = 0; k < COST_FEATURES; k++)
                inner[i].of[b].amount[k] *= by[b];
}

void wide_apply(const struct target *target, const struct loops *loops, size_t loop,
                const struct loop_times *times, const struct wide_order *order, struct amounts *round,
                struct amounts *inner)
{
    const struct wide_loop *wide = loops->list[loop].wide;
    double by[BOUNDS];
    if (!wide && loops->list[loop].is_unjoined)
        for (int i = 0; i < COST_L2_LINES; i++)
            round->of[BOUND_LOW].amount[i] *= UNJOINED_BEST;
    if (!wide || (wide->compares_ranges && order->overlaps))
        return;
    for (enum bound bound = BOUND_LOW; bound < BOUNDS; bound++) {
        double before = amounts_joules(target, round, bound);
        widen(target, wide, bound, times, order, &round->of[bound]);
        by[bound] = before > 0 ? amounts_joules(target, round, bound) / before : 1;
    }
    if (inner && loops->list[loop].is_outer)
        scale_inner(loops, loop, by, inner);
}
