/* Checks the CPU's attention over a paged cache, for each instruction set, against its body in f64. */
#include "unit/forge/composite_trial.h"

/* The sizes of a launch. */
struct sizes {
    forge_dtype dtype;
    int64_t rows, groups, shared, d;
    int64_t page_size, sequences, pages; /* pages: per sequence */
    int64_t spare_pages;                 /* pages of the cache that no table names */
    int64_t run;                         /* number of adjacent rows of one sequence; 0: 1 */
    bool is_prompt;                      /* the rows of a run have consecutive positions */
};

/* A launch with its operands. */
struct attention {
    struct sizes sizes;
    struct trial trial;
    float *q, *out;
    void *keys, *values;
    int32_t *tables, *sequence, *position;
};

/* Fills the tables with different pages in random order. */
static void fill_tables(int32_t *tables, int64_t count, int64_t pages)
{
    int32_t *order = malloc((size_t)pages * sizeof *order + 1);
    assert_non_null(order);
    for (int64_t i = 0; i < pages; i++) {
        int64_t other = pick(0, i);
        order[i] = order[other];
        order[other] = (int32_t)i;
    }
    memcpy(tables, order, (size_t)count * sizeof *tables);
    free(order);
}

static void set_trial(struct attention *a)
{
    const struct sizes *s = &a->sizes;
    int64_t places = (s->sequences * s->pages + s->spare_pages) * s->page_size;
    forge_shape q = forge_shape_of(s->rows, s->groups * s->shared, s->d),
                cache = forge_shape_of(places, s->groups, s->d);
    a->trial =
        (struct trial){.attributes = {.name = "paged_attention",
                                      .reals = {1 / sqrt((double)s->d)},
                                      .numbers = {(uint32_t)s->page_size}},
                       .input_count = 6,
                       .inputs = {view_packed(FORGE_F32, a->q, q), view_packed(s->dtype, a->keys, cache),
                                  view_packed(s->dtype, a->values, cache),
                                  view_packed(FORGE_I32, a->tables, forge_shape_of(s->sequences, s->pages)),
                                  view_packed(FORGE_I32, a->sequence, forge_shape_of(s->rows)),
                                  view_packed(FORGE_I32, a->position, forge_shape_of(s->rows))},
                       .tolerance = 0x1p-19};
}

/* Assigns runs of rows to the sequences in turn. Unless sizes.is_prompt is set, row 0 has the first position,
 * row 1 the last, and other rows have random positions. */
static void set_rows(struct attention *a)
{
    const struct sizes *s = &a->sizes;
    int64_t run = s->run ? s->run : 1, length = s->pages * s->page_size, first = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        if (i % run == 0)
            first = pick(0, length - run);
        a->sequence[i] = (int32_t)(i / run % s->sequences);
        a->position[i] = (int32_t)(s->is_prompt ? first + i % run
                                   : i == 0     ? 0
                                   : i == 1     ? length - 1
                                                : pick(0, length - 1));
    }
}

static struct attention new_attention(struct sizes s)
{
    int64_t all_pages = s.sequences * s.pages + s.spare_pages;
    size_t rows = (size_t)s.rows, tables = (size_t)(s.sequences * s.pages),
           width = (size_t)(s.groups * s.shared * s.d),
           places = (size_t)(all_pages * s.page_size * s.groups * s.d);
    struct attention a = {.sizes = s,
                          .q = new_elements(FORGE_F32, rows * width, 2),
                          .out = malloc(rows * width * sizeof *a.out + 1),
                          .keys = new_elements(s.dtype, places, 2),
                          .values = new_elements(s.dtype, places, 2),
                          .tables = malloc(tables * sizeof *a.tables),
                          .sequence = malloc(rows * sizeof *a.sequence),
                          .position = malloc(rows * sizeof *a.position)};
    assert_true(a.out && a.tables && a.sequence && a.position);
    fill_tables(a.tables, s.sequences * s.pages, all_pages);
    set_rows(&a);
    set_trial(&a);
    return a;
}

static void free_attention(struct attention *a)
{
    free(a->q);
    free(a->out);
    free(a->keys);
    free(a->values);
    free(a->tables);
    free(a->sequence);
    free(a->position);
}

static bool can_store(forge_dtype dtype, int64_t d)
{
    return d % (int64_t)forge_dtype_block_elements(dtype) == 0;
}

/* --- results -------------------------------------------------------------------------------------------- */

static void check_sizes(struct workbench *bench, struct sizes sizes)
{
    struct attention a = new_attention(sizes);
    check_trial(bench, &a.trial);
    free_attention(&a);
}

