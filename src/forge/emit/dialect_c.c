/* emit/dialect_c.c - how C with vectors of GNU C is written: header and operations.
 *
 * A variable contains LANES elements. A bool is a mask of 32 bits per lane: all bits are set, or none. The
 * header includes no files, so that a compiler without the headers of a C library can compile the source.
 */
#include "forge/emit/dialect.h"

const char *const vector_header[] = {
    "#define INLINE static inline __attribute__((always_inline, unused))\n"
    "#define INFINITY __builtin_inff()\n"
    "#define NAN __builtin_nanf(\"\")\n"
    "#define memcpy __builtin_memcpy\n"
    "#if defined(__clang__)\n"
    "#define UNROLL _Pragma(\"clang loop unroll(full)\")\n"
    "#else\n"
    "#define UNROLL _Pragma(\"GCC unroll 32\")\n"
    "#endif\n"
    "#define INT64_MAX __INT64_MAX__\n"
    "#define INT64_MIN (-INT64_MAX - 1)\n"
    "#define EACH UNROLL for (int k = 0; k < UNITS; k++)\n"
    "#define BLOCK (LANES * UNITS)\n"
    "#define VECTOR(type, lanes) __attribute__((vector_size(sizeof(type) * (lanes)))) type\n",
    "typedef __INT32_TYPE__ int32_t;\n"
    "typedef __INT64_TYPE__ int64_t;\n"
    "typedef __UINT8_TYPE__ uint8_t;\n"
    "typedef __UINT16_TYPE__ uint16_t;\n"
    "typedef __UINT32_TYPE__ uint32_t;\n"
    "typedef __UINT64_TYPE__ uint64_t;\n"
    "typedef __SIZE_TYPE__ size_t;\n"
    "typedef VECTOR(float, LANES) floats;\n"
    "typedef VECTOR(double, LANES) doubles;\n"
    "typedef VECTOR(int32_t, LANES) ints;\n"
    "typedef VECTOR(uint32_t, LANES) words;\n"
    "typedef VECTOR(int64_t, LANES) longs;\n"
    "typedef VECTOR(uint16_t, LANES) shorts;\n"
    "typedef VECTOR(uint8_t, LANES) bytes;\n"
    "typedef VECTOR(double, DOUBLE_LANES) wide;\n"
    "typedef VECTOR(int64_t, DOUBLE_LANES) wide_ints;\n"
    "typedef VECTOR(uint64_t, DOUBLE_LANES) wide_bits;\n"
    "typedef VECTOR(float, DOUBLE_LANES) half;\n",
    /* elements in memory, and functions that f32 and f64 share */
    "#define MEMORY(type, vector) \\\n"
    "    typedef vector type##_vector __attribute__((aligned(sizeof(type)), may_alias));\n"
    "#define FLOATS(t, element, vector, integers) \\\n"
    "    MEMORY(element, vector) \\\n"
    "    INLINE vector load_##t(const element *from) { return *(const element##_vector *)from; } \\\n"
    "    INLINE void store_##t(element *to, vector x) { *(element##_vector *)to = x; } \\\n"
    "    INLINE ints truth_##t(integers x) { return __builtin_convertvector(x, ints); } \\\n"
    "    INLINE vector pick_##t(integers mask, vector x, vector y) \\\n"
    "    { return (vector)((mask & (integers)x) | (~mask & (integers)y)); } \\\n"
    "    INLINE vector choose_##t(ints mask, vector x, vector y) \\\n"
    "    { return pick_##t(__builtin_convertvector(mask, integers), x, y); } \\\n"
    "    INLINE vector max_##t(vector x, vector y) { return pick_##t((x > y) | (x != x), x, y); } \\\n"
    "    INLINE vector min_##t(vector x, vector y) { return pick_##t((x < y) | (x != x), x, y); } \\\n"
    "    INLINE vector relu_##t(vector x) { return (vector)(~(x <= 0) & (integers)x); } \\\n"
    "    INLINE vector abs_##t(vector x) \\\n"
    "    { return (vector)((integers)x & ~(integers)(-(vector){0})); } \\\n"
    "    INLINE vector t##_of_u8(ints x) { return __builtin_convertvector(x, vector); } \\\n"
    "    INLINE vector t##_of_bool(ints x) { return t##_of_u8(x & 1); } \\\n"
    "    INLINE vector t##_of_f32(floats x) { return __builtin_convertvector(x, vector); } \\\n"
    "    INLINE vector t##_of_f64(doubles x) { return __builtin_convertvector(x, vector); }\n"
    "FLOATS(f32, float, floats, ints)\n"
    "FLOATS(f64, double, doubles, longs)\n"
    "MEMORY(uint16_t, shorts)\n"
    "MEMORY(uint8_t, bytes)\n"
    "INLINE ints truth_bool(ints x) { return x; }\n"
    "INLINE ints load_u8(const uint8_t *from)\n"
    "{ return __builtin_convertvector(*(const uint8_t_vector *)from, ints); }\n"
    "INLINE ints load_bool(const uint8_t *from) { return load_u8(from) != 0; }\n"
    "INLINE void store_bool(uint8_t *to, ints x)\n"
    "{ *(uint8_t_vector *)to = __builtin_convertvector(x, bytes) & 1; }\n"
    "INLINE floats sqrt_f32(floats x)\n"
    "{ UNROLL for (int i = 0; i < LANES; i++) x[i] = __builtin_sqrtf(x[i]); return x; }\n"
    "INLINE doubles sqrt_f64(doubles x)\n"
    "{ UNROLL for (int i = 0; i < LANES; i++) x[i] = __builtin_sqrt(x[i]); return x; }\n",
    /* bf16 and f16: exact to f32; from f32 rounded to nearest, ties to even */
    "INLINE words narrow_words_bf16(floats x)\n"
    "{\n"
    "    words bits = (words)x, is_nan = (words)(x != x);\n"
    "    words rounded = bits + 0x7fffu + (bits >> 16 & 1u);\n"
    "    return ((rounded & ~is_nan) | ((bits | 0x400000u) & is_nan)) >> 16;\n"
    "}\n"
    "INLINE floats widen_words_bf16(words x) { return (floats)(x << 16); }\n"
    "INLINE words pick_words(ints mask, words x, words y)\n"
    "{ return ((words)mask & x) | (~(words)mask & y); }\n"
    "INLINE words narrow_words_f16(floats x)\n"
    "{\n"
    "    words bits = (words)x, size = bits & 0x7fffffffu, less = size - 0x38000000u;\n"
    "    words normal = (less + 0xfffu + (less >> 13 & 1u)) >> 13;\n"
    "    words small = (words)((floats)size * 0x1p24f + 0x1p23f) - 0x4b000000u;\n"
    "    words half_bits = pick_words((ints)size < 0x38800000, small, normal);\n"
    "    half_bits = pick_words((ints)size >= 0x477ff000, (words){0} + 0x7c00u, half_bits);\n"
    "    half_bits = pick_words(x != x, 0x7e00u | (size >> 13 & 0x3ffu), half_bits);\n"
    "    return half_bits | (bits >> 16 & 0x8000u);\n"
    "}\n"
    "INLINE floats widen_words_f16(words x)\n"
    "{\n"
    "    words size = x & 0x7fffu, more = size << 13;\n"
    "    words small = (words)(__builtin_convertvector((ints)size, floats) * 0x1p-24f);\n"
    "    words bits = pick_words((ints)size < 0x400, small, more + 0x38000000u);\n"
    "    bits = pick_words((ints)size >= 0x7c00, more | 0x7f800000u, bits);\n"
    "    return (floats)(bits | (x & 0x8000u) << 16);\n"
    "}\n"
    "#define NARROW(t) \\\n"
    "    INLINE floats load_##t(const uint16_t *from) \\\n"
    "    { return widen_words_##t(__builtin_convertvector(*(const uint16_t_vector *)from, words)); } \\\n"
    "    INLINE void store_##t(uint16_t *to, floats x) \\\n"
    "    { *(uint16_t_vector *)to = __builtin_convertvector(narrow_words_##t(x), shorts); } \\\n"
    "    INLINE floats round_##t(floats x) { return widen_words_##t(narrow_words_##t(x)); }\n"
    "NARROW(bf16)\n"
    "NARROW(f16)\n",
    /* what float_functions.inc needs */
    "INLINE wide f32_to_wide(half x) { return __builtin_convertvector(x, wide); }\n"
    "INLINE half wide_to_f32(wide x) { return __builtin_convertvector(x, half); }\n"
    "INLINE wide choose_wide(wide_ints mask, wide x, wide y)\n"
    "{ return (wide)((mask & (wide_ints)x) | (~mask & (wide_ints)y)); }\n"
    "INLINE wide f64_square_root(wide x)\n"
    "{ UNROLL for (int i = 0; i < DOUBLE_LANES; i++) x[i] = __builtin_sqrt(x[i]); return x; }\n"
    "INLINE wide f64_multiply_add(wide x, wide y, wide z)\n"
    "{\n"
    "#if defined(__FMA__) || defined(__aarch64__)\n"
    "    UNROLL for (int i = 0; i < DOUBLE_LANES; i++) z[i] = __builtin_fma(x[i], y[i], z[i]);\n"
    "    return z;\n"
    "#else\n"
    "    return x * y + z;\n"
    "#endif\n"
    "}\n"
    "#define FUNCTION(...) INLINE __VA_ARGS__\n"
    "#define WIDE(name, expression) \\\n"
    "    INLINE floats name##_vector(floats all) \\\n"
    "    { \\\n"
    "        half parts[LANES / DOUBLE_LANES]; \\\n"
    "        memcpy(parts, &all, sizeof all); \\\n"
    "        UNROLL \\\n"
    "        for (int i = 0; i < LANES / DOUBLE_LANES; i++) { \\\n"
    "            wide x = f32_to_wide(parts[i]); \\\n"
    "            parts[i] = wide_to_f32(expression); \\\n"
    "        } \\\n"
    "        memcpy(&all, parts, sizeof all); \\\n"
    "        return all; \\\n"
    "    }\n",
    /* INPUT: an input whose step is 0 is read from a block with copies of its element. REST: the elements
     * after the last whole block are read from a copy. */
    "#define INPUT(k, element) \\\n"
    "    element pad##k[BLOCK] = {0}; \\\n"
    "    const element *in##k = inputs[k]; \\\n"
    "    const int64_t step##k = steps[k]; \\\n"
    "    if (step##k == 0) { \\\n"
    "        for (int lane = 0; lane < BLOCK; lane++) \\\n"
    "            pad##k[lane] = *in##k; \\\n"
    "        in##k = pad##k; \\\n"
    "    }\n"
    "#define REST(k) \\\n"
    "    if (step##k != 0) \\\n"
    "        in##k = memcpy(pad##k, in##k + at, (count - at) * sizeof *in##k);\n",
    NULL,
};

