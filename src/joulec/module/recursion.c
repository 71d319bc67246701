/* joulec/module/recursion.c - see recursion.h. Groups are strongly connected components, by Tarjan's way (1972), without recursion. */
#include "joulec/module/recursion.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define MOST_FRAMES 1e15
#define MOST_STEPS  2e8 /* calls looked at, of all levels */

/* --- groups ----------------------------------------------------------------------------------------------------- */

struct search {
    const struct module *module;
    uint32_t *begin, *to; /* to[begin[f] .. begin[f + 1]) are called by f */
    uint32_t *order;      /* in which each function was reached, from 1; 0: not yet */
    uint32_t *low;        /* the first that it leads back to */
    uint32_t *next;       /* of its calls, to be looked at */
    uint32_t *open, *way; /* functions whose group is not known yet; those being looked at */
    size_t open_count, way_count;
    uint32_t last;
    struct groups *out;
};

static bool list_calls(struct arena *arena, struct search *s)
{
    const struct module *module = s->module;
    const int32_t *targets;
    size_t count = 0;
    for (size_t i = 0; i < module->function_count; i++)
        for (size_t b = 0; b < module->functions[i].block_count; b++)
            for (size_t c = 0; c < module->functions[i].blocks[b].call_count; c++)
                count += call_targets(&module->functions[i].blocks[b].calls[c], &targets);
    s->begin = arena_alloc(arena, (module->function_count + 1) * sizeof *s->begin);
    s->to = arena_alloc(arena, (count + 1) * sizeof *s->to);
    if (!s->begin || !s->to)
        return false;
    uint32_t at = 0;
    for (size_t i = 0; i < module->function_count; i++) {
        const struct function *f = &module->functions[i];
        s->begin[i] = at;
        for (size_t b = 0; b < f->block_count; b++)
            for (size_t c = 0; c < f->blocks[b].call_count; c++)
                for (size_t t = call_targets(&f->blocks[b].calls[c], &targets); t-- > 0;)
                    s->to[at++] = (uint32_t)targets[t];
    }
    s->begin[module->function_count] = at;
    return true;
}

static void begin_function(struct search *s, uint32_t f)
{
    s->order[f] = s->low[f] = ++s->last;
    s->next[f] = s->begin[f];
    s->open[s->open_count++] = f;
    s->way[s->way_count++] = f;
}

/* All that was opened since, and `f` itself, call each other. */
static void close_group(struct search *s, uint32_t f)
{
    struct groups *out = s->out;
    uint32_t member, at = out->begin[out->count];
    do {
        member = s->open[--s->open_count];
        out->group_of[member] = (uint32_t)out->count;
        out->members[at++] = member;
    } while (member != f);
    out->begin[++out->count] = at;
}

static void end_function(struct search *s, uint32_t f)
{
    s->way_count--;
    if (s->low[f] == s->order[f])
        close_group(s, f);
    uint32_t caller = s->way_count ? s->way[s->way_count - 1] : f;
    if (s->low[f] < s->low[caller])
        s->low[caller] = s->low[f];
}

static void look_from(struct search *s, uint32_t root)
{
    begin_function(s, root);
    while (s->way_count) {
        uint32_t f = s->way[s->way_count - 1];
        if (s->next[f] == s->begin[f + 1]) {
            end_function(s, f);
            continue;
        }
        uint32_t callee = s->to[s->next[f]++];
        if (!s->order[callee])
            begin_function(s, callee);
        else if (s->out->group_of[callee] == UINT32_MAX && s->order[callee] < s->low[f])
            s->low[f] = s->order[callee];
    }
}

joule_status groups_find(struct arena *arena, const struct module *module, struct groups *out_groups)
{
    size_t count = module->function_count + 1;
    struct arena scratch = {0};
    struct search s = {.module = module, .out = out_groups};
    *out_groups = (struct groups){.group_of = arena_alloc(arena, count * sizeof *out_groups->group_of),
                                  .members = arena_alloc(arena, count * sizeof *out_groups->members),
                                  .begin = arena_alloc(arena, (count + 1) * sizeof *out_groups->begin)};
    uint32_t **lists[] = {&s.order, &s.low, &s.next, &s.open, &s.way};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        *lists[i] = arena_alloc(&scratch, count * sizeof **lists[i]);
    bool is_good = !scratch.is_short && out_groups->group_of && out_groups->members && out_groups->begin &&
                   list_calls(&scratch, &s);
    if (is_good)
        memset(out_groups->group_of, 0xff, count * sizeof *out_groups->group_of);
    for (uint32_t f = 0; is_good && f < module->function_count; f++)
        if (!s.order[f])
            look_from(&s, f);
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

/* --- frames ----------------------------------------------------------------------------------------------------- */

/* Members without a depth, each behind all of them that call it, in out[0..); how many there are where no round is among them,
 * else SIZE_MAX. */
static size_t put_in_order(struct arena *scratch, const struct recursion *r, uint32_t *out)
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
        for (size_t i = 0; i < r->call_count; i++) {
            uint32_t to = r->calls[i].to;
            if (r->calls[i].from == out[at] && --callers[to] == 0 && r->depth[to] <= 0)
                out[count++] = to;
        }
    return count == without ? count : SIZE_MAX;
}

bool recursion_is_bounded(struct arena *scratch, const struct recursion *recursion)
{
    uint32_t *order = arena_alloc(scratch, (recursion->member_count + 1) * sizeof *order);
    return order && put_in_order(scratch, recursion, order) != SIZE_MAX;
}

/* One level of frames: those without a depth call each other within it, in their order. What has one goes to the next. */
struct level {
    double *now, *next;
};

static void call_from(const struct recursion *r, uint32_t from, struct level *level)
{
    for (size_t i = 0; i < r->call_count && level->now[from] > 0; i++) {
        const struct recursion_call *call = &r->calls[i];
        if (call->from == from)
            (r->depth[call->to] > 0 ? level->next : level->now)[call->to] += level->now[from] * call->most;
    }
}

/* Adds the frames of a level to all, and makes those one deeper. Their number; what it is not, there is none. */
static double take_level(const struct recursion *r, const uint32_t *order, size_t order_count,
                         struct level *level, double *frames)
{
    double deeper = 0;
    for (uint32_t m = 0; m < r->member_count; m++)
        if (r->depth[m] > 0)
            call_from(r, m, level);
    for (size_t i = 0; i < order_count; i++)
        call_from(r, order[i], level);
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
    size_t count = order ? put_in_order(scratch, r, order) : SIZE_MAX;
    double cost = (double)r->call_count * (double)r->member_count + 1, sum = 0;
    memset(out_frames, 0, r->member_count * sizeof *out_frames);
    if (!level.now || !level.next || count == SIZE_MAX)
        return false;
    level.now[start] = 1;
    if (r->depth[start] <= 0)
        depth++;
    for (double done = 0; depth >= 1 && level.now; depth--, done += cost) {
        double deeper = take_level(r, order, count, &level, out_frames);
        if (deeper <= 0)
            break;
        sum += deeper;
        if (!(sum <= MOST_FRAMES) || done > MOST_STEPS)
            return false;
    }
    return true;
}
