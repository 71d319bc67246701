/* joulec/trips/profile.c - see profile.h.
 *
 * Note: clang counts at branches. The counts of the other blocks follow from flow conservation (a block runs
 * as often as its incoming edges are taken). This rule is applied until no new count follows.
 */
#include "joulec/trips/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joulec/module/recursion.h"
#include "joulec/source/place.h"

#define MAX_PASSES 64 /* maximum passes over the blocks of a function */

struct counts {
    const struct function *function;
    const struct flow *flow;
    double *of_block, *of_edge; /* NaN: unknown */
};

static double outgoing_count(const struct counts *c, uint32_t block)
{
    const struct block *b = &c->function->blocks[block];
    double sum = b->edge_count ? 0 : NAN;
    for (size_t e = 0; e < b->edge_count; e++)
        sum += c->of_edge[b->edges[e].number];
    return sum;
}

static double incoming_count(const struct counts *c, uint32_t block)
{
    double sum = block == 0 ? c->function->profiled_calls : 0;
    for (uint32_t k = c->flow->predecessor_begin[block]; k < c->flow->predecessor_begin[block + 1]; k++) {
        uint32_t from = c->flow->predecessors[k];
        const struct block *b = &c->function->blocks[from];
        if (c->flow->rank[from] == FLOW_NONE ||
            (k > c->flow->predecessor_begin[block] && c->flow->predecessors[k - 1] == from))
            continue; /* both edges of a branch lead to the block, so `from` is listed twice */
        for (size_t e = 0; e < b->edge_count; e++)
            if (b->edges[e].to == block)
                sum += c->of_edge[b->edges[e].number];
    }
    return sum;
}

/* Computes unknown counts of a block and its edges. Returns true if a count has become known. */
static bool propagate(struct counts *c, uint32_t block)
{
    const struct block *b = &c->function->blocks[block];
    bool is_new = isnan(c->of_block[block]);
    if (is_new)
        c->of_block[block] = outgoing_count(c, block);
    if (isnan(c->of_block[block]))
        c->of_block[block] = incoming_count(c, block);
    is_new = is_new && !isnan(c->of_block[block]);
    for (size_t e = 0; e < b->edge_count; e++) {
        double *edge = &c->of_edge[b->edges[e].number];
        bool is_determined = b->edge_count == 1 || c->of_block[block] == 0;
        if (!isnan(*edge) || !is_determined || isnan(c->of_block[block]))
            continue;
        *edge = c->of_block[block];
        is_new = true;
    }
    return is_new;
}

static bool count_blocks(struct arena *arena, const struct function *f, const struct flow *flow,
                         struct counts *out)
{
    *out = (struct counts){f, flow, arena_alloc(arena, (f->block_count + 1) * sizeof *out->of_block),
                           arena_alloc(arena, (f->edge_count + 1) * sizeof *out->of_edge)};
    if (!out->of_block || !out->of_edge)
        return false;
    for (size_t b = 0; b < f->block_count; b++) {
        out->of_block[b] = NAN;
        for (size_t e = 0; e < f->blocks[b].edge_count; e++) {
            const struct edge *edge = &f->blocks[b].edges[e];
            /* clang generates such an edge for a `continue` past the end of a variable's lifetime. */
            bool is_impossible = isnan(edge->profiled_count) && f->blocks[edge->to].is_dead_end;
            out->of_edge[edge->number] = is_impossible ? 0 : edge->profiled_count;
        }
    }
    bool is_new = true;
    for (int round = 0; round < MAX_PASSES && is_new; round++) {
        is_new = false;
        for (size_t i = 0; i < flow->reached; i++)
            is_new = propagate(out, flow->order[i]) || is_new;
    }
    return true;
}

/* --- loops ---------------------------------------------------------------------------------------------- */

/* Returns the counts of a loop. Each entry ends with an exit, so the exits are counted as entries. An
 * iteration that ends in the middle counts; the last test of a `for` does not. */
static struct profile_loop count_loop(const struct counts *c, const struct loops *loops, size_t number)
{
    const struct loop *loop = &loops->list[number];
    struct profile_loop out = {.place = loop->place};
    bool is_top_tested = loop_is_top_tested(c->function, loops, (int32_t)number);
    for (uint32_t i = loop->first; i < loop->end; i++) {
        uint32_t block = loops->members[i];
        const struct block *b = &c->function->blocks[block];
        for (size_t e = 0; e < b->edge_count; e++) {
            double times = c->of_edge[b->edges[e].number];
            bool leaves = !loop_has(loops, (int32_t)number, b->edges[e].to);
            bool is_last_test = leaves && block == loop->header && is_top_tested;
            out.entries += leaves ? times : 0;
            out.iterations += (leaves && !is_last_test) || b->edges[e].to == loop->header ? times : 0;
        }
    }
    return out;
}

