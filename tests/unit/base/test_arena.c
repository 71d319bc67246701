/* Tests that arena memory is zeroed and aligned, and that its blocks do not overlap or move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/arena.h"

static void test_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    struct arena arena = {.block_size = 256};
    unsigned char *pieces[500];
    for (size_t i = 0; i < 500; i++) {
        /* some are larger than a block of the arena, some are empty */
        size_t size = i % 37 == 0 ? 1000 : i % 50;
        pieces[i] = arena_alloc(&arena, size);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        for (size_t b = 0; b < size; b++)
            assert_int_equal(pieces[i][b], 0);
        memset(pieces[i], (int)(i % 251) + 1, size);
    }
    for (size_t i = 0; i < 500; i++)
        for (size_t b = 0; b < (i % 37 == 0 ? 1000 : i % 50); b++)
            assert_int_equal(pieces[i][b], i % 251 + 1);
    arena_free(&arena);
    assert_null(arena.last);
    assert_non_null(arena_alloc(&arena, 1)); /* the arena can be used again */
    arena_free(&arena);
    arena_free(&arena);
}

static void test_large_request_keeps_the_current_block(void **state)
{
    (void)state;
    struct arena arena = {.block_size = 128};
    char *first = arena_alloc(&arena, 16);
    assert_non_null(arena_alloc(&arena, 5000));
    char *second = arena_alloc(&arena, 16);
    assert_ptr_equal(second, first + 16);
    arena_free(&arena);
}

static void test_copies_are_terminated(void **state)
{
    (void)state;
    struct arena arena = {0};
    assert_string_equal(arena_copy(&arena, "package-0", 7), "package");
    assert_string_equal(arena_copy(&arena, "abc", 100), "abc");
    assert_string_equal(arena_copy(&arena, "abc", 0), "");
    char sixteen[16]; /* the text is not terminated: only `length` bytes may be read */
    memset(sixteen, 'x', sizeof sixteen);
    assert_int_equal(strlen(arena_copy(&arena, sixteen, sizeof sixteen)), 16);
    arena_free(&arena);
}

static void test_impossible_sizes_are_refused(void **state)
{
    (void)state;
    struct arena arena = {0};
    for (size_t less = 0; less < 64; less++)
        assert_null(arena_alloc(&arena, SIZE_MAX - less));
    assert_null(arena_alloc(&arena, SIZE_MAX / 2));
    assert_non_null(arena_alloc(&arena, 10));
    assert_null(arena_alloc(&arena, SIZE_MAX - 40));
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeroed_aligned_and_apart),
        cmocka_unit_test(test_large_request_keeps_the_current_block),
        cmocka_unit_test(test_copies_are_terminated),
        cmocka_unit_test(test_impossible_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
