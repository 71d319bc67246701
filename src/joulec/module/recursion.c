/* joulec/module/recursion.c - see recursion.h. Finds the groups with Tarjan's algorithm for strongly
 * connected components (1972), without recursion. */
#include "joulec/module/recursion.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define MAX_FRAMES 1e15
#define MAX_STEPS  2e8 /* maximum number of calls to visit in a group, over all levels and members */

/* --- groups --------------------------------------------------------------------------------------------- */

/* State of the search for groups. */
struct search {
    uint32_t *order;       /* order in which functions were reached, from 1; 0: not reached */
    uint32_t *low;         /* low link, as in the paper */
    uint32_t *next;        /* next call of each function to visit */
    uint32_t *open, *path; /* `open`: functions that have no group yet; `path`: the path of the search */
    size_t open_count, path_count;
    uint32_t last;
    struct groups *out;
};

static bool list_calls(struct arena *arena, const struct module *module, struct groups *out)
{
    const int32_t *targets;
    size_t count = 0;
    for (size_t i = 0; i < module->function_count; i++)
        for (size_t b = 0; b < module->functions[i].block_count; b++)
            for (size_t c = 0; c < module->functions[i].blocks[b].call_count; c++)
                count += call_targets(&module->functions[i].blocks[b].calls[c], &targets);
    out->called_begin = arena_alloc(arena, (module->function_count + 1) * sizeof *out->called_begin);
    out->called = arena_alloc(arena, (count + 1) * sizeof *out->called);
    if (!out->called_begin || !out->called)
        return false;
    uint32_t at = 0;
    for (size_t i = 0; i < module->function_count; i++) {
        const struct function *f = &module->functions[i];
        out->called_begin[i] = at;
        for (size_t b = 0; b < f->block_count; b++)
            for (size_t c = 0; c < f->blocks[b].call_count; c++)
                for (size_t t = call_targets(&f->blocks[b].calls[c], &targets); t-- > 0;)
                    out->called[at++] = (uint32_t)targets[t];
    }
    out->called_begin[module->function_count] = at;
    return true;
}

static void begin_function(struct search *s, uint32_t f)
{
    s->order[f] = s->low[f] = ++s->last;
    s->next[f] = s->out->called_begin[f];
    s->open[s->open_count++] = f;
    s->path[s->path_count++] = f;
}

/* Creates a group of `f` and all open functions that were reached after `f`. */
static void close_group(struct search *s, uint32_t f)
{
    struct groups *out = s->out;
    uint32_t member, at = out->begin[out->count];
    do {
        member = s->open[--s->open_count];
        out->group_of[member] = (uint32_t)out->count;
        out->place_of[member] = at - out->begin[out->count];
        out->members[at++] = member;
    } while (member != f);
    out->begin[++out->count] = at;
}

static void end_function(struct search *s, uint32_t f)
{
    s->path_count--;
    if (s->low[f] == s->order[f])
        close_group(s, f);
    uint32_t caller = s->path_count ? s->path[s->path_count - 1] : f;
    if (s->low[f] < s->low[caller])
        s->low[caller] = s->low[f];
}

static void search_from(struct search *s, uint32_t root)
{
    begin_function(s, root);
    while (s->path_count) {
        uint32_t f = s->path[s->path_count - 1];
        if (s->next[f] == s->out->called_begin[f + 1]) {
            end_function(s, f);
            continue;
        }
        uint32_t callee = s->out->called[s->next[f]++];
        if (!s->order[callee])
            begin_function(s, callee);
        else if (s->out->group_of[callee] == UINT32_MAX && s->order[callee] < s->low[f])
            s->low[f] = s->order[callee];
    }
}

/* Sets is_called_in_loop of each group. */
static void find_calls_in_loops(const struct module *module, struct groups *groups)
{
    const int32_t *targets;
    for (size_t i = 0; i < module->function_count; i++)
        for (size_t b = 0; b < module->functions[i].block_count; b++)
            for (size_t c = 0; c < module->functions[i].blocks[b].call_count; c++) {
                const struct call *call = &module->functions[i].blocks[b].calls[c];
                for (size_t t = call->is_in_loop ? call_targets(call, &targets) : 0; t-- > 0;)
                    if (groups->group_of[targets[t]] != groups->group_of[i])
                        groups->is_called_in_loop[groups->group_of[targets[t]]] = true;
            }
}

