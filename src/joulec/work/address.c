/* joulec/work/address.c - see address.h. */
#include "joulec/work/address.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"

/* Maximum number of monotonic phis in one address, including those in initial values of others. */
#define MAX_MONOTONIC_PHIS 32

/* The sum of the steps of monotonic phis in one loop, in bytes per iteration. */
struct phi_stride {
    double low, high;
};

/* State of the conversion of an address. */
struct reading {
    const struct addresses *of;
    int32_t innermost; /* loop of the access */
    double bytes;      /* of the access */
    struct address *out;
    struct phi_stride phi_stride[LOOPS_MAX_DEPTH]; /* like out->stride */
    unsigned monotonic_phis;                       /* number of monotonic phis that were expanded */
};

/* --- names ---------------------------------------------------------------------------------------------- */

static int by_name(const void *key, const void *object)
{
    return strcmp(key, ((const struct object *)object)->name);
}

static int by_name_of_local(const void *key, const void *local)
{
    return strcmp(key, (*(const struct object *const *)local)->name);
}

static int by_names(const void *a, const void *b)
{
    return by_name_of_local((*(const struct object *const *)a)->name, b);
}

static const struct object *find_object(const struct addresses *a, const char *name)
{
    if (name[0] == '@')
        return a->module->object_count ? bsearch(name, a->module->objects, a->module->object_count,
                                                 sizeof *a->module->objects, by_name)
                                       : NULL;
    const struct object **found =
        a->function->object_count
            ? bsearch(name, a->locals, a->function->object_count, sizeof(struct object *), by_name_of_local)
            : NULL;
    return found ? *found : NULL;
}

static bool sort_locals(struct arena *arena, struct addresses *a)
{
    size_t count = a->function->object_count;
    a->locals = arena_alloc(arena, (count + 1) * sizeof(struct object *));
    for (size_t i = 0; i < count && a->locals; i++)
        a->locals[i] = &a->function->objects[i];
    if (count && a->locals)
        qsort(a->locals, count, sizeof(struct object *), by_names);
    return a->locals;
}

static void index_values(struct addresses *a)
{
    const struct expr_pool *pool = &a->facts->pool;
    for (uint32_t b = 0; b < a->function->block_count; b++)
        for (size_t i = 0; i < a->function->blocks[b].value_count; i++) {
            uint32_t name = expr_find_name(pool, a->function->blocks[b].values[i]);
            if (name != INDEX_NONE)
                a->block_of[name] = (int32_t)b;
        }
}

/* Fills monotonic_phi_of and monotonic_phi_loop. */
static void index_monotonic_phis(struct addresses *a)
{
    for (size_t i = 0; i < a->loops->count; i++) {
        const struct block *header = &a->function->blocks[a->loops->list[i].header];
        for (size_t k = 0; k < header->monotonic_phi_count; k++) {
            uint32_t name = expr_find_name(&a->facts->pool, header->monotonic_phis[k]->name);
            if (name == INDEX_NONE)
                continue;
            a->monotonic_phi_of[name] = header->monotonic_phis[k];
            a->monotonic_phi_loop[name] = (int32_t)i;
        }
    }
}

joule_status addresses_prepare(struct arena *arena, const struct module *module,
                               const struct function *function, const struct loops *loops,
                               const struct scev_function *facts, struct addresses *out)
{
    size_t names = facts ? facts->pool.name_count : 0;
    *out = (struct addresses){
        .module = module,
        .function = function,
        .loops = loops,
        .facts = facts,
        .loop_of = arena_alloc(arena, (names + 1) * sizeof *out->loop_of),
        .block_of = arena_alloc(arena, (names + 1) * sizeof *out->block_of),
        .object_of = arena_alloc(arena, (names + 1) * sizeof(struct object *)),
        .monotonic_phi_of = arena_alloc(arena, (names + 1) * sizeof(struct monotonic_phi *)),
        .monotonic_phi_loop = arena_alloc(arena, (names + 1) * sizeof *out->monotonic_phi_loop)};
    if (!out->loop_of || !out->block_of || !out->object_of || !out->monotonic_phi_of ||
        !out->monotonic_phi_loop || !sort_locals(arena, out))
        return JOULE_NO_MEMORY;
    for (size_t i = 0; i < names; i++) {
        out->loop_of[i] = out->block_of[i] = -1;
        out->object_of[i] = find_object(out, facts->pool.names[i]);
    }
    if (!facts)
        return JOULE_OK;
    index_values(out);
    index_monotonic_phis(out);
    for (size_t i = 0; i < loops->count; i++) {
        uint32_t name = expr_find_name(&facts->pool, function->blocks[loops->list[i].header].name);
        if (name != INDEX_NONE)
            out->loop_of[name] = (int32_t)i;
    }
    return JOULE_OK;
}

