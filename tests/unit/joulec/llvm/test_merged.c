/* Checks for which loops joulec assumes that LLVM may have merged two nested loops of the source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "joulec/module/loops.h"
#include "support/module_text.h"

static void check(const char *body, bool may_be_two)
{
    static const char before[] =
        "declare i1 @asks()\ndeclare void @does()\ndefine i64 @f(i64 %n, POINTER<i64> %p) {\n"
        "entry:\n  br label %b\n"
        "b:\n";
    static const char behind[] = "end:\n  ret i64 %next\n}\n";
    struct module module;
    struct arena arena = {0};
    struct loops loops;
    module_text_read((const char *const[]){before, body, behind}, 3, &module);
    assert_int_equal(loops_find(&arena, &module.functions[0], &loops), JOULE_OK);
    assert_int_equal(loops.count, 1);
    if (loops.list[0].may_be_two != may_be_two)
        fail_msg("%s", body);
    arena_free(&arena);
    module_free(&module);
}

#define ROUND                                                                                                \
    "  call void @does()\n"                                                                                  \
    "  %next = add i64 %i, 1\n"                                                                              \
    "  %done = icmp eq i64 %next, 8\n"

/* %i goes from 0 to 7. Then a condition is tested, and %i starts again. */
static void test_a_count_that_is_reset(void **state)
{
    (void)state;
    check("  %i = phi i64 [ 0, %entry ], [ %again, %back ]\n" ROUND
          "  br i1 %done, label %asking, label %back\n"
          "asking:\n"
          "  %more = call i1 @asks()\n"
          "  br i1 %more, label %back, label %end\n"
          "back:\n"
          "  %again = phi i64 [ %next, %b ], [ 0, %asking ]\n"
          "  br label %b\n",
          true);
    check("  %i = phi i64 [ 0, %entry ], [ %chosen, %b ]\n" ROUND "  %more = call i1 @asks()\n"
          "  %either = or i1 %done, %more\n"
          "  %chosen = select i1 %done, i64 %n, i64 %next\n"
          "  br i1 %either, label %b, label %end\n",
          true);
    /* The next value of %i is loaded. */
    check("  %i = phi i64 [ 0, %entry ], [ %chosen, %b ]\n"
          "  %at = getelementptr i64, POINTER<i64> %p, i64 %i\n"
          "  %next = load i64, POINTER<i64> %at\n"
          "  %done = icmp eq i64 %next, 8\n"
          "  %more = call i1 @asks()\n"
          "  %chosen = select i1 %done, i64 0, i64 %next\n"
          "  br i1 %more, label %b, label %end\n",
          true);
}

static void test_several_back_edges(void **state)
{
    (void)state;
    check("  %i = phi i64 [ 0, %entry ], [ %next, %b ], [ %next, %asking ]\n" ROUND
          "  br i1 %done, label %asking, label %b\n"
          "asking:\n"
          "  %more = call i1 @asks()\n"
          "  br i1 %more, label %b, label %end\n",
          true);
    check("  %next = load i64, POINTER<i64> %p\n"
          "  %done = call i1 @asks()\n"
          "  br i1 %done, label %asking, label %back\n"
          "asking:\n"
          "  %more = call i1 @asks()\n"
          "  br i1 %more, label %back, label %end\n"
          "back:\n"
          "  br label %b\n",
          true);
}

static void test_one_loop_is_not_merged(void **state)
{
    (void)state;
    check("  %i = phi i64 [ 0, %entry ], [ %next, %b ]\n" ROUND "  br i1 %done, label %end, label %b\n",
          false);
    /* %s is a sum of some elements, and %i grows by 1 or 2. */
    check("  %i = phi i64 [ 0, %entry ], [ %chosen, %b ]\n"
          "  %s = phi i64 [ 0, %entry ], [ %sum, %b ]\n" ROUND "  %if = call i1 @asks()\n"
          "  %more = add i64 %s, %n\n"
          "  %sum = select i1 %if, i64 %more, i64 %s\n"
          "  %two = add i64 %i, 2\n"
          "  %chosen = select i1 %if, i64 %two, i64 %next\n"
          "  br i1 %done, label %end, label %b\n",
          false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_count_that_is_reset),
        cmocka_unit_test(test_several_back_edges),
        cmocka_unit_test(test_one_loop_is_not_merged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
