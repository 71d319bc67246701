/* backends/cpu/direct_steps.c - reads the steps after a direct convolution; see direct.h. */
#include <string.h>
#include "forge/backends/cpu/direct.h"
#include "forge/backends/cpu/elementwise.h"
#include "forge/backends/cpu/packed.h"

/* Finds the extent of an operand that is broadcast to the result. Returns false if there is no such
 * extent. */
static bool find_extent(const struct view *operand, const struct view *out, enum value_layout layout,
                        struct direct_step *step)
{
    uint32_t rank = operand->shape.rank, missing = out->shape.rank - rank;
    int64_t lanes = direct_lanes(out, layout), elements = (int64_t)forge_shape_elements(&operand->shape);
    if (operand->dtype != FORGE_F32 || rank > out->shape.rank || !view_is_packed(operand))
        return false;
    step->next_image = 0;
    if (elements == 1) {
        step->extent = DIRECT_ONE;
        return true;
    }
    if (forge_shape_equal(&operand->shape, &out->shape)) {
        step->extent = DIRECT_EACH;
        return true;
    }
    bool has_images = missing == 0 && operand->shape.dims[0] > 1;
    for (uint32_t i = 0; i < out->shape.rank; i++) {
        bool is_place = layout == LAYOUT_LAST ? i == 1 || i == 2 : i == 2 || i == 3;
        if (is_place && i >= missing && operand->shape.dims[i - missing] != 1)
            return false;
    }
    step->extent = DIRECT_CHANNELS;
    step->next_image = has_images ? lanes : 0;
    return elements == (has_images ? out->shape.dims[0] * lanes : lanes);
}

static bool has_unary(uint8_t kind)
{
    struct kind_attributes attributes = {kind};
    struct view x = {.dtype = FORGE_F32};
    struct launch launch = {.op = OP_UNARY, .attributes = &attributes, .inputs = &x, .input_count = 1};
    return elementwise_takes_unary(&launch);
}

/* The operand numbers of the values that exist before a step. */
struct live {
    uint8_t sums;
    uint8_t side; /* 0: none */
};

/* Adds a step with an operand. Returns false if the kernel cannot compute it. */
static bool add_step(const struct launch *launch, struct direct *d, enum direct_kind kind, bool is_on_side,
                     uint8_t operand)
{
    struct direct_step *step = &d->steps[d->step_count++];
    *step = (struct direct_step){.kind = kind, .is_on_side = is_on_side, .operand = operand};
    return operand != d->x_input && operand != d->weight_input && operand < FUSED_MAX_INPUTS &&
           find_extent(&launch->inputs[operand], &launch->outputs[0], d->to, step);
}

/* Reads a sum or a product of two values, the first of which is not smaller than the second. */
static bool read_binary(const struct launch *launch, const struct fused_step *step, uint8_t value,
                        struct direct *d, struct live *live)
{
    enum direct_kind kind = step->kind == FORGE_ADD ? DIRECT_ADD : DIRECT_MULTIPLY;
    bool is_swapped = step->operands[1] == live->sums ||
                      (step->operands[1] == live->side && step->operands[0] != live->sums);
    uint8_t x = step->operands[is_swapped], y = step->operands[!is_swapped];
    if (step->kind != FORGE_ADD && step->kind != FORGE_MUL)
        return false;
    if (x == live->sums && live->side && y == live->side) {
        d->steps[d->step_count++] = (struct direct_step){.kind = kind, .extent = DIRECT_SIDE};
        *live = (struct live){value, 0};
        return true;
    }
    if (x == live->sums) {
        live->sums = value;
        return add_step(launch, d, kind, false, y);
    }
    if (!live->side) {
        if (x < FUSED_MAX_INPUTS && !forge_shape_equal(&launch->inputs[x].shape, &launch->outputs[0].shape)) {
            x = y;
            y = step->operands[is_swapped];
        }
        if (!add_step(launch, d, DIRECT_LOAD, true, x) || d->steps[d->step_count - 1].extent != DIRECT_EACH)
            return false;
    } else if (x != live->side) {
        return false;
    }
    live->side = value;
    return add_step(launch, d, kind, true, y);
}

/* Reads a step of the code. value: the operand number of its value. Returns false if the kernel cannot
 * compute it. */
static bool read_step(const struct launch *launch, const struct fused_step *step, uint8_t value,
                      struct direct *d, struct live *live)
{
    if (step->op == OP_BINARY)
        return read_binary(launch, step, value, d, live);
    d->steps[d->step_count++] = (struct direct_step){.kind = DIRECT_UNARY, .unary = step->kind};
    bool is_known = step->op == OP_UNARY && step->operands[0] == live->sums && has_unary(step->kind);
    live->sums = value;
    return is_known;
}

bool direct_read(const struct launch *launch, struct fused *fused, struct direct *d)
{
    const struct composite_attributes *a = launch->attributes;
    if (launch->output_count != 1 || launch->input_count > FUSED_MAX_INPUTS ||
        !fused_read(a, launch->input_count, fused) || fused->steps[0].op != OP_CONV)
        return false;
    d->x_input = fused->steps[0].operands[0];
    d->weight_input = fused->steps[0].operands[1];
    bool is_packed = strcmp(a->name, "fused_conv") == 0;
    d->from = is_packed ? LAYOUT_PACKED : (enum value_layout)a->numbers[0];
    d->to = is_packed ? LAYOUT_PACKED : (enum value_layout)a->numbers[1];
    struct live live = {FUSED_MAX_INPUTS, 0};
    d->step_count = 0;
    if (d->from >= LAYOUT_COUNT || d->to >= LAYOUT_COUNT || (d->to == LAYOUT_PACKED && !is_packed) ||
        launch->outputs[0].shape.rank != (d->to == LAYOUT_BLOCKS ? 5 : 4))
        return false;
    for (uint32_t i = 1; i < fused->count; i++)
        if (!read_step(launch, &fused->steps[i], (uint8_t)(FUSED_MAX_INPUTS + i), d, &live))
            return false;
    return live.side == 0 && live.sums == FUSED_MAX_INPUTS + fused->count - 1;
}
