/* Checks the sources that fused operations become: the text in each dialect, what a dialect refuses, and
 * that clang and nvcc accept the text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "forge/emit/emit.h"
#include "support/check.h"
#include "support/emit_groups.h"
#include "support/scratch.h"

static joule_error error;

static char *source_of(const char *dialect, const struct group *group)
{
    struct emit_group emitted = group_in(group);
    char *source = NULL;
    assert_non_null(dialect_find(dialect));
    assert_ok(emit_source(dialect_find(dialect), &emitted, &source, &error), &error);
    return source;
}

/* --- text ----------------------------------------------------------------------------------------------- */

/* Fails the test unless the source ends with `expected`. */
static void assert_ends(const char *dialect, const struct group *group, const char *expected)
{
    char *source = source_of(dialect, group);
    size_t length = strlen(source), wanted = strlen(expected);
    assert_true(length > wanted);
    assert_string_equal(source + length - wanted, expected);
    free(source);
}

static void test_c_loops_over_vectors(void **state)
{
    struct group mixed = group_mixed(FORGE_F32);
    (void)state;
    assert_ends("c", &mixed,
                "\nINLINE void compute(const float *in0, const float *in1, float *out)\n"
                "{\n"
                "    floats x0[UNITS]; EACH x0[k] = load_f32(in0 + k * LANES);\n"
                "    floats x1[UNITS]; EACH x1[k] = load_f32(in1 + k * LANES);\n"
                "    floats v0[UNITS]; EACH v0[k] = x0[k] + x1[k];\n"
                "    floats v1[UNITS]; EACH v1[k] = relu_f32(v0[k]);\n"
                "    ints v2[UNITS]; EACH v2[k] = truth_f32(v1[k] > x0[k]);\n"
                "    floats v3[UNITS]; EACH v3[k] = choose_f32(v2[k], v1[k], x1[k]);\n"
                "    EACH store_f32(out + k * LANES, v3[k]);\n"
                "}\n"
                "\n"
                "void forge_group(const void *const *inputs, const int64_t *steps, void *result, size_t "
                "count)\n"
                "{\n"
                "    INPUT(0, float)\n"
                "    INPUT(1, float)\n"
                "    float *out = result, rest[BLOCK];\n"
                "    int64_t at = 0, whole = (int64_t)(count / BLOCK * BLOCK);\n"
                "    for (; at < whole; at += BLOCK)\n"
                "        compute(in0 + at * step0, in1 + at * step1, out + at);\n"
                "    if (at == (int64_t)count)\n"
                "        return;\n"
                "    REST(0)\n"
                "    REST(1)\n"
                "    compute(in0, in1, rest);\n"
                "    memcpy(out + at, rest, (count - (size_t)at) * sizeof *rest);\n"
                "}\n");
}

/* The steps of group_casts in C: 16-bit floats are rounded after each step. */
static void test_c_rounds_each_step(void **state)
{
    struct group casts = group_casts(FORGE_BF16);
    char *source = source_of("c", &casts);
    (void)state;
    assert_contains(source,
                    "    floats x0[UNITS]; EACH x0[k] = load_bf16(in0 + k * LANES);\n"
                    "    ints x1[UNITS]; EACH x1[k] = load_u8(in1 + k * LANES);\n"
                    "    ints x2[UNITS]; EACH x2[k] = load_bool(in2 + k * LANES);\n"
                    "    floats v0[UNITS]; EACH v0[k] = round_bf16(f32_of_u8(x1[k]));\n"
                    "    floats v1[UNITS]; EACH v1[k] = round_bf16(x0[k] * v0[k]);\n"
                    "    floats v2[UNITS]; EACH v2[k] = round_bf16(choose_f32(x2[k], v1[k], x0[k]));\n"
                    "    ints v3[UNITS]; EACH v3[k] = truth_f32(v2[k] != 0);\n"
                    "    EACH store_bool(out + k * LANES, v3[k]);\n");
    free(source);
}

