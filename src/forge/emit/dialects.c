/* emit/dialects.c - the rows of the table of dialects; see dialect.h. */
#include "forge/emit/dialect.h"

#include <string.h>

/* --- OpenCL C ------------------------------------------------------------------------------------------- */

static const char *const opencl_header[] = {
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "#define FUNCTION static\n"
    "#define FLOAT_OF(bits) as_float(bits)\n"
    "#define BITS_OF(x) as_uint(x)\n",
    NULL,
};

/* --- CUDA C and HIP ------------------------------------------------------------------------------------- */

static const char *const cuda_header[] = {
    "#define FUNCTION static __device__\n"
    "#define FLOAT_OF(bits) __uint_as_float(bits)\n"
    "#define BITS_OF(x) __float_as_uint(x)\n",
    NULL,
};
static const char *const hip_header[] = {
    "#include <hip/hip_runtime.h>\n"
    "#pragma clang fp contract(off)\n",
    NULL,
};

/* --- Metal ---------------------------------------------------------------------------------------------- */

/* Metal has no erf, erfc, expm1 and log1p. erfc: the polynomial of float_functions.inc, in f32. */
static const char *const metal_header[] = {
    "#include <metal_stdlib>\n"
    "#pragma clang fp contract(off)\n"
    "using namespace metal;\n"
    "#define FUNCTION static\n"
    "#define FLOAT_OF(bits) as_type<float>(bits)\n"
    "#define BITS_OF(x) as_type<uint>(x)\n",
    "constant float erfc_terms[14] = {\n"
    "    -5.1623069868e-06f, -6.7067556899e-07f, 5.1556922889e-05f, -2.1465621270e-05f, -3.6433988023e-04f,\n"
    "    6.4627446841e-04f, 1.6175174283e-03f, -9.7507996452e-03f, 2.1957960384e-02f, -2.3803902026e-02f,\n"
    "    -1.0235405304e-02f, 9.9020753377e-02f, -2.3092733268e-01f, 7.1600460473e-01f};\n"
    "static float erfc(float x)\n"
    "{\n"
    "    float s = min(fabs(x), 27.f), u = (s - 3) / (s + 3), sum = 0;\n"
    "    for (int i = 0; i < 14; i++)\n"
    "        sum = fma(sum, u, erfc_terms[i]);\n"
    "    float y = precise::exp(-s * s) * sum / (1 + s);\n"
    "    return x != x ? x : x < 0 ? 2 - y : y;\n"
    "}\n"
    "static float erf(float x) { return fabs(x) < 0.5f ? x * (1.1283791671f + x * x * (-0.3761263890f + x * "
    "x * "
    "(0.1128379167f + x * x * (-0.0268661706f + x * x * 0.0052239776f)))) : 1 - erfc(x); }\n"
    "static float expm1(float x)\n"
    "{\n"
    "    float y = precise::exp(x);\n"
    "    return y == 1 ? x : fabs(x) > 1 ? y - 1 : (y - 1) * x / precise::log(y);\n"
    "}\n"
    "static float log1p(float x)\n"
    "{\n"
    "    float y = 1 + x;\n"
    "    return y == 1 || y > 3.4028235e38f ? x : precise::log(y) * (x / (y - 1));\n"
    "}\n",
    NULL,
};

/* --- types ---------------------------------------------------------------------------------------------- */

#define NARROW_TYPES                                                                                         \
    [FORGE_BF16] = {"float", "unsigned short", "widen_bf16($0)", "$0 = narrow_bf16($1);"},                   \
    [FORGE_F16] = {"float", "unsigned short", "widen_f16($0)", "$0 = narrow_f16($1);"}
#define SMALL_TYPES                                                                                          \
    [FORGE_BOOL] = {"bool", "unsigned char", "$0 != 0", "$0 = $1;"},                                         \
    [FORGE_U8] = {"unsigned int", "unsigned char", "$0", "$0 = $1;"}, NARROW_TYPES
#define PLAIN_TYPE(type)                                                                                     \
    {                                                                                                        \
        type, type, "$0", "$0 = $1;"                                                                         \
    }