joule_status groups_find(struct arena *arena, const struct module *module, struct groups *out_groups)
{
    size_t count = module->function_count + 1;
    struct arena scratch = {0};
    struct search s = {.out = out_groups};
    *out_groups = (struct groups){.group_of = arena_alloc(arena, count * sizeof *out_groups->group_of),
                                  .is_called_in_loop = arena_alloc(arena, count),
                                  .place_of = arena_alloc(arena, count * sizeof *out_groups->place_of),
                                  .members = arena_alloc(arena, count * sizeof *out_groups->members),
                                  .begin = arena_alloc(arena, (count + 1) * sizeof *out_groups->begin)};
    uint32_t **lists[] = {&s.order, &s.low, &s.next, &s.open, &s.path};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        *lists[i] = arena_alloc(&scratch, count * sizeof **lists[i]);
    bool is_good =
        !scratch.is_out_of_memory && !arena->is_out_of_memory && list_calls(arena, module, out_groups);
    if (is_good)
        memset(out_groups->group_of, 0xff, count * sizeof *out_groups->group_of);
    for (uint32_t f = 0; is_good && f < module->function_count; f++)
        if (!s.order[f])
            search_from(&s, f);
    if (is_good)
        find_calls_in_loops(module, out_groups);
    arena_free(&scratch);
    return is_good ? JOULE_OK : JOULE_NO_MEMORY;
}

bool groups_is_call_of(const struct groups *groups, uint32_t group, const struct call *call)
{
    const int32_t *targets;
    for (size_t t = call_targets(call, &targets); t-- > 0;)
        if (groups->group_of[targets[t]] == group)
            return true;
    return false;
}

struct recursion_call *groups_list_calls(struct arena *arena, const struct groups *groups, uint32_t group,
                                         size_t *out_count)
{
    const uint32_t *members = groups->members + groups->begin[group];
    uint32_t count = groups->begin[group + 1] - groups->begin[group];
    size_t capacity = 0, calls = 0;
    for (uint32_t m = 0; m < count; m++)
        capacity += groups->called_begin[members[m] + 1] - groups->called_begin[members[m]];
    struct recursion_call *list = arena_alloc(arena, (capacity + 1) * sizeof *list);
    /* for each member: 1 + the position of the caller that was added last; 0: none */
    uint32_t *last = arena_alloc(arena, (count + 1) * sizeof *last);
    for (uint32_t m = 0; m < count && list && last; m++)
        for (uint32_t k = groups->called_begin[members[m]]; k < groups->called_begin[members[m] + 1]; k++) {
            uint32_t callee = groups->called[k], to = groups->place_of[callee];
            if (groups->group_of[callee] != group || last[to] == m + 1)
                continue;
            last[to] = m + 1;
            list[calls++] = (struct recursion_call){m, to, 1};
        }
    *out_count = calls;
    return last ? list : NULL;
}

/* --- frames --------------------------------------------------------------------------------------------- */

/* Calls by caller: list[begin[m] .. begin[m + 1]) are indices of the calls of member m. */
struct by_caller {
    size_t *list, *begin;
};

static bool sort_by_caller(struct arena *scratch, const struct recursion *r, struct by_caller *out)
{
    out->list = arena_alloc(scratch, (r->call_count + 1) * sizeof *out->list);
    out->begin = arena_alloc(scratch, (r->member_count + 2) * sizeof *out->begin);
    if (!out->list || !out->begin)
        return false;
    for (size_t i = 0; i < r->call_count; i++)
        out->begin[r->calls[i].from + 2]++;
    for (size_t m = 0; m < r->member_count; m++)
        out->begin[m + 2] += out->begin[m + 1];
    for (size_t i = 0; i < r->call_count; i++)
        out->list[out->begin[r->calls[i].from + 1]++] = i;
    return true;
}

