/* Checks sums that LLVM replaced by a phi of the sum and of a constant, which the sum equals on one path.
 *
 * After joulec restores such a sum, scalar evolution counts the loop. joulec does not change a phi of
 * different values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "joulec/trips/scev_facts.h"
#include "support/module_text.h"

/* %j counts iterations. Its next value %next is computed after the condition. */
static const char before[] = "define i64 @f(i64 %n) {\n"
                             "entry:\n"
                             "  br label %b\n"
                             "b:\n"
                             "  %j = phi i64 [ 0, %entry ], [ %next, %latch ]\n"
                             "  %k = mul i64 %j, 3\n";
static const char behind[] = "  %done = icmp uge i64 %next, 8\n"
                             "  br i1 %done, label %end, label %b\n"
                             "end:\n"
                             "  ret i64 %next\n"
                             "}\n";

static bool is_counted(const char *middle)
{
    struct module module;
    module_text_read((const char *const[]){before, middle, behind}, 3, &module);
    const struct scev_function *f = scev_find_function(module.scev, "f");
    const struct scev_loop *loop = f ? scev_loop_of(f, "b") : NULL;
    bool is_seven = loop && loop->taken->kind == EXPR_INTEGER && loop->taken->integer == 7;
    module_free(&module);
    return is_seven;
}

#define WAYS(kind, value, number, first, second)                                                             \
    "  %is = icmp " kind " i64 " value ", " number "\n"                                                      \
    "  br i1 %is, label %" first ", label %" second "\n"                                                     \
    "one:\n"                                                                                                 \
    "  br label %latch\n"                                                                                    \
    "other:\n"

#define MEET(next) "  br label %latch\nlatch:\n  %next = phi i64 [ " next ", %one ], [ %j1, %other ]\n"

static void test_a_sum_in_two_cases(void **state)
{
    (void)state;
    assert_true(is_counted(WAYS("eq", "%j", "0", "one", "other") "  %j1 = add i64 %j, 1\n" MEET("1")));
    assert_true(is_counted(WAYS("ne", "%j", "0", "other", "one") "  %j1 = add i64 %j, 1\n" MEET("1")));
    assert_true(is_counted(WAYS("eq", "%j", "4", "one", "other") "  %j1 = add i64 %j, 1\n" MEET("5")));
}

/* The replacement of the first sum is placed after the last phi. */
static void test_two_sums_of_one_place(void **state)
{
    (void)state;
    assert_true(is_counted(WAYS("eq", "%j", "0", "one", "other") "  %j1 = add i64 %j, 1\n" MEET(
        "1") "  %again = phi i64 [ 1, %one ], [ %j1, %other ]\n"
             "  %kept = phi i64 [ %k, %one ], [ %j1, %other ]\n"));
}

static void test_condition_on_the_value_itself_decides(void **state)
{
    (void)state;
    assert_true(is_counted("  %is = icmp eq i64 %j, 0\n"
                           "  br i1 %is, label %latch, label %other\n"
                           "other:\n"
                           "  %j1 = add i64 %j, 1\n"
                           "  br label %latch\n"
                           "latch:\n"
                           "  %next = phi i64 [ 1, %b ], [ %j1, %other ]\n"));
}

static void test_sums_of_sums(void **state)
{
    (void)state;
    assert_true(is_counted("  %is = icmp eq i64 %j, 0\n"
                           "  br i1 %is, label %more, label %other\n"
                           "other:\n"
                           "  %j1 = add i64 %j, 1\n"
                           "  %high = icmp ugt i64 %k, 9\n"
                           "  br i1 %high, label %latch, label %more\n"
                           "more:\n"
                           "  %either = phi i64 [ 1, %b ], [ %j1, %other ]\n"
                           "  br label %latch\n"
                           "latch:\n"
                           "  %next = phi i64 [ %j1, %other ], [ %either, %more ]\n"));
}

static void test_other_choices_stay(void **state)
{
    (void)state;
    assert_false(is_counted(WAYS("eq", "%j", "0", "one", "other") "  %j1 = add i64 %j, 1\n" MEET("2")));
    assert_false(is_counted(WAYS("eq", "%j", "3", "one", "other") "  %j1 = add i64 %j, 1\n" MEET("1")));
    assert_false(is_counted(WAYS("eq", "%j", "0", "other", "one") "  %j1 = add i64 %j, 1\n" MEET("1")));
    assert_false(is_counted(WAYS("ult", "%j", "3", "one", "other") "  %j1 = add i64 %j, 1\n" MEET("1")));
    assert_false(is_counted(WAYS("eq", "%k", "0", "one", "other") "  %j1 = add i64 %j, 1\n" MEET("1")));
    assert_false(is_counted(WAYS("eq", "%j", "0", "one", "other") "  %j1 = add i64 %k, 1\n" MEET("1")));
}

/* A second edge leads into block `one`, so %j is not known to be 0 there. */
static void test_second_edge_into_the_block_prevents_a_decision(void **state)
{
    (void)state;
    assert_false(is_counted("  %is = icmp eq i64 %j, 0\n"
                            "  br i1 %is, label %one, label %other\n"
                            "other:\n"
                            "  %j1 = add i64 %j, 1\n"
                            "  %high = icmp ugt i64 %k, 9\n"
                            "  br i1 %high, label %latch, label %one\n"
                            "one:\n"
                            "  br label %latch\n"
                            "latch:\n"
                            "  %next = phi i64 [ %j1, %other ], [ 1, %one ]\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sum_in_two_cases),
        cmocka_unit_test(test_two_sums_of_one_place),
        cmocka_unit_test(test_condition_on_the_value_itself_decides),
        cmocka_unit_test(test_sums_of_sums),
        cmocka_unit_test(test_other_choices_stay),
        cmocka_unit_test(test_second_edge_into_the_block_prevents_a_decision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
