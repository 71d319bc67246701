/* Branches that are taken once in a period, of functions in LLVM's words: a count in memory or in a loop that goes on, and is set back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>
#include "support/module_text.h"

/* Of the block "asked" of the first function. */
static struct block asked_in(const char *const *parts, size_t count, struct module *module)
{
    module_text_read(parts, count, module);
    const struct function *f = &module->functions[0];
    for (size_t b = 0; b < f->block_count; b++)
        if (strcmp(f->blocks[b].name, "asked") == 0)
            return f->blocks[b];
    fail_msg("no block is called asked");
    return (struct block){0};
}

static void check(const char *const *parts, size_t count, double period, uint32_t edge)
{
    struct module module;
    struct block block = asked_in(parts, count, &module);
    if (fabs(block.period - period) > 1e-9 || (period > 0 && block.period_edge != edge))
        fail_msg("edge %u once in %g, and not edge %u in %g: %s", block.period_edge, block.period, edge,
                 period, count > 1 ? parts[1] : parts[0]);
    module_free(&module);
}

/* --- a place, once in a call -------------------------------------------------------------------------------- */

static const char before[] = "@used = internal global i32 0\n"
                             "@shown = global i32 0\n"
                             "@table = internal global [8 x i32] zeroinitializer\n"
                             "declare void @refill()\n"
                             "declare i32 @number()\n"
                             "declare i32 @strange(POINTER) readonly\n"
                             "define void @f(i32 %by, POINTER<[8 x i32]> %state, i32 %at) {\n"
                             "asked:\n";
static const char behind[] = "  ret void\n"
                             "}\n";

/* `body` is the block "asked" and what follows. */
static void expect(const char *body, double period, uint32_t edge)
{
    const char *const parts[] = {before, body, behind};
    check(parts, 3, period, edge);
}

/* Counts up in `place`, from 0 where it was `kind` 624; `between` stands on the way that steps. */
static void expect_up(const char *kind, const char *between, const char *stored, double period)
{
    const char *const parts[] = {before,
                                 "  %v = load i32, POINTER @used\n  %c = icmp ",
                                 kind,
                                 "\n  br i1 %c, label %full, label %rest\n"
                                 "full:\n"
                                 "  call void @refill()\n"
                                 "  br label %end\n"
                                 "rest:\n",
                                 between,
                                 "  br label %end\n"
                                 "end:\n"
                                 "  %now = phi i32 [ 0, %full ], [ %v, %rest ]\n",
                                 stored,
                                 "  store i32 %next, POINTER @used\n",
                                 behind};
    check(parts, sizeof parts / sizeof *parts, period, 0);
}

#define ONE_ON "  %next = add i32 %now, 1\n"

static void test_up_to_a_constant(void **state)
{
    (void)state;
    expect_up("eq i32 %v, 624", "", ONE_ON, 624);
    expect_up("uge i32 %v, 624", "", ONE_ON, 624);
    expect_up("sgt i32 %v, 623", "", ONE_ON, 624);
    expect_up("eq i32 %v, 624", "", "  %next = add i32 %now, 4\n", 156);
    expect_up("ugt i32 %v, 623", "", "  %next = add i32 %now, 10\n", 63);
}

static void test_what_is_no_count(void **state)
{
    (void)state;
    expect_up("eq i32 %v, 624", "", "  %next = add i32 %now, 5\n", 0);   /* passes by 624 */
    expect_up("eq i32 %v, 624", "", "  %next = add i32 %now, -1\n", 0);  /* goes away from it */
    expect_up("ult i32 %v, 624", "", ONE_ON, 0);                         /* 0 is below: it stays there */
    expect_up("eq i32 %v, 624", "", "  %next = add i32 %now, %by\n", 0); /* nobody knows how far */
    expect_up("eq i32 %v, 624", "", "  %next = mul i32 %now, 2\n", 0);
    expect_up("eq i32 %v, %by", "", ONE_ON, 0);
}

