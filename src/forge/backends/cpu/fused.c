/* backends/cpu/fused.c - see fused.h. */
#include "forge/backends/cpu/fused.h"

#include <string.h>
#include "forge/backends/cpu/conv.h"
#include "forge/backends/cpu/elementwise.h"
#include "forge/backends/cpu/matmul.h"
#include "forge/backends/cpu/packed.h"

forge_dtype fused_stored(forge_dtype dtype)
{
    return dtype_is_narrow(dtype) ? FORGE_F32 : dtype;
}

/* Describes a step as a launch of its operation, for the checks of elementwise.h and the number of pieces. */
struct step_launch {
    struct kind_attributes attributes;
    struct view inputs[3], output;
    struct launch launch;
};

static void describe(const struct fused_step *step, const forge_dtype *dtypes, forge_dtype dtype,
                     struct step_launch *out)
{
    *out = (struct step_launch){.attributes = {step->kind}, .output = {.dtype = fused_stored(dtype)}};
    for (int i = 0; i < step->operand_count; i++)
        out->inputs[i].dtype = fused_stored(dtypes[step->operands[i]]);
    out->launch = (struct launch){.op = (enum op)step->op,
                                  .attributes = &out->attributes,
                                  .inputs = out->inputs,
                                  .input_count = step->operand_count,
                                  .outputs = &out->output,
                                  .output_count = 1};
}

static bool takes_step(const struct fused_step *step, const forge_dtype *dtypes, forge_dtype dtype)
{
    struct step_launch s;
    if (!op_is_elementwise(step->op))
        return false;
    describe(step, dtypes, dtype, &s);
    switch (step->op) {
    case OP_UNARY:
        return elementwise_takes_unary(&s.launch) || elementwise_takes_unary_f64(&s.launch);
    case OP_BINARY:
        return dtypes[step->operands[0]] == dtypes[step->operands[1]] &&
               (elementwise_takes_binary(&s.launch) || elementwise_takes_binary_f64(&s.launch));
    case OP_SELECT:
        return s.inputs[0].dtype == FORGE_BOOL && dtypes[step->operands[1]] == dtypes[step->operands[2]] &&
               (elementwise_takes_select(&s.launch) || elementwise_takes_select_f64(&s.launch));
    default:
        return (s.inputs[0].dtype == FORGE_F32 && s.output.dtype == FORGE_F32) ||
               elementwise_takes_cast(&s.launch) || elementwise_takes_cast_f64(&s.launch);
    }
}

/* Sets the types of all operands. Returns false if a step of plan->fused has no kernel. */
static bool set_types(const struct launch *launch, struct fused_plan *plan)
{
    for (size_t i = 0; i < launch->input_count; i++)
        plan->dtypes[i] = launch->inputs[i].dtype;
    for (uint32_t i = 0; i < plan->fused.count; i++) {
        const struct fused_step *step = &plan->fused.steps[i];
        forge_dtype dtype = fused_dtype(step, plan->dtypes);
        if (!takes_step(step, plan->dtypes, dtype))
            return false;
        plan->dtypes[FUSED_MAX_INPUTS + i] = dtype;
    }
    return plan->fused.count == 0 ||
           launch->outputs[0].dtype == plan->dtypes[FUSED_MAX_INPUTS + plan->fused.count - 1];
}

/* Returns true if a view of an input can be broadcast to the shape of the result. */
static bool can_broadcast(const struct view *input, const forge_shape *result)
{
    if (input->shape.rank > result->rank)
        return false;
    uint32_t missing = result->rank - input->shape.rank;
    for (uint32_t i = 0; i < input->shape.rank; i++)
        if (input->shape.dims[i] != 1 && input->shape.dims[i] != result->dims[missing + i])
            return false;
    return true;
}

/* Returns true if all inputs of elementwise steps can be broadcast to the output, and all steps have
 * kernels. */
static bool can_run(const struct launch *launch, struct fused_plan *plan)
{
    for (size_t i = 0; i < launch->input_count; i++)
        if (!can_broadcast(&launch->inputs[i], &launch->outputs[0].shape))
            return false;
    return set_types(launch, plan);
}

bool fused_read_launch(const struct launch *launch, struct fused *out)
{
    return launch->input_count <= FUSED_MAX_INPUTS &&
           fused_read(launch->attributes, launch->input_count, out);
}

static bool read(const struct launch *launch, struct fused *out)
{
    return launch->output_count == 1 && fused_read_launch(launch, out);
}