#define THREAD_OPERATIONS                                                                                    \
    .f32 = &thread_floats, .f64 = &thread_floats, .booleans = &thread_booleans, .truth = "$0",               \
    .cast = "($v)$0"

/* --- rows ----------------------------------------------------------------------------------------------- */

/* CUDA C and HIP begin a function in the same way. */
#define CUDA_THREADS                                                                                         \
    {                                                                                                        \
        .function = "extern \"C\" __global__ void", .input = "const $v *$0", .output = "$v *$0",             \
        .places = "const long long *$0", .more = "", .integer = "long long",                                 \
        .index = "(long long)blockIdx.x * blockDim.x + threadIdx.x"                                          \
    }

const struct dialect dialects[] = {
    {
        .name = "c",
        .options = "-ffp-contract=off -fno-math-errno",
        .headers = {vector_header, vector_functions},
        .types =
            {
                [FORGE_BOOL] = {"ints", "uint8_t", "load_bool($0)", "store_bool($0, $1);"},
                [FORGE_U8] = {"ints", "uint8_t", "load_u8($0)", NULL},
                [FORGE_F16] = {"floats", "uint16_t", "load_f16($0)", "store_f16($0, $1);"},
                [FORGE_BF16] = {"floats", "uint16_t", "load_bf16($0)", "store_bf16($0, $1);"},
                [FORGE_F32] = {"floats", "float", "load_f32($0)", "store_f32($0, $1);"},
                [FORGE_F64] = {"doubles", "double", "load_f64($0)", "store_f64($0, $1);"},
            },
        .f32 = &vector_f32,
        .f64 = &vector_f64,
        .booleans = &vector_booleans,
        .truth = "truth_$a($0)",
        .cast = "$t_of_$a($0)",
    },
    {
        .name = "opencl",
        .options = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt",
        .headers = {opencl_header, thread_narrow},
        .types = {SMALL_TYPES, [FORGE_F32] = PLAIN_TYPE("float"), [FORGE_F64] = PLAIN_TYPE("double")},
        THREAD_OPERATIONS,
        .threads = {.function = "__kernel void",
                    .input = "__global const $v *$0",
                    .output = "__global $v *$0",
                    .places = "__constant long *$0",
                    .more = "",
                    .integer = "long",
                    .index = "get_global_id(0)"},
    },
    {
        .name = "cuda",
        .options = "--fmad=false --prec-div=true --prec-sqrt=true",
        .headers = {cuda_header, thread_narrow},
        .types = {SMALL_TYPES, [FORGE_F32] = PLAIN_TYPE("float"), [FORGE_F64] = PLAIN_TYPE("double")},
        THREAD_OPERATIONS,
        .threads = CUDA_THREADS,
    },
    {
        .name = "hip",
        .options = "-ffp-contract=off -fhip-fp32-correctly-rounded-divide-sqrt",
        .headers = {hip_header, cuda_header, thread_narrow},
        .types = {SMALL_TYPES, [FORGE_F32] = PLAIN_TYPE("float"), [FORGE_F64] = PLAIN_TYPE("double")},
        THREAD_OPERATIONS,
        .threads = CUDA_THREADS,
    },
    {
        .name = "metal",
        .options = "-fno-fast-math",
        .headers = {metal_header, thread_narrow},
        .types = {SMALL_TYPES, [FORGE_F32] = PLAIN_TYPE("float")},
        THREAD_OPERATIONS,
        .threads = {.function = "kernel void",
                    .input = "device const $v *$0 [[buffer($1)]]",
                    .output = "device $v *$0 [[buffer($1)]]",
                    .places = "constant long *$0 [[buffer($1)]]",
                    .more = ", uint thread [[thread_position_in_grid]]",
                    .integer = "long",
                    .index = "thread"},
    },
};

const size_t dialect_count = sizeof dialects / sizeof *dialects;

const struct dialect *dialect_at(size_t i)
{
    return i < dialect_count ? &dialects[i] : NULL;
}

const char *dialect_name(const struct dialect *dialect)
{
    return dialect->name;
}

const struct dialect *dialect_find(const char *name)
{
    for (size_t i = 0; i < dialect_count; i++)
        if (strcmp(dialects[i].name, name) == 0)
            return &dialects[i];
    return NULL;
}