/* Writes the members without a depth to `out`, callers before callees. Returns their number. Returns SIZE_MAX
 * if some of these members form a cycle, or if out of memory. */
static size_t find_order(struct arena *scratch, const struct recursion *r, const struct by_caller *by,
                         uint32_t *out)
{
    size_t *callers = arena_alloc(scratch, (r->member_count + 1) * sizeof *callers), count = 0, without = 0;
    if (!callers)
        return SIZE_MAX;
    for (size_t i = 0; i < r->call_count; i++)
        callers[r->calls[i].to] += r->depth[r->calls[i].from] <= 0;
    for (uint32_t m = 0; m < r->member_count; m++) {
        without += r->depth[m] <= 0;
        if (r->depth[m] <= 0 && !callers[m])
            out[count++] = m;
    }
    for (size_t at = 0; at < count; at++)
        for (size_t k = by->begin[out[at]]; k < by->begin[out[at] + 1]; k++) {
            uint32_t to = r->calls[by->list[k]].to;
            if (--callers[to] == 0 && r->depth[to] <= 0)
                out[count++] = to;
        }
    return count == without ? count : SIZE_MAX;
}

bool recursion_is_bounded(struct arena *scratch, const struct recursion *recursion)
{
    struct by_caller by;
    uint32_t *order = arena_alloc(scratch, (recursion->member_count + 1) * sizeof *order);
    return order && sort_by_caller(scratch, recursion, &by) &&
           find_order(scratch, recursion, &by, order) != SIZE_MAX;
}

/* Number of frames of each member, in the current and in the next level of recursion. A call of a member with
 * a depth leads to the next level. A call of another member stays in the current level. */
struct level {
    double *now, *next;
};

static void call_from(const struct recursion *r, const struct by_caller *by, uint32_t from,
                      struct level *level)
{
    for (size_t k = by->begin[from]; k < by->begin[from + 1] && level->now[from] > 0; k++) {
        const struct recursion_call *call = &r->calls[by->list[k]];
        (r->depth[call->to] > 0 ? level->next : level->now)[call->to] += level->now[from] * call->max;
    }
}

/* Adds the frames of the current level to the sums, and advances to the next level. Returns the number of
 * frames in the next level. */
static double finish_level(const struct recursion *r, const struct by_caller *by, const uint32_t *order,
                           size_t order_count, struct level *level, double *frames)
{
    double deeper = 0;
    for (uint32_t m = 0; m < r->member_count; m++)
        if (r->depth[m] > 0)
            call_from(r, by, m, level);
    for (size_t i = 0; i < order_count; i++)
        call_from(r, by, order[i], level);
    for (uint32_t m = 0; m < r->member_count; m++) {
        frames[m] += level->now[m];
        level->now[m] = level->next[m];
        deeper += level->next[m];
        level->next[m] = 0;
    }
    return deeper;
}

bool recursion_frames(struct arena *scratch, const struct recursion *recursion, uint32_t start, double depth,
                      double *out_frames)
{
    const struct recursion *r = recursion;
    size_t size = (r->member_count + 1) * sizeof(double);
    struct level level = {arena_alloc(scratch, size), arena_alloc(scratch, size)};
    uint32_t *order = arena_alloc(scratch, (r->member_count + 1) * sizeof *order);
    struct by_caller by;
    size_t count = order && sort_by_caller(scratch, r, &by) ? find_order(scratch, r, &by, order) : SIZE_MAX;
    double cost = (double)r->call_count * (double)r->member_count + 1, sum = 0;
    memset(out_frames, 0, r->member_count * sizeof *out_frames);
    if (!level.now || !level.next || count == SIZE_MAX)
        return false;
    level.now[start] = 1;
    if (r->depth[start] <= 0)
        depth++;
    for (double done = 0; depth >= 1 && level.now; depth--, done += cost) {
        double deeper = finish_level(r, &by, order, count, &level, out_frames);
        if (deeper <= 0)
            break;
        sum += deeper;
        if (!(sum <= MAX_FRAMES) || done > MAX_STEPS)
            return false;
    }
    return true;
}