/* The functions of float_functions.inc, one text for each. */
#define FUNCTION(...)          "FUNCTION(" #__VA_ARGS__ ")\n",
#define WIDE(name, expression) "WIDE(" #name ", " #expression ")\n",
const char *const vector_functions[] = {
#include "forge/emit/float_functions.inc"
    NULL,
};

#define CHEAP_UNARIES                                                                                        \
    [FORGE_NEG] = "-$0", [FORGE_ABS] = "abs_$t($0)", [FORGE_RECIPROCAL] = "1 / $0",                          \
    [FORGE_SQUARE] = "$0 * $0", [FORGE_SQRT] = "sqrt_$t($0)", [FORGE_RELU] = "relu_$t($0)",                  \
    [FORGE_IS_NAN] = "$0 != $0"

static const char *const f32_unaries[FORGE_UNARY_KINDS] = {
    CHEAP_UNARIES,
    [FORGE_EXP] = "exp_vector($0)",
    [FORGE_EXPM1] = "expm1_vector($0)",
    [FORGE_LOG] = "log_vector($0)",
    [FORGE_RSQRT] = "rsqrt_vector($0)",
    [FORGE_SIGMOID] = "sigmoid_vector($0)",
    [FORGE_TANH] = "tanh_vector($0)",
    [FORGE_SILU] = "silu_vector($0)",
    [FORGE_GELU] = "gelu_vector($0)",
    [FORGE_GELU_TANH] = "gelu_tanh_vector($0)",
};
static const char *const f64_unaries[FORGE_UNARY_KINDS] = {CHEAP_UNARIES};
static const char *const bool_unaries[FORGE_UNARY_KINDS] = {[FORGE_NOT] = "~$0"};

