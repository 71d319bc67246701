/* joulec/work/evaluate_group.c - evaluates mutually recursive functions together (recursion.h).
 *
 * Each member was evaluated before without the calls within the group, so its sum is the work of one frame.
 * This work is multiplied by numbers of frames. Low: one frame. High: the maximum number. Estimate: the
 * number in a profile, or a likely number derived from the depth.
 * Note: a depth often allows more frames than can exist, for example of a function that walks a tree. Then
 * there is no high end, and the likely number is derived from the calls of one frame.
 */
#include <math.h>
#include <string.h>
#include "joulec/work/evaluate.h"

#define UNIT_UOPS 1e12 /* micro-operations of a counted call: more than all other work on a path */

/* --- recursive calls in loops --------------------------------------------------------------------------- */

static bool calls_group(const struct evaluator *e, const struct block *block, uint32_t group)
{
    for (size_t c = 0; c < block->call_count; c++)
        if (groups_is_call_of(e->groups, group, &block->calls[c]))
            return true;
    return false;
}

void evaluate_find_recursive_calls(const struct evaluator *e, struct evaluated *f)
{
    uint32_t group = e->groups->group_of[f - e->functions];
    for (size_t i = 0; i < f->loops.flow.reached; i++) {
        uint32_t block = f->loops.flow.order[i];
        int32_t loop = f->loops.innermost[block];
        if (loop < 0 || !calls_group(e, &f->function->blocks[block], group))
            continue;
        for (; loop >= 0 && loop_always_runs(&f->loops, loop, block); loop = f->loops.list[loop].parent)
            f->nest[loop].has_recursive_call = true;
    }
}

/* --- calls of one frame --------------------------------------------------------------------------------- */

/* Copies a function without its work and without calls of other functions than `callee`. Returns false if out
 * of memory. */
static bool keep_calls_only(struct arena *arena, const struct function *of, int32_t callee,
                            struct function *out)
{
    *out = (struct function){.name = of->name,
                             .place = of->place,
                             .blocks = arena_alloc(arena, (of->block_count + 1) * sizeof *out->blocks),
                             .block_count = of->block_count,
                             .edge_count = of->edge_count,
                             .call_count = of->call_count};
    for (size_t i = 0; out->blocks && i < of->block_count; i++) {
        const struct block *from = &of->blocks[i];
        struct block *b = &out->blocks[i];
        *b = (struct block){.name = from->name,
                            .edges = from->edges,
                            .edge_count = from->edge_count,
                            .is_dead_end = from->is_dead_end,
                            .calls = arena_alloc(arena, (from->call_count + 1) * sizeof *b->calls)};
        for (size_t c = 0; b->calls && c < from->call_count; c++)
            if (from->calls[c].callee == callee)
                b->calls[b->call_count++] = from->calls[c];
    }
    return !arena->is_out_of_memory;
}

/* Returns a target whose prices make the cost of a path equal to its micro-operations. The user's prices
 * cannot be used, because a calibration may contain prices of 0. */
static struct target by_uops(const struct target *target)
{
    struct target out = *target;
    for (int i = 0; i < COST_FEATURES; i++)
        out.table.joules[i] = i == COST_UOPS;
    return out;
}

/* Computes the maximum number of calls of `callee` on any path through a function. */
static joule_status count_calls(struct evaluator *e, const struct evaluated *f, int32_t callee,
                                double *out_max)
{
    struct arena scratch = {0};
    struct target target = by_uops(e->target);
    struct function only;
    struct function_sum sum, unit = {.basis = BASIS_EXACT};
    const struct function_sum **callees =
        arena_alloc(&scratch, (f->function->call_count + 1) * sizeof *callees);
    struct loop_times *times = arena_alloc(&scratch, (f->loops.count + 1) * sizeof *times);
    joule_status status = JOULE_NO_MEMORY;
    for (int b = 0; b < BOUNDS; b++) {
        unit.call.of[b].version = COST_VERSION;
        unit.call.of[b].amount[COST_UOPS] = UNIT_UOPS;
    }
    if (callees && times && keep_calls_only(&scratch, f->function, callee, &only)) {
        for (size_t i = 0; i < f->function->call_count; i++)
            callees[i] = &unit;
        for (size_t i = 0; i < f->loops.count; i++)
            times[i] = evaluate_times(&f->trips[i]);
        status = sum_function(&scratch, &only, &f->loops, times, NULL, &target, callees, NULL, &sum);
    }
    *out_max =
        status == JOULE_OK ? rint(sum.call.of[BOUND_HIGH].amount[COST_UOPS] / UNIT_UOPS * 1e6) / 1e6 : 0;
    arena_free(&scratch);
    return status;
}