static void test_all_types_page_sizes_and_heads_equal_the_definition(void **state)
{
    const int64_t page_sizes[] = {1, 4, 16}, dims[] = {8, 24, 64, 80, 128};
    int64_t shared = 0;
    for (size_t type = 0; type < CACHE_TYPES; type++)
        for (size_t page = 0; page < 3; page++)
            for (size_t d = 0; d < 5; d++, shared++)
                if (can_store(storage_types[type], dims[d]))
                    check_sizes(*state, (struct sizes){.dtype = storage_types[type],
                                                       .rows = 7,
                                                       .groups = 1 + shared % 3,
                                                       .shared = 1 + shared % 8,
                                                       .d = dims[d],
                                                       .page_size = page_sizes[page],
                                                       .sequences = 3,
                                                       .pages = 5 - (int64_t)page,
                                                       .spare_pages = 2});
}

static void test_heads_that_share_keys_equal_the_definition(void **state)
{
    for (int64_t shared = 1; shared <= 8; shared++)
        for (int64_t d = 1; d <= 33; d += 16)
            check_sizes(*state, (struct sizes){.dtype = FORGE_F32,
                                               .rows = 3,
                                               .groups = 2,
                                               .shared = shared,
                                               .d = d,
                                               .page_size = 3,
                                               .sequences = 2,
                                               .pages = 4});
}

/* The sequence is so long that the scores of all heads do not fit in the scratch memory of a thread. */
static void test_long_sequences_equal_the_definition(void **state)
{
    check_sizes(*state, (struct sizes){.dtype = FORGE_F32,
                                       .rows = 2,
                                       .groups = 1,
                                       .shared = 8,
                                       .d = 8,
                                       .page_size = 1024,
                                       .sequences = 1,
                                       .pages = 98});
    check_sizes(*state, (struct sizes){.dtype = FORGE_Q8_0,
                                       .rows = 2,
                                       .groups = 1,
                                       .shared = 2,
                                       .d = 32,
                                       .page_size = 16,
                                       .sequences = 1,
                                       .pages = 300});
}

/* Rows of one sequence share the loads of keys and values. */
static void test_prompts_equal_the_definition(void **state)
{
    const int64_t dims[] = {64, 32, 96, 20};
    for (int64_t i = 0; i < 12; i++)
        check_sizes(*state, (struct sizes){.dtype = storage_types[i % 3],
                                           .rows = 40 + 11 * (i % 5),
                                           .groups = 1 + i % 2,
                                           .shared = 1 + i,
                                           .d = dims[i % 4],
                                           .page_size = 1 + 5 * (i % 4),
                                           .sequences = 1 + i % 3,
                                           .pages = 50,
                                           .run = 1 + 7 * (i % 6),
                                           .is_prompt = i % 4 > 0});
}

/* --- the bytes of a row --------------------------------------------------------------------------------- */

/* Computes one row alone, with a table that contains only its sequence, and compares it with the same row of
 * a->out. */
static void check_alone(struct attention *a, enum isa isa, int64_t row)
{
    const struct sizes *s = &a->sizes;
    int64_t width = s->groups * s->shared * s->d;
    int32_t none = 0;
    float *out = malloc((size_t)width * sizeof *out);
    struct view inputs[6],
        output = view_packed(FORGE_F32, out, forge_shape_of(1, s->groups * s->shared, s->d));
    assert_non_null(out);
    memcpy(inputs, a->trial.inputs, sizeof inputs);
    inputs[0] = view_packed(FORGE_F32, a->q + row * width, output.shape);
    inputs[3] = view_packed(FORGE_I32, a->tables + a->sequence[row] * s->pages, forge_shape_of(1, s->pages));
    inputs[4] = view_packed(FORGE_I32, &none, forge_shape_of(1));
    inputs[5] = view_packed(FORGE_I32, &a->position[row], forge_shape_of(1));
    struct launch launch = {OP_COMPOSITE, &a->trial.attributes, inputs, 6, &output, 1};
    run_kernel(isa, &launch);
    assert_memory_equal(out, a->out + row * width, (size_t)width * sizeof *out);
    free(out);
}

/* Computes all rows at once, and compares each row with the same row alone. */
static void check_rows(struct sizes sizes)
{
    struct attention a = new_attention(sizes);
    struct view output = view_packed(FORGE_F32, a.out, a.trial.inputs[0].shape);
    struct launch launch = {OP_COMPOSITE, &a.trial.attributes, a.trial.inputs, 6, &output, 1};
    EACH_ISA (isa) {
        run_kernel(isa, &launch);
        for (int64_t row = 0; row < a.sizes.rows; row++)
            check_alone(&a, isa, row);
    }
    free_attention(&a);
}