static void test_vectors_have_as_many_lanes_as_f64_has(void **state)
{
    struct group narrow = group_mixed(FORGE_F32), wide = group_mixed(FORGE_F64);
    char *with_f32 = source_of("c", &narrow), *with_f64 = source_of("c", &wide);
    (void)state;
    assert_contains(with_f32, "#define LANES 16\n#define DOUBLE_LANES 8\n#define UNITS 1\n");
    assert_contains(with_f64, "#define LANES 8\n#define DOUBLE_LANES 8\n#define UNITS 1\n");
    free(with_f32);
    free(with_f64);
}

#define THREAD_BODY(integer, index)                                                                          \
    "{\n"                                                                                                    \
    "    " integer " at = " index ";\n"                                                                      \
    "    if (at >= places[0])\n"                                                                             \
    "        return;\n"                                                                                      \
    "    " integer " rest = at;\n"                                                                           \
    "    " integer " at0 = 0;\n"                                                                             \
    "    " integer " at1 = 0;\n"                                                                             \
    "    for (int d = 2; d > 0; rest /= places[d--]) {\n"                                                    \
    "        " integer " index = rest % places[d];\n"                                                        \
    "        at0 += index * places[2 + d];\n"                                                                \
    "        at1 += index * places[4 + d];\n"                                                                \
    "    }\n"                                                                                                \
    "    float x0 = in0[at0];\n"                                                                             \
    "    float x1 = in1[at1];\n"                                                                             \
    "    float v0 = x0 + x1;\n"                                                                              \
    "    float v1 = v0 <= 0 ? 0 : v0;\n"                                                                     \
    "    bool v2 = v1 > x0;\n"                                                                               \
    "    float v3 = v2 ? v1 : x1;\n"                                                                         \
    "    out[at] = v3;\n"                                                                                    \
    "}\n"

static void test_threads_compute_one_element_each(void **state)
{
    struct group mixed = group_mixed(FORGE_F32);
    (void)state;
    assert_ends("opencl", &mixed,
                "\n__kernel void forge_group(__global const float *in0, __global const float *in1, "
                "__global float *out, __constant long *places)\n" THREAD_BODY("long", "get_global_id(0)"));
    assert_ends("cuda", &mixed,
                "\nextern \"C\" __global__ void forge_group(const float *in0, const float *in1, float *out, "
                "const long long *places)\n" THREAD_BODY("long long",
                                                         "(long long)blockIdx.x * blockDim.x + threadIdx.x"));
    assert_ends("hip", &mixed,
                "\nextern \"C\" __global__ void forge_group(const float *in0, const float *in1, float *out, "
                "const long long *places)\n" THREAD_BODY("long long",
                                                         "(long long)blockIdx.x * blockDim.x + threadIdx.x"));
    assert_ends("metal", &mixed,
                "\nkernel void forge_group(device const float *in0 [[buffer(0)]], device const float *in1 "
                "[[buffer(1)]], device float *out [[buffer(2)]], constant long *places [[buffer(3)]], uint "
                "thread [[thread_position_in_grid]])\n" THREAD_BODY("long", "thread"));
}

static void test_threads_convert_narrow_elements(void **state)
{
    struct group casts = group_casts(FORGE_F16);
    char *source = source_of("opencl", &casts);
    (void)state;
    assert_contains(source, "__global const unsigned short *in0, __global const unsigned char *in1, "
                            "__global const unsigned char *in2, __global unsigned char *out");
    assert_contains(source, "    float x0 = widen_f16(in0[at0]);\n"
                            "    unsigned int x1 = in1[at1];\n"
                            "    bool x2 = in2[at2] != 0;\n"
                            "    float v0 = round_f16((float)x1);\n"
                            "    float v1 = round_f16(x0 * v0);\n"
                            "    float v2 = round_f16(x2 ? v1 : x0);\n"
                            "    bool v3 = v2 != 0;\n"
                            "    out[at] = v3;\n");
    free(source);
}

/* Functions take longer than sums, so several vectors are computed at once. */
static void test_long_functions_overlap(void **state)
{
    struct group exp = group_unary(FORGE_EXP, FORGE_F32), negative = group_unary(FORGE_NEG, FORGE_F32);
    char *several = source_of("c", &exp), *one = source_of("c", &negative);
    (void)state;
    assert_contains(several, "#define UNITS 4\n");
    assert_contains(one, "#define UNITS 1\n");
    free(several);
    free(one);
}

