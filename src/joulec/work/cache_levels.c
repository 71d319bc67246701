/* joulec/work/cache_levels.c - see cache_levels.h.
 *
 * For a cache of a given size, finds the outermost loop L for which the data of one iteration fits. From one
 * iteration of L to the next nothing is evicted, so each line is loaded once per entry of L. From one
 * iteration of the loop around L to the next, everything is evicted. Lines that miss one level but not the
 * next come from the next level. Lines whose distance is a power of two share few sets of a cache, so fewer
 * of them fit.
 * Note: accesses whose addresses differ by a constant (a[i], a[i + 1]) form a group, whose lines count once.
 */
#include "joulec/work/cache_levels.h"

#include <math.h>
#include <stdlib.h>

#define MAX_DEPTH         24   /* maximum depth of loops; accesses in deeper loops count as irregular */
#define MAX_STREAM_STRIDE 2048 /* maximum stride that hardware prefetchers follow, within a page */

#define PAGE_BYTES 4096
#define MAX_STRIDE 1e15 /* in bytes; doubles represent larger integers inexactly */

/* Part of a level that the function's data can use: in the worst case half, because of conflicts. */
static const double usable[BOUNDS] = {1, 1, 0.5};
/* Write-backs per written line. In the best case the line is written again before it is evicted. */
static const double written_back[BOUNDS] = {0, 1, 1};

/* Miss rate of L1 for accesses with an unknown address: the geometric mean of the worst case (1) and of
 * optimised programs (1/64); assumed. */
#define MISSES_OF_UNKNOWN (1.0 / 8)

/* A loop as a repetition of accesses: bytes per iteration, and number of iterations. */
struct dimension {
    double stride, times;
};

struct reference {
    struct address at;
    const struct access *access;
    uint32_t block;
    int32_t loop; /* innermost loop of the block; -1: none */
};

/* References with equal bases and keys in the same loop, sorted by offset. */
struct group {
    size_t first, count; /* references[first .. first + count) */
    unsigned depth;      /* depth of the loop; 0: none */
    bool is_irregular;   /* the address is irregular in the innermost loop */
    bool has_store, is_in_chain;
    double bytes;
    /* [depth + 1], for one bound: lines per iteration of the loop at this depth; depth 0: per call. */
    double *lines;
};

struct memory {
    struct arena *arena;
    const struct addresses *addresses;
    const struct loops *loops;
    const struct loop_times *times;
    const struct cost_core *core;
    struct block_memory *out;
    struct reference *references;
    size_t reference_count;
    struct group *groups;
    size_t group_count;
    enum bound bound;     /* current bound */
    double *footprint;    /* bytes that one iteration of each loop touches, by loop + 1; [0]: one call */
    struct merge *merges; /* by loop + 1; [0]: the function */
    struct dimension dimensions[MAX_DEPTH];
};

/* --- references ----------------------------------------------------------------------------------------- */

static unsigned depth_of(const struct memory *m, int32_t loop)
{
    return loop < 0 ? 0 : m->loops->list[loop].depth;
}

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

static int by_group(const void *a, const void *b)
{
    const struct reference *x = a, *y = b;
    if (x->at.base != y->at.base)
        return x->at.base < y->at.base ? -1 : 1;
    if (x->loop != y->loop)
        return x->loop < y->loop ? -1 : 1;
    if (x->at.key != y->at.key)
        return x->at.key < y->at.key ? -1 : 1;
    if (x->at.offset != y->at.offset)
        return compare(x->at.offset, y->at.offset);
    return x->block != y->block ? (x->block < y->block ? -1 : 1)
                                : (x->access > y->access) - (x->access < y->access);
}

