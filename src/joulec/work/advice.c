/* joulec/work/advice.c - see advice.h.
 *
 * Note: savings of cache lines are computed as a fraction of the lines that move now. An access with a stride
 * of s bytes touches s / 64 of a new line per iteration, at most one line. The sum over all accesses gives a
 * ratio of the advised order to the present order. This ratio scales the number of lines from cache_levels.h,
 * which accounts for reuse in caches.
 */
#include "joulec/work/advice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"
#include "joulec/work/built_loop.h"
#include "joulec/work/library_call.h"

#define MIN_PART       0.05 /* minimum saving, as a part of the function's energy */
#define MAX_LINES_PART 0.7  /* maximum part of the lines that may still move after the advised change */
#define MAX_ACCESSES   128  /* maximum accesses of a loop; larger loops get no advice */

struct search {
    const struct advised *of;
    struct advice *list;
    size_t count;
    bool is_out_of_memory;
};

/* A distinct access of a loop. */
struct stream {
    struct address at;
    double inner, outer; /* absolute stride in bytes, in its loop and in the loop around; INFINITY: no loop */
    double bytes;
    bool is_first; /* first access to its cache line among the accesses with the same strides */
};

struct streams {
    struct stream list[MAX_ACCESSES];
    size_t count;
};

static void add(struct search *w, struct advice advice)
{
    double all = amounts_joules(w->of->target, &w->of->sum->call, BOUND_EST);
    advice.joules = fmin(advice.joules, all); /* the function's energy limits the saving */
    advice.part = all > 0 ? advice.joules / all : 0;
    if (!(advice.part >= MIN_PART))
        return;
    struct advice *list = arena_alloc(w->of->arena, (w->count + 1) * sizeof *list);
    w->is_out_of_memory = w->is_out_of_memory || !list;
    if (!list)
        return;
    if (w->count)
        memcpy(list, w->list, w->count * sizeof *list);
    list[w->count++] = advice;
    w->list = list;
}

/* --- accesses to memory --------------------------------------------------------------------------------- */

static bool are_within(const struct stream *a, const struct stream *b, double bytes)
{
    return a->at.base == b->at.base && a->at.key == b->at.key && fabs(a->at.offset - b->at.offset) < bytes;
}

static bool add_stream(const struct search *w, const struct loop *loop, const struct access *access,
                       uint32_t block, struct streams *out)
{
    double strides[LOOPS_MAX_DEPTH + 1] = {0};
    struct stream new = {.at = {.stride = strides}, .bytes = access->bytes};
    if (out->count == MAX_ACCESSES || loop->depth > LOOPS_MAX_DEPTH)
        return false;
    address_read(w->of->addresses, access, block, &new.at);
    if (new.at.irregular_depth >= (int)loop->depth - (loop->depth > 1) || new.at.monotonic_phis)
        return false;
    new.inner = fabs(strides[loop->depth - 1]);
    new.outer = loop->depth > 1 ? fabs(strides[loop->depth - 2]) : INFINITY;
    new.at.stride = NULL;
    if (!isfinite(new.inner) || (loop->depth > 1 && !isfinite(new.outer)))
        return false;
    new.is_first = true;
    for (size_t i = 0; i < out->count; i++) {
        if (are_within(&out->list[i], &new, fmin(1, new.bytes)))
            return true;
        new.is_first = new.is_first && !are_within(&out->list[i], &new, w->of->target->core.line_bytes);
    }
    out->list[out->count++] = new;
    return true;
}

/* Reads the accesses of an innermost loop. Returns false for other loops, and for loops with no access or too
 * many. Also returns false if an access is irregular or has an unknown stride. */
