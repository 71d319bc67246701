/* Calls that a loop's next round waits for, and how long functions make wait, of functions in LLVM's words: @f goes round, %i counts,
 * %x comes from a table, %v and %w are variables that it is handed. @g is called; it has two members in what it is handed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "support/module_text.h"

static const char before[] = "@state = global i32 0\n"
                             "define void @f(i64 %n, POINTER %v, POINTER %w, POINTER %table) {\n"
                             "entry:\n"
                             "  br label %b\n"
                             "b:\n"
                             "  %i = phi i64 [ 0, %entry ], [ %i1, %b ]\n"
                             "  %s = phi i32 [ 0, %entry ], [ %s1, %b ]\n"
                             "  %at = getelementptr i32, POINTER %table, i64 %i\n"
                             "  %x = load i32, POINTER %at\n";
static const char behind[] = "  %i1 = add i64 %i, 1\n"
                             "  %done = icmp eq i64 %i1, %n\n"
                             "  br i1 %done, label %end, label %b\n"
                             "end:\n"
                             "  ret void\n"
                             "}\n";

#define CALLED(body) "define i32 @g(i32 %a, POINTER %p) noinline {\n" body "}\n"
#define ADDS_UP                                                                                              \
    CALLED("  %old = load i32, POINTER %p\n"                                                                 \
           "  %m = mul i32 %old, 3\n"                                                                        \
           "  %new = add i32 %m, %a\n"                                                                       \
           "  store i32 %new, POINTER %p\n"                                                                  \
           "  ret i32 %a\n")

static void read_module(const char *round, const char *called, struct module *out)
{
    const char *const parts[] = {before, round, behind, called};
    module_text_read(parts, 4, out);
}

/* By what the calls of the loop are part of its chain, in their order. */
static void expect(const char *round, const char *called, enum via first, enum via second)
{
    struct module module;
    read_module(round, called, &module);
    const enum via expected[] = {first, second};
    size_t calls = 0;
    for (size_t b = 0; b < module.functions[0].block_count; b++)
        for (size_t c = 0; c < module.functions[0].blocks[b].call_count; c++, calls++)
            if (module.functions[0].blocks[b].calls[c].in_chain != expected[calls % 2])
                fail_msg("call %zu is in the chain by %d: %s", calls,
                         module.functions[0].blocks[b].calls[c].in_chain, round);
    assert_true(calls >= 1 && calls <= 2);
    module_free(&module);
}

/* Steps of the path of the function that is called. */
static void expect_path(const char *called, enum via path, double loads, double products, double others)
{
    struct module module;
    read_module("  %s1 = add i32 %s, %x\n", called, &module);
    const double *steps = module.functions[1].path[path];
    if (steps[WORK_LOAD] < loads || steps[WORK_LOAD] > loads || steps[WORK_INT_MUL] < products ||
        steps[WORK_INT_MUL] > products || steps[WORK_INT] < others || steps[WORK_INT] > others)
        fail_msg("%g loads, %g products, %g others: %s", steps[WORK_LOAD], steps[WORK_INT_MUL],
                 steps[WORK_INT], called);
    module_free(&module);
}

static void test_by_result(void **state)
{
    (void)state;
    expect("  %s1 = call i32 @g(i32 %s, POINTER %w)\n", ADDS_UP, VIA_RESULT, VIA_NOTHING);
    static const char beside[] = "  %y = call i32 @g(i32 %x, POINTER null)\n"
                                 "  %s1 = add i32 %s, %y\n";
    expect(beside, ADDS_UP, VIA_NOTHING, VIA_NOTHING);
}

static void test_by_what_it_is_handed(void **state)
{
    (void)state;
    static const char same[] = "  %y = call i32 @g(i32 %x, POINTER %v)\n"
                               "  %s1 = add i32 %s, 1\n";
    expect(same, ADDS_UP, VIA_STATE, VIA_NOTHING);
    static const char another_each_time[] = "  %each = getelementptr i32, POINTER %v, i64 %i\n"
                                            "  %y = call i32 @g(i32 %x, POINTER %each)\n"
                                            "  %s1 = add i32 %s, 1\n";
    expect(another_each_time, ADDS_UP, VIA_NOTHING, VIA_NOTHING);
    static const char read_only[] = CALLED("  %old = load i32, POINTER %p\n"
                                           "  ret i32 %old\n");
    expect(same, read_only, VIA_NOTHING, VIA_NOTHING);
}

