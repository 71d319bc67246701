/* Runs the sources of the dialects for threads on the CPU, and compares each element with f64 arithmetic.
 *
 * A prelude makes C++ of each dialect: it defines the language's qualifiers, the number of the thread and
 * some functions. So this checks operations, conversions and addresses, but not functions of the language.
 */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "forge/core/dtype.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/emit_groups.h"
#include "support/scratch.h"

enum { ROWS = 3, COLUMNS = 37, COUNT = ROWS * COLUMNS };

static joule_error error;

/* --- preludes ------------------------------------------------------------------------------------------- */

#define PRELUDE                                                                                              \
    "#include <math.h>\n#include <string.h>\n"                                                               \
    "template <typename T, typename F> static T bits_as(F x) { T y; memcpy(&y, &x, sizeof y); return y; }\n" \
    "struct any { void *p; template <typename T> operator T *() const { return (T *)p; } };\n"               \
    "static long number;\n"
#define CUDA_PRELUDE                                                                                         \
    PRELUDE "#define __device__\n#define __global__\n"                                                       \
            "static struct { long &x; } blockIdx = {number};\n"                                              \
            "static const struct { long x; } blockDim = {1}, threadIdx = {0};\n"                             \
            "#define __uint_as_float bits_as<float, unsigned>\n"                                             \
            "#define __float_as_uint bits_as<unsigned, float>\n"                                             \
            "namespace group {\n"

static const struct language {
    const char *dialect, *prelude, *last_argument, *header; /* header: a file that the source includes */
} languages[] = {
    {"opencl",
     PRELUDE "#define __kernel extern \"C\"\n#define __global\n#define __constant const\n"
             "#define get_global_id(d) number\n#define as_float bits_as<float, unsigned>\n"
             "#define as_uint bits_as<unsigned, float>\nnamespace group {\n",
     "", NULL},
    {"cuda", CUDA_PRELUDE, "", NULL},
    {"hip", CUDA_PRELUDE, "", "hip/hip_runtime.h"},
    {"metal",
     PRELUDE "#define kernel extern \"C\"\n#define device\n#define constant const\ntypedef unsigned uint;\n"
             "#define as_type bits_as\n"
             "namespace metal { using ::exp; using ::log; static float min(float x, float y) { return x < y "
             "? x : y; }\nnamespace precise { using ::exp; using ::log; } }\nnamespace group {\n",
     ", number", "metal_stdlib"},
};
enum { LANGUAGES = sizeof languages / sizeof *languages };

typedef void run_fn(void *const *inputs, void *out, const int64_t *places);

static void add(FILE *file, const struct language *language, const char *source, size_t input_count)
{
    fprintf(file, "%s%s}\nextern \"C\" void run_threads(void *const *in, void *out, const long *places)\n",
            language->prelude, source);
    fprintf(file, "{\n    for (number = 0; number < places[0] + 5; number++)\n        group::forge_group(");
    for (size_t i = 0; i < input_count; i++)
        fprintf(file, "any{in[%zu]}, ", i);
    fprintf(file, "any{out}, any{(void *)places}%s);\n}\n", language->last_argument);
}

/* Compiles and loads the source; the caller closes the library. Returns NULL if there is no C++ compiler. */
static void *load(const struct language *language, const struct group *group)
{
    struct emit_group emitted = group_in(group);
    char *source = NULL, command[600], object[100];
    assert_ok(emit_source(dialect_find(language->dialect), &emitted, &source, &error), &error);
    FILE *file = fopen(scratch_path, "w");
    assert_non_null(file);
    add(file, language, source, group->input_count);
    assert_int_equal(fclose(file), 0);
    snprintf(object, sizeof object, "%s/object", scratch_folder);
    snprintf(
        command, sizeof command,
        "cd %s && mkdir -p hip && touch %s && c++ -x c++ -std=c++17 -w -O1 -ffp-contract=off -shared -fPIC "
        "-I . -o object x",
        scratch_folder, language->header ? language->header : "x");
    if (system(command) != 0)
        fail_msg("cannot compile the dialect %s:\n%s", language->dialect, source);
    free(source);
    void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    snprintf(command, sizeof command, "cd %s && rm -rf hip metal_stdlib object x", scratch_folder);
    assert_int_equal(system(command), 0);
    return library;
}