static bool read_streams(const struct search *w, int32_t l, struct streams *out)
{
    const struct loops *loops = &w->of->f->loops;
    const struct loop *loop = &loops->list[l];
    out->count = 0;
    for (uint32_t i = loop->first; i < loop->end; i++) {
        uint32_t b = loops->members[i];
        const struct block *block = &w->of->f->function->blocks[b];
        if (loops->innermost[b] != l)
            return false; /* not an innermost loop */
        for (size_t k = 0; k < block->access_count; k++)
            if (!add_stream(w, loop, &block->accesses[k], b, out))
                return false;
    }
    return out->count > 0;
}

/* Returns the energy that a loop would save per call of the function, in J, if only `part` of its lines
 * moved, in sequential order. */
static double saved_by_lines(const struct search *w, int32_t l, double part)
{
    const struct target *target = w->of->target;
    const struct cost_features *now = &w->of->sum->loops[l].of[BOUND_EST];
    const struct cost_flow unknown = {NAN, NAN}, in_order = {NAN, 1};
    struct cost_features then = *now, saved = {.version = COST_VERSION};
    for (int i = COST_L2_LINES; i <= COST_DRAM_LINES; i++) {
        saved.amount[i] = now->amount[i] * (1 - part);
        then.amount[i] = now->amount[i] * part;
    }
    double before = cost_core_cycles(&target->core, now, &unknown).est;
    double after = cost_core_cycles(&target->core, &then, &in_order).est;
    double cycles = before > 0 ? now->amount[COST_CYCLES] * fmax(0, 1 - after / before) : 0;
    saved.amount[COST_CYCLES] = cycles;
    saved.amount[COST_PACKAGE_SECONDS] = cycles / target->core.hz * target->core.package_share;
    return w->of->sum->runs[l].entries * cost_joules(&target->table, &saved);
}

static double lines_of(const struct stream *s, double stride, double line)
{
    if (!s->is_first)
        return 0;
    return fmin(fmax(1, s->bytes / line), stride / line);
}

/* Returns the name of an object without its '@'; NULL: none. */
static const char *name_of(const struct object *object)
{
    const char *name = object ? object->name : NULL;
    return name && name[0] == '@' ? name + 1 : name;
}

static bool advise_order(struct search *w, int32_t l, const struct streams *streams)
{
    const struct loop *loop = &w->of->f->loops.list[l];
    double line = w->of->target->core.line_bytes, now = 0, then = 0, largest = 0;
    const struct stream *worst = NULL;
    for (size_t i = 0; i < streams->count && loop->depth > 1; i++) {
        const struct stream *s = &streams->list[i];
        double inner = lines_of(s, s->inner, line), outer = lines_of(s, s->outer, line);
        now += inner;
        then += outer;
        if (inner - outer > largest) {
            largest = inner - outer;
            worst = s;
        }
    }
    if (!worst || worst->inner < line || then > MAX_LINES_PART * now)
        return false;
    add(w, (struct advice){.kind = ADVICE_LOOP_ORDER,
                           .place = loop->place,
                           .loop = l,
                           .inner = loop->parent,
                           .name = name_of(worst->at.object),
                           .joules = saved_by_lines(w, l, then / now)});
    return true;
}

/* Returns the bytes per iteration of all accesses with the same base and stride as `of`. */
static double used_of(const struct streams *streams, const struct stream *of)
{
    double used = 0;
    for (size_t i = 0; i < streams->count; i++) {
        const struct stream *s = &streams->list[i];
        if (s->at.base == of->at.base && s->inner == of->inner)
            used += s->bytes;
    }
    return used;
}