/* --- refusals ------------------------------------------------------------------------------------------- */

static void assert_refused(const char *dialect, struct group group, joule_status status, const char *words)
{
    struct emit_group emitted = group_in(&group);
    char *source = NULL;
    assert_int_equal(emit_source(dialect_find(dialect), &emitted, &source, &error), status);
    assert_null(source);
    assert_contains(error.message, words);
}

static void test_what_a_dialect_lacks_is_named(void **state)
{
    struct group group = group_unary(FORGE_EXP, FORGE_F64);
    (void)state;
    assert_refused("metal", group, JOULE_UNSUPPORTED, "in the dialect metal: it has no f64");
    assert_refused("c", group, JOULE_UNSUPPORTED, "in the dialect c: it has no unary.exp on f64");
    group = group_unary(FORGE_NEG, FORGE_I32);
    assert_refused("cuda", group, JOULE_UNSUPPORTED, "in the dialect cuda: it has no i32");
    group = group_mixed(FORGE_F32);
    group.fused.steps[3] = (struct fused_step){OP_CAST, FORGE_U8, 1, {FUSED_MAX_INPUTS + 1}};
    group.dtypes[FUSED_MAX_INPUTS + 3] = FORGE_U8;
    assert_refused("opencl", group, JOULE_UNSUPPORTED, "it has no cast to u8 on f32");
    group.fused.count = 0;
    assert_refused("c", group, JOULE_INVALID, "it has no steps");
}

static void test_dialects_have_names(void **state)
{
    size_t count = 0;
    (void)state;
    while (dialect_at(count)) {
        assert_ptr_equal(dialect_find(dialect_name(dialect_at(count))), dialect_at(count));
        count++;
    }
    assert_int_equal(count, 5);
    assert_null(dialect_find("fortran"));
}

/* --- other compilers ------------------------------------------------------------------------------------ */

/* Declarations that stand for the headers of a language. */
#define MATH(begin)                                                                                          \
    begin " exp(float); " begin " expm1(float); " begin " log(float); " begin " log1p(float);\n" begin       \
          " sin(float); " begin " cos(float); " begin " erf(float); " begin " erfc(float);\n" begin          \
          " floor(float); " begin " ceil(float); " begin " rint(float); " begin " tanh(float);\n" begin      \
          " sqrt(float); " begin " fabs(float); " begin " pow(float, float);\n" begin                        \
          " fmod(float, float);\n"
#define CUDA_DECLARATIONS                                                                                    \
    "#define __device__ __attribute__((device))\n"                                                           \
    "#define __global__ __attribute__((global))\n"                                                           \
    "struct place { int x; };\n"                                                                             \
    "extern __device__ const place blockIdx, blockDim, threadIdx;\n"                                         \
    "__device__ float __uint_as_float(unsigned);\n"                                                          \
    "__device__ unsigned __float_as_uint(float);\n" MATH("__device__ float")
#define METAL_DECLARATIONS                                                                                   \
    "#define kernel extern \"C\"\n"                                                                          \
    "#define device\n"                                                                                       \
    "#define constant const\n"                                                                               \
    "typedef unsigned int uint;\n"                                                                           \
    "template <typename T, typename F> static T as_type(F x) { T y; __builtin_memcpy(&y, &x, sizeof y); "    \
    "return y; }\n"                                                                                          \
    "namespace metal { float exp(float); float log(float); float sin(float); float cos(float);\n"            \
    "float floor(float); float ceil(float); float rint(float); float tanh(float); float sqrt(float);\n"      \
    "float fabs(float); float pow(float, float); float fmod(float, float); float min(float, float);\n"       \
    "float fma(float, float, float); bool isinf(float);\n"                                                   \
    "namespace precise { float exp(float); float log(float); } }\n"