/* What the first leaves in %v is read by the second, whose result is put there; and the other way round. */
static void test_through_stores(void **state)
{
    (void)state;
    static const char stored[] = "  %y = call i32 @g(i32 %x, POINTER %v)\n"
                                 "  store i32 %y, POINTER %v\n"
                                 "  %s1 = add i32 %s, 1\n";
    static const char returns[] = CALLED("  %old = load i32, POINTER %p\n"
                                         "  %m = mul i32 %old, 3\n"
                                         "  ret i32 %m\n");
    expect(stored, returns, VIA_RESULT, VIA_NOTHING);
    static const char loaded[] = "  %y = call i32 @g(i32 %s, POINTER %v)\n"
                                 "  %s1 = load i32, POINTER %v\n";
    static const char leaves[] = CALLED("  store i32 %a, POINTER %p\n"
                                        "  ret i32 0\n");
    expect(loaded, leaves, VIA_MEMORY, VIA_NOTHING);
}

static void test_other_members(void **state)
{
    (void)state;
    static const char both[] = "  %y = call i32 @g(i32 %x, POINTER %v)\n"
                               "  %z = call i32 @h(i32 %x, POINTER %v)\n"
                               "  %s1 = add i32 %s, 1\n";
    static const char apart[] = ADDS_UP "define i32 @h(i32 %a, POINTER %p) noinline {\n"
                                        "  %second = getelementptr i32, POINTER %p, i64 1\n"
                                        "  %old = load i32, POINTER %second\n"
                                        "  %new = add i32 %old, %a\n"
                                        "  store i32 %new, POINTER %second\n"
                                        "  ret i32 %a\n"
                                        "}\n";
    expect(both, apart, VIA_STATE, VIA_NOTHING);
    static const char together[] = ADDS_UP "define i32 @h(i32 %a, POINTER %p) noinline {\n"
                                           "  %old = load i32, POINTER %p\n"
                                           "  %new = add i32 %old, %a\n"
                                           "  store i32 %new, POINTER %p\n"
                                           "  ret i32 %a\n"
                                           "}\n";
    expect(both, together, VIA_STATE, VIA_STATE);
}

static void test_by_global(void **state)
{
    (void)state;
    static const char next[] = CALLED("  %old = load i32, POINTER @state\n"
                                      "  %new = mul i32 %old, 5\n"
                                      "  store i32 %new, POINTER @state\n"
                                      "  ret i32 %new\n");
    expect("  %y = call i32 @g(i32 %x, POINTER null)\n  %s1 = add i32 %s, %y\n", next, VIA_STATE,
           VIA_NOTHING);
    expect_path(next, VIA_STATE, 1, 1, 0);
}

static void test_paths(void **state)
{
    (void)state;
    expect_path(ADDS_UP, VIA_STATE, 1, 1, 1);
    expect_path(ADDS_UP, VIA_MEMORY, 1, 1, 1);
    expect_path(ADDS_UP, VIA_RESULT, 0, 0, 0);
    static const char other[] = CALLED("  %old = load i32, POINTER %p\n"
                                       "  %m = mul i32 %old, 3\n"
                                       "  %second = getelementptr i32, POINTER %p, i64 1\n"
                                       "  store i32 %m, POINTER %second\n"
                                       "  ret i32 %m\n");
    expect_path(other, VIA_STATE, 0, 0, 0); /* what it finds it leaves as it is */
    expect_path(other, VIA_MEMORY, 1, 1, 0);
    expect_path(other, VIA_RESULT, 1, 1, 0);
}

/* A member whose number nobody knows may be any, and so the one that @h has. */
static void test_a_member_that_nobody_knows(void **state)
{
    (void)state;
    static const char *const text[] = {"define void @f(i64 %n, i64 %k, POINTER %v) {\n"
                                       "entry:\n"
                                       "  %which = getelementptr i32, POINTER %v, i64 %k\n"
                                       "  br label %b\n"
                                       "b:\n"
                                       "  %i = phi i64 [ 0, %entry ], [ %i1, %b ]\n"
                                       "  %y = call i32 @g(i32 1, POINTER %which)\n"
                                       "  %z = call i32 @h(i32 1, POINTER %v)\n"
                                       "  %i1 = add i64 %i, 1\n"
                                       "  %done = icmp eq i64 %i1, %n\n"
                                       "  br i1 %done, label %end, label %b\n"
                                       "end:\n"
                                       "  ret void\n"
                                       "}\n",
                                       ADDS_UP,
                                       "define i32 @h(i32 %a, POINTER %p) noinline {\n"
                                       "  %place = getelementptr i32, POINTER %p, i64 5\n"
                                       "  %old = load i32, POINTER %place\n"
                                       "  %new = add i32 %old, %a\n"
                                       "  store i32 %new, POINTER %place\n"
                                       "  ret i32 %a\n"
                                       "}\n"};
    struct module module;
    module_text_read(text, 3, &module);
    const struct block *round = &module.functions[0].blocks[1];
    assert_int_equal(round->call_count, 2);
    assert_int_equal(round->calls[0].in_chain, VIA_STATE);
    assert_int_equal(round->calls[1].in_chain, VIA_STATE);
    module_free(&module);
}