static void test_each_row_alone_has_the_same_bytes(void **state)
{
    (void)state;
    for (size_t type = 0; type < CACHE_TYPES; type++)
        check_rows((struct sizes){.dtype = storage_types[type],
                                  .rows = 23,
                                  .groups = 2,
                                  .shared = 4,
                                  .d = 96,
                                  .page_size = 4,
                                  .sequences = 5,
                                  .pages = 9,
                                  .spare_pages = 1});
}

/* The blocks of a launch have all numbers of lines, and begin and end inside and at the end of runs. */
static void test_each_row_of_a_prompt_alone_has_the_same_bytes(void **state)
{
    (void)state;
    const int64_t runs[] = {1, 2, 3, 7, 16, 41, 70}, dims[] = {64, 32, 128, 160};
    int64_t i = 0;
    for (size_t run = 0; run < sizeof runs / sizeof *runs; run++)
        for (int64_t shared = 1; shared <= 8; shared += 1 + (int64_t)run % 2, i++)
            check_rows((struct sizes){.dtype = storage_types[i % CACHE_TYPES],
                                      .rows = 70,
                                      .groups = 1 + i % 2,
                                      .shared = shared,
                                      .d = dims[i / 3 % 4],
                                      .page_size = 1 + 4 * (i % 5),
                                      .sequences = 1 + i % 4,
                                      .pages = 110,
                                      .run = runs[run],
                                      .is_prompt = i % 5 > 0});
    /* odd sizes of heads, more heads than a block has lines, and scores that do not fit in scratch memory */
    const struct sizes others[] = {
        {.rows = 30,
         .groups = 1,
         .shared = 3,
         .d = 21,
         .page_size = 7,
         .sequences = 1,
         .pages = 9,
         .run = 30},
        {.rows = 30, .groups = 2, .shared = 2, .d = 1, .page_size = 7, .sequences = 2, .pages = 9, .run = 9},
        {.rows = 3, .groups = 1, .shared = 71, .d = 16, .page_size = 8, .sequences = 1, .pages = 9, .run = 3},
        {.rows = 5,
         .groups = 1,
         .shared = 3,
         .d = 8,
         .page_size = 1024,
         .sequences = 1,
         .pages = 98,
         .run = 5},
    };
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        struct sizes sizes = others[k];
        sizes.dtype = FORGE_F32;
        sizes.is_prompt = true;
        check_rows(sizes);
    }
}

/* Computes rows [first, first + count) alone, and compares them with the same rows of a->out. */
static void check_chunk(struct attention *a, enum isa isa, int64_t first, int64_t count)
{
    const struct sizes *s = &a->sizes;
    int64_t width = s->groups * s->shared * s->d;
    size_t bytes = (size_t)(count * width) * sizeof(float);
    float *out = malloc(bytes);
    struct view inputs[6],
        output = view_packed(FORGE_F32, out, forge_shape_of(count, s->groups * s->shared, s->d));
    assert_non_null(out);
    memcpy(inputs, a->trial.inputs, sizeof inputs);
    inputs[0] = view_packed(FORGE_F32, a->q + first * width, output.shape);
    inputs[4] = view_packed(FORGE_I32, a->sequence + first, forge_shape_of(count));
    inputs[5] = view_packed(FORGE_I32, a->position + first, forge_shape_of(count));
    struct launch launch = {OP_COMPOSITE, &a->trial.attributes, inputs, 6, &output, 1};
    run_kernel(isa, &launch);
    assert_memory_equal(out, a->out + first * width, bytes);
    free(out);
}

static void test_chunks_of_a_prompt_have_the_same_bytes(void **state)
{
    (void)state;
    for (int64_t round = 0; round < 12; round++) {
        struct attention a = new_attention((struct sizes){.dtype = storage_types[round % CACHE_TYPES],
                                                          .rows = 300,
                                                          .groups = 1,
                                                          .shared = 1 + round % 5,
                                                          .d = 64,
                                                          .page_size = 16,
                                                          .sequences = 1 + round % 3,
                                                          .pages = 25,
                                                          .run = 100 * (1 + round % 3),
                                                          .is_prompt = true});
        struct view output = view_packed(FORGE_F32, a.out, a.trial.inputs[0].shape);
        struct launch launch = {OP_COMPOSITE, &a.trial.attributes, a.trial.inputs, 6, &output, 1};
        EACH_ISA (isa) {
            run_kernel(isa, &launch);
            for (int64_t first = 0, count; first < a.sizes.rows; first += count) {
                count = pick(1, 60);
                count = count < a.sizes.rows - first ? count : a.sizes.rows - first;
                check_chunk(&a, isa, first, count);
            }
        }
        free_attention(&a);
    }
}