/* How a compiler checks a dialect. */
static const struct check {
    const char *dialect, *program, *options;
    const char *header, *declarations; /* a file that the source includes; text before the source */
} checks[] = {
    {"c", "clang", "-x c -std=gnu17 -w -fsyntax-only", NULL, ""},
    {"c", "aarch64-linux-gnu-gcc", "-x c -std=gnu17 -w -fsyntax-only", NULL, ""},
    {"opencl", "clang", "-x cl -cl-std=CL1.2 -Xclang -finclude-default-header -Werror -fsyntax-only", NULL,
     ""},
    {"cuda", "clang",
     "-x cuda --cuda-device-only -nocudainc -nocudalib -Wno-unknown-cuda-version -fsyntax-only", NULL,
     CUDA_DECLARATIONS},
    {"cuda", "nvcc", "-x cu -diag-suppress 177 -ptx -o /dev/null", NULL, ""},
    {"hip", "clang", "-x hip --cuda-device-only -nogpuinc -nogpulib -fsyntax-only", "hip/hip_runtime.h",
     CUDA_DECLARATIONS},
    /* MSL is C++14 with attributes that clang ignores */
    {"metal", "clang", "-x c++ -std=c++14 -Wno-unknown-attributes -Wno-ignored-attributes -fsyntax-only",
     "metal_stdlib", METAL_DECLARATIONS},
};

static void write_file(const char *path, const char *first, const char *second)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s%s", first, second);
    assert_int_equal(fclose(file), 0);
}

/* Returns true if the program accepts the source. declarations: text before the source, or the contents of
 * the header that the source includes. */
static bool accepts(const struct check *check, const char *source)
{
    char command[700], header[200], folder[200];
    snprintf(folder, sizeof folder, "%s/hip", scratch_folder);
    snprintf(header, sizeof header, "%s/%s", scratch_folder, check->header ? check->header : "none");
    if (check->header) {
        snprintf(command, sizeof command, "mkdir -p %s", folder);
        assert_int_equal(system(command), 0);
        write_file(header, check->declarations, "");
    }
    write_file(scratch_path, check->header ? "" : check->declarations, source);
    snprintf(command, sizeof command, "PATH=$PATH:/usr/local/cuda/bin %s %s -I %s %s 2>&1", check->program,
             check->options, scratch_folder, scratch_path);
    bool is_accepted = system(command) == 0;
    unlink(header);
    rmdir(folder);
    return is_accepted;
}

static void check_groups(const struct check *check)
{
    static const forge_dtype dtypes[] = {FORGE_F32, FORGE_F64, FORGE_BF16, FORGE_F16};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        struct group groups[] = {group_mixed(dtypes[i]), group_casts(dtypes[i]),
                                 group_functions(dtypes[i], strcmp(check->dialect, "c") == 0)};
        for (size_t k = 0; k < sizeof groups / sizeof *groups; k++) {
            if (dtypes[i] == FORGE_F64 && strcmp(check->dialect, "metal") == 0)
                continue;
            /* the declarations are for f32; C has no functions of f64 */
            if (dtypes[i] == FORGE_F64 && k == 2 &&
                (*check->declarations || strcmp(check->dialect, "c") == 0))
                continue;
            char *source = source_of(check->dialect, &groups[k]);
            if (!accepts(check, source))
                fail_msg("%s does not accept this in the dialect %s:\n%s", check->program, check->dialect,
                         source);
            free(source);
        }
    }
}

static void test_compilers_accept_the_sources(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        /* an empty source shows whether the program has the language */
        if (accepts(&checks[i], ""))
            check_groups(&checks[i]);
        else
            print_message("skipped: the dialect %s: %s cannot compile it\n", checks[i].dialect,
                          checks[i].program);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c_loops_over_vectors),
        cmocka_unit_test(test_c_rounds_each_step),
        cmocka_unit_test(test_vectors_have_as_many_lanes_as_f64_has),
        cmocka_unit_test(test_long_functions_overlap),
        cmocka_unit_test(test_threads_compute_one_element_each),
        cmocka_unit_test(test_threads_convert_narrow_elements),
        cmocka_unit_test(test_what_a_dialect_lacks_is_named),
        cmocka_unit_test(test_dialects_have_names),
        cmocka_unit_test(test_compilers_accept_the_sources),
    };
    return cmocka_run_group_tests_name("emit", tests, scratch_set_up, scratch_tear_down);
}
