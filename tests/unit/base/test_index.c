/* Tests the index of names: inserted names are found and others are not, for any number of names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "base/index.h"

enum { NAMES = 5000 };
static char names[NAMES][16];

static struct index_key key_of(const void *context, uint32_t number)
{
    return index_name(((const char(*)[16])context)[number]);
}

static void test_an_empty_one_has_no_name(void **state)
{
    (void)state;
    struct index index = {.key_of = key_of};
    assert_int_equal(index_find(&index, names, index_name("")), INDEX_NONE);
    index_free(&index);
    index_free(&index);
}

static void test_names_are_found_and_others_not(void **state)
{
    (void)state;
    struct index index = {.key_of = key_of};
    for (uint32_t i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof names[i], "h.%u.w", i * 7919 % NAMES);
        assert_int_equal(index_find(&index, names, index_name(names[i])), INDEX_NONE);
        assert_true(index_add(&index, names, i));
    }
    for (uint32_t i = 0; i < NAMES; i++)
        assert_int_equal(index_find(&index, names, index_name(names[i])), i);
    assert_int_equal(index_find(&index, names, index_name("h.5000.w")), INDEX_NONE);
    assert_int_equal(index_find(&index, names, index_name("")), INDEX_NONE);
    index_free(&index);
    assert_int_equal(index_find(&index, names, index_name(names[0])), INDEX_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_one_has_no_name),
        cmocka_unit_test(test_names_are_found_and_others_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
