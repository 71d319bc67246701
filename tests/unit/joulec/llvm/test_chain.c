/* Checks dependence chains through memory from one iteration to the next, in many forms of LLVM IR.
 *
 * %i counts iterations, %v and %w point to variables, and %x is loaded from a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "support/module_text.h"

static const char before[] = "@s = global { [9 x i32], [9 x i32] } zeroinitializer\n"
                             "define void @f(i64 %n, POINTER %v, POINTER %w, POINTER %table) {\n"
                             "entry:\n"
                             "  br label %b\n"
                             "b:\n"
                             "  %i = phi i64 [ 0, %entry ], [ %i1, %e ]\n"
                             "  %at = getelementptr i32, POINTER %table, i64 %i\n"
                             "  %x = load i32, POINTER %at\n";
static const char behind[] = "\n  br label %e\n"
                             "e:\n"
                             "  %i1 = add i64 %i, 1\n"
                             "  %done = icmp eq i64 %i1, %n\n"
                             "  br i1 %done, label %end, label %b\n"
                             "end:\n"
                             "  ret void\n"
                             "}\n";

/* Expects these numbers of loads, products and other operations in the loop's chain. Without a chain through
 * memory, the chain is the addition that increments %i. */
static void expect(const char *round, bool is_stored, double loads, double products, double others)
{
    const char *const parts[] = {before, round, behind};
    double chain[WORK_KINDS] = {0};
    struct module module;
    module_text_read(parts, 3, &module);
    const struct function *f = &module.functions[0];
    for (size_t b = 0; b < f->block_count; b++) {
        for (int k = 0; k < WORK_KINDS && f->blocks[b].has_chain; k++)
            chain[k] += f->blocks[b].chain[k];
        if (f->blocks[b].has_chain && f->blocks[b].is_chain_stored != is_stored)
            fail_msg("is %sstored: %s", is_stored ? "not " : "", round);
    }
    if (chain[WORK_LOAD] < loads || chain[WORK_LOAD] > loads || chain[WORK_INT_MUL] < products ||
        chain[WORK_INT_MUL] > products || chain[WORK_INT] < others || chain[WORK_INT] > others)
        fail_msg("%g loads, %g products, %g others: %s", chain[WORK_LOAD], chain[WORK_INT_MUL],
                 chain[WORK_INT], round);
    module_free(&module);
}

#define PLACE(name, variable, index)                                                                         \
    "  %" name "w = zext i32 " index " to i64\n"                                                             \
    "  %" name " = getelementptr i32, POINTER " variable ", i64 %" name "w\n"

static void test_value_at_one_address_is_a_chain(void **state)
{
    (void)state;
    static const char kept[] = "  %a = load i32, POINTER %v\n"
                               "  %m = mul i32 %a, %x\n"
                               "  store i32 %m, POINTER %v\n";
    expect(kept, true, 1, 1, 0);
    static const char elsewhere[] = "  %a = load i32, POINTER %v\n"
                                    "  %m = mul i32 %a, %x\n"
                                    "  store i32 %m, POINTER %w\n";
    expect(elsewhere, false, 0, 0, 1);
    static const char written_first[] = "  store i32 %x, POINTER %v\n"
                                        "  %a = load i32, POINTER %v\n"
                                        "  %m = mul i32 %a, %x\n"
                                        "  store i32 %m, POINTER %v\n";
    expect(written_first, false, 0, 0, 1);
    static const char other_place[] = "  %v1 = getelementptr i32, POINTER %v, i64 1\n"
                                      "  %a = load i32, POINTER %v\n"
                                      "  %m = mul i32 %a, %x\n"
                                      "  store i32 %m, POINTER %v1\n";
    expect(other_place, false, 0, 0, 1);
}

static void test_conditional_store_is_no_chain(void **state)
{
    (void)state;
    static const char now_and_then[] = "  %a = load i32, POINTER %v\n"
                                       "  %m = mul i32 %a, %x\n"
                                       "  %some = icmp ugt i32 %x, 9\n"
                                       "  br i1 %some, label %then, label %on\n"
                                       "then:\n"
                                       "  store i32 %m, POINTER %v\n"
                                       "  br label %on\n"
                                       "on:\n";
    expect(now_and_then, false, 0, 0, 1);
}

static void test_places_that_are_loaded(void **state)
{
    (void)state;
    static const char winner[] =
        "  %a = load i32, POINTER %v\n" PLACE("p", "%v", "%a") "  %b0 = load i32, POINTER %p\n" PLACE(
            "q", "%v", "%b0") "  store i32 %x, POINTER %q\n";
    expect(winner, true, 2, 0, 0);
    static const char counted[] =
        PLACE("p", "%v", "%x") "  %a = load i32, POINTER %p\n"
                               "  %m = mul i32 %a, 3\n"
                               /* The table contains the index, so consecutive iterations rarely use the same
                                * address. */
                               "  store i32 %m, POINTER %p\n";
    expect(counted, false, 0, 0, 1);
    static const char in_place[] = "  %p = getelementptr i32, POINTER %v, i64 %i\n"
                                   "  %a = load i32, POINTER %p\n"
                                   "  %m = mul i32 %a, 3\n"
                                   "  store i32 %m, POINTER %p\n";
    expect(in_place, false, 0, 0, 1);
    static const char into_other[] =
        "  %a = load i32, POINTER %v\n" PLACE("p", "%w", "%a") "  store i32 %x, POINTER %p\n";
    expect(into_other, false, 0, 0, 1);
    static const char read_on[] = /* no later iteration loads the stored value */
        "  %p = getelementptr i32, POINTER %v, i64 %i\n"
        "  %a = load i32, POINTER %p\n" PLACE("q", "%v", "%a") "  store i32 %x, POINTER %q\n";
    expect(read_on, false, 0, 0, 1);
}

/* Computes the address of an element of array `member` (0 or 1) in the variable @s. */
#define MEMBER(name, member, index)                                                                          \
    "  %" name                                                                                               \
    " = getelementptr { [9 x i32], [9 x i32] }, POINTER<{ [9 x i32], [9 x i32] }> @s, i64 0, i32 " member    \
    ", i32 " index "\n"

static void test_members_of_a_structure_are_different_addresses(void **state)
{
    (void)state;
    static const char other[] = MEMBER("p", "0", "%x") "  %a = load i32, POINTER %p\n" MEMBER(
        "q", "1", "%a") "  store i32 %x, POINTER %q\n";
    expect(other, false, 0, 0, 1);
    static const char same[] = MEMBER("p", "0", "%x") "  %a = load i32, POINTER %p\n" MEMBER(
        "q", "0", "%a") "  store i32 %x, POINTER %q\n";
    expect(same, true, 1, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value_at_one_address_is_a_chain),
        cmocka_unit_test(test_conditional_store_is_no_chain),
        cmocka_unit_test(test_places_that_are_loaded),
        cmocka_unit_test(test_members_of_a_structure_are_different_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
