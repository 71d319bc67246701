/* emit/dialect_threads.c - how languages are written whose threads compute one element each: their operations
 * and the conversions of bf16 and f16. */
#include "forge/emit/dialect.h"

/* FUNCTION, FLOAT_OF and BITS_OF are defined by the row of the dialect. */
const char *const thread_narrow[] = {
    "FUNCTION float widen_bf16(unsigned int x) { return FLOAT_OF(x << 16); }\n"
    "FUNCTION unsigned int narrow_bf16(float x)\n"
    "{\n"
    "    unsigned int bits = BITS_OF(x);\n"
    "    return (x != x ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;\n"
    "}\n"
    "FUNCTION float round_bf16(float x) { return widen_bf16(narrow_bf16(x)); }\n",
    "FUNCTION float widen_f16(unsigned int x)\n"
    "{\n"
    "    unsigned int size = x & 0x7fffu, sign = (x & 0x8000u) << 16;\n"
    "    if (size < 0x400u)\n"
    "        return FLOAT_OF(BITS_OF((float)size * 5.9604644775390625e-8f) | sign);\n"
    "    return FLOAT_OF((size << 13 | (size < 0x7c00u ? 0u : 0x7f800000u)) + (size < 0x7c00u ? 0x38000000u "
    ": "
    "0u) | sign);\n"
    "}\n"
    "FUNCTION unsigned int narrow_f16(float x)\n"
    "{\n"
    "    unsigned int bits = BITS_OF(x), size = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;\n"
    "    unsigned int less = size - 0x38000000u;\n"
    "    if (x != x)\n"
    "        return sign | 0x7e00u | (size >> 13 & 0x3ffu);\n"
    "    if (size >= 0x477ff000u)\n"
    "        return sign | 0x7c00u;\n"
    "    if (size < 0x38800000u)\n"
    "        return sign | (BITS_OF(FLOAT_OF(size) * 16777216.f + 8388608.f) - 0x4b000000u);\n"
    "    return sign | (less + 0xfffu + (less >> 13 & 1u)) >> 13;\n"
    "}\n"
    "FUNCTION float round_f16(float x) { return widen_f16(narrow_f16(x)); }\n",
    NULL,
};

static const char *const float_unaries[FORGE_UNARY_KINDS] = {
    [FORGE_NEG] = "-$0",
    [FORGE_ABS] = "fabs($0)",
    [FORGE_SIGN] = "$0 > 0 ? 1 : $0 < 0 ? -1 : $0",
    [FORGE_RECIPROCAL] = "1 / $0",
    [FORGE_SQUARE] = "$0 * $0",
    [FORGE_SQRT] = "sqrt($0)",
    [FORGE_RSQRT] = "1 / sqrt($0)",
    [FORGE_EXP] = "exp($0)",
    [FORGE_EXPM1] = "expm1($0)",
    [FORGE_LOG] = "log($0)",
    [FORGE_LOG1P] = "log1p($0)",
    [FORGE_SIN] = "sin($0)",
    [FORGE_COS] = "cos($0)",
    [FORGE_ERF] = "erf($0)",
    [FORGE_FLOOR] = "floor($0)",
    [FORGE_CEIL] = "ceil($0)",
    [FORGE_ROUND] = "rint($0)",
    [FORGE_RELU] = "$0 <= 0 ? 0 : $0",
    [FORGE_SIGMOID] = "1 / (1 + exp(-$0))",
    [FORGE_TANH] = "tanh($0)",
    [FORGE_SOFTPLUS] = "($0 > 0 ? $0 : 0) + log1p(exp(-fabs($0)))",
    [FORGE_SILU] = "$0 * (1 / (1 + exp(-$0)))",
    [FORGE_GELU] = "$0 * (erfc($0 * -0.70710678118654752$f) * 0.5$f)",
    [FORGE_GELU_TANH] = "$0 * (1 / (1 + exp(-1.5957691216057308$f * ($0 + 0.044715$f * $0 * $0 * $0))))",
    [FORGE_IS_NAN] = "$0 != $0",
};
static const char *const bool_unaries[FORGE_UNARY_KINDS] = {[FORGE_NOT] = "!$0"};

static const char *const float_binaries[FORGE_BINARY_KINDS] = {
    [FORGE_ADD] = "$0 + $1",
    [FORGE_SUB] = "$0 - $1",
    [FORGE_MUL] = "$0 * $1",
    [FORGE_DIV] = "$0 / $1",
    [FORGE_POW] = "pow($0, $1)",
    [FORGE_MAX] = "$0 > $1 || $0 != $0 ? $0 : $1",
    [FORGE_MIN] = "$0 < $1 || $0 != $0 ? $0 : $1",
    [FORGE_MOD] = "fmod($0, $1) + (fmod($0, $1) != 0 && (fmod($0, $1) < 0) != ($1 < 0) ? $1 : 0)",
    [FORGE_EQ] = "$0 == $1",
    [FORGE_NE] = "$0 != $1",
    [FORGE_LT] = "$0 < $1",
    [FORGE_LE] = "$0 <= $1",
    [FORGE_GT] = "$0 > $1",
    [FORGE_GE] = "$0 >= $1",
};
static const char *const bool_binaries[FORGE_BINARY_KINDS] = {
    [FORGE_AND] = "$0 && $1", [FORGE_OR] = "$0 || $1", [FORGE_XOR] = "$0 != $1",
    [FORGE_EQ] = "$0 == $1",  [FORGE_NE] = "$0 != $1",
};

const struct dialect_operations thread_floats = {float_unaries, float_binaries, "$0 ? $1 : $2"};
const struct dialect_operations thread_booleans = {bool_unaries, bool_binaries, "$0 ? $1 : $2"};
