/* Checks the reader of scalar evolution's printed text in LLVM 14 and 19: loops, exits, values, and lines
 * without information. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "support/joulec/scev_text.h"

static const char of_14[] =
    "Printing analysis 'Scalar Evolution Analysis' for function 'find':\n"
    "Classifying expressions for: @find\n"
    "  %wide.trip.count = zext i32 %n to i64, !dbg !12\n"
    "  -->  (zext i32 %n to i64) U: [0,4294967296) S: [0,4294967296)\n"
    "  %arrayidx = getelementptr inbounds i32, i32* %a, i64 %indvars.iv, !dbg !14\n"
    "  -->  {%a,+,4}<nuw><%for.body> U: full-set S: full-set\t\tExits: <<Unknown>>\t\tLoopDispositions: { "
    "%for.body: Computable }\n"
    "  %0 = load i32, i32* %arrayidx, align 4, !dbg !14\n"
    "  -->  %0 U: full-set S: full-set\t\tExits: <<Unknown>>\t\tLoopDispositions: { %for.body: Variant }\n"
    "  %odd = ptrtoint i32* %a to i64\n"
    "  -->  ***COULDNOTCOMPUTE***\n"
    "Determining loop execution counts for: @find\n"
    "Loop %for.body: <multiple exits> Unpredictable backedge-taken count.\n"
    "  exit count for for.body: ***COULDNOTCOMPUTE***\n"
    "  exit count for for.inc: (-1 + (zext i32 %n to i64))<nsw>\n"
    "Loop %for.body: max backedge-taken count is 2147483646\n"
    "Loop %for.body: Unpredictable predicated backedge-taken count. \n"
    "Printing analysis 'Scalar Evolution Analysis' for function 'two':\n"
    "Classifying expressions for: @two\n"
    "Determining loop execution counts for: @two\n"
    "Loop %inner: backedge-taken count is {99,+,-1}<nw><%outer>\n"
    "Loop %inner: max backedge-taken count is 99\n"
    "Loop %inner: Predicated backedge-taken count is 5\n"
    " Predicates:\n\n"
    "Loop %inner: Trip multiple is 1\n"
    "Loop %outer: backedge-taken count is 99\n"
    "Loop %outer: max backedge-taken count is 99, actual taken count either this or zero.\n"
    "Loop %outer: Trip multiple is 100\n"
    "Loop %other: Unpredictable backedge-taken count.\n"
    "Loop %other: max backedge-taken count is -1\n";

static const char of_19[] = "Determining loop execution counts for: @f\n"
                            "Loop %\"odd name\": backedge-taken count is i64 999\n"
                            "Loop %\"odd name\": constant max backedge-taken count is i32 999\n"
                            "Loop %\"odd name\": symbolic max backedge-taken count is i64 7\n"
                            "Loop %\"odd name\": Trip multiple is 1000\n"
                            "Loop %b: <multiple exits> backedge-taken count is ((-1 + %n) umin i64 7)\n"
                            "  exit count for b: (-1 + %n)\n"
                            "  exit count for : i64 7\n"
                            "  predicated exit count for b: 3\n"
                            "Loop %b: constant max backedge-taken count is i64 -2147483646\n"
                            "Loop %b: symbolic max backedge-taken count is 12\n"
                            "  symbolic max exit count for b: 5\n"
                            "Loop %b: Unpredictable constant max backedge-taken count. \n"
                            "Loop %b: a line of the future with 12\n"
                            "Loop\nLoop %\nLoop %c\nLoop %c: backedge-taken count is";

static void test_text_of_llvm_14_is_read(void **state)
{
    (void)state;
    struct scev_facts text;
    assert_true(scev_text_read(of_14, sizeof of_14 - 1, &text));
    assert_int_equal(text.function_count, 2);
    const struct scev_function *find = scev_find_function(&text, "find"),
                               *two = scev_find_function(&text, "two");
    assert_true(find && two && !scev_find_function(&text, "three"));
    const struct scev_loop *loop = scev_loop_of(find, "for.body");
    assert_true(loop && loop->has_several_exits && loop->exit_count == 2);
    assert_int_equal(loop->taken->kind, EXPR_UNKNOWN);
    assert_int_equal(loop->max_taken, -1); /* the printed maximum is only the maximum of the type */
    assert_string_equal(loop->exits[0].block, "for.body");
    assert_int_equal(loop->exits[0].taken->kind, EXPR_UNKNOWN);
    assert_int_equal(loop->exits[1].taken->kind, EXPR_ADD);
    assert_int_equal(scev_value_of(find, "arrayidx")->kind, EXPR_RECURRENCE);
    assert_int_equal(scev_value_of(find, "wide.trip.count")->kind, EXPR_ZEXT);
    assert_int_equal(scev_value_of(find, "0")->kind, EXPR_SYMBOL);
    assert_null(scev_value_of(find, "odd"));
    assert_null(scev_value_of(find, "n")); /* LLVM prints no line for an argument */

    loop = scev_loop_of(two, "inner");
    assert_int_equal(loop->taken->kind, EXPR_RECURRENCE);
    assert_int_equal(loop->taken->name, scev_loop_of(two, "outer")->name);
    assert_int_equal(loop->max_taken, 99);
    assert_int_equal(scev_loop_of(two, "outer")->taken->integer, 99);
    assert_int_equal(scev_loop_of(two, "outer")->max_taken, 99);
    assert_int_equal(scev_loop_of(two, "outer")->multiple, 100);
    assert_int_equal(scev_loop_of(two, "other")->max_taken, -1);
    scev_facts_free(&text);
}