bool fused_takes(const struct launch *launch)
{
    struct fused_plan plan;
    return read(launch, &plan.fused) && can_run(launch, &plan);
}

/* Gives each value a tile. A tile is free again after the last step that reads its value. A step does not
 * write to a tile that it reads, because the types of the values may differ in size. */
static void give_slots(struct fused_plan *plan)
{
    uint32_t last_reads[FUSED_MAX_STEPS] = {0};
    uint32_t free_after[FUSED_MAX_STEPS] = {0}; /* by slot: the last step that reads its value */
    for (uint32_t i = 0; i < plan->fused.count; i++)
        for (int k = 0; k < plan->fused.steps[i].operand_count; k++)
            if (plan->fused.steps[i].operands[k] >= FUSED_MAX_INPUTS)
                last_reads[plan->fused.steps[i].operands[k] - FUSED_MAX_INPUTS] = i;
    for (uint32_t i = 0; i < plan->fused.count; i++) {
        uint8_t slot = 0;
        while (i > 0 && free_after[slot] >= i)
            slot++;
        plan->slots[i] = slot;
        free_after[slot] = last_reads[i];
    }
}

void fused_plan(const struct launch *launch, struct fused_plan *out)
{
    memset(out, 0, sizeof *out);
    if (read(launch, &out->fused) && set_types(launch, out))
        give_slots(out);
}

size_t fused_pieces(const struct launch *launch, size_t *out_grain)
{
    struct fused_plan plan = {0};
    double ns = 0;
    if (!read(launch, &plan.fused) || !set_types(launch, &plan))
        plan.fused.count = 0;
    for (uint32_t i = 0; i < plan.fused.count; i++) {
        struct step_launch s;
        describe(&plan.fused.steps[i], plan.dtypes, plan.dtypes[FUSED_MAX_INPUTS + i], &s);
        ns += elementwise_ns(&s.launch);
    }
    return runs_pieces(launch, ns, out_grain);
}

/* --- parts ---------------------------------------------------------------------------------------------- */

/* Sets needed[i] for the steps after `product` on which operand `value` depends. */
static void find_needed(const struct fused *steps, uint8_t value, uint32_t product, bool *needed)
{
    if (value < FUSED_MAX_INPUTS)
        return;
    needed[value - FUSED_MAX_INPUTS] = true;
    for (uint32_t i = steps->count; i-- > 0;)
        for (int k = 0; needed[i] && i != product && k < steps->steps[i].operand_count; k++)
            if (steps->steps[i].operands[k] >= FUSED_MAX_INPUTS)
                needed[steps->steps[i].operands[k] - FUSED_MAX_INPUTS] = true;
}

/* Returns the operand number in the part of operand `operand` of the launch, and adds the input to the part
 * if it is new. numbers: by operand number of the launch; FUSED_OPERANDS if it has none yet. Returns
 * FUSED_OPERANDS if there are too many inputs. */
static uint8_t operand_in_part(const struct launch *launch, struct fused_part *part, uint8_t *numbers,
                               uint8_t operand)
{
    if (numbers[operand] == FUSED_OPERANDS && part->launch.input_count < FUSED_MAX_INPUTS) {
        numbers[operand] = (uint8_t)part->launch.input_count;
        part->inputs[part->launch.input_count++] = launch->inputs[operand];
    }
    return numbers[operand];
}

/* Returns the shape to which all inputs of a part are broadcast. */
static forge_shape broadcast_shape(const struct fused_part *part)
{
    forge_shape shape = {0};
    for (size_t i = 0; i < part->launch.input_count; i++)
        if (part->inputs[i].shape.rank > shape.rank)
            shape.rank = part->inputs[i].shape.rank;
    for (uint32_t k = 0; k < shape.rank; k++)
        shape.dims[k] = 1;
    for (size_t i = 0; i < part->launch.input_count; i++) {
        const forge_shape *input = &part->inputs[i].shape;
        forge_dim *dims = &shape.dims[shape.rank - input->rank];
        for (uint32_t k = 0; k < input->rank; k++)
            dims[k] = dims[k] == 1 ? input->dims[k] : dims[k];
    }
    return shape;
}