static const char *const float_binaries[FORGE_BINARY_KINDS] = {
    [FORGE_ADD] = "$0 + $1", [FORGE_SUB] = "$0 - $1",        [FORGE_MUL] = "$0 * $1",
    [FORGE_DIV] = "$0 / $1", [FORGE_MAX] = "max_$t($0, $1)", [FORGE_MIN] = "min_$t($0, $1)",
    [FORGE_EQ] = "$0 == $1", [FORGE_NE] = "$0 != $1",        [FORGE_LT] = "$0 < $1",
    [FORGE_LE] = "$0 <= $1", [FORGE_GT] = "$0 > $1",         [FORGE_GE] = "$0 >= $1",
};
static const char *const bool_binaries[FORGE_BINARY_KINDS] = {
    [FORGE_AND] = "$0 & $1", [FORGE_OR] = "$0 | $1",  [FORGE_XOR] = "$0 ^ $1",
    [FORGE_EQ] = "$0 == $1", [FORGE_NE] = "$0 != $1",
};

const struct dialect_operations vector_f32 = {f32_unaries, float_binaries, "choose_$t($0, $1, $2)"};
const struct dialect_operations vector_f64 = {f64_unaries, float_binaries, "choose_$t($0, $1, $2)"};
const struct dialect_operations vector_booleans = {bool_unaries, bool_binaries, "($0 & $1) | (~$0 & $2)"};