/* --- one address ---------------------------------------------------------------------------------------- */

static uint64_t key_of(const struct addresses *a, const struct expr *expr)
{
    uint64_t key = HASH_START;
    key = hash_bytes(key, &expr->kind, sizeof expr->kind);
    if (expr->kind == EXPR_INTEGER)
        key = hash_bytes(key, &expr->integer, sizeof expr->integer);
    if (expr->kind == EXPR_SYMBOL || expr->kind == EXPR_RECURRENCE)
        key = hash_bytes(key, a->facts->pool.names[expr->name], strlen(a->facts->pool.names[expr->name]));
    for (uint32_t i = 0; i < expr->count; i++) {
        uint64_t part = key_of(a, expr->operand[i]);
        key = hash_bytes(key, &part, sizeof part);
    }
    return key;
}

/* Adds a term to the key. The hashes are summed, so that the order of terms does not matter. */
static void add_to_key(struct reading *r, uint64_t key, double scale)
{
    r->out->key += hash_bytes(key, &scale, sizeof scale);
}

/* Adds a term of unknown value to the keys. */
static void add_term(struct reading *r, const struct expr *expr, double scale)
{
    uint64_t key = key_of(r->of, expr);
    add_to_key(r, key, scale);
    r->out->start += hash_bytes(key, &scale, sizeof scale);
}

/* Adds to the stride of a loop, unless the loop has ended before the access. */
static void add_stride(struct reading *r, int32_t loop, double bytes)
{
    if (loop >= 0 && loop_is_within(r->of->loops, r->innermost, loop))
        r->out->stride[r->of->loops->list[loop].depth - 1] += bytes;
}

static int depth_of(const struct reading *r, int32_t loop)
{
    return loop < 0 ? 0 : (int)r->of->loops->list[loop].depth;
}

/* Marks the address as irregular in the loops around both block `at` and the access. */
static void mark_irregular(struct reading *r, int32_t at)
{
    int32_t loop = r->of->loops->innermost[at];
    while (loop >= 0 && !loop_is_within(r->of->loops, r->innermost, loop))
        loop = r->of->loops->list[loop].parent;
    if (depth_of(r, loop) > r->out->irregular_depth)
        r->out->irregular_depth = depth_of(r, loop);
}

/* Marks the strides of all loops in a formula as unknown. */
static void add_unknown_strides(struct reading *r, const struct expr *expr)
{
    if (expr->kind == EXPR_SYMBOL && r->of->block_of[expr->name] >= 0)
        mark_irregular(r, r->of->block_of[expr->name]);
    if (expr->kind == EXPR_RECURRENCE)
        add_stride(r, r->of->loop_of[expr->name], STRIDE_UNKNOWN);
    for (uint32_t i = 0; i < expr->count; i++)
        add_unknown_strides(r, expr->operand[i]);
}

static void add_expr(struct reading *r, const struct expr *expr, double scale);

/* Adds the initial value of a monotonic phi. */
static void add_initial_value(struct reading *r, const struct monotonic_phi *monotonic_phi, double scale)
{
    const struct scev_function *facts = r->of->facts;
    const struct expr *value = monotonic_phi->from[0] ? scev_value_of(facts, monotonic_phi->from) : NULL;
    uint32_t name = monotonic_phi->from[0] ? expr_find_name(&facts->pool, monotonic_phi->from) : INDEX_NONE;
    struct expr symbol = {.kind = EXPR_SYMBOL, .name = name};
    if (!monotonic_phi->from[0])
        r->out->offset += scale * monotonic_phi->constant;
    else if (value && value->kind != EXPR_UNKNOWN)
        add_expr(r, value, scale);
    else if (name != INDEX_NONE)
        add_expr(r, &symbol, scale);
    else { /* an argument or a global variable that is in no formula */
        r->out->base += hash_bytes(HASH_START, monotonic_phi->from, strlen(monotonic_phi->from));
        if (scale == 1)
            r->out->object = find_object(r->of, monotonic_phi->from);
    }
}

/* Adds a monotonic phi. Returns false if `expr` is not one, if its loop does not contain the access, or if
 * there are too many. */
static bool add_monotonic_phi(struct reading *r, const struct expr *expr, double scale)
{
    const struct monotonic_phi *monotonic_phi = r->of->monotonic_phi_of[expr->name];
    int32_t loop = r->of->monotonic_phi_loop[expr->name];
    if (!monotonic_phi || !loop_is_within(r->of->loops, r->innermost, loop) ||
        ++r->monotonic_phis > MAX_MONOTONIC_PHIS)
        return false;
    struct phi_stride *here = &r->phi_stride[r->of->loops->list[loop].depth - 1];
    here->low += fmin(scale * monotonic_phi->low, scale * monotonic_phi->high);
    here->high += fmax(scale * monotonic_phi->low, scale * monotonic_phi->high);
    if (monotonic_phi->low < monotonic_phi->high)
        add_to_key(r, key_of(r->of, expr), scale);
    add_initial_value(r, monotonic_phi, scale);
    return true;
}