static bool read_references(struct memory *m)
{
    const struct function *f = m->addresses->function;
    size_t count = 1;
    for (size_t b = 0; b < f->block_count; b++)
        count += f->blocks[b].access_count;
    m->references = arena_alloc(m->arena, count * sizeof *m->references);
    m->groups = arena_alloc(m->arena, count * sizeof *m->groups);
    if (!m->references || !m->groups)
        return false;
    for (size_t i = 0; i < m->loops->flow.reached; i++) {
        uint32_t block = m->loops->flow.order[i];
        for (size_t k = 0; k < f->blocks[block].access_count; k++) {
            struct reference *reference = &m->references[m->reference_count++];
            *reference = (struct reference){
                .access = &f->blocks[block].accesses[k], .block = block, .loop = m->loops->innermost[block]};
            reference->at.stride =
                arena_alloc(m->arena, (depth_of(m, reference->loop) + 1) * sizeof *reference->at.stride);
            if (!reference->at.stride)
                return false;
            address_read(m->addresses, reference->access, block, &reference->at);
        }
    }
    if (m->reference_count)
        qsort(m->references, m->reference_count, sizeof *m->references, by_group);
    return true;
}

static bool make_groups(struct memory *m)
{
    for (size_t i = 0; i < m->reference_count; i++) {
        const struct reference *r = &m->references[i], *last = r - 1;
        if (i == 0 || r->at.base != last->at.base || r->loop != last->loop || r->at.key != last->at.key) {
            unsigned depth = depth_of(m, r->loop);
            m->groups[m->group_count++] =
                (struct group){.first = i,
                               .depth = depth,
                               .is_irregular = r->at.irregular_depth == (int)depth || depth > MAX_DEPTH,
                               .lines = arena_alloc(m->arena, (depth + 1) * sizeof(double))};
            if (!m->groups[m->group_count - 1].lines)
                return false;
        }
        struct group *group = &m->groups[m->group_count - 1];
        group->count++;
        group->bytes = fmax(group->bytes, r->access->bytes);
        group->has_store = group->has_store || r->access->is_store;
        group->is_in_chain = group->is_in_chain || r->access->is_in_chain;
    }
    return true;
}

/* --- touched lines -------------------------------------------------------------------------------------- */

struct extent {
    double bytes, lines;
};

static double times_of(const struct memory *m, int32_t loop)
{
    return fmax(m->times[loop].times[m->bound], 1);
}

/* Returns the extent of by->times copies, each by->stride bytes after the previous one. */
static struct extent extend(const struct memory *m, struct extent one, const struct dimension *by)
{
    double line = m->core->line_bytes;
    if (!(by->stride > 0) || !(by->times > 1))
        return one;
    if (by->stride < one.bytes) { /* the copies overlap */
        double bytes = one.bytes + by->stride * (by->times - 1);
        double lines = one.bytes > line ? one.lines * bytes / one.bytes : fmax(one.lines, bytes / line);
        return (struct extent){bytes, fmin(lines, one.lines * by->times)};
    }
    double bytes = by->stride * by->times;
    return (struct extent){bytes, by->stride < line ? fmax(one.lines, bytes / line) : one.lines * by->times};
}

/* Inserts a dimension into the list, which is sorted by stride. */
static void insert(struct dimension *list, size_t count, struct dimension new)
{
    for (; count > 0 && list[count - 1].stride > new.stride; count--)
        list[count] = list[count - 1];
    list[count] = new;
}

static struct extent extend_all(const struct memory *m, struct extent one, size_t count)
{
    for (size_t i = 0; i < count; i++)
        one = extend(m, one, &m->dimensions[i]);
    return one;
}

static bool is_known(const struct memory *m, const struct reference *r, int32_t loop)
{
    int depth = (int)depth_of(m, loop);
    return depth > r->at.irregular_depth && isfinite(r->at.stride[depth - 1]);
}

/* Returns the absolute stride in bytes. In the best case a monotonic phi never advances. */
static double stride_of(const struct memory *m, const struct reference *r, int32_t loop)
{
    unsigned d = depth_of(m, loop) - 1;
    bool may_stay = m->bound == BOUND_LOW && r->at.monotonic_phis >> d & 1;
    return may_stay ? 0 : fabs(r->at.stride[d]);
}

/* Writes the known strides in loops deeper than `above` to m->dimensions, shortest first. Returns their
 * number. */
static size_t known_dimensions(struct memory *m, const struct reference *r, unsigned above)
{
    size_t count = 0;
    for (int32_t loop = r->loop; depth_of(m, loop) > above; loop = m->loops->list[loop].parent)
        if (is_known(m, r, loop))
            insert(m->dimensions, count++, (struct dimension){stride_of(m, r, loop), times_of(m, loop)});
    return count;
}