static int by_place(const void *a, const void *b)
{
    const struct source_place *left = &((const struct profile_loop *)a)->place,
                              *right = &((const struct profile_loop *)b)->place;
    return source_place_order(left, right);
}

/* Merges loops at the same place, which may come from one macro. */
static void merge_equal(struct profile *profile)
{
    size_t kept = 0;
    for (size_t i = 0; i < profile->loop_count; i++) {
        struct profile_loop *last = kept ? &profile->loops[kept - 1] : NULL;
        if (last && by_place(last, &profile->loops[i]) == 0) {
            last->entries += profile->loops[i].entries;
            last->iterations += profile->loops[i].iterations;
        } else {
            profile->loops[kept++] = profile->loops[i];
        }
    }
    profile->loop_count = kept;
}

/* --- a module ------------------------------------------------------------------------------------------- */

struct reading {
    const struct module *module;
    struct profile *profile;
    size_t loop_capacity;
    struct arena scratch;
    struct groups groups;
    double *outside; /* calls of each group from outside of the group; NaN: unknown */
};

static bool add_loops(struct reading *r, const struct loops *loops, const struct counts *counts)
{
    struct profile *profile = r->profile;
    if (profile->loop_count + loops->count > r->loop_capacity) {
        r->loop_capacity = 2 * (profile->loop_count + loops->count);
        struct profile_loop *list = arena_alloc(&profile->arena, r->loop_capacity * sizeof *list);
        if (!list)
            return false;
        if (profile->loop_count)
            memcpy(list, profile->loops, profile->loop_count * sizeof *list);
        profile->loops = list;
    }
    for (size_t i = 0; i < loops->count; i++) {
        struct profile_loop loop = count_loop(counts, loops, i);
        if (loop.place.file)
            loop.place.file = arena_copy(&profile->arena, loop.place.file, strlen(loop.place.file));
        loop.function = profile->function_count;
        if (loop.place.file)
            profile->loops[profile->loop_count++] = loop;
    }
    return true;
}

/* Returns true if clang may have scaled counts down to 32 bits. The divisor differs from branch to branch.
 * The largest scaled count of a branch is at least half of UINT32_MAX. */
static bool may_be_divided(const struct function *f)
{
    for (size_t b = 0; b < f->block_count; b++)
        for (size_t e = 0; e < f->blocks[b].edge_count; e++)
            if (f->blocks[b].edges[e].profiled_count >= UINT32_MAX / 2)
                return true;
    return false;
}

/* Returns true if the incoming and outgoing counts of a block differ. Some versions of clang miscount a `?:`
 * after the colon of another `?:`. */
static bool is_contradicted(const struct counts *c)
{
    for (size_t i = 0; i < c->flow->reached; i++) {
        uint32_t block = c->flow->order[i];
        if (fabs(incoming_count(c, block) - outgoing_count(c, block)) > 0.5)
            return true;
    }
    return false;
}

/* Adds the calls of a function from outside of its group to the group's count. */
static void count_outside(struct reading *r, const struct counts *counts)
{
    const struct function *f = counts->function;
    uint32_t group = r->groups.group_of[f - r->module->functions];
    r->outside[group] += may_be_divided(f) || is_contradicted(counts) ? NAN : f->profiled_calls;
    for (size_t b = 0; b < f->block_count; b++)
        for (size_t c = 0; c < f->blocks[b].call_count; c++)
            if (groups_is_call_of(&r->groups, group, &f->blocks[b].calls[c]))
                r->outside[group] -= f->blocks[b].calls[c].callee < 0 ? NAN : counts->of_block[b];
}

/* Returns the first loop from `from` on that has no keyword in the source; loops->count: none. */
static size_t next_without_keyword(const struct loops *loops, size_t from)
{
    while (from < loops->count && loops->list[from].has_own_place)
        from++;
    return from;
}

static bool add_function(struct reading *r, const struct function *f)
{
    struct arena own = {0};
    struct loops loops;
    struct counts counts;
    const char *name = arena_copy(&r->profile->arena, f->name, strlen(f->name));
    bool is_good = name && loops_find(&own, f, &loops) == JOULE_OK &&
                   count_blocks(&own, f, &loops.flow, &counts) && add_loops(r, &loops, &counts);
    if (is_good) {
        count_outside(r, &counts);
        r->profile->functions[r->profile->function_count++] =
            (struct profile_function){name, f->profiled_calls, next_without_keyword(&loops, 0) < loops.count};
    }
    arena_free(&own);
    return is_good;
}

/* Divides the calls of each function by the calls of its group from outside. */
static void count_frames(struct reading *r)
{
    size_t known = 0;
    for (size_t i = 0; i < r->module->function_count; i++) {
        if (isnan(r->module->functions[i].profiled_calls))
            continue;
        double outside = r->outside[r->groups.group_of[i]];
        struct profile_function *f = &r->profile->functions[known++];
        f->frames = outside > 0 ? f->frames / outside : 0;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct profile_function *)a)->name, ((const struct profile_function *)b)->name);
}

