/* Checks options, bounds and errors of the paged cache, its tensors and facts, and missing memory. */
#include "support/allocations.h"
#include "unit/forge/kv_trial.h"

static void expect_invalid_options(forge_kv_cache_options options, const char *part)
{
    forge_kv_cache *cache = NULL;
    assert_int_equal(forge_kv_cache_new(&options, &cache, &error), JOULE_INVALID);
    assert_contains(error.message, part);
}

static void test_invalid_options_are_refused(void **state)
{
    (void)state;
    forge_kv_cache *cache = NULL;
#define WITH(member, value, part)                                                                            \
    do {                                                                                                     \
        forge_kv_cache_options o = options_of(FORGE_Q8_0, 4);                                                \
        o.member = value;                                                                                    \
        expect_invalid_options(o, part);                                                                     \
    } while (0)
    WITH(struct_size, 8, "set struct_size");
    WITH(num_layers, 0, "num_layers is 0");
    WITH(num_heads, 65537, "num_heads is 65537, not 1 to 65536");
    WITH(head_dim, 0, "head_dim is 0");
    WITH(head_dim, 48, "head_dim is 48, but q8_0 needs a multiple of 32");
    WITH(page_size, UINT32_MAX, "page_size is 4294967295");
    WITH(dtype, FORGE_I8, "dtype is i8");
    WITH(dtype, FORGE_DTYPE_NONE, "dtype is none");
    WITH(pages, 0, "pages is 0");
    WITH(pages, INT32_MAX / PAGE_SIZE + 1, "pages is 536870912, not 1 to 536870911");
    WITH(pages, UINT64_MAX, "pages is 18446744073709551615");
    forge_kv_cache_options options = options_of(FORGE_F32, INT32_MAX / PAGE_SIZE);
    options.num_heads = options.head_dim = 65536; /* keys and values would have 2^65 bytes */
    assert_int_equal(forge_kv_cache_new(&options, &cache, &error), JOULE_INVALID);
    assert_contains(error.message, "too many");
    assert_int_equal(forge_kv_cache_new(NULL, &cache, &error), JOULE_INVALID);
    options = options_of(FORGE_F32, 4);
    assert_int_equal(forge_kv_cache_new(&options, NULL, &error), JOULE_INVALID);
    struct {
        forge_kv_cache_options known;
        uint64_t unknown;
    } newer = {options, 1};
    newer.known.struct_size = sizeof newer;
    assert_int_equal(forge_kv_cache_new(&newer.known, &cache, &error), JOULE_UNSUPPORTED);
    forge_kv_cache_free(NULL);
    forge_kv_cache_remove_sequence(NULL);
}

