/* Checks whether a loop's stores always overlap its loads, for an inner loop with header 2 and an outer loop
 * with header 1.
 *
 * Addresses have the form in which scalar evolution prints them. The inner loop writes 100 numbers of 4
 * bytes, and the outer loop runs 40 times. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joulec/work/overlap.h"
#include "support/joulec/scev_text.h"

static struct edge into_outer = {1, NAN}, into_inner = {2, NAN}, round_inner[] = {{2, NAN}, {3, NAN}},
                   round_outer[] = {{1, NAN}, {4, NAN}};

/* Returns the inner loop's overlap. Also checks that no overlap is found if the build does not compare
 * address ranges. */
static enum overlap overlap_of(const char *written, const char *read, double object_bytes)
{
    char words[1024];
    struct access accesses[] = {{.address = "w", .bytes = 4, .is_store = true}, {.address = "r", .bytes = 4}};
    const char *values[] = {"x"};
    struct block blocks[] = {
        {.name = "b0", .edges = &into_outer, .edge_count = 1},
        {.name = "b1", .edges = &into_inner, .edge_count = 1, .values = values, .value_count = 1},
        {.name = "b2", .edges = round_inner, .edge_count = 2, .accesses = accesses, .access_count = 2},
        {.name = "b3", .edges = round_outer, .edge_count = 2},
        {.name = "b4"}};
    struct object object = {"@data", object_bytes, false};
    struct function function = {.name = "f", .blocks = blocks, .block_count = 5};
    struct module module = {.objects = &object, .object_count = 1};
    struct trips trips[] = {{.per_entry = {40, 40, 40}}, {.per_entry = {100, 100, 100}}};
    struct built_loop built = {.is_checked = true, .compares_ranges = true};
    struct arena arena = {0};
    struct scev_facts text;
    struct loops loops;
    struct addresses addresses;
    snprintf(words, sizeof words,
             "Classifying expressions for: @f\n  %%w = gep\n  -->  %s U: full-set S: full-set\n  %%r = gep\n "
             " -->  %s U: "
             "full-set S: full-set\nDetermining loop execution counts for: @f\n"
             "Loop %%b2: Unpredictable\nLoop %%b1: Unpredictable\n",
             written, read);
    assert_true(scev_text_read(words, strlen(words), &text));
    assert_int_equal(loops_find(&arena, &function, &loops), JOULE_OK);
    assert_int_equal(loops.count, 2);
    assert_int_equal(
        addresses_prepare(&arena, &module, &function, &loops, scev_find_function(&text, "f"), &addresses),
        JOULE_OK);
    loops.list[1].built = &built;
    overlap_find(&addresses, trips, &loops);
    enum overlap found = loops.list[1].overlap;
    built.compares_ranges = false;
    overlap_find(&addresses, trips, &loops);
    assert_int_equal(loops.list[1].overlap, OVERLAP_NONE);
    scev_facts_free(&text);
    arena_free(&arena);
    return found;
}

#define ROW "{{@data,+,400}<%b1>,+,4}<%b2>"

static void test_places_of_a_row(void **state)
{
    (void)state;
    assert_int_equal(overlap_of(ROW, "{@data,+,404}<%b1>", 1e6),
                     OVERLAP_ONE_PLACE); /* iteration k of the outer loop reads the k-th number of row k */
    /* the last number of the row */
    assert_int_equal(overlap_of(ROW, "{(396 + @data),+,400}<%b1>", 1e6), OVERLAP_ONE_PLACE);
    /* the number after the row */
    assert_int_equal(overlap_of(ROW, "{(400 + @data),+,400}<%b1>", 1e6), OVERLAP_NONE);
    /* only iteration 0 of the outer loop overlaps */
    assert_int_equal(overlap_of(ROW, "@data", 1e6), OVERLAP_NONE);
    /* the last iterations do not overlap */
    assert_int_equal(overlap_of(ROW, "{@data,+,415}<%b1>", 1e6), OVERLAP_NONE);
    assert_int_equal(overlap_of(ROW, "{{(8 + @data),+,400}<%b1>,+,8}<%b2>", 1e6), OVERLAP_MOVING);
}

static void test_one_distance_is_llvms_to_judge(void **state)
{
    (void)state;
    assert_int_equal(overlap_of(ROW, "{{(4 + @data),+,400}<%b1>,+,4}<%b2>", 1e6), OVERLAP_NONE);
}

/* Unknown terms are equal only if they have the same factor. */
static void test_unknown_terms_are_compared(void **state)
{
    (void)state;
    assert_int_equal(overlap_of("{((4 * %n) + %p),+,4}<%b2>", "((4 * %n) + %p)", 1e6), OVERLAP_ONE_PLACE);
    assert_int_equal(overlap_of("{((4 * %n) + %p),+,4}<%b2>", "((8 * %n) + %p)", 1e6), OVERLAP_NONE);
    assert_int_equal(overlap_of("{((4 * %n * %m) + %p),+,4}<%b2>", "(4 + %p)", 1e6), OVERLAP_NONE);
    assert_int_equal(overlap_of("{((4 * (%n /u %m)) + %p),+,4}<%b2>", "(4 + %p)", 1e6), OVERLAP_NONE);
    assert_int_equal(overlap_of("{((4 * %x) + %p),+,4}<%b2>", "%p", 1e6), OVERLAP_NONE);
}

static void test_no_room_for_both(void **state)
{
    (void)state;
    assert_int_equal(overlap_of("{@data,+,4}<%b2>", "((4 * %x) + @data)", 400), OVERLAP_ONE_PLACE);
    assert_int_equal(overlap_of("{@data,+,4}<%b2>", "((4 * %x) + @data)", 404), OVERLAP_NONE);
    assert_int_equal(overlap_of("{@data,+,4}<%b2>", "{((4 * %x) + @data),+,4}<%b2>", 796), OVERLAP_MOVING);
    assert_int_equal(overlap_of("{@data,+,4}<%b2>", "{((4 * %x) + @data),+,4}<%b2>", NAN), OVERLAP_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_of_a_row),
        cmocka_unit_test(test_one_distance_is_llvms_to_judge),
        cmocka_unit_test(test_unknown_terms_are_compared),
        cmocka_unit_test(test_no_room_for_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