static bool has_compiler(void)
{
    if (system("c++ --version >/dev/null 2>&1") == 0)
        return true;
    print_message("skipped: dialects for threads: there is no c++\n");
    return false;
}

/* --- expected numbers ----------------------------------------------------------------------------------- */

static double (*const functions[FORGE_UNARY_KINDS])(double) = {
    [FORGE_ABS] = fabs,  [FORGE_SQRT] = sqrt,   [FORGE_EXP] = exp,   [FORGE_EXPM1] = expm1,
    [FORGE_LOG] = log,   [FORGE_LOG1P] = log1p, [FORGE_SIN] = sin,   [FORGE_COS] = cos,
    [FORGE_ERF] = erf,   [FORGE_FLOOR] = floor, [FORGE_CEIL] = ceil, [FORGE_ROUND] = rint,
    [FORGE_TANH] = tanh,
};

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double unary(unsigned kind, double x)
{
    if (functions[kind])
        return functions[kind](x);
    switch (kind) {
    case FORGE_NEG:
        return -x;
    case FORGE_SIGN:
        return (x > 0) - (x < 0);
    case FORGE_RECIPROCAL:
        return 1 / x;
    case FORGE_SQUARE:
        return x * x;
    case FORGE_RSQRT:
        return 1 / sqrt(x);
    case FORGE_RELU:
        return fmax(x, 0);
    case FORGE_SIGMOID:
        return sigmoid(x);
    case FORGE_SOFTPLUS:
        return log1p(exp(x));
    case FORGE_SILU:
        return x * sigmoid(x);
    case FORGE_GELU:
        return x * erfc(-x * M_SQRT1_2) / 2;
    case FORGE_GELU_TANH:
        return x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2;
    default:
        return NAN;
    }
}