static void test_two_steps_are_no_step(void **state)
{
    (void)state;
    static const char fork[] = "  %d = icmp eq i32 %by, 0\n"
                               "  br i1 %d, label %one, label %other\n"
                               "one:\n  br label %both\nother:\n  br label %both\nboth:\n";
    static const char rest[] = "  store i32 %now, POINTER @used\n"
                               "  br label %end\n"
                               "full:\n"
                               "  store i32 0, POINTER @used\n"
                               "  br label %end\n"
                               "end:\n";
    static const char asked[] = "  %v = load i32, POINTER @used\n"
                                "  %v1 = add i32 %v, 1\n"
                                "  %v2 = add i32 %v, 2\n"
                                "  %c = icmp eq i32 %v, 8\n"
                                "  br i1 %c, label %full, label %step\n"
                                "step:\n";
    const char *const two[] = {before, asked, fork, "  %now = phi i32 [ %v1, %one ], [ %v2, %other ]\n",
                               rest,   behind};
    const char *const same[] = {before, asked, fork, "  %now = phi i32 [ %v1, %one ], [ %v1, %other ]\n",
                                rest,   behind};
    check(two, 6, 0, 0);
    check(same, 6, 9, 0);
}

static void test_calls_on_the_way(void **state)
{
    (void)state;
    /* Only this function writes @used: a call that comes back to it steps, too. */
    expect_up("eq i32 %v, 624", "  call void @refill()\n", ONE_ON, 624);
    static const char other[] = "  %v = load i32, POINTER @shown\n"
                                "  %c = icmp eq i32 %v, 8\n"
                                "  br i1 %c, label %full, label %rest\n"
                                "full:\n"
                                "  store i32 0, POINTER @shown\n"
                                "  br label %end\n"
                                "rest:\n"
                                "  %next = add i32 %v, 1\n"
                                "  store i32 %next, POINTER @shown\n";
    const char *const quiet[] = {before, other,
                                 "  %n = call i32 @strange(POINTER @used)\n  br label %end\nend:\n", behind};
    const char *const loud[] = {before, other, "  call void @refill()\n  br label %end\nend:\n", behind};
    check(quiet, 4, 9, 0);
    check(loud, 4, 0, 0);
}

/* What a function with a body does is looked at; @used is written by @writes, too. */
static void test_calls_of_what_is_known(void **state)
{
    (void)state;
    static const char head[] = "@used = internal global i32 0\n"
                               "@log = global i32 0\n"
                               "define void @f() {\n"
                               "asked:\n"
                               "  %v = load i32, POINTER @used\n"
                               "  %c = icmp eq i32 %v, 8\n"
                               "  br i1 %c, label %full, label %rest\n"
                               "full:\n"
                               "  store i32 0, POINTER @used\n"
                               "  br label %end\n"
                               "rest:\n"
                               "  %next = add i32 %v, 1\n"
                               "  store i32 %next, POINTER @used\n";
    static const char tail[] = "  br label %end\n"
                               "end:\n"
                               "  ret void\n"
                               "}\n"
                               "define void @writes() {\n  store i32 7, POINTER @used\n  ret void\n}\n"
                               "define void @logs() {\n  store i32 7, POINTER @log\n  ret void\n}\n";
    check((const char *const[]){head, "  call void @logs()\n", tail}, 3, 9, 0);
    check((const char *const[]){head, "  call void @writes()\n", tail}, 3, 0, 0);
    check((const char *const[]){head, "", tail}, 3, 9, 0);
}

static void test_a_member_behind_a_pointer(void **state)
{
    (void)state;
    static const char text[] = "  %to = getelementptr [8 x i32], POINTER<[8 x i32]> %state, i64 0, i64 2\n"
                               "  %v = load i32, POINTER %to\n"
                               "  %c = icmp ult i32 %v, 256\n"
                               "  br i1 %c, label %end, label %full\n"
                               "full:\n"
                               "  call void @refill()\n"
                               "  br label %end\n"
                               "end:\n"
                               "  %now = phi i32 [ %v, %asked ], [ 0, %full ]\n"
                               "  %next = add i32 %now, 1\n"
                               "  %again = getelementptr [8 x i32], POINTER<[8 x i32]> %state, i64 0, i64 2\n"
                               "  store i32 %next, POINTER %again\n";
    static const char by_index[] =
        "  %member = getelementptr [8 x i32], POINTER<[8 x i32]> %state, i64 0, i32 %at\n"
        "  store i32 %by, POINTER %member\n";
    static const char beside[] =
        "  %member = getelementptr [8 x i32], POINTER<[8 x i32]> %state, i64 0, i64 3\n"
        "  store i32 %by, POINTER %member\n";
    static const char from_another[] =
        "  %third = getelementptr [8 x i32], POINTER<[8 x i32]> %state, i64 0, i64 3\n"
        "  %member = getelementptr i32, POINTER %third, i32 %at\n"
        "  store i32 %by, POINTER %member\n";
    check((const char *const[]){before, text, behind}, 3, 256, 1);
    check((const char *const[]){before, text, from_another, behind}, 4, 0, 0);
    check((const char *const[]){before, text, beside, behind}, 4, 256, 1);
    check((const char *const[]){before, text, by_index, behind}, 4, 0, 0); /* it may be the same member */
}