/* --- invalid numbers ------------------------------------------------------------------------------------ */

static struct attention new_small(forge_dtype dtype)
{
    return new_attention((struct sizes){.dtype = dtype,
                                        .rows = 12,
                                        .groups = 2,
                                        .shared = 2,
                                        .d = 32,
                                        .page_size = 4,
                                        .sequences = 3,
                                        .pages = 4,
                                        .spare_pages = 1});
}

/* Negative numbers of sequences count from the end. Sequences out of range have the table [0, 0, ...]. */
static void test_sequences_out_of_range_equal_the_definition(void **state)
{
    const int32_t sequences[] = {-1, -3, -4, 3, INT32_MAX, INT32_MIN, 1000, -1000};
    for (size_t type = 0; type < CACHE_TYPES; type++) {
        struct attention a = new_small(storage_types[type]);
        memcpy(a.sequence, sequences, sizeof sequences);
        check_trial(*state, &a.trial);
        free_attention(&a);
    }
}

/* A row with a negative position has no keys, so its result is NaN. A row with a position after the end of
 * the table attends to the whole table. */
static void test_positions_out_of_range_equal_the_definition(void **state)
{
    const int32_t positions[] = {-1, -2, INT32_MIN, INT32_MAX, 16, 15, 0, -1};
    for (size_t type = 0; type < CACHE_TYPES; type++) {
        struct attention a = new_small(storage_types[type]);
        memcpy(a.position, positions, sizeof positions);
        check_trial(*state, &a.trial);
        free_attention(&a);
    }
}

/* A row that needs a page outside the cache has the result NaN. Pages after the row's position are not
 * used. */
static void test_pages_out_of_range_equal_the_definition(void **state)
{
    const int32_t pages[] = {13, -1, -13, -14, INT32_MAX, INT32_MIN, INT32_MAX / 4 + 2, -(INT32_MAX / 4) - 1};
    for (size_t type = 0; type < CACHE_TYPES; type++)
        for (size_t page = 0; page < sizeof pages / sizeof *pages; page++) {
            struct attention a = new_small(storage_types[type]);
            a.tables[2] = pages[page];
            a.tables[4] = pages[(page + 1) % 8];
            a.tables[11] = pages[(page + 2) % 8];
            check_trial(*state, &a.trial);
            free_attention(&a);
        }
}

/* Fills a place of a cache with a number. */
static void fill_place(struct attention *a, void *cache, int64_t place, double number)
{
    size_t count = (size_t)(a->sizes.groups * a->sizes.d);
    double numbers[2 * 32];
    assert_true(count <= 2 * 32);
    for (size_t i = 0; i < count; i++)
        numbers[i] = number;
    dtype_row(a->sizes.dtype)->store(cache, (size_t)place * count, count, numbers);
}

/* Free pages, and places after the last token of a sequence, may contain any numbers, even NaN. */
static void test_keys_and_values_after_the_position_are_not_used(void **state)
{
    for (size_t type = 0; type < CACHE_TYPES; type++) {
        struct attention a = new_small(storage_types[type]);
        for (int64_t i = 0; i < a.sizes.rows; i++)
            a.position[i] = (int32_t)(i % 8);
        for (int64_t sequence = 0; sequence < 3; sequence++)
            for (int64_t i = 8; i < 16; i++) {
                int64_t place = (int64_t)a.tables[sequence * 4 + i / 4] * 4 + i % 4;
                fill_place(&a, a.keys, place, i % 2 ? (double)NAN : (double)INFINITY);
                fill_place(&a, a.values, place, (double)NAN);
            }
        check_trial(*state, &a.trial);
        struct view output = view_packed(FORGE_F32, a.out, a.trial.inputs[0].shape);
        struct launch launch = {OP_COMPOSITE, &a.trial.attributes, a.trial.inputs, 6, &output, 1};
        EACH_ISA (isa) {
            run_kernel(isa, &launch);
            for (size_t i = 0; i < forge_shape_elements(&output.shape); i++)
                assert_true(isfinite(a.out[i]));
        }
        free_attention(&a);
    }
}

/* A key or value that is NaN changes only rows from its own position on, although other rows share its
 * load. */