/* Writes the dimensions of a reference in loops deeper than `above` to m->dimensions. Returns their number.
 * An unknown stride is assumed to equal the extent of all other dimensions, except unknown ones of outer
 * loops, and at least a cache line. In the best case it may be less than a line, and irregular accesses do
 * not move. */
static size_t dimensions_of(struct memory *m, const struct reference *r, unsigned above)
{
    size_t count = known_dimensions(m, r, 0);
    double extent_bytes = extend_all(m, (struct extent){r->access->bytes, 1}, count).bytes;
    bool is_low = m->bound == BOUND_LOW;
    if (!is_low)
        extent_bytes = fmax(extent_bytes, m->core->line_bytes);
    count = known_dimensions(m, r, above);
    for (int32_t loop = r->loop; loop >= 0; loop = m->loops->list[loop].parent) {
        if (is_known(m, r, loop))
            continue;
        bool is_irregular = (int)depth_of(m, loop) <= r->at.irregular_depth;
        if (depth_of(m, loop) > above)
            m->dimensions[count++] =
                (struct dimension){is_irregular && is_low ? 0 : extent_bytes, times_of(m, loop)};
        extent_bytes *= times_of(m, loop);
    }
    return count;
}

/* Computes the lines that a group touches per iteration of the loop at each depth. */
static void count_lines(struct memory *m, struct group *group)
{
    const struct reference *list = &m->references[group->first];
    double line = m->core->line_bytes;
    for (unsigned depth = 0; depth <= group->depth; depth++) {
        size_t count = group->depth > MAX_DEPTH ? 0 : dimensions_of(m, list, depth);
        struct extent one = {group->bytes, fmax(1, group->bytes / line)};
        one = extend_all(m, one, count);
        double lines = one.lines;
        for (size_t i = 1; i < group->count; i++) {
            double gap = list[i].at.offset - list[i - 1].at.offset;
            lines += one.lines * fmin(1, gap / fmax(one.bytes, line));
        }
        if (list->at.object)
            lines = fmin(lines, fmax(1, list->at.object->bytes / line));
        else if (group->is_irregular && m->bound == BOUND_EST)
            lines = fmin(lines, fmax(1, m->core->cache_bytes[COST_L1] / line / 2));
        group->lines[depth] = lines;
    }
}

/* --- footprints ----------------------------------------------------------------------------------------- */

/* The data of one base that a region touches. Different loops are assumed to touch the same data. */
struct merge {
    uint64_t base;
    int32_t loop; /* innermost loop of the groups that are being added */
    double now;   /* bytes of the groups in `loop` */
    double max;   /* maximum of `now` over all loops so far */
    bool is_used;
};

static void add_bytes(struct memory *m, int32_t region, const struct reference *r, double bytes)
{
    struct merge *merge = &m->merges[region + 1];
    if (!merge->is_used || merge->base != r->at.base)
        *merge = (struct merge){.base = r->at.base, .loop = r->loop, .is_used = true};
    merge->now = merge->loop == r->loop ? merge->now + bytes : bytes;
    merge->loop = r->loop;
    if (merge->now > merge->max) {
        m->footprint[region + 1] += merge->now - merge->max;
        merge->max = merge->now;
    }
}

static void add_calls(struct memory *m, const struct function_sum *const *callees)
{
    const struct function *f = m->addresses->function;
    for (size_t i = 0; i < m->loops->flow.reached; i++) {
        uint32_t block = m->loops->flow.order[i];
        double bytes = 0;
        for (size_t c = 0; c < f->blocks[block].call_count; c++)
            if (callees[f->blocks[block].calls[c].number])
                bytes += callees[f->blocks[block].calls[c].number]->bytes[m->bound];
        for (int32_t loop = m->loops->innermost[block]; loop >= 0 && bytes > 0;
             loop = m->loops->list[loop].parent)
            m->footprint[loop + 1] += bytes;
        m->footprint[0] += bytes;
    }
}