/* The object that the function is given, or one that the data choose. */
static void test_who_chooses_the_count(void **state)
{
    (void)state;
    static const char count[] = "  %v = load i32, POINTER %to\n"
                                "  %c = icmp eq i32 %v, 16\n"
                                "  %next = add i32 %v, 1\n"
                                "  %now = select i1 %c, i32 0, i32 %next\n"
                                "  br i1 %c, label %full, label %end\n"
                                "full:\n"
                                "  call void @refill()\n"
                                "  br label %end\n"
                                "end:\n"
                                "  %kept = phi i32 [ %now, %asked ], [ 0, %full ]\n"
                                "  store i32 %kept, POINTER %to\n";
    static const char *const places[] = {
        "  %to = getelementptr [8 x i32], POINTER<[8 x i32]> %state, i64 0, i64 2\n",
        "  %to = getelementptr [8 x i32], POINTER<[8 x i32]> %state, i64 0, i32 %at\n"};
    for (int i = 0; i < 2; i++) {
        struct module module;
        const char *const parts[] = {before, places[i], count, behind};
        struct block block = asked_in(parts, 4, &module);
        assert_true(block.period == 17);
        assert_int_equal(block.is_by_data, i);
        module_free(&module);
    }
}

static void test_down_to_zero(void **state)
{
    (void)state;
    static const char down[] = "  %v = load i32, POINTER @used\n"
                               "  %next = add i32 %v, -1\n"
                               "  store i32 %next, POINTER @used\n";
    static const char rest[] = "full:\n"
                               "  call void @refill()\n"
                               "  store i32 64, POINTER @used\n"
                               "  br label %end\n"
                               "end:\n";
    static const char *const equal = "  %c = icmp eq i32 %next, 0\n"
                                     "  br i1 %c, label %full, label %end\n",
                             *const unequal = "  %c = icmp ne i32 %next, 0\n"
                                              "  br i1 %c, label %end, label %full\n",
                             *const below = "  %c = icmp slt i32 %next, 0\n"
                                            "  br i1 %c, label %full, label %end\n";
    check((const char *const[]){before, down, equal, rest, behind}, 5, 64, 0);
    check((const char *const[]){before, down, unequal, rest, behind}, 5, 64, 1);
    check((const char *const[]){before, down, below, rest, behind}, 5, 65, 0);
}

static void test_set_to_what_nobody_knows(void **state)
{
    (void)state;
    static const char *const up = "  %v = load i32, POINTER @used\n"
                                  "  %next = add i32 %v, 1\n"
                                  "  store i32 %next, POINTER @used\n"
                                  "  %c = icmp eq i32 %next, 512\n",
                             *const down = "  %v = load i32, POINTER @used\n"
                                           "  %next = add i32 %v, -1\n"
                                           "  store i32 %next, POINTER @used\n"
                                           "  %c = icmp eq i32 %next, 0\n",
                             *const rest = "  br i1 %c, label %full, label %end\n"
                                           "full:\n"
                                           "  %new = call i32 @number()\n"
                                           "  store i32 %new, POINTER @used\n"
                                           "  br label %end\n"
                                           "end:\n";
    check((const char *const[]){before, up, rest, behind}, 4, 512, 0);
    check((const char *const[]){before, down, rest, behind}, 4, 0, 0);
}

/* It is equal once, ever. */
static void test_not_set_back(void **state)
{
    (void)state;
    expect("  %v = load i32, POINTER @used\n"
           "  %next = add i32 %v, 1\n"
           "  store i32 %next, POINTER @used\n"
           "  %c = icmp eq i32 %next, 512\n"
           "  br i1 %c, label %full, label %end\n"
           "full:\n"
           "  call void @refill()\n"
           "  br label %end\n"
           "end:\n",
           0, 0);
}

