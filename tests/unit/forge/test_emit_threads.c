/* Runs the sources of the dialects for threads on the CPU, and compares each element with f64 arithmetic.
 *
 * A prelude makes C++ of each dialect: it defines the language's qualifiers, the number of the thread and
 * some functions. So this checks operations, conversions and addresses, but not functions of the language.
 * Each operation is a group of its own, so that no result hides in a sum; the groups of a test are compiled
 * together. */
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
#include "forge/ir/graph.h"
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
            "#define __float_as_uint bits_as<unsigned, float>\n"

static const struct language {
    const char *dialect, *prelude, *last_argument, *header; /* header: a file that the source includes */
} languages[] = {
    {"opencl",
     PRELUDE "#define __kernel extern \"C\"\n#define __global\n#define __constant const\n"
             "#define get_global_id(d) number\n#define as_float bits_as<float, unsigned>\n"
             "#define as_uint bits_as<unsigned, float>\n",
     "", NULL},
    {"cuda", CUDA_PRELUDE, "", NULL},
    {"hip", CUDA_PRELUDE, "", "hip/hip_runtime.h"},
    {"metal",
     PRELUDE "#define kernel extern \"C\"\n#define device\n#define constant const\ntypedef unsigned uint;\n"
             "#define as_type bits_as\n"
             "namespace metal { using ::exp; using ::log; static float min(float x, float y) { return x < y "
             "? x : y; }\nnamespace precise { using ::exp; using ::log; } }\n",
     ", number", "metal_stdlib"},
};
enum { LANGUAGES = sizeof languages / sizeof *languages };

typedef void run_fn(void *const *inputs, void *out, const int64_t *places);

/* A group, and the largest difference of its results in relation to their size. */
struct trial {
    const char *name;
    double tolerance;
    struct group group;
};
/* The groups that are compiled together. */
struct trials {
    struct trial list[2 * (FORGE_UNARY_KINDS + FORGE_BINARY_KINDS)];
    size_t count;
};

static void add_trial(struct trials *trials, const char *name, double tolerance, struct group group)
{
    assert_true(trials->count < sizeof trials->list / sizeof *trials->list);
    trials->list[trials->count++] = (struct trial){name, tolerance, group};
}

/* Writes the function run_threadsN of group number N. */
static void add_source(FILE *file, const struct language *language, const struct group *group, size_t number)
{
    struct emit_group emitted = group_in(group);
    char *source = NULL;
    assert_ok(emit_source(dialect_find(language->dialect), &emitted, &source, &error), &error);
    fprintf(file,
            "#define forge_group forge_group%zu\nnamespace group%zu {\n%s}\n"
            "extern \"C\" void run_threads%zu(void *const *in, void *out, const long *places)\n"
            "{\n    for (number = 0; number < places[0] + 5; number++)\n        group%zu::forge_group(",
            number, number, source, number, number);
    for (size_t i = 0; i < group->input_count; i++)
        fprintf(file, "any{in[%zu]}, ", i);
    fprintf(file, "any{out}, any{(void *)places}%s);\n}\n#undef forge_group\n", language->last_argument);
    free(source);
}

