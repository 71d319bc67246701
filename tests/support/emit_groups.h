/* support/emit_groups.h - groups of fused operations that the renderer's tests use. */
#ifndef SUPPORT_EMIT_GROUPS_H
#define SUPPORT_EMIT_GROUPS_H

#include "forge/emit/emit.h"

struct group {
    struct fused fused;
    forge_dtype dtypes[FUSED_MAX_INPUTS + FUSED_MAX_STEPS];
    size_t input_count;
};

/* Returns the group for vectors of 64 bytes and threads of rank 2. It points into `group`. */
static inline struct emit_group group_in(const struct group *group)
{
    return (struct emit_group){&group->fused, group->dtypes, group->input_count, 64, 2};
}

/* Adds a step. Returns its operand number. */
static inline uint8_t group_add(struct group *r, enum op op, unsigned kind, forge_dtype dtype,
                                const uint8_t *operands, uint8_t count)
{
    struct fused_step step = {(uint8_t)op, (uint8_t)kind, count, {0}};
    for (uint8_t i = 0; i < count; i++)
        step.operands[i] = operands[i];
    r->dtypes[FUSED_MAX_INPUTS + r->fused.count] = dtype;
    r->fused.steps[r->fused.count] = step;
    return (uint8_t)(FUSED_MAX_INPUTS + r->fused.count++);
}
#define GROUP_STEP(group, op, kind, dtype, ...)                                                              \
    group_add(group, op, kind, dtype, (const uint8_t[]){__VA_ARGS__},                                        \
              (uint8_t)sizeof((const uint8_t[]){__VA_ARGS__}))

/* select(relu(x0 + x1) > x0, relu(x0 + x1), x1) */
static inline struct group group_mixed(forge_dtype dtype)
{
    struct group r = {.dtypes = {dtype, dtype}, .input_count = 2};
    uint8_t sum = GROUP_STEP(&r, OP_BINARY, FORGE_ADD, dtype, 0, 1);
    uint8_t relu = GROUP_STEP(&r, OP_UNARY, FORGE_RELU, dtype, sum);
    uint8_t mask = GROUP_STEP(&r, OP_BINARY, FORGE_GT, FORGE_BOOL, relu, 0);
    GROUP_STEP(&r, OP_SELECT, 0, dtype, mask, relu, 1);
    return r;
}

/* bool(select(x2, x0 * dtype(x1), x0)) with x1 of u8 and x2 of bool */
static inline struct group group_casts(forge_dtype dtype)
{
    struct group r = {.dtypes = {dtype, FORGE_U8, FORGE_BOOL}, .input_count = 3};
    uint8_t cast = GROUP_STEP(&r, OP_CAST, dtype, dtype, 1);
    uint8_t product = GROUP_STEP(&r, OP_BINARY, FORGE_MUL, dtype, 0, cast);
    uint8_t chosen = GROUP_STEP(&r, OP_SELECT, 0, dtype, 2, product, 0);
    GROUP_STEP(&r, OP_CAST, FORGE_BOOL, FORGE_BOOL, chosen);
    return r;
}

static inline struct group group_unary(forge_unary_kind kind, forge_dtype dtype)
{
    struct group r = {.dtypes = {dtype}, .input_count = 1};
    GROUP_STEP(&r, OP_UNARY, kind, dtype, 0);
    return r;
}

/* Returns true if fused kernels of the CPU compute the kind, so that the dialect "c" has it. */
static inline bool group_is_fast(unsigned kind)
{
    switch (kind) {
    case FORGE_SIGN:
    case FORGE_LOG1P:
    case FORGE_SIN:
    case FORGE_COS:
    case FORGE_ERF:
    case FORGE_FLOOR:
    case FORGE_CEIL:
    case FORGE_ROUND:
    case FORGE_SOFTPLUS:
        return false;
    default:
        return true;
    }
}

/* A chain of all unary operations that dialects have. only_fast: those of group_is_fast. */
static inline struct group group_functions(forge_dtype dtype, bool only_fast)
{
    struct group r = {.dtypes = {dtype}, .input_count = 1};
    uint8_t last = 0;
    for (unsigned kind = 0; kind < FORGE_UNARY_KINDS; kind++)
        if (kind != FORGE_NOT && kind != FORGE_IS_NAN && (!only_fast || group_is_fast(kind)))
            last = GROUP_STEP(&r, OP_UNARY, kind, dtype, last);
    if (!only_fast) {
        last = GROUP_STEP(&r, OP_BINARY, FORGE_POW, dtype, last, 0);
        last = GROUP_STEP(&r, OP_BINARY, FORGE_MOD, dtype, last, 0);
    }
    last = GROUP_STEP(&r, OP_BINARY, FORGE_MAX, dtype, last, 0);
    last = GROUP_STEP(&r, OP_BINARY, FORGE_MIN, dtype, last, 0);
    last = GROUP_STEP(&r, OP_UNARY, FORGE_IS_NAN, FORGE_BOOL, last);
    uint8_t inverse = GROUP_STEP(&r, OP_UNARY, FORGE_NOT, FORGE_BOOL, last);
    GROUP_STEP(&r, OP_BINARY, FORGE_XOR, FORGE_BOOL, last, inverse);
    return r;
}

#endif