/* Bits by eights, of which three are taken: eight threes in three eights. */
static void test_a_store_that_is_filled_and_drained(void **state)
{
    (void)state;
    expect("  %v = load i32, POINTER @used\n"
           "  %c = icmp slt i32 %v, 3\n"
           "  br i1 %c, label %fill, label %end\n"
           "fill:\n"
           "  %more = add i32 %v, 8\n"
           "  br label %end\n"
           "end:\n"
           "  %now = phi i32 [ %v, %asked ], [ %more, %fill ]\n"
           "  %next = sub i32 %now, 3\n"
           "  store i32 %next, POINTER @used\n",
           8. / 3, 0);
}

/* A loop in a passing; what it does to the count is done nobody knows how often. */
static void test_a_loop_on_the_way(void **state)
{
    (void)state;
    static const char asked[] = "  %v = load i32, POINTER @used\n"
                                "  %c = icmp eq i32 %v, 8\n"
                                "  br i1 %c, label %full, label %rest\n"
                                "full:\n"
                                "  store i32 0, POINTER @used\n"
                                "  br label %end\n"
                                "rest:\n"
                                "  %next = add i32 %v, 1\n"
                                "  store i32 %next, POINTER @used\n"
                                "  br label %loop\n"
                                "loop:\n"
                                "  %i = phi i32 [ 0, %rest ], [ %i1, %loop ]\n"
                                "  %i1 = add i32 %i, 1\n";
    static const char rest[] = "  %done = icmp eq i32 %i1, %by\n"
                               "  br i1 %done, label %end, label %loop\n"
                               "end:\n";
    static const char steps[] = "  %w = load i32, POINTER @used\n"
                                "  %w1 = add i32 %w, 1\n"
                                "  store i32 %w1, POINTER @used\n";
    check((const char *const[]){before, asked, rest, behind}, 4, 9, 0);
    check((const char *const[]){before, asked, steps, rest, behind}, 5, 0, 0);
}

/* Who sets the count back without asking makes the period another. */
static void test_ways_that_do_not_ask(void **state)
{
    (void)state;
    static const char head[] = "@used = internal global i32 0\n"
                               "define void @f(i32 %by) {\n"
                               "  %v = load i32, POINTER @used\n"
                               "  %d = icmp eq i32 %by, 0\n"
                               "  br i1 %d, label %out, label %asked\n"
                               "asked:\n"
                               "  %c = icmp eq i32 %v, 8\n"
                               "  br i1 %c, label %full, label %rest\n"
                               "full:\n"
                               "  br label %rest\n"
                               "rest:\n"
                               "  %now = phi i32 [ %v, %asked ], [ 0, %full ]\n"
                               "  %next = add i32 %now, 1\n"
                               "  store i32 %next, POINTER @used\n"
                               "  br label %end\n"
                               "out:\n";
    static const char tail[] = "  br label %end\nend:\n  ret void\n}\n";
    check((const char *const[]){head, tail}, 2, 8, 0);
    check((const char *const[]){head, "  store i32 0, POINTER @used\n", tail}, 3, 0, 0);
}

/* 200 is no negative number here. */
static void test_a_byte_counts(void **state)
{
    (void)state;
    expect("  %to = bitcast POINTER @used to POINTER<i8>\n"
           "  %v = load i8, POINTER<i8> %to\n"
           "  %w = zext i8 %v to i32\n"
           "  %c = icmp eq i8 %v, 200\n"
           "  %w1 = add i32 %w, 1\n"
           "  %next = trunc i32 %w1 to i8\n"
           "  br i1 %c, label %full, label %end\n"
           "full:\n"
           "  br label %end\n"
           "end:\n"
           "  %now = phi i8 [ %next, %asked ], [ 1, %full ]\n"
           "  store i8 %now, POINTER<i8> %to\n",
           200, 0);
}