static void find_footprints(struct memory *m, const struct function_sum *const *callees)
{
    for (size_t i = 0; i <= m->loops->count; i++) {
        m->footprint[i] = 0;
        m->merges[i].is_used = false;
    }
    for (size_t i = 0; i < m->group_count; i++) {
        struct group *group = &m->groups[i];
        const struct reference *r = &m->references[group->first];
        count_lines(m, group);
        for (int32_t loop = r->loop; loop >= 0; loop = m->loops->list[loop].parent)
            add_bytes(m, loop, r, group->lines[m->loops->list[loop].depth] * m->core->line_bytes);
        add_bytes(m, -1, r, group->lines[0] * m->core->line_bytes);
    }
    add_calls(m, callees);
}

/* --- moved lines ---------------------------------------------------------------------------------------- */

/* Returns the lines of an irregular group that miss a level, per access. */
static double irregular_lines(const struct memory *m, const struct group *group, enum cost_level level,
                              double runs)
{
    const struct object *object = m->references[group->first].at.object;
    double bytes = m->core->cache_bytes[level] * usable[m->bound], each = group->lines[group->depth];
    if (m->bound == BOUND_LOW)
        return 0;
    if (!object)
        return m->bound == BOUND_HIGH ? each : level == COST_L1 ? MISSES_OF_UNKNOWN * each : 0;
    if (m->bound == BOUND_EST)
        return each * fmax(0, 1 - bytes / object->bytes);
    if (m->footprint[0] > bytes || object->bytes > bytes)
        return each;
    return object->is_local ? 0 : fmin(each, object->bytes / m->core->line_bytes / runs);
}

/* Returns the part of a cache that a group's lines of one iteration of `loop` can use, 0 to 1. Lines whose
 * distance is a power of two share few sets. Distances above a page do not matter, because physical pages are
 * random. Neither do distances in the last level, which selects sets by a hash. */
static double usable_part(struct memory *m, const struct group *group, enum cost_level level, int32_t loop)
{
    const struct reference *r = &m->references[group->first];
    uint64_t line = (uint64_t)m->core->line_bytes, apart = PAGE_BYTES;
    if (level >= COST_L3 || m->bound == BOUND_LOW)
        return 1;
    for (int32_t inner = r->loop; inner != loop; inner = m->loops->list[inner].parent) {
        double stride = is_known(m, r, inner) ? stride_of(m, r, inner) : 1;
        if (!(stride < MAX_STRIDE))
            return 1;
        apart = (uint64_t)expr_common_divisor(apart, (uint64_t)stride);
    }
    for (size_t i = 1; i < group->count; i++) {
        double gap = r[i].at.offset - r[i - 1].at.offset;
        if (!(gap < MAX_STRIDE))
            return 1;
        apart = (uint64_t)expr_common_divisor(apart, (uint64_t)gap / line * line);
    }
    return apart > line ? (double)line / (double)apart : 1;
}

/* Returns true if the data of one iteration of `loop` fits into `bytes` of a level, and this group fits into
 * its sets. */
static bool fits(struct memory *m, const struct group *group, enum cost_level level, int32_t loop,
                 double bytes)
{
    double own = group->lines[m->loops->list[loop].depth] * m->core->line_bytes;
    return m->footprint[loop + 1] <= bytes && own <= bytes * usable_part(m, group, level, loop);
}

/* Returns the lines of a regular group that miss a level, per execution. They are loaded once per entry of
 * the outermost loop whose iteration fits. In the best case, only the part of an iteration's data that
 * exceeds the cache is loaded again. runs: executions per call of the function. */
static double regular_lines(struct memory *m, const struct group *group, enum cost_level level, double runs)
{
    const struct reference *r = &m->references[group->first];
    double bytes = m->core->cache_bytes[level] * usable[m->bound];
    bool is_local = r->at.object && r->at.object->is_local;
    bool is_spread = group->lines[0] * m->core->line_bytes <= bytes * usable_part(m, group, level, -1);
    if (m->footprint[0] <= bytes && is_spread)
        return m->bound == BOUND_HIGH && !is_local ? group->lines[0] / runs : 0;
    double entries = runs, lines = group->lines[group->depth], min_lines = 0;
    for (int32_t loop = r->loop; loop >= 0; loop = m->loops->list[loop].parent) {
        if (m->bound != BOUND_LOW && !fits(m, group, level, loop, bytes))
            break;
        double around = m->footprint[m->loops->list[loop].parent + 1];
        entries /= times_of(m, loop);
        lines = group->lines[m->loops->list[loop].depth - 1];
        min_lines = fmax(min_lines, fmax(0, 1 - bytes / around) * lines * entries);
    }
    return (m->bound == BOUND_LOW ? min_lines : lines * entries) / runs;
}