/* One of two variables, which the loop reads and what it calls writes: for both it is the one place. */
static void test_a_variable_that_is_chosen(void **state)
{
    (void)state;
    static const char *const text[] = {"define i32 @f(i64 %n, i1 %which, POINTER %v, POINTER %w) {\n"
                                       "entry:\n"
                                       "  br i1 %which, label %other, label %chosen\n"
                                       "other:\n"
                                       "  br label %chosen\n"
                                       "chosen:\n"
                                       "  %p = phi POINTER [ %v, %entry ], [ %w, %other ]\n"
                                       "  br label %b\n"
                                       "b:\n"
                                       "  %i = phi i64 [ 0, %chosen ], [ %i1, %b ]\n"
                                       "  %s = phi i32 [ 0, %chosen ], [ %s1, %b ]\n"
                                       "  %y = call i32 @g(i32 %s, POINTER %p)\n"
                                       "  %s1 = load i32, POINTER %p\n"
                                       "  %i1 = add i64 %i, 1\n"
                                       "  %done = icmp eq i64 %i1, %n\n"
                                       "  br i1 %done, label %end, label %b\n"
                                       "end:\n"
                                       "  ret i32 %s1\n"
                                       "}\n",
                                       CALLED("  store i32 %a, POINTER %p\n"
                                              "  ret i32 0\n")};
    struct module module;
    module_text_read(text, 2, &module);
    const struct block *round = &module.functions[0].blocks[3];
    assert_int_equal(round->call_count, 1);
    assert_int_equal(round->calls[0].in_chain, VIA_MEMORY);
    module_free(&module);
}

static void read_alone(const char *text)
{
    struct module module;
    module_text_read(&text, 1, &module);
    module_free(&module);
}

/* Blocks that go round and are no loop, in one that is. */
static void test_a_way_into_the_middle(void **state)
{
    (void)state;
    read_alone("define i32 @f(i32 %n, POINTER %v) {\n"
               "entry:\n"
               "  br label %head\n"
               "head:\n"
               "  %i = phi i32 [ 0, %entry ], [ %i1, %out ]\n"
               "  %p = phi i32 [ 1, %entry ], [ %y, %out ]\n"
               "  %x = load i32, POINTER %v\n"
               "  %odd = trunc i32 %x to i1\n"
               "  br i1 %odd, label %a, label %b\n"
               "a:\n"
               "  %pa = phi i32 [ %p, %head ], [ %y, %b ]\n"
               "  %z = mul i32 %pa, 3\n"
               "  br label %b\n"
               "b:\n"
               "  %pb = phi i32 [ %p, %head ], [ %z, %a ]\n"
               "  %y = mul i32 %pb, 5\n"
               "  %again = icmp ugt i32 %y, 32\n"
               "  br i1 %again, label %a, label %out\n"
               "out:\n"
               "  %i1 = add i32 %i, 1\n"
               "  %done = icmp eq i32 %i1, %n\n"
               "  br i1 %done, label %end, label %head\n"
               "end:\n"
               "  ret i32 %y\n"
               "}\n");
}

/* LLVM ends the program that asks how long such a vector is. */
static void test_vectors_whose_length_is_unknown(void **state)
{
    (void)state;
    read_alone("%wide = type <vscale x 4 x i32>\n"
               "define void @f(i64 %n, POINTER<%wide> %v) {\n"
               "entry:\n"
               "  %kept = alloca %wide\n"
               "  br label %b\n"
               "b:\n"
               "  %i = phi i64 [ 0, %entry ], [ %i1, %b ]\n"
               "  %at = getelementptr %wide, POINTER<%wide> %v, i64 %i\n"
               "  %x = load %wide, POINTER<%wide> %at\n"
               "  %old = load %wide, POINTER<%wide> %kept\n"
               "  %new = add %wide %x, %old\n"
               "  store %wide %new, POINTER<%wide> %kept\n"
               "  store %wide %new, POINTER<%wide> %at\n"
               "  %i1 = add i64 %i, 1\n"
               "  %done = icmp eq i64 %i1, %n\n"
               "  br i1 %done, label %end, label %b\n"
               "end:\n"
               "  ret void\n"
               "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_result),
        cmocka_unit_test(test_by_what_it_is_handed),
        cmocka_unit_test(test_through_stores),
        cmocka_unit_test(test_other_members),
        cmocka_unit_test(test_by_global),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_a_member_that_nobody_knows),
        cmocka_unit_test(test_a_variable_that_is_chosen),
        cmocka_unit_test(test_a_way_into_the_middle),
        cmocka_unit_test(test_vectors_whose_length_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