/* --- a group -------------------------------------------------------------------------------------------- */

struct group {
    struct evaluator *evaluator;
    struct arena scratch;
    const uint32_t *members;
    struct recursion recursion;
    struct recursion_call *calls;
    double depth;              /* sum of the depths; 0: unbounded */
    const double *profiled;    /* frames of each member; NULL: no profile */
    struct function_sum *sums; /* new sums, by member */
};

/* Numbers of frames of each member, in one call of a given member. */
struct frames {
    double *likely, *max;
    enum basis basis; /* evidence of these numbers */
};

/* Counts the calls per frame for each pair of caller and callee, and removes pairs without a path. */
static joule_status count_all_calls(struct group *g)
{
    struct recursion *r = &g->recursion;
    size_t count = r->call_count;
    r->call_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct recursion_call call = g->calls[i];
        const struct evaluated *f = &g->evaluator->functions[g->members[call.from]];
        joule_status status = count_calls(g->evaluator, f, (int32_t)g->members[call.to], &call.max);
        if (status != JOULE_OK)
            return status;
        if (call.max > 0)
            g->calls[r->call_count++] = call;
    }
    return JOULE_OK;
}

static void add_frames(const struct group *g, const double *frames, enum bound bound,
                       struct function_sum *out)
{
    double by[BOUNDS] = {0};
    for (uint32_t m = 0; m < g->recursion.member_count; m++) {
        const struct evaluated *f = &g->evaluator->functions[g->members[m]];
        by[bound] = frames[m];
        amounts_add(&out->call, by, &f->sum.call);
        out->bytes[bound] += frames[m] * f->sum.bytes[bound];
        if (frames[m] > 0 && f->sum.basis > out->basis)
            out->basis = f->sum.basis;
    }
}

/* Adds a doubt about the number of frames if it is unknown. Otherwise adds a doubt for each other member
 * whose work is open. Returns false if out of memory. */
static bool add_doubts(struct group *g, uint32_t member, bool has_frames)
{
    struct function_sum *sum = &g->sums[member];
    struct evaluated *own = &g->evaluator->functions[g->members[member]];
    struct doubt *list =
        arena_alloc(g->evaluator->arena, (sum->doubt_count + g->recursion.member_count + 1) * sizeof *list);
    if (!list)
        return false;
    if (sum->doubt_count)
        memcpy(list, sum->doubts, sum->doubt_count * sizeof *list);
    sum->doubts = list;
    if (!has_frames)
        list[sum->doubt_count++] =
            (struct doubt){DOUBT_FRAMES, own->function->name, own->function->place, true};
    for (uint32_t m = 0; m < g->recursion.member_count && has_frames; m++) {
        const struct evaluated *f = &g->evaluator->functions[g->members[m]];
        if (m != member && f->sum.basis >= BASIS_OPEN)
            list[sum->doubt_count++] = (struct doubt){DOUBT_CALL, f->function->name, f->function->place,
                                                      f->sum.basis == BASIS_MISSING};
    }
    return true;
}

static double all_of(const struct group *g, const double *frames)
{
    double all = 0;
    for (size_t m = 0; m < g->recursion.member_count; m++)
        all += frames[m];
    return all;
}

/* Returns the likely depth if only its maximum is known: half of the maximum, as for a loop that is entered
 * once. For a chain of frames that starts in a loop, each order of magnitude is equally likely, as for nested
 * loops (trips.c). */
static double likely_levels(const struct group *g, const double *max)
{
    const struct groups *groups = g->evaluator->groups;
    bool is_chain = all_of(g, max) <= g->depth;
    return is_chain && groups->is_called_in_loop[groups->group_of[g->members[0]]]
               ? ceil(sqrt(2 * (g->depth + 1)) - 1)
               : ceil(g->depth / 2);
}

/* Estimates the frames from the depth alone. max: maximum numbers; NULL: the depth allows too many frames. In
 * this case, uses two levels of frames, and at least one frame per likely level. */
