/* Loops that end where two values meet: scalar evolution counts them by how far these are from each other, and only where they are
 * numbers with a sign that do not run over, and both go on in the same loop. What is asked of others is left to LLVM. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/string.h"
#include "support/module_text.h"

/* %i goes up from 0, and %j down from 9. */
static const char text[] = "define %s @f(%s %%n) {\n"
                           "entry:\n"
                           "  br label %%b\n"
                           "b:\n"
                           "  %%i = phi %s [ 0, %%entry ], [ %%up, %%b ]\n"
                           "  %%j = phi %s [ %s, %%entry ], [ %%down, %%b ]\n"
                           "  %%up = add nsw %s %%i, 1\n"
                           "  %%down = add nsw %s %%j, %s\n"
                           "  %%on = icmp %s %s %%up, %%down\n"
                           "  br i1 %%on, label %%b, label %%end\n"
                           "end:\n"
                           "  ret %s %%up\n"
                           "}\n";

static struct module read_module(const char *type, const char *kind, const char *from, const char *by)
{
    char filled[2 * sizeof text];
    struct module module;
    string_print(filled, sizeof filled, text, type, type, type, type, from, type, type, by, kind, type, type);
    module_text_read((const char *const[]){filled}, 1, &module);
    return module;
}

static bool is_counted(const char *type, const char *kind, const char *from, const char *by)
{
    struct module module = read_module(type, kind, from, by);
    const char *said = strstr(module.loop_text, "Loop %b: backedge-taken count is ");
    bool is = said && !strstr(said, "count is ***");
    module_free(&module);
    return is;
}

static void test_both_go_on(void **state)
{
    (void)state;
    assert_true(is_counted("i32", "slt", "%n", "-1"));
    assert_true(is_counted("i64", "slt", "%n", "-1"));
    assert_true(is_counted("i64", "sle", "%n", "-1"));
    assert_true(is_counted("i16", "slt", "%n", "-2"));
}

static void test_counts(void **state)
{
    (void)state;
    struct module module = read_module("i64", "slt", "9", "-1"); /* 1 and 8, 2 and 7, 3 and 6, 4 and 5 */
    assert_true(strstr(module.loop_text, "Loop %b: backedge-taken count is 4") ||
                strstr(module.loop_text, "Loop %b: backedge-taken count is i64 4"));
    module_free(&module);
}

static void test_as_far_as_ever(void **state)
{
    (void)state;
    assert_false(is_counted("i64", "slt", "%n", "1")); /* as far from each other as they were */
}

/* It is only asked for: nobody runs it. */
static void test_nothing_of_it_is_work(void **state)
{
    (void)state;
    struct module module = read_module("i32", "slt", "%n", "-1");
    assert_int_equal(module.functions[0].block_count, 3);
    double ints = module.functions[0].blocks[1].work[WORK_INT];
    assert_true(ints >= 2 && ints <= 3); /* two sums, and a question that may be one with the branch */
    module_free(&module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_go_on),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_as_far_as_ever),
        cmocka_unit_test(test_nothing_of_it_is_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