static void advise_stride(struct search *w, int32_t l, const struct streams *streams)
{
    const struct loop *loop = &w->of->f->loops.list[l];
    double line = w->of->target->core.line_bytes, now = 0, then = 0, largest = 0, used_bytes = 0;
    const struct stream *worst = NULL;
    for (size_t i = 0; i < streams->count; i++) {
        const struct stream *s = &streams->list[i];
        double moved = lines_of(s, s->inner, line), used = used_of(streams, s),
               bytes_per_stride = fmin(s->inner, line);
        /* if the stride is shorter in the loop around, the data is denser in that order, and not sparse */
        bool is_sparse = bytes_per_stride >= 2 * used && !(s->outer < s->inner);
        double needed = is_sparse ? fmin(moved, moved * used / bytes_per_stride) : moved;
        now += moved;
        then += needed;
        if (moved - needed > largest) {
            largest = moved - needed;
            used_bytes = used * line / bytes_per_stride;
            worst = s;
        }
    }
    if (!worst || then > MAX_LINES_PART * now)
        return;
    add(w, (struct advice){.kind = ADVICE_STRIDE,
                           .place = loop->place,
                           .loop = l,
                           .inner = -1,
                           .name = name_of(worst->at.object),
                           .used_bytes = used_bytes,
                           .joules = saved_by_lines(w, l, then / now)});
}

/* Adds advice about a loop whose vectorized version never runs. */
static void advise_overlap(struct search *w, int32_t l)
{
    const struct loop *loop = &w->of->f->loops.list[l];
    const struct trips *trips = &w->of->trips[l];
    struct loop_times times = evaluate_times(trips);
    double iterations = times.times[BOUND_EST];
    if (loop->overlap != OVERLAP_ONE_PLACE || !(iterations > 0))
        return;
    const struct built_loop_order order = {.streamed = NAN, .entry_uops = INFINITY};
    struct amounts now = w->of->sum->loops[l];
    for (int b = 0; b < BOUNDS; b++)
        for (int i = 0; i < COST_FEATURES; i++)
            now.of[b].amount[i] /= fmax(times.times[b], 1);
    struct amounts then = now;
    built_loop_apply(w->of->target, &w->of->f->loops, (size_t)l, &times, &order, &then, NULL);
    double saved =
        amounts_joules(w->of->target, &now, BOUND_EST) - amounts_joules(w->of->target, &then, BOUND_EST);
    add(w, (struct advice){.kind = ADVICE_OVERLAP,
                           .place = loop->place,
                           .loop = l,
                           .inner = -1,
                           .name = name_of(loop->overlapped),
                           .joules = w->of->sum->runs[l].entries * iterations * saved});
}

/* --- allocations ---------------------------------------------------------------------------------------- */

static bool is_allocation(const char *name)
{
    static const char *const names[] = {"malloc", "calloc", "aligned_alloc", "strdup", NULL};
    return string_is_one_of(name, names);
}

static bool frees_in(const struct search *w, int32_t l)
{
    static const char *const names[] = {"free", NULL};
    const struct loops *loops = &w->of->f->loops;
    for (uint32_t i = loops->list[l].first; i < loops->list[l].end; i++) {
        const struct block *b = &w->of->f->function->blocks[loops->members[i]];
        for (size_t c = 0; c < b->call_count; c++)
            if (loops->innermost[loops->members[i]] == l && string_is_one_of(b->calls[c].name, names))
                return true;
    }
    return false;
}

static double joules_of_call(const struct search *w, const struct call *call)
{
    struct amounts one;
    return library_call_work(call, NULL, w->of->target, &one) ? amounts_joules(w->of->target, &one, BOUND_EST)
                                                              : 0;
}

static void add_call_advice(struct search *w, enum advice_kind kind, int32_t l, const struct call *call,
                            double times, double joules)
{
    add(w, (struct advice){.kind = kind,
                           .place = call->place,
                           .loop = l,
                           .inner = -1,
                           .name = call->name,
                           .times = times,
                           .joules = joules});
}

static void advise_allocation(struct search *w, int32_t l, uint32_t block, const struct call *call)
{
    double frequency = w->of->sum->blocks[block].frequency,
           times = frequency * w->of->sum->runs[l].iterations;
    double remaining = fmin(frequency, 1) * w->of->sum->runs[l].entries; /* one allocation before the loop */
    if (!frees_in(w, l) || !(times > 1))
        return;
    double each = joules_of_call(w, call) + joules_of_call(w, &(struct call){.name = "free", .callee = -1});
    add_call_advice(w, ADVICE_ALLOCATION, l, call, times, (times - remaining) * each);
}