bool profile_read(const struct module *module, struct profile *out)
{
    struct reading reading = {.module = module, .profile = out};
    *out = (struct profile){.loop_count = 0};
    out->functions = arena_alloc(&out->arena, (module->function_count + 1) * sizeof *out->functions);
    bool is_good = out->functions && groups_find(&reading.scratch, module, &reading.groups) == JOULE_OK;
    if (is_good)
        reading.outside = arena_alloc(&reading.scratch, (reading.groups.count + 1) * sizeof *reading.outside);
    is_good = is_good && reading.outside;
    for (size_t i = 0; i < module->function_count && is_good; i++)
        if (!isnan(module->functions[i].profiled_calls))
            is_good = add_function(&reading, &module->functions[i]);
    if (is_good)
        count_frames(&reading);
    arena_free(&reading.scratch);
    if (!is_good) {
        profile_free(out);
        return false;
    }
    if (out->loop_count)
        qsort(out->loops, out->loop_count, sizeof *out->loops, by_place);
    if (out->function_count)
        qsort(out->functions, out->function_count, sizeof *out->functions, by_name);
    merge_equal(out);
    return true;
}

void profile_free(struct profile *profile)
{
    arena_free(&profile->arena);
    *profile = (struct profile){.loop_count = 0};
}

const struct profile_function *profile_find(const struct profile *profile, const char *function)
{
    struct profile_function key = {.name = function};
    return profile->function_count ? bsearch(&key, profile->functions, profile->function_count,
                                             sizeof *profile->functions, by_name)
                                   : NULL;
}

/* Returns true if the loop's only exit is in its header, so that the header runs once more than the body. */
static bool header_runs_once_more(const struct function *function, const struct loops *loops, int32_t loop)
{
    bool does = loop_is_top_tested(function, loops, loop);
    for (uint32_t i = loops->exit_begin[loop]; i < loops->exit_begin[loop + 1]; i++)
        does = does && loops->exits[i].block == loops->list[loop].header;
    return does;
}

/* Returns the loop by which LLVM replaced calls of the function by itself; loops->count: there is no such
 * loop, or it is unclear which loop it is. */
static size_t loop_of_calls(const struct profile_function *profiled, const struct loops *loops)
{
    size_t loop = next_without_keyword(loops, 0);
    bool is_one = loop < loops->count && next_without_keyword(loops, loop + 1) == loops->count;
    return profiled && profiled->frames > 1 && !profiled->has_loops_without_keyword && is_one ? loop
                                                                                              : loops->count;
}

static bool has_loop_at(const struct loops *loops, const struct source_place *place)
{
    bool has = false;
    for (size_t i = 0; i < loops->count && !has; i++)
        has = loops->list[i].place.file && source_place_order(&loops->list[i].place, place) == 0;
    return has;
}

/* Returns true if LLVM may have merged the loop with its neighbour in the source: no loop of the function has
 * the neighbour's place. The profiled counts are then those of only one of the two loops. */
static bool may_be_merged(const struct profile *profile, const struct profile_loop *profiled,
                          const struct loops *loops)
{
    const struct profile_loop *end = profile->loops + profile->loop_count;
    bool after = profiled + 1 < end && profiled[1].function == profiled->function &&
                 !has_loop_at(loops, &profiled[1].place);
    bool before = profiled > profile->loops && profiled[-1].function == profiled->function &&
                  !has_loop_at(loops, &profiled[-1].place);
    return after || before;
}

static void set_profiled(struct trips_loop *loop, double mean)
{
    loop->has_profile = true;
    loop->profiled_mean = mean;
    loop->profiled_low = NAN;
    loop->profiled_high = mean; /* the profile does not contain the maximum of one entry */
}

void profile_join(const struct profile *profile, const struct function *function, bool calls_itself,
                  const struct loops *loops, struct trips_loop *out)
{
    for (size_t i = 0; i < loops->count && profile->loop_count; i++) {
        struct profile_loop key = {.place = loops->list[i].place};
        const struct profile_loop *profiled =
            key.place.file
                ? bsearch(&key, profile->loops, profile->loop_count, sizeof *profile->loops, by_place)
                : NULL;
        if (!profiled || !(profiled->entries > 0) || !isfinite(profiled->iterations) ||
            (loops->list[i].may_be_two && may_be_merged(profile, profiled, loops)))
            continue;
        set_profiled(&out[i], profiled->iterations / profiled->entries +
                                  header_runs_once_more(function, loops, (int32_t)i));
    }
    const struct profile_function *profiled = profile_find(profile, function->name);
    size_t of_calls = loop_of_calls(profiled, loops);
    if (of_calls < loops->count && !out[of_calls].has_profile)
        set_profiled(&out[of_calls], calls_itself ? 1 : profiled->frames);
}