/* Compiles and loads the groups; the caller closes the library. */
static void *load(const struct language *language, const struct trials *trials)
{
    static unsigned loads; /* a library that a failed test left open has another name */
    char command[600], object[100];
    FILE *file = fopen(scratch_path, "w");
    assert_non_null(file);
    fputs(language->prelude, file);
    for (size_t i = 0; i < trials->count; i++)
        add_source(file, language, &trials->list[i].group, i);
    assert_int_equal(fclose(file), 0);
    snprintf(object, sizeof object, "%s/object%u", scratch_folder, loads++);
    snprintf(
        command, sizeof command,
        "cd %s && mkdir -p hip && touch %s && c++ -x c++ -std=c++17 -w -O1 -ffp-contract=off -shared -fPIC "
        "-I . -o %s x",
        scratch_folder, language->header ? language->header : "x", object);
    if (system(command) != 0)
        fail_msg("cannot compile the dialect %s", language->dialect);
    void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    snprintf(command, sizeof command, "cd %s && rm -rf hip metal_stdlib %s x", scratch_folder, object);
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
    case FORGE_NOT:
        return x == 0;
    case FORGE_IS_NAN:
        return isnan(x);
    case FORGE_SIGN:
        return isnan(x) ? x : (x > 0) - (x < 0);
    case FORGE_RECIPROCAL:
        return 1 / x;
    case FORGE_SQUARE:
        return x * x;
    case FORGE_RSQRT:
        return 1 / sqrt(x);
    case FORGE_RELU:
        return x <= 0 ? 0 : x;
    case FORGE_SIGMOID:
        return sigmoid(x);
    case FORGE_SOFTPLUS:
        return fmax(x, 0) + log1p(exp(-fabs(x)));
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

static double mod(double x, double y)
{
    double rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/* A maximum or minimum is NaN if one operand is. */
static double binary(unsigned kind, double x, double y)
{
    const double results[FORGE_BINARY_KINDS] = {
        [FORGE_ADD] = x + y,
        [FORGE_SUB] = x - y,
        [FORGE_MUL] = x * y,
        [FORGE_DIV] = x / y,
        [FORGE_POW] = pow(x, y),
        [FORGE_MAX] = x > y || isnan(x) ? x : y,
        [FORGE_MIN] = x < y || isnan(x) ? x : y,
        [FORGE_MOD] = mod(x, y),
        [FORGE_AND] = x != 0 && y != 0,
        [FORGE_OR] = x != 0 || y != 0,
        [FORGE_XOR] = (x != 0) != (y != 0),
        [FORGE_EQ] = x == y,
        [FORGE_NE] = x != y,
        [FORGE_LT] = x<y, [FORGE_LE] = x <= y, [FORGE_GT] = x> y,
        [FORGE_GE] = x >= y,
    };
    return results[kind];
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

/* Returns a number of an input: of any size and sign, or special. */
static double any_number(forge_dtype dtype)
{
    static const double specials[] = {0,       -0.,       1,         -1,      2.5,    INFINITY, -INFINITY,
                                      NAN,     0x1p-140,  0x1.8p-16, 0x1p-24, -65504, 65519,    65520,
                                      0x1p127, -0x1p-126, 88.73,     -103.5,  20.5};
    if (dtype == FORGE_BOOL)
        return chance() < 0.5;
    if (dtype == FORGE_U8)
        return floor(256 * chance());
    if (chance_bits() % 4 == 0)
        return specials[chance_bits() % (sizeof specials / sizeof *specials)];
    return (chance_bits() % 2 ? 1 : -1) * chance_scale(1e-3, 100);
}

/* Returns true if the result is `wanted`, apart from the tolerance and from which NaN it is. */
static bool is_right(double x, double wanted, double tolerance)
{
    if (isnan(x) || isnan(wanted))
        return isnan(x) && isnan(wanted);
    if (x == wanted)
        return tolerance > 0 || signbit(x) == signbit(wanted);
    return isfinite(wanted) && fabs(x - wanted) <= tolerance * (1 + fabs(wanted));
}

/* Runs a group with inputs of its types, and compares each element. */
static void compare_trial(const struct language *language, const struct trial *trial, run_fn *run)
{
    const struct group *group = &trial->group;
    unsigned char inputs[3][8 * COUNT], out[8 * COUNT];
    void *addresses[3];
    int64_t places[1 + 2 + 3 * 2] = {COUNT, ROWS, COLUMNS};
    forge_dtype result = group->dtypes[FUSED_MAX_INPUTS + group->fused.count - 1];
    for (size_t k = 0; k < group->input_count; k++) {
        addresses[k] = inputs[k];
        memcpy(places + 3 + 2 * k, strides[k], sizeof strides[k]);
        for (size_t i = 0; i < COUNT; i++) {
            double x = any_number(group->dtypes[k]);
            dtype_row(group->dtypes[k])->store(inputs[k], i, 1, &x);
        }
    }
    run(addresses, out, places);
    for (size_t i = 0; i < COUNT; i++) {
        double values[FUSED_MAX_INPUTS + FUSED_MAX_STEPS] = {0}, x;
        for (size_t k = 0; k < group->input_count; k++) {
            size_t at = i / COLUMNS * (size_t)strides[k][0] + i % COLUMNS * (size_t)strides[k][1];
            dtype_row(group->dtypes[k])->load(inputs[k], at, 1, &values[k]);
        }
        double wanted = evaluate(group, values);
        dtype_row(result)->load(out, i, 1, &x);
        if (!is_right(x, wanted, trial->tolerance))
            fail_msg("%s, %s of %s: element %zu of %.12g and %.12g is %.12g, not %.12g", language->dialect,
                     trial->name, forge_dtype_name(group->dtypes[0]), i, values[0], values[1], x, wanted);
    }
}

/* Compares the groups several times, with other inputs each time. */
static void compare(const struct language *language, const struct trials *trials)
{
    void *library = load(language, trials);
    for (size_t i = 0; i < trials->count; i++) {
        char name[40];
        run_fn *run;
        snprintf(name, sizeof name, "run_threads%zu", i);
        *(void **)&run = dlsym(library, name);
        assert_non_null(run);
        for (int round = 0; round < 10; round++)
            compare_trial(language, &trials->list[i], run);
    }
    dlclose(library);
}

static bool has_type(const struct language *language, forge_dtype dtype)
{
    return dtype != FORGE_F64 || strcmp(language->dialect, "metal") != 0;
}

static double tolerance_of(forge_dtype dtype)
{
    return dtype == FORGE_F64 ? 1e-14 : 2e-6;
}

static void test_unary_operations(void **state)
{
    static const forge_dtype dtypes[] = {FORGE_F32, FORGE_F64};
    (void)state;
    if (!has_compiler())
        skip();
    for (size_t i = 0; i < LANGUAGES; i++) {
        struct trials trials = {.count = 0};
        for (size_t d = 0; d < 2 && has_type(&languages[i], dtypes[d]); d++)
            for (forge_unary_kind kind = 0; kind < FORGE_UNARY_KINDS; kind++)
                if (kind != FORGE_NOT && kind != FORGE_IS_NAN)
                    add_trial(&trials, unary_name(kind), tolerance_of(dtypes[d]),
                              group_unary(kind, dtypes[d]));
        compare(&languages[i], &trials);
    }
}

static struct group binary_group(forge_binary_kind kind, forge_dtype dtype, forge_dtype result)
{
    struct group r = {.dtypes = {dtype, dtype}, .input_count = 2};
    GROUP_STEP(&r, OP_BINARY, kind, result, 0, 1);
    return r;
}

static void test_binary_operations(void **state)
{
    static const forge_dtype dtypes[] = {FORGE_F32, FORGE_F64};
    (void)state;
    if (!has_compiler())
        skip();
    for (size_t i = 0; i < LANGUAGES; i++) {
        struct trials trials = {.count = 0};
        for (size_t d = 0; d < 2 && has_type(&languages[i], dtypes[d]); d++)
            for (forge_binary_kind kind = 0; kind < FORGE_BINARY_KINDS; kind++) {
                bool is_number = kind <= FORGE_MOD;
                if (is_number || kind >= FORGE_EQ)
                    add_trial(&trials, binary_name(kind), is_number ? tolerance_of(dtypes[d]) : 0,
                              binary_group(kind, dtypes[d], is_number ? dtypes[d] : FORGE_BOOL));
            }
        compare(&languages[i], &trials);
    }
}

static void test_operations_on_truth(void **state)
{
    static const forge_binary_kind kinds[] = {FORGE_AND, FORGE_OR, FORGE_XOR, FORGE_EQ, FORGE_NE};
    (void)state;
    if (!has_compiler())
        skip();
    struct trials trials = {.count = 0};
    struct group is_nan = {.dtypes = {FORGE_F32}, .input_count = 1};
    GROUP_STEP(&is_nan, OP_UNARY, FORGE_IS_NAN, FORGE_BOOL, 0);
    add_trial(&trials, "is_nan", 0, is_nan);
    add_trial(&trials, "not", 0, group_unary(FORGE_NOT, FORGE_BOOL));
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        add_trial(&trials, binary_name(kinds[k]), 0, binary_group(kinds[k], FORGE_BOOL, FORGE_BOOL));
    for (size_t i = 0; i < LANGUAGES; i++)
        compare(&languages[i], &trials);
}

static void test_conversions_and_addresses(void **state)
{
    static const forge_dtype dtypes[] = {FORGE_F32, FORGE_BF16, FORGE_F16};
    (void)state;
    if (!has_compiler())
        skip();
    struct trials trials = {.count = 0};
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
        struct group casts = group_casts(dtypes[k]);
        add_trial(&trials, "mixed", 0, group_mixed(dtypes[k]));
        casts.fused.count--; /* the product, without its cast to bool */
        add_trial(&trials, "casts", 0, casts);
    }
    for (size_t i = 0; i < LANGUAGES; i++)
        compare(&languages[i], &trials);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary_operations),
        cmocka_unit_test(test_binary_operations),
        cmocka_unit_test(test_operations_on_truth),
        cmocka_unit_test(test_conversions_and_addresses),
    };
    return cmocka_run_group_tests_name("emit_threads", tests, scratch_set_up, scratch_tear_down);
}
