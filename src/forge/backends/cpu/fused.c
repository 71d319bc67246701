/* backends/cpu/fused.c - see fused.h. */
#include "forge/backends/cpu/fused.h"

#include <string.h>
#include "forge/backends/cpu/elementwise.h"

/* Returns the element type of a step's value. dtypes: by operand number. */
static forge_dtype dtype_of(const struct fused_step *step, const forge_dtype *dtypes)
{
    switch (step->op) {
    case OP_BINARY:
        return step->kind >= FORGE_EQ ? FORGE_BOOL : dtypes[step->operands[0]];
    case OP_SELECT:
        return dtypes[step->operands[1]];
    case OP_CAST:
        return (forge_dtype)step->kind;
    default:
        return dtypes[step->operands[0]];
    }
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
    *out = (struct step_launch){.attributes = {step->kind}, .output = {.dtype = dtype}};
    for (int i = 0; i < step->operand_count; i++)
        out->inputs[i].dtype = dtypes[step->operands[i]];
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
    describe(step, dtypes, dtype, &s);
    switch (step->op) {
    case OP_UNARY:
        return elementwise_takes_unary(&s.launch) || elementwise_takes_unary_f64(&s.launch);
    case OP_BINARY:
        return s.inputs[0].dtype == s.inputs[1].dtype &&
               (elementwise_takes_binary(&s.launch) || elementwise_takes_binary_f64(&s.launch));
    case OP_SELECT:
        return s.inputs[0].dtype == FORGE_BOOL && s.inputs[1].dtype == s.inputs[2].dtype &&
               (elementwise_takes_select(&s.launch) || elementwise_takes_select_f64(&s.launch));
    default:
        return elementwise_takes_cast(&s.launch) || elementwise_takes_cast_f64(&s.launch);
    }
}

/* Reads the code and the types of all operands. Returns false if a step has no kernel. */
static bool read_steps(const struct launch *launch, struct fused_plan *plan)
{
    if (launch->input_count > FUSED_MAX_INPUTS || launch->output_count != 1 ||
        !fused_read(launch->attributes, launch->input_count, &plan->fused))
        return false;
    for (size_t i = 0; i < launch->input_count; i++)
        plan->dtypes[i] = launch->inputs[i].dtype;
    for (uint32_t i = 0; i < plan->fused.count; i++) {
        const struct fused_step *step = &plan->fused.steps[i];
        forge_dtype dtype = dtype_of(step, plan->dtypes);
        if (!takes_step(step, plan->dtypes, dtype))
            return false;
        plan->dtypes[FUSED_MAX_INPUTS + i] = dtype;
    }
    return launch->outputs[0].dtype == plan->dtypes[FUSED_MAX_INPUTS + plan->fused.count - 1];
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

bool fused_takes(const struct launch *launch)
{
    struct fused_plan plan;
    for (size_t i = 0; i < launch->input_count && launch->output_count == 1; i++)
        if (!can_broadcast(&launch->inputs[i], &launch->outputs[0].shape))
            return false;
    return read_steps(launch, &plan);
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
    if (read_steps(launch, out))
        give_slots(out);
}

size_t fused_pieces(const struct launch *launch, size_t *out_grain)
{
    struct fused_plan plan;
    double ns = 0;
    fused_plan(launch, &plan);
    for (uint32_t i = 0; i < plan.fused.count; i++) {
        struct step_launch s;
        describe(&plan.fused.steps[i], plan.dtypes, plan.dtypes[FUSED_MAX_INPUTS + i], &s);
        ns += elementwise_ns(&s.launch);
    }
    return runs_pieces(launch, ns, out_grain);
}