/* If some exits are omitted, the remaining exits determine the trip count. If the count of one of the
 * remaining exits is unknown, the trip count is unknown. */
static void test_exits_can_be_left_out(void **state)
{
    (void)state;
    struct scev_facts text;
    assert_true(scev_text_read(of_14, sizeof of_14 - 1, &text));
    struct scev_function *find = (struct scev_function *)scev_find_function(&text, "find");
    const struct scev_loop *loop = scev_loop_of(find, "for.body");
    struct scev_loop counted = scev_loop_without(&find->pool, loop, (const bool[]){true, false});
    assert_true(counted.exit_count == 1 && !counted.has_several_exits && !counted.is_guard_ambiguous);
    assert_ptr_equal(counted.taken, loop->exits[1].taken);
    assert_int_not_equal(counted.taken_guarded->kind, EXPR_UNKNOWN);
    struct scev_loop open = scev_loop_without(&find->pool, loop, (const bool[]){false, true});
    assert_int_equal(open.taken->kind, EXPR_UNKNOWN);
    struct scev_loop all = scev_loop_without(&find->pool, loop, (const bool[]){false, false});
    assert_true(all.has_several_exits && all.exit_count == 2 && all.taken->kind == EXPR_UNKNOWN);
    scev_facts_free(&text);
    assert_true(scev_text_read(of_19, sizeof of_19 - 1, &text));
    struct scev_function *f = (struct scev_function *)scev_find_function(&text, "f");
    struct scev_loop minimum =
        scev_loop_without(&f->pool, scev_loop_of(f, "b"), (const bool[]){false, false});
    assert_true(minimum.taken->kind == EXPR_UMIN && minimum.taken->count == 2 && minimum.is_guard_ambiguous);
    scev_facts_free(&text);
}

static void test_text_of_llvm_19_is_read(void **state)
{
    (void)state;
    struct scev_facts text;
    assert_true(scev_text_read(of_19, sizeof of_19 - 1, &text));
    const struct scev_function *f = scev_find_function(&text, "f");
    assert_int_equal(f->loop_count, 3);
    const struct scev_loop *odd = scev_loop_of(f, "odd name"), *b = scev_loop_of(f, "b");
    assert_int_equal(odd->taken->integer, 999);
    assert_int_equal(odd->max_taken, 999);
    assert_int_equal(odd->multiple, 1000);
    assert_false(odd->has_several_exits);
    assert_true(b->has_several_exits && b->exit_count == 2);
    assert_int_equal(b->taken->kind, EXPR_UMIN);
    assert_int_equal(b->max_taken, -1);
    assert_string_equal(b->exits[1].block, "");
    assert_int_equal(b->exits[1].taken->integer, 7);
    assert_int_equal(scev_loop_of(f, "c")->taken->kind, EXPR_UNKNOWN);
    scev_facts_free(&text);
}

static void test_any_cut_of_the_text_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof of_14; i++) {
        struct scev_facts text;
        assert_true(scev_text_read(of_14, i, &text));
        scev_facts_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_of_llvm_14_is_read),
        cmocka_unit_test(test_exits_can_be_left_out),
        cmocka_unit_test(test_text_of_llvm_19_is_read),
        cmocka_unit_test(test_any_cut_of_the_text_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
