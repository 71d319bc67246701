/* Checks facts about functions of the C library: their names, types, and the number of bytes that they
 * access. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "joulec/work/library_call.h"

static const struct cost_cpu server = {"intel", 6, 85, "", 2, 40, 80, false};

static enum basis query(const struct call *call, const struct call_length *length, struct amounts *out)
{
    struct target target;
    cost_core_describe(&server, NAN, &target.core);
    cost_core_table(&server, &target.table);
    return library_call_work(call, length, &target, out);
}

static double cycles(const struct amounts *amounts, enum bound bound)
{
    return amounts->of[bound].amount[COST_CYCLES];
}

/* The names must be sorted: a name in the wrong row would not be found. */
static void test_names_are_sorted(void **state)
{
    (void)state;
    static const char *const known[] = {"\001_mcount", "_Exit",   "__muldc3", "_exit",   "abort", "atan2",
                                        "bcmp",        "exp",     "expf",     "fputc",   "free",  "log10",
                                        "log2",        "longjmp", "malloc",   "memmove", "putc",  "rand",
                                        "sinf",        "sqrtf",   "strlen",   "strtol",  "tanh"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct amounts amounts;
        struct call call = {.name = known[i], .callee = -1};
        if (query(&call, NULL, &amounts) == BASIS_MISSING)
            fail_msg("nothing is said of %s", known[i]);
        assert_true(cycles(&amounts, BOUND_LOW) > 0);
        assert_true(cycles(&amounts, BOUND_LOW) <= cycles(&amounts, BOUND_EST));
        assert_true(cycles(&amounts, BOUND_EST) < cycles(&amounts, BOUND_HIGH));
    }
}

static void test_unknown_functions_have_no_contract(void **state)
{
    (void)state;
    struct amounts amounts;
    assert_int_equal(query(&(struct call){.name = "nobody_knows"}, NULL, &amounts), BASIS_MISSING);
    assert_int_equal(query(&(struct call){.name = NULL}, NULL, &amounts), BASIS_MISSING);
    assert_int_equal(query(&(struct call){.name = "sin", .type = "dd"}, NULL, &amounts), BASIS_OBSERVED);
    assert_int_equal(query(&(struct call){.name = "sin", .type = "ii"}, NULL, &amounts), BASIS_MISSING);
}

static double middle_of(const char *name, const char *type)
{
    struct amounts amounts;
    if (query(&(struct call){.name = name, .type = type}, NULL, &amounts) != BASIS_OBSERVED)
        fail_msg("nothing is said of %s, of type %s", name, type);
    double low = cycles(&amounts, BOUND_LOW), est = cycles(&amounts, BOUND_EST);
    assert_true(low > 0 && low <= est && est < cycles(&amounts, BOUND_HIGH));
    return est;
}

/* Each function of C's <math.h> has three variants. They differ in the letter after the name and in their
 * type. */
static void test_all_types_of_numbers(void **state)
{
    (void)state;
    static const char *const of_one[] = {
        "acos",   "acosh", "asin",  "asinh", "atan",   "atanh", "cbrt", "ceil",  "cos",       "cosh",
        "erf",    "erfc",  "exp",   "exp10", "exp2",   "expm1", "fabs", "floor", "j0",        "j1",
        "lgamma", "log",   "log10", "log1p", "log2",   "logb",  "rint", "round", "roundeven", "sin",
        "sinh",   "sqrt",  "tan",   "tanh",  "tgamma", "trunc", "y0",   "y1",    "nearbyint"};
    static const struct {
        const char *name, *type;
    } others[] = {{"atan2", "ddd"},   {"copysign", "ddd"},  {"fdim", "ddd"},        {"fma", "dddd"},
                  {"fmax", "ddd"},    {"fmin", "ddd"},      {"fmod", "ddd"},        {"frexp", "ddp"},
                  {"hypot", "ddd"},   {"ilogb", "id"},      {"jn", "did"},          {"ldexp", "ddi"},
                  {"llrint", "id"},   {"llround", "id"},    {"lrint", "id"},        {"lround", "id"},
                  {"modf", "ddp"},    {"nan", "dp"},        {"nextafter", "ddd"},   {"pow", "ddd"},
                  {"remquo", "dddp"}, {"remainder", "ddd"}, {"scalbln", "ddi"},     {"scalbn", "ddi"},
                  {"sincos", "vdpp"}, {"yn", "did"},        {"__fpclassify", "id"}, {"__signbit", "id"}};
    static const char ends[][2] = {"", "f", "l"}, letters[] = "dfl";
    for (size_t i = 0; i < sizeof of_one / sizeof *of_one + sizeof others / sizeof *others; i++) {
        bool is_of_one = i < sizeof of_one / sizeof *of_one;
        size_t other = i - sizeof of_one / sizeof *of_one;
        const char *base = is_of_one ? of_one[i] : others[other].name;
        for (int k = 0; k < 3; k++) {
            char name[32], type[8];
            snprintf(name, sizeof name, "%s%s", base, ends[k]);
            snprintf(type, sizeof type, "%s", is_of_one ? "dd" : others[other].type);
            for (char *at = type; *at; at++)
                *at = *at == 'd' ? letters[k] : *at;
            middle_of(name, type);
        }
    }
}