static void add_symbol(struct reading *r, const struct expr *expr, double scale)
{
    if (add_monotonic_phi(r, expr, scale))
        return;
    if (r->of->block_of[expr->name] >= 0)
        mark_irregular(r, r->of->block_of[expr->name]);
    if (r->of->object_of[expr->name] && scale == 1)
        r->out->object = r->of->object_of[expr->name];
    r->out->base += key_of(r->of, expr);
    add_term(r, expr, scale);
}

static void add_product(struct reading *r, const struct expr *expr, double scale)
{
    const struct expr *other = NULL;
    for (uint32_t i = 0; i < expr->count; i++) {
        if (expr->operand[i]->kind == EXPR_INTEGER) {
            scale *= (double)expr->operand[i]->integer;
            continue;
        }
        if (other) { /* a product of two unknown values */
            add_unknown_strides(r, expr);
            add_term(r, expr, scale);
            return;
        }
        other = expr->operand[i];
    }
    if (other)
        add_expr(r, other, scale);
}

static void add_recurrence(struct reading *r, const struct expr *expr, double scale)
{
    const struct expr *step = expr->operand[expr->count - 1];
    bool is_known = expr->count == 2 && step->kind == EXPR_INTEGER;
    int32_t loop = r->of->loop_of[expr->name];
    add_expr(r, expr->operand[0], scale);
    add_to_key(r, key_of(r->of, step), scale + (double)expr->name);
    if (loop < 0 || !loop_is_within(r->of->loops, r->innermost, loop))
        add_term(r, expr, scale); /* that loop has ended before the access */
    add_stride(r, loop, is_known ? scale * (double)step->integer : STRIDE_UNKNOWN);
}

static void add_expr(struct reading *r, const struct expr *expr, double scale)
{
    switch (expr->kind) {
    case EXPR_INTEGER:
        r->out->offset += scale * (double)expr->integer;
        break;
    case EXPR_SYMBOL:
        add_symbol(r, expr, scale);
        break;
    case EXPR_ADD:
        for (uint32_t i = 0; i < expr->count; i++)
            add_expr(r, expr->operand[i], scale);
        break;
    case EXPR_MUL:
        add_product(r, expr, scale);
        break;
    case EXPR_RECURRENCE:
        add_recurrence(r, expr, scale);
        break;
    case EXPR_ZEXT:
    case EXPR_SEXT:
        if (expr->bits > 1 || fabs(scale) > r->bytes)
            add_expr(r, expr->operand[0], scale);
        break; /* otherwise a single bit selects one of two adjacent elements */
    case EXPR_UNKNOWN:
        r->out->irregular_depth = depth_of(r, r->innermost);
        break;
    default:
        add_unknown_strides(r, expr);
        add_term(r, expr, scale);
    }
}

/* Describes an address without a formula by its name. */
static void describe_by_name(struct reading *r, const struct access *access)
{
    r->out->key = r->out->base = r->out->start = hash_bytes(0, access->address, strlen(access->address));
    r->out->object = find_object(r->of, access->address);
    if (!access->is_fixed)
        r->out->irregular_depth = depth_of(r, r->innermost);
}

/* Adds the steps of monotonic phis to the stride. Uses the end of their range with the larger total. */
static void add_phi_stride(struct address *out, int d, const struct phi_stride *phi_stride)
{
    double low = out->stride[d] + phi_stride->low, high = out->stride[d] + phi_stride->high;
    if (phi_stride->low < phi_stride->high)
        out->monotonic_phis |= (uint64_t)1 << d;
    out->stride[d] = fabs(low) > fabs(high) ? low : high;
}

void address_read(const struct addresses *addresses, const struct access *access, uint32_t block,
                  struct address *out)
{
    double *stride = out->stride;
    struct reading r = {addresses, addresses->loops->innermost[block], access->bytes, out};
    const struct scev_function *facts = addresses->facts;
    const struct expr *value = facts ? scev_value_of(facts, access->address) : NULL;
    *out = (struct address){.stride = stride, .irregular_depth = -1};
    for (int d = 0; d < depth_of(&r, r.innermost); d++)
        stride[d] = 0;
    if (value && value->kind != EXPR_UNKNOWN)
        add_expr(&r, value, 1);
    else
        describe_by_name(&r, access);
    for (int d = 0; d < depth_of(&r, r.innermost); d++) {
        add_phi_stride(out, d, &r.phi_stride[d]);
        if (isnan(stride[d]))
            stride[d] = STRIDE_UNKNOWN; /* sum of infinite strides with opposite signs */
    }
}
