/* Compares facts of LLVM's scalar evolution about real functions with formulas in LLVM's notation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "support/joulec/scev_text.h"
#include "support/module_text.h"

static bool is_equal(const struct expr *a, const struct expr *b)
{
    if (a->kind != b->kind || a->name != b->name || a->bits != b->bits || a->result_bits != b->result_bits ||
        a->count != b->count || a->integer != b->integer)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!is_equal(a->operand[i], b->operand[i]))
            return false;
    return true;
}

static void check_formula(struct scev_function *f, const struct expr *is, const char *notation)
{
    assert_non_null(is);
    if (!is_equal(is, scev_expression(&f->pool, notation, strlen(notation))))
        fail_msg("the formula of kind %d is not %s", (int)is->kind, notation);
}

static struct scev_function *read_f(const char *text, struct module *out)
{
    module_text_read(&text, 1, out);
    struct scev_function *f = scev_find_function(out->scev, "f");
    assert_non_null(f);
    return f;
}

static const struct scev_value *value_named(struct scev_function *f, const char *name)
{
    return scev_find_value(f, expr_find_name(&f->pool, name));
}

static void test_loops_of_a_nest(void **state)
{
    (void)state;
    struct module module;
    struct scev_function *f = read_f("declare void @first()\n"
                                     "define void @f() {\n"
                                     "entry:\n"
                                     "  br label %outer\n"
                                     "outer:\n"
                                     "  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]\n"
                                     "  br label %inner\n"
                                     "inner:\n"
                                     "  %j = phi i64 [ %i, %outer ], [ %j1, %inner ]\n"
                                     "  %j1 = add nuw nsw i64 %j, 1\n"
                                     "  %more = icmp slt i64 %j, 98\n"
                                     "  br i1 %more, label %inner, label %latch\n"
                                     "latch:\n"
                                     "  %i1 = add nuw nsw i64 %i, 2\n"
                                     "  %done = icmp eq i64 %i1, 40\n"
                                     "  br i1 %done, label %end, label %outer\n"
                                     "end:\n"
                                     "  ret void\n"
                                     "}\n",
                                     &module);
    assert_int_equal(module.scev->function_count, 1);
    assert_int_equal(f->loop_count, 2);
    const struct scev_loop *inner = scev_loop_of(f, "inner"), *outer = scev_loop_of(f, "outer");
    assert_ptr_equal(inner, &f->loops[0]); /* inner loops come first */
    check_formula(f, outer->taken, "19");
    assert_int_equal(outer->max_taken, 19);
    assert_int_equal(outer->multiple, 20);
    assert_true(!outer->has_several_exits && outer->exit_count == 0);
    check_formula(f, inner->taken, "{98,+,-2}<%outer>");
    check_formula(f, value_named(f, "j")->value, "{{0,+,2}<%outer>,+,1}<%inner>");
    assert_null(value_named(f, "more")); /* a comparison has no formula */
    module_free(&module);
}

static void test_loop_with_two_exits(void **state)
{
    (void)state;
    struct module module;
    struct scev_function *f = read_f("define void @f(i64 %n, POINTER %p) {\n"
                                     "entry:\n"
                                     "  br label %head\n"
                                     "head:\n"
                                     "  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]\n"
                                     "  %loaded = load volatile i32, POINTER %p\n"
                                     "  %stop = icmp eq i32 %loaded, 0\n"
                                     "  br i1 %stop, label %end, label %latch\n"
                                     "latch:\n"
                                     "  %i1 = add nuw nsw i64 %i, 1\n"
                                     "  %done = icmp eq i64 %i1, %n\n"
                                     "  br i1 %done, label %end, label %head\n"
                                     "end:\n"
                                     "  ret void\n"
                                     "}\n",
                                     &module);
    const struct scev_loop *loop = scev_loop_of(f, "head");
    assert_int_equal(loop->taken->kind, EXPR_UNKNOWN);
    assert_int_equal(loop->max_taken, -1);
    assert_true(loop->has_several_exits && loop->exit_count == 2);
    assert_string_equal(loop->exits[0].block, "head");
    assert_int_equal(loop->exits[0].taken->kind, EXPR_UNKNOWN);
    assert_string_equal(loop->exits[1].block, "latch");
    check_formula(f, loop->exits[1].taken, "(-1 + %n)");
    module_free(&module);
}

static void test_kinds_of_values(void **state)
{
    (void)state;
    struct module module;
    struct scev_function *f =
        read_f("@table = global [64 x i64] zeroinitializer\n"
               "declare i64 @llvm.smax.i64(i64, i64)\n"
               "declare i64 @llvm.umin.i64(i64, i64)\n"
               "define i64 @f(i32 %n, i64 %m) {\n"
               "  %wide = zext i32 %n to i64\n"
               "  %signed = sext i32 %n to i64\n"
               "  %short = trunc i64 %m to i8\n"
               "  %quotient = udiv i64 %m, 10\n"
               "  %product = mul i64 %m, %wide\n"
               "  %max = call i64 @llvm.smax.i64(i64 %m, i64 4)\n"
               "  %min = call i64 @llvm.umin.i64(i64 %m, i64 9)\n"
               "  %place = getelementptr [64 x i64], POINTER<[64 x i64]> @table, i64 0, i64 %m\n"
               "  %bits = and i64 %m, 24\n"
               "  %half = fptosi double 1.5 to i64\n"
               "  %beyond = add i128 36893488147419103232, 1\n"
               "  ret i64 %product\n"
               "}\n",
               &module);
    check_formula(f, value_named(f, "wide")->value, "(zext i32 %n to i64)");
    check_formula(f, value_named(f, "signed")->value, "(sext i32 %n to i64)");
    check_formula(f, value_named(f, "short")->value, "(trunc i64 %m to i8)");
    check_formula(f, value_named(f, "quotient")->value, "(%m /u 10)");
    check_formula(f, value_named(f, "product")->value, "((zext i32 %n to i64) * %m)");
    check_formula(f, value_named(f, "max")->value, "(4 smax %m)");
    check_formula(f, value_named(f, "min")->value, "(9 umin %m)");
    check_formula(f, value_named(f, "place")->value, "((8 * %m) + @table)");
    assert_null(value_named(f, "beyond")); /* the formula's constant is too large for 64 bits */
    const struct scev_value *bits = value_named(f, "bits"), *wide = value_named(f, "wide");
    assert_true(bits->range.is_known && bits->range.low == 0 && bits->range.high == 24);
    assert_true(wide->range.is_known && wide->range.low == 0 && wide->range.high == UINT32_MAX);
    assert_false(value_named(f, "product")->range.is_known); /* the range is no narrower than the type */
    module_free(&module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops_of_a_nest),
        cmocka_unit_test(test_loop_with_two_exits),
        cmocka_unit_test(test_kinds_of_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