/* Returns true if a size grows by a constant in each iteration of the loop. */
static bool grows_by_constant(const struct expr *size, uint32_t loop)
{
    if (size->kind == EXPR_RECURRENCE)
        return size->name == loop && size->count == 2;
    bool passes = size->kind == EXPR_ADD || size->kind == EXPR_MUL || size->kind == EXPR_ZEXT ||
                  size->kind == EXPR_SEXT || size->kind == EXPR_UMAX || size->kind == EXPR_SMAX;
    unsigned growing = 0;
    for (uint32_t i = 0; i < size->count && passes; i++)
        growing += grows_by_constant(size->operand[i], loop);
    return growing == 1;
}

static void advise_growth(struct search *w, int32_t l, uint32_t block, const struct call *call)
{
    const struct evaluated *f = w->of->f;
    struct expr storage;
    double frequency = w->of->sum->blocks[block].frequency;
    double times = frequency * w->of->sum->runs[l].iterations, entries = w->of->sum->runs[l].entries;
    if (!f->facts || call->argument_count < 2 || !(times > entries) || !(entries > 0))
        return;
    uint32_t header = expr_find_name(&f->facts->pool, f->function->blocks[f->loops.list[l].header].name);
    if (header == INDEX_NONE ||
        !grows_by_constant(operand_formula(f->facts, &call->arguments[1], &storage), header))
        return;
    double each = joules_of_call(w, call), iterations = times / entries;
    add_call_advice(w, ADVICE_GROWTH, l, call, times,
                    entries * fmax(0, iterations - log2(iterations + 1)) * each);
}

static void advise_calls(struct search *w, uint32_t block)
{
    int32_t l = w->of->f->loops.innermost[block];
    const struct block *b = &w->of->f->function->blocks[block];
    for (size_t c = 0; c < b->call_count && l >= 0; c++) {
        const struct call *call = &b->calls[c];
        if (is_allocation(call->name))
            advise_allocation(w, l, block, call);
        else if (call->name && strcmp(call->name, "realloc") == 0)
            advise_growth(w, l, block, call);
    }
}

/* --- all advice ----------------------------------------------------------------------------------------- */

static int by_joules(const void *a, const void *b)
{
    double x = ((const struct advice *)a)->joules, y = ((const struct advice *)b)->joules;
    return (x < y) - (x > y);
}

joule_status advice_find(const struct advised *of, struct advice **out_list, size_t *out_count)
{
    struct search w = {.of = of};
    const struct loops *loops = &of->f->loops;
    struct streams streams;
    for (size_t i = 0; i < loops->count && !loops->is_irregular; i++)
        if (read_streams(&w, (int32_t)i, &streams) && !advise_order(&w, (int32_t)i, &streams))
            advise_stride(&w, (int32_t)i, &streams);
    for (size_t i = 0; i < loops->count && !loops->is_irregular; i++)
        advise_overlap(&w, (int32_t)i);
    for (size_t i = 0; i < loops->flow.reached; i++)
        advise_calls(&w, loops->flow.order[i]);
    if (w.count)
        qsort(w.list, w.count, sizeof *w.list, by_joules);
    *out_list = w.list;
    *out_count = w.count;
    return w.is_out_of_memory ? JOULE_NO_MEMORY : JOULE_OK;
}

const char *advice_name(enum advice_kind kind)
{
    static const char *const names[] = {"loop_order", "stride", "allocation", "growth", "overlap"};
    return names[kind];
}

const char *advice_severity(const struct advice *advice)
{
    return advice->part >= 0.5 ? "high" : advice->part >= 0.2 ? "medium" : "low";
}
