/* Checks gather and scatter against plain loops, on views of every kind, and which memory a scatter in place
 * accesses. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "forge/core/dtype.h"
#include "forge/reference/reference.h"
#include "support/views.h"

enum { SPACE = 4000, OUTER = 3, INNER = 4 };

static forge_dtype any_index_type(void)
{
    return (forge_dtype)(FORGE_U8 + random_bits() % 8);
}

static bool is_signed(forge_dtype dtype)
{
    return dtype >= FORGE_I8;
}

/* A gather from an array of three dimensions, along the middle one. `indices` has two dimensions, or three if
 * is_along is set. */
struct layout {
    int64_t size, count;
    bool is_along;
    forge_shape x, indices, taken;
};

static struct layout any_layout(void)
{
    struct layout l = {.size = (int64_t)(random_bits() % 5),
                       .count = (int64_t)(random_bits() % 7),
                       .is_along = random_bits() & 1};
    l.x = forge_shape_of(OUTER, l.size, INNER);
    l.indices = l.is_along ? forge_shape_of(OUTER, l.count, INNER) : forge_shape_of(2, l.count);
    l.taken = l.is_along ? l.indices : forge_shape_of(OUTER, 2, l.count, INNER);
    return l;
}

/* Returns the position in x of a gathered element; -1: its index is out of range. */
static int64_t place_in_x(const struct layout *l, const struct view *indices, size_t position)
{
    size_t per_outer = forge_shape_elements(&l->taken) / OUTER, outer = position / per_outer;
    double index = view_number(indices, l->is_along ? position : position % per_outer / INNER);
    index += index < 0 ? (double)l->size : 0;
    if (index < 0 || index >= (double)l->size)
        return -1;
    return ((int64_t)outer * l->size + (int64_t)index) * INNER + (int64_t)(position % INNER);
}

static void test_random_gathers_equal_the_definition(void **state)
{
    (void)state;
    static unsigned char space[SPACE * 8], index_space[SPACE * 8], results[SPACE * 8];
    for (int round = 0; round < 600; round++) {
        forge_dtype dtype = (forge_dtype)(FORGE_BOOL + random_bits() % 13), index_type = any_index_type();
        struct layout l = any_layout();
        struct view inputs[] = {
            view_of_numbers(dtype, space, SPACE, l.x, 0, 1 + 90 * (dtype != FORGE_BOOL)),
            view_of_numbers(index_type, index_space, SPACE, l.indices, is_signed(index_type) ? -6 : 0, 6)};
        struct view out = view_packed(dtype, results, l.taken);
        struct gather_attributes attributes = {1, l.is_along, random_bits() & 1};
        run_reference(OP_GATHER, &attributes, inputs, 2, &out, 1);
        for (size_t i = 0; i < forge_shape_elements(&l.taken); i++) {
            int64_t place = place_in_x(&l, &inputs[1], i);
            double got = view_number(&out, i);
            if (place < 0)
                assert_true(forge_dtype_is_float(dtype) && !attributes.gives_zero ? isnan(got) : got == 0);
            else
                assert_true(got == view_number(&inputs[0], (size_t)place));
        }
    }
}

static double combined(uint32_t kind, double old, double new)
{
    switch (kind) {
    case FORGE_SCATTER_ADD:
        return old + new;
    case FORGE_SCATTER_MAX:
        return old > new ? old : new;
    case FORGE_SCATTER_MIN:
        return old < new ? old : new;
    default:
        return new;
    }
}

static void test_random_scatters_equal_the_definition(void **state)
{
    (void)state;
    static unsigned char space[SPACE * 8], index_space[SPACE * 8], new_space[SPACE * 8], results[SPACE * 8];
    for (int round = 0; round < 800; round++) {
        forge_dtype dtype = (forge_dtype)(FORGE_U8 + random_bits() % 12), index_type = any_index_type();
        struct layout l = any_layout();
        struct view inputs[] = {
            view_of_numbers(dtype, space, SPACE, l.x, 0, 7),
            view_of_numbers(index_type, index_space, SPACE, l.indices, is_signed(index_type) ? -6 : 0, 6),
            view_of_numbers(dtype, new_space, SPACE, l.taken, 0, 7)};
        struct view out = view_packed(dtype, results, l.x);
        struct scatter_attributes attributes = {(uint32_t)(round % FORGE_SCATTER_KINDS), 1, l.is_along};
        double expected[OUTER * INNER * 5];
        for (size_t i = 0; i < forge_shape_elements(&l.x); i++)
            expected[i] = view_number(&inputs[0], i);
        for (size_t i = 0; i < forge_shape_elements(&l.taken); i++) {
            int64_t place = place_in_x(&l, &inputs[1], i);
            if (place >= 0)
                expected[place] = combined(attributes.kind, expected[place], view_number(&inputs[2], i));
        }
        run_reference(OP_SCATTER, &attributes, inputs, 3, &out, 1);
        for (size_t i = 0; i < forge_shape_elements(&l.x); i++)
            assert_true(view_number(&out, i) == expected[i]);
    }
}