static double binary(unsigned kind, double x, double y)
{
    const bool comparisons[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
    const double numbers[] = {x + y,     x - y,      x * y,      x / y,
                              pow(x, y), fmax(x, y), fmin(x, y), x - floor(x / y) * y};
    return kind >= FORGE_EQ ? comparisons[kind - FORGE_EQ] : numbers[kind];
}

/* Returns the number rounded to the type. */
static double rounded(forge_dtype dtype, double x)
{
    double y;
    unsigned char element[8];
    dtype_row(dtype)->store(element, 0, 1, &x);
    dtype_row(dtype)->load(element, 0, 1, &y);
    return y;
}

/* Computes the group for one element. values: by operand number; those of the inputs are set. */
static double evaluate(const struct group *group, double *values)
{
    for (uint32_t i = 0; i < group->fused.count; i++) {
        const struct fused_step *step = &group->fused.steps[i];
        double x = values[step->operands[0]], y = values[step->operands[1]], z = values[step->operands[2]];
        double result = step->op == OP_UNARY       ? unary(step->kind, x)
                        : step->op == OP_BINARY    ? binary(step->kind, x, y)
                        : step->op == OP_SELECT    ? x != 0 ? y : z
                        : step->kind == FORGE_BOOL ? x != 0
                                                   : x;
        values[FUSED_MAX_INPUTS + i] = rounded(group->dtypes[FUSED_MAX_INPUTS + i], result);
    }
    return values[FUSED_MAX_INPUTS + group->fused.count - 1];
}

/* --- comparison ----------------------------------------------------------------------------------------- */

/* Input 0 is [ROWS, COLUMNS], input 1 is a row, input 2 is a transposed matrix. */
static const int64_t strides[3][2] = {{COLUMNS, 1}, {0, 1}, {1, ROWS}};

/* Fails the test unless each element is within `tolerance` of the expected one, in relation to its size. */
static void compare(const struct language *language, const struct group *group, double tolerance)
{
    unsigned char inputs[3][8 * COUNT], out[8 * COUNT];
    void *addresses[3];
    int64_t places[1 + 2 + 3 * 2] = {COUNT, ROWS, COLUMNS};
    void *library = load(language, group);
    forge_dtype result = group->dtypes[FUSED_MAX_INPUTS + group->fused.count - 1];
    for (size_t k = 0; k < group->input_count; k++) {
        addresses[k] = inputs[k];
        memcpy(places + 3 + 2 * k, strides[k], sizeof strides[k]);
        for (size_t i = 0; i < COUNT; i++) {
            double x = group->dtypes[k] == FORGE_BOOL ? chance() < 0.5
                       : group->dtypes[k] == FORGE_U8 ? floor(256 * chance())
                                                      : chance_scale(0.1, 3);
            dtype_row(group->dtypes[k])->store(inputs[k], i, 1, &x);
        }
    }
    run_fn *run;
    *(void **)&run = dlsym(library, "run_threads");
    assert_non_null(run);
    run(addresses, out, places);
    for (size_t i = 0; i < COUNT; i++) {
        double values[FUSED_MAX_INPUTS + FUSED_MAX_STEPS] = {0}, x;
        for (size_t k = 0; k < group->input_count; k++) {
            size_t at = i / COLUMNS * (size_t)strides[k][0] + i % COLUMNS * (size_t)strides[k][1];
            dtype_row(group->dtypes[k])->load(inputs[k], at, 1, &values[k]);
        }
        double wanted = evaluate(group, values);
        dtype_row(result)->load(out, i, 1, &x);
        if (!(fabs(x - wanted) <= tolerance * (1 + fabs(wanted))))
            fail_msg("%s, element %zu: %.12g, not %.12g", language->dialect, i, x, wanted);
    }
    dlclose(library);
}

static bool has_type(const struct language *language, forge_dtype dtype)
{
    return dtype != FORGE_F64 || strcmp(language->dialect, "metal") != 0;
}

/* The sum of unary operations of x0, of each second kind from `first` on. */
static struct group sum_of_unaries(forge_dtype dtype, unsigned first)
{
    struct group r = {.dtypes = {dtype}, .input_count = 1};
    uint8_t sum = 0;
    for (unsigned kind = first; kind < FORGE_UNARY_KINDS; kind += 2)
        if (kind != FORGE_NOT && kind != FORGE_IS_NAN) {
            uint8_t value = GROUP_STEP(&r, OP_UNARY, kind, dtype, 0);
            sum = GROUP_STEP(&r, OP_BINARY, FORGE_ADD, dtype, sum, value);
        }
    return r;
}

static void test_unary_operations(void **state)
{
    (void)state;
    if (!has_compiler())
        skip();
    for (size_t i = 0; i < LANGUAGES; i++)
        for (unsigned first = 0; first < 2; first++) {
            struct group f32 = sum_of_unaries(FORGE_F32, first), f64 = sum_of_unaries(FORGE_F64, first);
            compare(&languages[i], &f32, 2e-6);
            if (has_type(&languages[i], FORGE_F64))
                compare(&languages[i], &f64, 1e-14);
        }
}

/* The sum of all binary operations of x0 and x1, those with a bool through a cast. */
static struct group sum_of_binaries(forge_dtype dtype)
{
    struct group r = {.dtypes = {dtype, dtype}, .input_count = 2};
    uint8_t sum = 0;
    for (unsigned kind = FORGE_ADD; kind <= FORGE_MOD; kind++) {
        uint8_t value = GROUP_STEP(&r, OP_BINARY, kind, dtype, 0, 1);
        sum = GROUP_STEP(&r, OP_BINARY, FORGE_ADD, dtype, sum, value);
    }
    for (unsigned kind = FORGE_NE; kind <= FORGE_GE; kind++) {
        uint8_t value = GROUP_STEP(&r, OP_BINARY, kind, FORGE_BOOL, 0, 1);
        sum = GROUP_STEP(&r, OP_SELECT, 0, dtype, value, sum, 0);
    }
    return r;
}

static void test_binary_operations(void **state)
{
    (void)state;
    if (!has_compiler())
        skip();
    for (size_t i = 0; i < LANGUAGES; i++) {
        struct group group = sum_of_binaries(FORGE_F32);
        compare(&languages[i], &group, 2e-6);
    }
}

static void test_conversions_and_addresses(void **state)
{
    static const forge_dtype dtypes[] = {FORGE_F32, FORGE_BF16, FORGE_F16};
    (void)state;
    if (!has_compiler())
        skip();
    for (size_t i = 0; i < LANGUAGES; i++)
        for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
            struct group mixed = group_mixed(dtypes[k]), casts = group_casts(dtypes[k]);
            compare(&languages[i], &mixed, 0);
            casts.fused.count--; /* the product, without its cast to bool */
            compare(&languages[i], &casts, 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary_operations),
        cmocka_unit_test(test_binary_operations),
        cmocka_unit_test(test_conversions_and_addresses),
    };
    return cmocka_run_group_tests_name("emit_threads", tests, scratch_set_up, scratch_tear_down);
}