static void test_positions_out_of_bounds_are_refused(void **state)
{
    (void)state;
    forge_kv_cache *cache = new_cache(FORGE_F32, 4);
    struct tracked a;
    float row[2 * ROW] = {0};
    begin(cache, &a, "", zeros, 3);
    assert_true(extend(&a, zeros, 3));
    commit(&a, 1);
    static const struct {
        uint32_t layer;
        size_t position, count;
        const char *part;
    } cases[] = {{LAYERS, 1, 1, "layer is 2, but there are 2 layers"},
                 {0, 3, 1, "1 positions from 3 on do not fit in a sequence of 3 positions"},
                 {0, 2, 2, "do not fit"},
                 {0, 4, 0, "do not fit"},
                 {0, 1, SIZE_MAX, "do not fit"},
                 {0, SIZE_MAX, 1, "do not fit"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(forge_kv_cache_write(a.sequence, cases[i].layer, cases[i].position, cases[i].count,
                                              row, row, &error),
                         JOULE_INVALID);
        assert_contains(error.message, cases[i].part);
        assert_int_equal(forge_kv_cache_read(a.sequence, cases[i].layer, cases[i].position, cases[i].count,
                                             row, row, &error),
                         JOULE_INVALID);
        assert_contains(error.message, cases[i].part);
    }
    assert_int_equal(forge_kv_cache_write(a.sequence, 0, 0, 2, row, row, &error), JOULE_INVALID);
    assert_contains(error.message, "position 0 is committed");
    assert_int_equal(forge_kv_cache_write(a.sequence, 0, 1, 1, NULL, row, &error), JOULE_INVALID);
    assert_int_equal(forge_kv_cache_write(a.sequence, 0, 1, 0, NULL, NULL, &error), JOULE_OK);
    assert_int_equal(forge_kv_cache_read(a.sequence, 0, 0, 1, NULL, NULL, &error), JOULE_OK);
    assert_int_equal(forge_kv_cache_commit(a.sequence, zeros, 3, &error), JOULE_INVALID);
    assert_contains(error.message, "the sequence has 3 positions, and 1 are committed");
    assert_int_equal(forge_kv_cache_truncate(a.sequence, 4, &error), JOULE_INVALID);
    assert_int_equal(forge_kv_cache_extend(a.sequence, SIZE_MAX, &error), JOULE_NO_MEMORY);
    assert_int_equal(forge_kv_cache_extend(a.sequence, 14, &error), JOULE_NO_MEMORY);
    check_contents(&a);
    assert_true(extend(&a, zeros, 13));
    assert_int_equal(forge_kv_cache_extend(a.sequence, 1, &error), JOULE_NO_MEMORY);
    check_contents(&a);
    forge_kv_cache_free(cache);
}

static void test_null_arguments_are_refused(void **state)
{
    (void)state;
    forge_kv_cache *cache = new_cache(FORGE_F32, 4);
    forge_kv_sequence *s = NULL;
    forge_tensor tensor;
    forge_kv_cache_facts facts = {.struct_size = 4};
    size_t cached;
    assert_int_equal(forge_kv_cache_add_sequence(NULL, zeros, 1, NULL, &s, &cached, &error), JOULE_INVALID);
    assert_int_equal(forge_kv_cache_add_sequence(cache, NULL, 1, NULL, &s, &cached, &error), JOULE_INVALID);
    assert_contains(error.message, "tokens is NULL");
    assert_int_equal(forge_kv_cache_add_sequence(cache, zeros, 1, NULL, NULL, &cached, &error),
                     JOULE_INVALID);
    assert_int_equal(forge_kv_cache_add_sequence(cache, NULL, 0, NULL, &s, NULL, &error), JOULE_INVALID);
    assert_contains(error.message, "out_cached_tokens is NULL");
    assert_int_equal(forge_kv_cache_fork(NULL, &s, &error), JOULE_INVALID);
    assert_int_equal(forge_kv_cache_extend(NULL, 1, &error), JOULE_INVALID);
    assert_int_equal(forge_kv_cache_commit(NULL, zeros, 1, &error), JOULE_INVALID);
    assert_int_equal(forge_kv_cache_truncate(NULL, 0, &error), JOULE_INVALID);
    assert_int_equal(forge_kv_cache_write(NULL, 0, 0, 0, NULL, NULL, &error), JOULE_INVALID);
    assert_int_equal(forge_kv_cache_read(NULL, 0, 0, 0, NULL, NULL, &error), JOULE_INVALID);
    assert_int_equal(forge_kv_cache_tensor(cache, LAYERS, false, &tensor), JOULE_INVALID);
    assert_int_equal(forge_kv_cache_tensor(cache, 0, false, NULL), JOULE_INVALID);
    assert_int_equal(forge_kv_cache_query(cache, &facts), JOULE_INVALID);
    assert_int_equal(forge_kv_cache_query(cache, NULL), JOULE_INVALID);
    forge_kv_cache_free(cache);
}

static void test_tensors_and_facts_describe_the_cache(void **state)
{
    (void)state;
    forge_kv_cache_options options = options_of(FORGE_Q8_0, 10);
    options.page_size = 0;
    forge_kv_cache *cache = NULL;
    assert_ok(forge_kv_cache_new(&options, &cache, &error), &error);
    forge_kv_cache_facts facts = query(cache);
    assert_int_equal(facts.page_size, 16);
    assert_int_equal(facts.pages, 10);
    assert_int_equal(facts.bytes_per_token, 2 * LAYERS * ROW / 32 * 34);
    forge_tensor keys, values;
    assert_int_equal(forge_kv_cache_tensor(cache, 1, false, &keys), JOULE_OK);
    assert_int_equal(forge_kv_cache_tensor(cache, 1, true, &values), JOULE_OK);
    assert_true(keys.dtype == FORGE_Q8_0 && keys.buffer != values.buffer);
    assert_true(forge_shape_equal(&keys.shape, &forge_shape_of(160, HEADS, HEAD_DIM)));
    struct tracked a;
    begin(cache, &a, "", zeros, 1);
    assert_true(extend(&a, zeros, 17));
    size_t pages;
    const uint32_t *table = kv_sequence_pages(a.sequence, &pages);
    float row[ROW], expected[ROW];
    const size_t row_bytes = ROW / 32 * 34;
    assert_int_equal(forge_convert(FORGE_Q8_0, (char *)forge_tensor_data(&values) + table[1] * 16 * row_bytes,
                                   FORGE_F32, row, ROW),
                     JOULE_OK);
    expect_row(&a, 1, true, 16, expected);
    assert_memory_equal(row, expected, sizeof row);
    forge_kv_cache_free(cache);
}

static void test_every_missing_allocation_is_reported(void **state)
{
    (void)state;
    forge_kv_cache_options options = options_of(FORGE_F32, 64);
    forge_kv_cache *cache = NULL;
    joule_status status = JOULE_NO_MEMORY;
    unsigned tries = 0;
    for (; status != JOULE_OK; tries++) {
        failing_allocation = allocations + 1 + tries;
        status = forge_kv_cache_new(&options, &cache, &error);
        assert_true(status == JOULE_OK || status == JOULE_NO_MEMORY);
    }
    assert_true(tries > 2 * LAYERS + 4);
    struct tracked a, b;
    size_t cached;
    for (status = JOULE_NO_MEMORY, tries = 0; status != JOULE_OK; tries++) {
        failing_allocation = allocations + 1 + tries;
        status = forge_kv_cache_add_sequence(cache, zeros, 5, NULL, &a.sequence, &cached, &error);
        assert_true(status == JOULE_OK || status == JOULE_NO_MEMORY);
        assert_int_equal(query(cache).sequences, status == JOULE_OK);
    }
    assert_int_equal(tries, 5);
    failing_allocation = 0;
    forge_kv_cache_remove_sequence(a.sequence);
    begin(cache, &a, "", zeros, 1);
    assert_true(extend(&a, zeros, MAX_LENGTH));
    commit(&a, MAX_LENGTH);
    for (status = JOULE_NO_MEMORY, tries = 0; status != JOULE_OK; tries++) {
        failing_allocation = allocations + 1 + tries;
        status = forge_kv_cache_extend(a.sequence, 128, &error);
        assert_true(status == JOULE_OK || status == JOULE_NO_MEMORY);
        assert_int_equal(query(cache).used_pages, status == JOULE_OK ? 48 : 16);
    }
    assert_int_equal(tries, 3); /* only 3 tries: the array that grew in the first try did not grow again */
    for (status = JOULE_NO_MEMORY, tries = 0; status != JOULE_OK; tries++) {
        failing_allocation = allocations + 1 + tries;
        status = forge_kv_cache_fork(a.sequence, &b.sequence, &error);
        assert_true(status == JOULE_OK || status == JOULE_NO_MEMORY);
    }
    assert_int_equal(tries, 5);
    failing_allocation = 0;
    truncate_to(&a, MAX_LENGTH);
    check_contents(&a);
    forge_kv_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_options_are_refused),
        cmocka_unit_test(test_positions_out_of_bounds_are_refused),
        cmocka_unit_test(test_null_arguments_are_refused),
        cmocka_unit_test(test_tensors_and_facts_describe_the_cache),
        cmocka_unit_test(test_every_missing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