/* In programs built with glibc, isalpha(), toupper() and errno call these functions. */
static void test_tables_of_characters_and_errno(void **state)
{
    (void)state;
    static const char *const names[] = {"__ctype_b_loc", "__ctype_tolower_loc", "__ctype_toupper_loc",
                                        "__errno_location"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(middle_of(names[i], "p") < middle_of("rand", "i"));
}

static void test_names_of_the_same_function(void **state)
{
    (void)state;
    double expf = middle_of("expf", "ff"), exp2 = middle_of("exp2", "dd");
    assert_true(middle_of("expf32", "ff") == expf && middle_of("__expf_finite", "ff") == expf);
    assert_true(middle_of("exp2f64", "dd") == exp2 && middle_of("__exp2_finite", "dd") == exp2);
    assert_true(middle_of("exp2f128", "ll") > middle_of("exp2l", "ll"));
    middle_of("lgammaf_r", "ffp");
    middle_of("lgamma_r", "ddp");
    middle_of("nexttowardf", "ffl");
    middle_of("cexp", "?dd");
    middle_of("cabsf", "f?");
    struct amounts amounts;
    static const struct call no_such[] = {{.name = "exp2f", .type = "dd"},
                                          {.name = "exp2", .type = "ff"},
                                          {.name = "conj", .type = "vp"},
                                          {.name = "f"},
                                          {.name = "l"},
                                          {.name = "exp2ff"},
                                          {.name = "_finite"},
                                          {.name = "__finite_"},
                                          {.name = "exp2_r"},
                                          {.name = "a_name_that_is_longer_than_any_finite"}};
    for (size_t i = 0; i < sizeof no_such / sizeof *no_such; i++)
        if (query(&no_such[i], NULL, &amounts) != BASIS_MISSING)
            fail_msg("something is said of %s", no_such[i].name);
}

static void test_cost_of_memcpy_follows_its_length(void **state)
{
    (void)state;
    struct operand arguments[3] = {{.name = "to"}, {.name = "from"}, {.name = "n"}};
    struct call call = {.name = "llvm.memcpy.p0.p0.i64", .arguments = arguments, .argument_count = 3};
    struct amounts any, few, many, between;
    assert_string_equal(library_call_name(&call), "memcpy");
    assert_ptr_equal(library_call_length(&call), &arguments[2]);
    assert_int_equal(query(&call, NULL, &any), BASIS_OPEN);
    assert_int_equal(query(&call, &(struct call_length){{NAN, NAN, NAN}}, &any), BASIS_OPEN);
    assert_int_equal(query(&call, &(struct call_length){{0, 4096, 65536}}, &between), BASIS_OBSERVED);
    arguments[2] = (struct operand){.constant = 16, .is_constant = true};
    assert_int_equal(query(&call, NULL, &few), BASIS_OBSERVED);
    arguments[2].constant = 65536;
    assert_int_equal(query(&call, NULL, &many), BASIS_OBSERVED);
    assert_true(cycles(&few, BOUND_HIGH) < cycles(&many, BOUND_LOW));
    assert_true(cycles(&between, BOUND_LOW) <= cycles(&few, BOUND_EST));
    assert_true(cycles(&between, BOUND_HIGH) >= cycles(&many, BOUND_HIGH));
    assert_null(library_call_length(&(struct call){.name = "memcpy", .argument_count = 2}));
    assert_null(library_call_length(&(struct call){.name = "strlen", .argument_count = 3}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_sorted),
        cmocka_unit_test(test_unknown_functions_have_no_contract),
        cmocka_unit_test(test_all_types_of_numbers),
        cmocka_unit_test(test_tables_of_characters_and_errno),
        cmocka_unit_test(test_names_of_the_same_function),
        cmocka_unit_test(test_cost_of_memcpy_follows_its_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
