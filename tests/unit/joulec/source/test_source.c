/* Checks joulec's source positions: their order, displayed paths, names, and columns in a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "joulec/source/place.h"

static void paths_are_as_seen_from_the_root(void **state)
{
    static const struct {
        const char *root, *path, *shown;
    } rows[] = {
        {"/w", "a.c", "a.c"},         {"/w", "./s//a.c", "s/a.c"},     {"/w", "/w/s/a.c", "s/a.c"},
        {"/w/", "/w/a.c", "a.c"},     {"/w", "../a.c", "/a.c"},        {"/w", "../w/s/../a.c", "a.c"},
        {"/w", "/ww/a.c", "/ww/a.c"}, {"/w", "/../x/./a.c", "/x/a.c"}, {"/", "x/a.c", "x/a.c"},
        {NULL, "./a.c", "./a.c"},     {"w", "./a.c", "./a.c"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char buffer[64];
        assert_string_equal(source_from(rows[i].root, rows[i].path, buffer, sizeof buffer), rows[i].shown);
    }
}

static void paths_that_do_not_fit_stay_unchanged(void **state)
{
    char buffer[8];
    (void)state;
    assert_string_equal(source_from("/w", "a/b/c/d.c", buffer, sizeof buffer), "a/b/c/d.c");
    assert_true(source_absolute("/w", "a/b", buffer, sizeof buffer));
    assert_string_equal(buffer, "/w/a/b");
    assert_false(source_absolute("/w", "a/bcde", buffer, sizeof buffer));
    assert_true(source_absolute("/w", "..", buffer, sizeof buffer));
    assert_string_equal(buffer, "/");
}

static void names_and_columns_of_a_line(void **state)
{
    char path[] = "/tmp/test_source_XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    (void)state;
    assert_non_null(file);
    fputs("\n/* \xc3\xa9 if */ int of(int f); int f(int n)\r\n", file);
    fclose(file);
    struct function f = {.name = "f", .place = {path, 2, 0}};
    struct source_place place = source_place_of_name(&f);
    assert_int_equal(place.column,
                     /* not the f in "if" or "of"; columns count bytes, and one character before it has two
                      * bytes */
                     32);
    assert_int_equal(source_column(&place), 31);
    place.line = 3;
    assert_null(source_line(&place));
    assert_int_equal(source_column(&place), 32);
    f.place.line = 1;
    assert_int_equal(source_place_of_name(&f).column, 1);
    unlink(path);
}

static void places_have_one_order(void **state)
{
    static const struct source_place in_order[] = {
        {"b.c", 1, 9}, {"b.c", 2, 1}, {"a.c", 2, 3}, {"b.c", 2, 3}, {"a.c", 10, 1}};
    (void)state;
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 5; k++) {
            int order = source_place_order(&in_order[i], &in_order[k]);
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_have_one_order),
        cmocka_unit_test(paths_are_as_seen_from_the_root),
        cmocka_unit_test(paths_that_do_not_fit_stay_unchanged),
        cmocka_unit_test(names_and_columns_of_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
