/* Checks which branches of a loop in LLVM IR depend on data. %i counts iterations, %limit was loaded before
 * the loop, and %x is loaded in the loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "support/module_text.h"

static const char before[] = "define void @f(POINTER %in, POINTER %out, i32 %which) {\n"
                             "entry:\n"
                             "  %place = getelementptr i32, POINTER %in, i32 %which\n"
                             "  %limit = load i32, POINTER %place\n"
                             "  %wide = zext i32 %limit to i64\n"
                             "  br label %b\n"
                             "b:\n"
                             "  %i = phi i32 [ 0, %entry ], [ %i1, %e ]\n"
                             "  %n = phi i32 [ 0, %entry ], [ %n1, %e ]\n"
                             "  %at = getelementptr i32, POINTER %in, i32 %i\n"
                             "  %x = load i32, POINTER %at\n"
                             "  %i1 = add i32 %i, 1\n";
static const char behind[] = "\n  br i1 %c, label %then, label %e\n"
                             "then:\n"
                             "  store i32 %i, POINTER %out\n"
                             "  br label %e\n"
                             "e:\n"
                             "  %n1 = phi i32 [ %x, %b ], [ %n, %then ]\n"
                             "  %done = icmp eq i32 %i1, %limit\n"
                             "  br i1 %done, label %end, label %b\n"
                             "end:\n"
                             "  ret void\n"
                             "}\n";

/* Checks the branch in the middle of the loop. The branch at the end depends on data, because %limit was
 * loaded. */
static void expect(const char *condition, bool is_by_data)
{
    const char *const parts[] = {before, condition, behind};
    struct module module;
    bool found[2] = {false, false};
    module_text_read(parts, 3, &module);
    const struct function *f = &module.functions[0];
    for (size_t b = 0; b < f->block_count; b++)
        if (f->blocks[b].edge_count == 2)
            found[strcmp(f->blocks[b].name, "e") == 0] = f->blocks[b].is_by_data;
    module_free(&module);
    if (found[0] != is_by_data)
        fail_msg("is %sby data: %s", is_by_data ? "not " : "", condition);
    assert_true(found[1]);
}

static void test_values_of_the_round(void **state)
{
    (void)state;
    expect("%c = icmp ult i32 %x, 9", true);
    expect("%c = icmp ult i32 %x, %limit", true);
    expect("%c = icmp ult i32 %i, %x", true);
    expect("%c = icmp ult i32 %n, %limit", true);
}

static void test_no_data_at_all(void **state)
{
    (void)state;
    expect("%c = icmp ult i32 %i, 7", false);
    expect("%k = and i32 %i, 1\n  %c = icmp eq i32 %k, 0", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_the_round),
        cmocka_unit_test(test_no_data_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
