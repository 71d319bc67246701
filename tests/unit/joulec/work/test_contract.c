/* What is said of the C library's functions: whose names are known, with which types, and over how many bytes they go. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "joulec/work/contract.h"

static const struct cost_cpu server = {"intel", 6, 85, "", 2, 40, 80, false};

static enum basis ask(const struct call *call, const struct call_length *length, struct amounts *out)
{
    struct target target;
    cost_core_describe(&server, NAN, &target.core);
    cost_core_table(&server, &target.table);
    return contract_of(call, length, &target, out);
}

static double cycles(const struct amounts *amounts, enum bound bound)
{
    return amounts->of[bound].amount[COST_CYCLES];
}

/* A name that stands in the wrong row would not be found. */
static void test_names(void **state)
{
    (void)state;
    static const char *const known[] = {"\001_mcount", "_Exit",   "__muldc3", "_exit",   "abort", "atan2",
                                        "bcmp",        "exp",     "expf",     "fputc",   "free",  "log10",
                                        "log2",        "longjmp", "malloc",   "memmove", "putc",  "rand",
                                        "sinf",        "sqrtf",   "strlen",   "strtol",  "tanh"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct amounts amounts;
        struct call call = {.name = known[i], .callee = -1};
        if (ask(&call, NULL, &amounts) == BASIS_MISSING)
            fail_msg("nothing is said of %s", known[i]);
        assert_true(cycles(&amounts, BOUND_LOW) > 0);
        assert_true(cycles(&amounts, BOUND_LOW) <= cycles(&amounts, BOUND_EST));
        assert_true(cycles(&amounts, BOUND_EST) < cycles(&amounts, BOUND_HIGH));
    }
}

static void test_others(void **state)
{
    (void)state;
    struct amounts amounts;
    assert_int_equal(ask(&(struct call){.name = "nobody_knows"}, NULL, &amounts), BASIS_MISSING);
    assert_int_equal(ask(&(struct call){.name = NULL}, NULL, &amounts), BASIS_MISSING);
    assert_int_equal(ask(&(struct call){.name = "sin", .type = "dd"}, NULL, &amounts), BASIS_SEEN);
    assert_int_equal(ask(&(struct call){.name = "sin", .type = "ii"}, NULL, &amounts), BASIS_MISSING);
}

static void test_bytes(void **state)
{
    (void)state;
    struct operand arguments[3] = {{.name = "to"}, {.name = "from"}, {.name = "n"}};
    struct call call = {.name = "llvm.memcpy.p0.p0.i64", .arguments = arguments, .argument_count = 3};
    struct amounts any, few, many, between;
    assert_string_equal(contract_name(&call), "memcpy");
    assert_ptr_equal(contract_length(&call), &arguments[2]);
    assert_int_equal(ask(&call, NULL, &any), BASIS_OPEN);
    assert_int_equal(ask(&call, &(struct call_length){{NAN, NAN, NAN}}, &any), BASIS_OPEN);
    assert_int_equal(ask(&call, &(struct call_length){{0, 4096, 65536}}, &between), BASIS_SEEN);
    arguments[2] = (struct operand){.constant = 16, .is_constant = true};
    assert_int_equal(ask(&call, NULL, &few), BASIS_SEEN);
    arguments[2].constant = 65536;
    assert_int_equal(ask(&call, NULL, &many), BASIS_SEEN);
    assert_true(cycles(&few, BOUND_HIGH) < cycles(&many, BOUND_LOW));
    assert_true(cycles(&between, BOUND_LOW) <= cycles(&few, BOUND_EST));
    assert_true(cycles(&between, BOUND_HIGH) >= cycles(&many, BOUND_HIGH));
    assert_null(contract_length(&(struct call){.name = "memcpy", .argument_count = 2}));
    assert_null(contract_length(&(struct call){.name = "strlen", .argument_count = 3}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