bool fused_take_part(const struct launch *launch, const struct fused *steps, uint8_t value, uint32_t product,
                     const struct view *given, const struct view *output, struct fused_part *out)
{
    bool needed[FUSED_MAX_STEPS] = {false};
    uint8_t numbers[FUSED_OPERANDS];
    memset(out, 0, sizeof *out);
    memset(numbers, FUSED_OPERANDS, sizeof numbers);
    find_needed(steps, value, product, needed);
    out->launch = (struct launch){
        .op = OP_COMPOSITE, .inputs = out->inputs, .outputs = &out->output, .output_count = 1};
    if (given) {
        numbers[FUSED_MAX_INPUTS + product] = 0;
        out->inputs[out->launch.input_count++] = *given;
    }
    for (uint32_t i = 0; i < steps->count; i++) {
        if (!needed[i] || i == product)
            continue;
        struct fused_step *step = &out->plan.fused.steps[out->plan.fused.count];
        *step = steps->steps[i];
        for (int k = 0; k < step->operand_count; k++)
            if ((step->operands[k] = operand_in_part(launch, out, numbers, step->operands[k])) ==
                FUSED_OPERANDS)
                return false;
        numbers[FUSED_MAX_INPUTS + i] = (uint8_t)(FUSED_MAX_INPUTS + out->plan.fused.count++);
    }
    out->output = output ? *output : view_packed(FORGE_F32, NULL, broadcast_shape(out));
    if (!can_run(&out->launch, &out->plan))
        return false;
    give_slots(&out->plan);
    return true;
}

bool fused_divide(const struct launch *launch, struct fused_product *out)
{
    struct fused whole;
    if (!read(launch, &whole) || (whole.steps[0].op != OP_MATMUL && whole.steps[0].op != OP_CONV))
        return false;
    bool is_matmul = whole.steps[0].op == OP_MATMUL;
    for (int i = 0; i < 2; i++)
        out->product_inputs[i] = launch->inputs[whole.steps[0].operands[i]];
    out->product_output = launch->outputs[0];
    out->product_output.dtype = out->product_inputs[0].dtype;
    out->matmul = (struct matmul_attributes){whole.steps[0].kind, FORGE_F32};
    out->conv = whole.conv;
    out->conv.accumulate = FORGE_F32;
    out->product = (struct launch){.op = is_matmul ? OP_MATMUL : OP_CONV,
                                   .attributes = is_matmul ? (const void *)&out->matmul : &out->conv,
                                   .inputs = out->product_inputs,
                                   .input_count = 2,
                                   .outputs = &out->product_output,
                                   .output_count = 1};
    return fused_take_part(launch, &whole, (uint8_t)(FUSED_MAX_INPUTS + whole.count - 1), 0,
                           &out->product_output, &launch->outputs[0], &out->rest);
}

static bool takes_alone(const struct launch *product)
{
    bool is_matmul = product->op == OP_MATMUL;
    switch (product->inputs[0].dtype) {
    case FORGE_F32:
        return (is_matmul ? matmul_takes_f32 : conv_takes_f32)(product);
    case FORGE_BF16:
        return (is_matmul ? matmul_takes_bf16 : conv_takes_bf16)(product);
    case FORGE_F16:
        return (is_matmul ? matmul_takes_f16 : conv_takes_f16)(product);
    default:
        return false;
    }
}

/* Returns true if there are kernels for the product `op` and for all steps. A product of f32 is computed in
 * the memory of the result, so both have one type. */
static bool takes_product(const struct launch *launch, enum op op)
{
    struct fused_product p;
    if (!fused_divide(launch, &p) || p.product.op != op || p.product_inputs[0].shape.rank < 2 ||
        p.product_inputs[1].shape.rank < 2)
        return false;
    bool is_same = launch->outputs[0].dtype == p.product_output.dtype;
    bool may_differ = p.rest.plan.fused.count > 0 && dtype_is_narrow(p.product_output.dtype) &&
                      fused_stored(launch->outputs[0].dtype) == FORGE_F32;
    return (is_same || may_differ) && takes_alone(&p.product) &&
           (op == OP_MATMUL || conv_is_one_product(&p.product));
}

bool fused_takes_matmul(const struct launch *launch)
{
    return takes_product(launch, OP_MATMUL);
}

bool fused_takes_conv(const struct launch *launch)
{
    return takes_product(launch, OP_CONV);
}

size_t fused_product_pieces(const struct launch *launch, size_t *out_grain)
{
    struct fused_product p;
    *out_grain = 1;
    if (!fused_divide(launch, &p))
        return 0;
    return (p.product.op == OP_MATMUL ? matmul_pieces : conv_pieces)(&p.product, out_grain);
}