static void test_nan_does_not_change_earlier_rows_of_a_prompt(void **state)
{
    (void)state;
    for (int64_t shared = 1; shared <= 5; shared++) {
        struct attention a = new_attention((struct sizes){.dtype = FORGE_F32,
                                                          .rows = 60,
                                                          .groups = 2,
                                                          .shared = shared,
                                                          .d = 32,
                                                          .page_size = 4,
                                                          .sequences = 1,
                                                          .pages = 15,
                                                          .run = 60,
                                                          .is_prompt = true});
        size_t width = (size_t)(2 * shared * 32), count = 60 * width;
        float *clean = malloc(count * sizeof *clean);
        assert_non_null(clean);
        struct view output = view_packed(FORGE_F32, a.out, a.trial.inputs[0].shape);
        struct launch launch = {OP_COMPOSITE, &a.trial.attributes, a.trial.inputs, 6, &output, 1};
        EACH_ISA (isa)
            for (int64_t position = 1; position < 60; position += 9) {
                int64_t place = (int64_t)a.tables[position / 4] * 4 + position % 4;
                float old[2 * 32], *element = (float *)(position % 2 ? a.keys : a.values) + place * 2 * 32;
                run_kernel(isa, &launch);
                memcpy(clean, a.out, count * sizeof *clean);
                memcpy(old, element, sizeof old);
                fill_place(&a, position % 2 ? a.keys : a.values, place, (double)NAN);
                run_kernel(isa, &launch);
                memcpy(element, old, sizeof old);
                assert_memory_equal(a.out, clean, (size_t)position * width * sizeof *clean);
                for (size_t i = (size_t)position * width; i < count; i++)
                    assert_true(isnan(a.out[i]));
            }
        free(clean);
        free_attention(&a);
    }
}

static void test_nan_and_infinity_equal_the_definition(void **state)
{
    struct attention a = new_small(FORGE_F32);
    a.q[5] = NAN;
    a.q[300] = INFINITY;
    fill_place(&a, a.keys, (int64_t)a.tables[1] * 4, (double)INFINITY);
    fill_place(&a, a.values, (int64_t)a.tables[4] * 4 + 1, (double)NAN);
    fill_place(&a, a.values, (int64_t)a.tables[8] * 4, -(double)INFINITY);
    check_trial(*state, &a.trial);
    free_attention(&a);
}

/* --- kernels -------------------------------------------------------------------------------------------- */

/* Launches with other operands run the body of the composite instead. */
static void test_operands_that_no_kernel_supports_are_refused(void **state)
{
    (void)state;
    struct attention a = new_small(FORGE_F32);
    struct view output = view_packed(FORGE_F32, a.out, a.trial.inputs[0].shape);
    struct launch launch = {OP_COMPOSITE, &a.trial.attributes, a.trial.inputs, 6, &output, 1};
    assert_non_null(kernel_for(ISA_PLAIN, &launch));
    a.trial.inputs[1].dtype = FORGE_F16; /* keys and values of different types */
    a.trial.inputs[2].dtype = FORGE_F64;
    assert_null(kernel_for(ISA_PLAIN, &launch));
    set_trial(&a);
    a.trial.inputs[3].dtype = FORGE_I64;
    assert_null(kernel_for(ISA_PLAIN, &launch));
    set_trial(&a);
    a.trial.inputs[0].strides[0] = 0;
    assert_null(kernel_for(ISA_PLAIN, &launch));
    set_trial(&a);
    a.trial.attributes.numbers[0] = 0;
    assert_null(kernel_for(ISA_PLAIN, &launch));
    a.trial.attributes.numbers[0] = UINT32_MAX; /* a row has more scores than fit in the scratch memory */
    assert_null(kernel_for(ISA_PLAIN, &launch));
    free_attention(&a);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_all_types_page_sizes_and_heads_equal_the_definition),
        TEST(test_heads_that_share_keys_equal_the_definition),
        TEST(test_long_sequences_equal_the_definition),
        TEST(test_prompts_equal_the_definition),
        TEST(test_each_row_alone_has_the_same_bytes),
        TEST(test_each_row_of_a_prompt_alone_has_the_same_bytes),
        TEST(test_chunks_of_a_prompt_have_the_same_bytes),
        TEST(test_sequences_out_of_range_equal_the_definition),
        TEST(test_positions_out_of_range_equal_the_definition),
        TEST(test_pages_out_of_range_equal_the_definition),
        TEST(test_keys_and_values_after_the_position_are_not_used),
        TEST(test_nan_does_not_change_earlier_rows_of_a_prompt),
        TEST(test_nan_and_infinity_equal_the_definition),
        TEST(test_operands_that_no_kernel_supports_are_refused),
    };
    return cmocka_run_group_tests_name("cpu paged attention", tests, NULL, NULL);
}
