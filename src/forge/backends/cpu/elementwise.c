/* backends/cpu/elementwise.c - see elementwise.h. */
#include "forge/backends/cpu/elementwise.h"

#include "forge/backends/cpu/packed.h"

/* Approximate time for 1000 elements, in ns. CHEAP_NS: operations that memory bandwidth limits.
 * POLYNOMIAL_NS: operations that evaluate a polynomial. */
#define CHEAP_NS      400
#define POLYNOMIAL_NS 1500

static const bool is_polynomial[FORGE_UNARY_KINDS] = {
    [FORGE_EXP] = true,     [FORGE_EXPM1] = true, [FORGE_LOG] = true,
    [FORGE_SIGMOID] = true, [FORGE_RSQRT] = true, [FORGE_TANH] = true,
    [FORGE_SILU] = true,    [FORGE_GELU] = true,  [FORGE_GELU_TANH] = true,
};

static const bool is_cheap[FORGE_UNARY_KINDS] = {
    [FORGE_NEG] = true,        [FORGE_ABS] = true,  [FORGE_SQUARE] = true,
    [FORGE_RECIPROCAL] = true, [FORGE_SQRT] = true, [FORGE_RELU] = true,
};

static const bool is_fast_binary[FORGE_BINARY_KINDS] = {
    [FORGE_ADD] = true, [FORGE_SUB] = true, [FORGE_MUL] = true, [FORGE_DIV] = true,
    [FORGE_MAX] = true, [FORGE_MIN] = true, [FORGE_EQ] = true,  [FORGE_NE] = true,
    [FORGE_LT] = true,  [FORGE_LE] = true,  [FORGE_GT] = true,  [FORGE_GE] = true,
};

static uint32_t kind_of(const struct launch *launch)
{
    return ((const struct kind_attributes *)launch->attributes)->kind;
}

bool elementwise_takes_unary(const struct launch *launch)
{
    uint32_t kind = kind_of(launch);
    return launch->inputs[0].dtype == FORGE_F32 && (is_cheap[kind] || is_polynomial[kind]);
}

bool elementwise_takes_unary_f64(const struct launch *launch)
{
    return launch->inputs[0].dtype == FORGE_F64 && is_cheap[kind_of(launch)];
}

bool elementwise_takes_unary_narrow(const struct launch *launch)
{
    uint32_t kind = kind_of(launch);
    return dtype_is_narrow(launch->inputs[0].dtype) && (is_cheap[kind] || is_polynomial[kind]);
}

static bool takes_binary(const struct launch *launch, forge_dtype dtype)
{
    return launch->inputs[0].dtype == dtype && is_fast_binary[kind_of(launch)];
}

bool elementwise_takes_binary(const struct launch *launch)
{
    return takes_binary(launch, FORGE_F32);
}

bool elementwise_takes_binary_f64(const struct launch *launch)
{
    return takes_binary(launch, FORGE_F64);
}

bool elementwise_takes_binary_narrow(const struct launch *launch)
{
    return dtype_is_narrow(launch->inputs[0].dtype) && is_fast_binary[kind_of(launch)];
}

bool elementwise_takes_select(const struct launch *launch)
{
    return launch->inputs[1].dtype == FORGE_F32;
}

bool elementwise_takes_select_f64(const struct launch *launch)
{
    return launch->inputs[1].dtype == FORGE_F64;
}

bool elementwise_takes_select_narrow(const struct launch *launch)
{
    return dtype_is_narrow(launch->inputs[1].dtype);
}

static bool takes_cast(const struct launch *launch, forge_dtype to)
{
    forge_dtype from = launch->inputs[0].dtype;
    return (from == FORGE_BOOL || from == FORGE_U8) && launch->outputs[0].dtype == to;
}

bool elementwise_takes_cast(const struct launch *launch)
{
    return takes_cast(launch, FORGE_F32);
}

bool elementwise_takes_cast_f64(const struct launch *launch)
{
    return takes_cast(launch, FORGE_F64);
}

bool elementwise_takes_cast_narrow(const struct launch *launch)
{
    forge_dtype from = launch->inputs[0].dtype, to = launch->outputs[0].dtype;
    bool is_from = from == FORGE_BOOL || from == FORGE_U8 || from == FORGE_F32 || dtype_is_narrow(from);
    return is_from && (dtype_is_narrow(to) || (dtype_is_narrow(from) && to == FORGE_F32));
}

static bool takes_gelu_back(const struct launch *launch, forge_dtype dtype)
{
    const struct view *g = &launch->inputs[0], *x = &launch->inputs[1];
    return launch->input_count == 2 && launch->output_count == 1 && g->dtype == dtype && x->dtype == dtype &&
           launch->outputs[0].dtype == dtype && forge_shape_equal(&g->shape, &launch->outputs[0].shape);
}

bool elementwise_takes_gelu_back(const struct launch *launch)
{
    return takes_gelu_back(launch, FORGE_F32);
}

bool elementwise_takes_gelu_back_narrow(const struct launch *launch)
{
    return takes_gelu_back(launch, FORGE_BF16) || takes_gelu_back(launch, FORGE_F16);
}

size_t elementwise_polynomial_pieces(const struct launch *launch, size_t *out_grain)
{
    return runs_pieces(launch, POLYNOMIAL_NS, out_grain);
}

size_t elementwise_unary_pieces(const struct launch *launch, size_t *out_grain)
{
    return runs_pieces(launch, elementwise_ns(launch), out_grain);
}

double elementwise_ns(const struct launch *launch)
{
    return launch->op == OP_UNARY && is_polynomial[kind_of(launch)] ? POLYNOMIAL_NS : CHEAP_NS;
}

size_t elementwise_pieces(const struct launch *launch, size_t *out_grain)
{
    return runs_pieces(launch, CHEAP_NS, out_grain);
}