static bool is_streamed(const struct memory *m, const struct group *group)
{
    const struct reference *r = &m->references[group->first];
    for (int32_t loop = r->loop; loop >= 0 && !group->is_irregular; loop = m->loops->list[loop].parent) {
        double stride = fabs(r->at.stride[m->loops->list[loop].depth - 1]);
        if (stride > 0)
            return stride <= MAX_STREAM_STRIDE;
    }
    return false;
}

/* Distributes the lines of a group evenly over the blocks of its members. A member within a recurrence waits
 * for all these lines. streams: for each block, the total and the streamed latency. */
static void distribute_lines(struct memory *m, const struct group *group, const double lines[COST_LEVELS],
                             double *streams)
{
    double wait = 0;
    double moved = group->has_store ? 1 + written_back[m->bound] : 1;
    for (int level = COST_L2; level < COST_LEVELS; level++)
        wait += lines[level] * m->core->latency[COST_L2_LINES + level - COST_L2];
    for (size_t i = group->first; i < group->first + group->count; i++) {
        struct block_memory *out = &m->out[m->references[i].block];
        for (int level = COST_L2; level < COST_LEVELS; level++)
            out->lines[m->bound][level] += moved * lines[level] / (double)group->count;
        if (m->references[i].access->is_in_chain)
            out->wait_cycles[m->bound] += wait;
        double *weight = &streams[2 * m->references[i].block];
        weight[0] += wait;
        weight[1] += is_streamed(m, group) ? wait : 0;
    }
}

static void move_lines(struct memory *m, const struct group *group, double *streams)
{
    double misses[COST_LEVELS], lines[COST_LEVELS] = {0}, runs = 1;
    for (int32_t loop = m->references[group->first].loop; loop >= 0; loop = m->loops->list[loop].parent)
        runs *= times_of(m, loop);
    for (int level = COST_L1; level < COST_DRAM; level++) {
        misses[level] = group->is_irregular ? irregular_lines(m, group, (enum cost_level)level, runs)
                                            : regular_lines(m, group, (enum cost_level)level, runs);
        if (level > COST_L1)
            misses[level] = fmin(misses[level], misses[level - 1]);
    }
    lines[COST_L2] = misses[COST_L1] - misses[COST_L2];
    lines[COST_L3] = misses[COST_L2] - misses[COST_L3];
    lines[COST_DRAM] = misses[COST_L3];
    distribute_lines(m, group, lines, streams);
}

joule_status cache_levels_find(struct arena *arena, const struct addresses *addresses,
                               const struct loop_times *times, const struct cost_core *core,
                               const struct function_sum *const *callees, struct block_memory *out,
                               double out_bytes[BOUNDS])
{
    size_t blocks = addresses->function->block_count, regions = addresses->loops->count + 1;
    struct memory m = {.arena = arena,
                       .addresses = addresses,
                       .loops = addresses->loops,
                       .times = times,
                       .core = core,
                       .out = out,
                       .footprint = arena_alloc(arena, regions * sizeof *m.footprint),
                       .merges = arena_alloc(arena, regions * sizeof *m.merges)};
    double *streams = arena_alloc(arena, 2 * (blocks + 1) * sizeof *streams);
    if (!m.footprint || !m.merges || !streams || !read_references(&m) || !make_groups(&m))
        return JOULE_NO_MEMORY;
    for (size_t b = 0; b < blocks; b++)
        out[b] = (struct block_memory){.streamed = NAN};
    for (m.bound = BOUND_LOW; m.bound < BOUNDS; m.bound++) {
        find_footprints(&m, callees);
        out_bytes[m.bound] = m.footprint[0];
        for (size_t i = 0; i < m.group_count; i++)
            move_lines(&m, &m.groups[i], streams);
    }
    for (size_t b = 0; b < blocks; b++)
        if (streams[2 * b] > 0)
            out[b].streamed = streams[2 * b + 1] / streams[2 * b];
    return JOULE_OK;
}