static void test_gathers_out_of_range_are_nan(void **state)
{
    (void)state;
    float x[] = {1, 2, 3}, out[4];
    int64_t signed_indices[] = {INT64_MIN, INT64_MAX, -4, -3};
    uint64_t unsigned_indices[] = {UINT64_MAX, UINT64_C(1) << 63, 3, 0};
    struct view result = view_packed(FORGE_F32, out, forge_shape_of(4));
    for (int i = 0; i < 2; i++) {
        struct view inputs[] = {view_packed(FORGE_F32, x, forge_shape_of(3)),
                                i ? view_packed(FORGE_U64, unsigned_indices, forge_shape_of(4))
                                  : view_packed(FORGE_I64, signed_indices, forge_shape_of(4))};
        run_reference(OP_GATHER, &(struct gather_attributes){0}, inputs, 2, &result, 1);
        assert_true(isnan(out[0]) && isnan(out[1]) && isnan(out[2]) && out[3] == 1);
    }
}

static void test_max_keeps_nan(void **state)
{
    (void)state;
    float x[] = {1, NAN, 3}, updates[] = {NAN, 7, 4, 5}, out[3];
    int32_t indices[] = {0, 1, 2, 0};
    struct view inputs[] = {view_packed(FORGE_F32, x, forge_shape_of(3)),
                            view_packed(FORGE_I32, indices, forge_shape_of(4)),
                            view_packed(FORGE_F32, updates, forge_shape_of(4))};
    struct view result = view_packed(FORGE_F32, out, forge_shape_of(3));
    struct launch launch = {
        OP_SCATTER, &(struct scatter_attributes){FORGE_SCATTER_MAX, 0, 0}, inputs, 3, &result, 1};
    reference_scatter(&launch, 0, launch_pieces(&launch));
    assert_true(isnan(out[0]) && isnan(out[1]) && out[2] == 4);
}

/* The array has 256 MiB. Only one row is accessible, so any other access crashes the test. */
static void test_update_in_place_touches_only_its_rows(void **state)
{
    (void)state;
    enum { ROWS = 65536, COLUMNS = 1024, ROW = 40961 };
    size_t row_bytes = COLUMNS * sizeof(float), page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory =
        mmap(NULL, ROWS * row_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(memory != MAP_FAILED);
    char *row = memory + ROW * row_bytes, *first = row - (size_t)(row - memory) % page;
    size_t length = (size_t)(row - first) + row_bytes;
    assert_int_equal(mprotect(first, length, PROT_READ | PROT_WRITE), 0);
    static float updates[2 * COLUMNS];
    int64_t indices[] = {ROW - ROWS, ROWS};
    for (int i = 0; i < COLUMNS; i++)
        updates[i] = (float)i;
    struct view x = view_packed(FORGE_F32, memory, forge_shape_of(ROWS, COLUMNS));
    struct view inputs[] = {x, view_packed(FORGE_I64, indices, forge_shape_of(2)),
                            view_packed(FORGE_F32, updates, forge_shape_of(2, COLUMNS))};
    for (uint32_t kind = 0; kind < FORGE_SCATTER_KINDS; kind++) {
        struct launch launch = {OP_SCATTER, &(struct scatter_attributes){kind, 0, 0}, inputs, 3, &x, 1};
        size_t pieces = launch_pieces(&launch);
        reference_scatter(&launch, 0, pieces / 3);
        reference_scatter(&launch, pieces / 3, pieces);
    }
    /* set gives the value, add doubles it, and min restores it */
    for (int i = 0; i < COLUMNS; i++)
        assert_true(((float *)row)[i] == (float)i);
    munmap(memory, ROWS * row_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_gathers_equal_the_definition),
        cmocka_unit_test(test_random_scatters_equal_the_definition),
        cmocka_unit_test(test_gathers_out_of_range_are_nan),
        cmocka_unit_test(test_max_keeps_nan),
        cmocka_unit_test(test_update_in_place_touches_only_its_rows),
    };
    return cmocka_run_group_tests_name("reference_gather", tests, NULL, NULL);
}