/* In a round of a loop; only who has its address may write it. */
static void test_a_local_variable(void **state)
{
    (void)state;
    static const char head[] = "declare void @other()\n"
                               "declare void @reads(POINTER)\n"
                               "define void @f(i32 %times) {\n"
                               "entry:\n"
                               "  %used = alloca i32\n"
                               "  store i32 5, POINTER %used\n"
                               "  br label %asked\n"
                               "asked:\n"
                               "  %i = phi i32 [ 0, %entry ], [ %i1, %end ]\n"
                               "  %v = load i32, POINTER %used\n"
                               "  %next = add i32 %v, 1\n"
                               "  store i32 %next, POINTER %used\n"
                               "  %c = icmp eq i32 %next, 16\n"
                               "  br i1 %c, label %full, label %end\n"
                               "full:\n"
                               "  store i32 0, POINTER %used\n"
                               "  br label %end\n"
                               "end:\n";
    static const char tail[] = "  call void @other()\n"
                               "  %i1 = add i32 %i, 1\n"
                               "  %done = icmp eq i32 %i1, %times\n"
                               "  br i1 %done, label %out, label %asked\n"
                               "out:\n"
                               "  ret void\n"
                               "}\n";
    check((const char *const[]){head, tail}, 2, 16, 0);
    check((const char *const[]){head, "  call void @reads(POINTER %used)\n", tail}, 3, 0, 0);
}

/* --- a phi of the loop -------------------------------------------------------------------------------------- */

/* %k counts beside %i; `next` makes %k1 of it, and `full` is what it is set to. */
static void expect_loop(const char *asks, const char *next, const char *full, double period)
{
    const char *const parts[] = {"declare void @flush()\n"
                                 "define void @f(i32 %times) {\n"
                                 "entry:\n"
                                 "  br label %asked\n"
                                 "asked:\n"
                                 "  %i = phi i32 [ 0, %entry ], [ %i1, %end ]\n"
                                 "  %k = phi i32 [ 3, %entry ], [ %k2, %end ]\n",
                                 next,
                                 asks,
                                 "  br i1 %c, label %full, label %end\n"
                                 "full:\n"
                                 "  call void @flush()\n"
                                 "  br label %end\n"
                                 "end:\n"
                                 "  %k2 = phi i32 [ %k1, %asked ], [ ",
                                 full,
                                 ", %full ]\n"
                                 "  %i1 = add i32 %i, 1\n"
                                 "  %done = icmp eq i32 %i1, %times\n"
                                 "  br i1 %done, label %out, label %asked\n"
                                 "out:\n"
                                 "  ret void\n"
                                 "}\n"};
    check(parts, sizeof parts / sizeof *parts, period, 0);
}

static void test_a_count_of_a_loop(void **state)
{
    (void)state;
    expect_loop("  %c = icmp eq i32 %k1, 16\n", "  %k1 = add i32 %k, 1\n", "0", 16);
    expect_loop("  %c = icmp eq i32 %k, 16\n", "  %k1 = add i32 %k, 1\n", "0", 17);
    expect_loop("  %c = icmp eq i32 %k1, 0\n", "  %k1 = sub i32 %k, 1\n", "64", 64);
    expect_loop("  %c = icmp eq i32 %k1, 16\n", "  %k1 = add i32 %k, 1\n", "%i", 16); /* assumed to be 0 */
    expect_loop("  %c = icmp eq i32 %k1, 16\n", "  %k1 = add i32 %k, 1\n", "%k1", 0);
    expect_loop("  %c = icmp eq i32 %i, 16\n", "  %k1 = add i32 %k, 1\n", "0", 0);
    expect_loop("  %c = icmp eq i32 %k, 16\n", "  %k1 = add i32 %k, %i\n", "0", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_up_to_a_constant),
        cmocka_unit_test(test_what_is_no_count),
        cmocka_unit_test(test_two_steps_are_no_step),
        cmocka_unit_test(test_calls_on_the_way),
        cmocka_unit_test(test_calls_of_what_is_known),
        cmocka_unit_test(test_a_member_behind_a_pointer),
        cmocka_unit_test(test_who_chooses_the_count),
        cmocka_unit_test(test_down_to_zero),
        cmocka_unit_test(test_set_to_what_nobody_knows),
        cmocka_unit_test(test_not_set_back),
        cmocka_unit_test(test_a_store_that_is_filled_and_drained),
        cmocka_unit_test(test_a_loop_on_the_way),
        cmocka_unit_test(test_ways_that_do_not_ask),
        cmocka_unit_test(test_a_byte_counts),
        cmocka_unit_test(test_a_local_variable),
        cmocka_unit_test(test_a_count_of_a_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