static void guess_frames(struct group *g, uint32_t member, const double *max, double *out)
{
    double levels = max ? likely_levels(g, max) : ceil(g->depth / 2);
    if (!recursion_frames(&g->scratch, &g->recursion, member, max ? levels : fmin(g->depth, 2), out)) {
        memset(out, 0, g->recursion.member_count * sizeof *out);
        out[member] = 1;
    }
    double all = all_of(g, out);
    for (size_t m = 0; m < g->recursion.member_count && !max; m++)
        out[m] *= fmax(levels / all, 1);
}

/* Finds the likely and the maximum number of frames. Returns false if out of memory. */
static bool find_frames(struct group *g, uint32_t member, struct frames *out)
{
    size_t count = g->recursion.member_count, size = (count + 1) * sizeof(double);
    *out = (struct frames){arena_alloc(&g->scratch, size), arena_alloc(&g->scratch, size), BASIS_BOUNDED};
    if (!out->likely || !out->max)
        return false;
    bool has_max = g->depth > 0 && recursion_frames(&g->scratch, &g->recursion, member, g->depth, out->max);
    if (!has_max)
        out->basis = g->profiled ? BASIS_OBSERVED : BASIS_MISSING;
    if (!g->profiled)
        guess_frames(g, member, has_max ? out->max : NULL, out->likely);
    for (size_t m = 0; m < count; m++) {
        if (g->profiled)
            out->likely[m] = has_max ? fmin(g->profiled[m], out->max[m]) : g->profiled[m];
        if (!has_max)
            out->max[m] = (g->profiled ? TRIPS_PROFILE_SPREAD : 1) * out->likely[m];
    }
    return true;
}

static bool sum_member(struct group *g, uint32_t member)
{
    struct evaluated *f = &g->evaluator->functions[g->members[member]];
    struct function_sum *sum = &g->sums[member];
    struct frames frames;
    if (!find_frames(g, member, &frames))
        return false;
    *sum = f->sum;
    memset(&sum->call.of[BOUND_EST].amount, 0, sizeof sum->call.of[BOUND_EST].amount);
    memset(&sum->call.of[BOUND_HIGH].amount, 0, sizeof sum->call.of[BOUND_HIGH].amount);
    sum->bytes[BOUND_EST] = sum->bytes[BOUND_HIGH] = 0;
    add_frames(g, frames.likely, BOUND_EST, sum);
    add_frames(g, frames.max, BOUND_HIGH, sum);
    f->frames[BOUND_EST] = frames.likely[member];
    f->frames[BOUND_HIGH] = frames.basis == BASIS_MISSING ? INFINITY : frames.max[member];
    sum->is_variable = sum->is_variable || frames.basis == BASIS_MISSING || all_of(g, frames.max) > 1;
    if ((frames.max[member] > 1 || frames.basis == BASIS_MISSING) && sum->basis < frames.basis)
        sum->basis = frames.basis;
    return sum->basis < BASIS_OPEN || add_doubts(g, member, frames.basis != BASIS_MISSING);
}

static joule_status sum_members(struct group *g)
{
    for (uint32_t m = 0; m < g->recursion.member_count; m++)
        if (!sum_member(g, m))
            return JOULE_NO_MEMORY;
    for (uint32_t m = 0; m < g->recursion.member_count; m++)
        g->evaluator->functions[g->members[m]].sum = g->sums[m];
    return JOULE_OK;
}

joule_status evaluate_group(struct evaluator *e, const uint32_t *members, size_t count, const double *depth,
                            const double *profiled)
{
    struct group g = {
        .evaluator = e, .members = members, .recursion = {NULL, 0, depth, count}, .profiled = profiled};
    for (size_t m = 0; m < count && depth; m++)
        g.depth += depth[m];
    uint32_t group = e->groups->group_of[members[0]];
    g.calls = depth ? groups_list_calls(&g.scratch, e->groups, group, &g.recursion.call_count) : NULL;
    g.sums = arena_alloc(&g.scratch, (count + 1) * sizeof *g.sums);
    joule_status status = g.sums && (g.calls || !depth) ? JOULE_OK : JOULE_NO_MEMORY;
    g.recursion.calls = g.calls;
    if (status == JOULE_OK && depth) /* without a depth, the number of calls has no effect */
        status = count_all_calls(&g);
    if (status == JOULE_OK)
        status = sum_members(&g);
    arena_free(&g.scratch);
    return status;
}
