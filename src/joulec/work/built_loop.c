/* joulec/work/built_loop.c - see built_loop.h. */
#include "joulec/work/built_loop.h"

#include <math.h>
#include "joulec/source/place.h"

/* Cycles before and after a vector loop, per entry: broadcasts, reductions, tests for overlap. */
static const double outside_cycles[BOUNDS] = {2, 12, 40};
/* Lowest factor of the work of a loop whose built version is unknown: a vector of 256 bits contains 8
 * floats. */
#define UNJOINED_BEST (1.0 / 8)

/* --- finding the built loop ----------------------------------------------------------------------------- */

/* Returns the first built loop at this place; NULL: there is none, or several with different factors. */
static const struct built_loop *find(const struct function *f, const struct source_place *place)
{
    size_t low = 0, high = f->built_loops ? f->built_loop_count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (source_place_order(&f->built_loops[middle].place, place) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (!f->built_loops || low == f->built_loop_count ||
        source_place_order(&f->built_loops[low].place, place) != 0)
        return NULL;
    for (size_t i = low + 1;
         i < f->built_loop_count && source_place_order(&f->built_loops[i].place, place) == 0; i++)
        if (f->built_loops[i].is_vector && f->built_loops[i].factor < f->built_loops[low].factor)
            return NULL;
    return &f->built_loops[low];
}

static bool is_in_built_loop(const struct loops *loops, size_t loop)
{
    for (int32_t at = loops->list[loop].parent; at >= 0; at = loops->list[at].parent)
        if (loops->list[at].built)
            return true;
    return false;
}

void built_loop_join(const struct module *module, const struct function *function, struct loops *loops)
{
    for (size_t i = 0; i < loops->count; i++) {
        struct loop *loop = &loops->list[i];
        const struct built_loop *built = loop->place.file ? find(function, &loop->place) : NULL;
        bool is_changed = built && (built->is_vector || loop->is_outer);
        if (is_changed && built->is_complete && !built->iteration.call_count)
            loop->built = built;
        bool is_unchanged = module->is_built && !function->built_loops;
        loop->is_unjoined = !loop->is_outer && !built && !is_unchanged && !is_in_built_loop(loops, i);
    }
}

/* --- the work of an iteration --------------------------------------------------------------------------- */

static struct cost_flow flow_of(const struct target *target, const struct built_loop *built, enum bound bound,
                                const struct built_loop_order *order)
{
    struct cost_flow flow = {.chain_cycles = sum_chain_cycles(&built->iteration, &target->core),
                             .streamed = order->streamed};
    flow.chain_cycles += built->factor * order->wait_cycles[bound];
    return flow;
}

/* Returns the work in the user's build per iteration of the source loop, with the cache lines of
 * `iteration`. */
static struct cost_features built_work(const struct target *target, const struct built_loop *built,
                                       enum bound bound, const struct built_loop_order *order,
                                       const struct cost_features *iteration)
{
    struct cost_features work = sum_features(&built->iteration);
    double fewer = iteration->amount[COST_UOPS] > 0
                       ? work.amount[COST_UOPS] / built->factor / iteration->amount[COST_UOPS]
                       : 1;
    struct cost_flow flow = flow_of(target, built, bound, order);
    if (bound != BOUND_HIGH)
        flow.chain_cycles = cost_core_restarted(&target->core, flow.chain_cycles, fewer * order->entry_uops);
    for (int i = COST_L2_LINES; i <= COST_DRAM_LINES; i++)
        work.amount[i] = built->factor * iteration->amount[i];
    sum_set_cycles(target, bound, &flow, &work);
    for (int i = 0; i < COST_FEATURES; i++)
        work.amount[i] /= built->factor;
    return work;
}

/* The iterations of one entry. */
struct split {
    double body;      /* run by the vectorised or unrolled body */
    double remainder; /* run by the remainder loop */
};

/* Returns the maximum remainder of the iterations of an entry: factor - 1 if some entry can have one
 * iteration less than a multiple of the factor. */
static double max_remainder(const struct loop_times *times, double factor)
{
    double before_multiple = floor((times->max + 1) / factor) * factor - 1;
    bool is_within = isinf(times->max) || before_multiple >= times->min;
    return is_within ? factor - 1 : fmod(times->max, factor);
}

/* Writes the possible splits of the iterations of an entry. Returns their number. The estimate has one split.
 * At other bounds, if entries have different counts, splits without a remainder and with the maximum
 * remainder are also possible. In the worst case, a checked loop leaves all iterations to the remainder
 * loop. */
static size_t find_splits(const struct built_loop *built, const struct loop_times *times, enum bound bound,
                          struct split out[3])
{
    double iterations = times->times[bound], factor = built->factor,
           whole = floor(iterations / factor) * factor;
    double remainder = 0, next = iterations > times->min ? iterations : ceil(iterations / factor) * factor;
    bool varies = bound != BOUND_EST && times->min < times->max && factor <= times->max;
    size_t count = 1;
    out[0] = (struct split){whole, iterations - whole};
    if (varies && next <= times->max)
        out[count++] = (struct split){next, 0};
    if (varies)
        remainder = fmin(iterations, max_remainder(times, factor));
    if (bound == BOUND_HIGH && built->is_checked)
        remainder = iterations;
    if (remainder > 0)
        out[count++] = (struct split){iterations - remainder, remainder};
    return count;
}

static void apply_factor(const struct target *target, const struct built_loop *built, enum bound bound,
                         const struct loop_times *times, const struct built_loop_order *order,
                         struct cost_features *iteration)
{
    struct cost_features built_iteration = built_work(target, built, bound, order, iteration),
                         plain = *iteration;
    double iterations = times->times[bound];
    struct split splits[3];
    size_t count = iterations > 0 ? find_splits(built, times, bound, splits) : 0;
    for (size_t s = 0; s < count; s++) {
        struct cost_features one = plain;
        double cycles = built->is_vector && splits[s].body > 0 ? outside_cycles[bound] : 0;
        for (int i = 0; i < COST_FEATURES; i++)
            one.amount[i] =
                (splits[s].body * built_iteration.amount[i] + splits[s].remainder * plain.amount[i]) /
                iterations;
        sum_set_time(target, &one, one.amount[COST_CYCLES] + cycles / iterations);
        double more = cost_joules(&target->table, &one) - cost_joules(&target->table, iteration);
        if (s == 0 || (bound == BOUND_LOW ? more < 0 : more > 0))
            *iteration = one;
    }
}

/* Multiplies the work of the loops within `loop` by `by`. */
static void scale_inner(const struct loops *loops, size_t loop, const double by[BOUNDS],
                        struct amounts *inner)
{
    for (size_t i = loop + 1; i < loops->count; i++)
        for (int b = 0; b < BOUNDS && loop_is_within(loops, (int32_t)i, (int32_t)loop); b++)
            for (int k = 0; k < COST_FEATURES; k++)
                inner[i].of[b].amount[k] *= by[b];
}

void built_loop_apply(const struct target *target, const struct loops *loops, size_t loop,
                      const struct loop_times *times, const struct built_loop_order *order,
                      struct amounts *iteration, struct amounts *inner)
{
    const struct built_loop *built = loops->list[loop].built;
    double by[BOUNDS];
    if (!built && loops->list[loop].is_unjoined)
        for (int i = 0; i < COST_L2_LINES; i++)
            iteration->of[BOUND_LOW].amount[i] *= UNJOINED_BEST;
    if (!built || (built->compares_ranges && order->overlaps))
        return;
    for (enum bound bound = BOUND_LOW; bound < BOUNDS; bound++) {
        double before = amounts_joules(target, iteration, bound);
        apply_factor(target, built, bound, times, order, &iteration->of[bound]);
        by[bound] = before > 0 ? amounts_joules(target, iteration, bound) / before : 1;
    }
    if (inner && loops->list[loop].is_outer)
        scale_inner(loops, loop, by, inner);
}
