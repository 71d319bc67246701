/* Checks the CPU's small kernels of language models, for each instruction set, against their bodies:
 * embedding, rotary and swiglu in f64, and cache_write by bytes. */
#include "unit/forge/composite_trial.h"

/* --- embedding ------------------------------------------------------------------------------------------ */

/* Negative ids count from the end. Rows of ids out of range are NaN. */
static void test_embeddings_of_all_types_equal_the_definition(void **state)
{
    int32_t ids[] = {0, 4, 2, 2, -1, -5, -6, 5, INT32_MAX, INT32_MIN, 3};
    for (size_t type = 0; type < WEIGHT_TYPES; type++) {
        size_t block = forge_dtype_block_elements(storage_types[type]);
        const size_t widths[] = {block, block == 1 ? 33 : 2 * block, block == 1 ? 100 : 3 * block};
        for (size_t i = 0; i < 3; i++) {
            void *weight = new_elements(storage_types[type], 5 * widths[i], 3);
            struct trial t = {
                .attributes = {.name = "embedding"},
                .input_count = 2,
                .inputs = {view_packed(storage_types[type], weight, forge_shape_of(5, (int64_t)widths[i])),
                           view_packed(FORGE_I32, ids, forge_shape_of(sizeof ids / sizeof *ids))},
                .tolerance = 0x1p-23};
            check_trial(*state, &t);
            t.inputs[1].shape.dims[0] = 0;
            check_trial(*state, &t);
            free(weight);
        }
    }
}

/* --- rotary --------------------------------------------------------------------------------------------- */

static void check_rotary(struct workbench *bench, int64_t rows, int64_t heads, int64_t d, int64_t rotated)
{
    size_t count = (size_t)(rows * heads * d), pairs = (size_t)(rows * rotated / 2);
    float *x = new_elements(FORGE_F32, count, 4), *c = new_elements(FORGE_F32, pairs, 1.2),
          *s = new_elements(FORGE_F32, pairs, 1.2);
    if (count > 20 && pairs > 3) {
        x[7] = NAN;
        x[20] = INFINITY;
        s[3] = -INFINITY;
    }
    for (uint32_t is_adjacent = 0; is_adjacent < 2; is_adjacent++) {
        struct trial t = {.attributes = {.name = "rotary", .numbers = {is_adjacent}},
                          .input_count = 3,
                          .inputs = {view_packed(FORGE_F32, x, forge_shape_of(rows, heads, d)),
                                     view_packed(FORGE_F32, c, forge_shape_of(rows, rotated / 2)),
                                     view_packed(FORGE_F32, s, forge_shape_of(rows, rotated / 2))},
                          .tolerance = 0x1p-20};
        check_trial(bench, &t);
    }
    free(x);
    free(c);
    free(s);
}

static void test_rotations_of_whole_and_part_heads_equal_the_definition(void **state)
{
    for (int64_t d = 2; d <= 40; d++)
        for (int64_t rotated = 2; rotated <= d; rotated += d < 10 ? 2 : 14)
            check_rotary(*state, 3, 1 + d % 3, d, rotated);
    check_rotary(*state, 11, 8, 64, 64);
    check_rotary(*state, 5, 4, 128, 128);
    check_rotary(*state, 5, 4, 80, 20);
    check_rotary(*state, 0, 4, 8, 8);
}

/* --- swiglu --------------------------------------------------------------------------------------------- */

static void check_swiglu(struct workbench *bench, float *gate, float *up, forge_shape shape)
{
    struct trial t = {.attributes = {.name = "swiglu"},
                      .input_count = 2,
                      .inputs = {view_packed(FORGE_F32, gate, shape), view_packed(FORGE_F32, up, shape)},
                      .tolerance = 0x1p-22};
    check_trial(bench, &t);
}

static void test_swiglu_of_every_width_equals_the_definition(void **state)
{
    float *gate = new_elements(FORGE_F32, 3001, 9), *up = new_elements(FORGE_F32, 3001, 3);
    for (int64_t width = 1; width <= 2 * 16 + 1; width++)
        check_swiglu(*state, gate + 1, up + 1, forge_shape_of(3, width));
    check_swiglu(*state, gate, up, forge_shape_of(3, 1000));
    check_swiglu(*state, gate, up, forge_shape_of(37));
    check_swiglu(*state, gate, up, forge_shape_of(2, 3, 5, 7));
    check_swiglu(*state, gate, up, forge_shape_of(3, 0));
    check_swiglu(*state, gate, up, forge_shape_of(0, 3));
    free(gate);
    free(up);
}

static void test_swiglu_of_extreme_numbers_equals_the_definition(void **state)
{
    float numbers[] = {NAN,  INFINITY, -INFINITY, 1e30f,  -1e30f, 87, -87, 88.8f, -88.8f, 104,
                       -104, 0,        -0.0f,     1e-37f, 1,      -1, 709, -709,  20,     -20};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    float gate[COUNT * COUNT], up[COUNT * COUNT];
    for (size_t i = 0; i < COUNT * COUNT; i++) {
        gate[i] = numbers[i / COUNT];
        up[i] = fabsf(numbers[i % COUNT]) < 1e30f ? numbers[i % COUNT] / 1000 : numbers[i % COUNT];
        if (fabsf(up[i]) < INFINITY && fabsf(up[i]) > 1e3f)
            up[i] = 3; /* the product overflows in f32, but not in f64 */
    }
    check_swiglu(*state, gate, up, forge_shape_of(COUNT, COUNT));
}

/* --- cache_write ---------------------------------------------------------------------------------------- */

enum { PLACES = 13, HEADS = 3, ROWS = 11, MAX_DIM = 64 };

/* A launch with its operands. */
struct writing {
    struct composite_attributes attributes;
    struct view inputs[3], output;
    size_t size_bytes;
};

static struct writing new_writing(forge_dtype dtype, int64_t d, int64_t rows, int32_t *places)
{
    forge_shape cache = forge_shape_of(PLACES, HEADS, d), x = forge_shape_of(rows, HEADS, d);
    void *old = new_elements(dtype, forge_shape_elements(&cache), 2);
    struct writing w = {
        .attributes = {.name = "cache_write"},
        .inputs = {view_packed(dtype, old, cache),
                   view_packed(FORGE_F32, new_elements(FORGE_F32, forge_shape_elements(&x), 2), x),
                   view_packed(FORGE_I32, places, forge_shape_of(rows))}};
    w.size_bytes = view_size_bytes(&w.inputs[0]);
    w.output = view_packed(dtype, malloc(w.size_bytes), cache);
    assert_non_null(w.output.data);
    return w;
}

static void free_writing(struct writing *w)
{
    free(w->inputs[0].data);
    free(w->inputs[1].data);
    free(w->output.data);
}

/* Returns the bytes of the cache that the body computes. The caller frees them. */
static void *expected_cache(struct workbench *bench, const struct writing *w)
{
    struct value values[3];
    const struct value *inputs[3];
    struct dim_table dims = {0};
    joule_error error = {0};
    for (size_t i = 0; i < 3; i++) {
        values[i] = (struct value){.dtype = w->inputs[i].dtype, .shape = w->inputs[i].shape};
        inputs[i] = &values[i];
    }
    forge_graph *body = library_body(&w->attributes, inputs, 3, &dims, &error);
    if (!body || forge_compile(body, bench->device, &bench->program, &error) != JOULE_OK ||
        forge_instance_new(bench->program, bench->device, bench->states, &bench->instance, &error) !=
            JOULE_OK)
        fail_msg("%s", error.message);
    for (size_t i = 0; i < 3; i++)
        workbench_set(bench, (char[]){(char)('0' + i), 0}, w->inputs[i].data);
    workbench_run(bench);
    forge_tensor tensor = workbench_output(bench, "0");
    void *bytes = malloc(w->size_bytes);
    memcpy(bytes, forge_tensor_data(&tensor), w->size_bytes);
    workbench_unload(bench);
    forge_graph_free(body);
    return bytes;
}

static void check_writing(struct workbench *bench, const struct writing *w)
{
    void *expected = expected_cache(bench, w);
    struct launch launch = {OP_COMPOSITE, &w->attributes, w->inputs, 3, &w->output, 1};
    EACH_ISA (isa) {
        assert_non_null(kernel_for(isa, &launch));
        run_kernel(isa, &launch);
        assert_memory_equal(w->output.data, expected, w->size_bytes);
        assert_in_place(isa, &launch);
    }
    free(expected);
}

/* Negative places count from the end. Places out of range are ignored. If several rows have the same place,
 * the last row is written. */
static void test_written_caches_of_all_types_equal_the_definition(void **state)
{
    int32_t places[ROWS] = {0, 12, 5, -1, -13, -14, 13, INT32_MAX, INT32_MIN, 5, 7};
    for (size_t type = 0; type < WEIGHT_TYPES; type++) {
        size_t block = forge_dtype_block_elements(storage_types[type]);
        const int64_t dims[] = {block == 1 ? 8 : (int64_t)block, block == 1 ? 24 : 2 * (int64_t)block};
        for (size_t i = 0; i < 2 && block <= 32; i++)
            for (int64_t rows = 0; rows <= ROWS; rows += rows ? 5 : 1) {
                struct writing w = new_writing(storage_types[type], dims[i], rows, places);
                check_writing(*state, &w);
                free_writing(&w);
            }
    }
}

/* The numbers are not subnormal, because the device reads subnormal numbers as 0. */
static void test_extreme_numbers_are_written_as_the_definition_says(void **state)
{
    int32_t places[ROWS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const float numbers[] = {1e30f, 1e-36f, 1e-7f, 65504, 70000, 8.3e6f, 1e7f, -0.0f, 3e38f, 2e-8f, 1};
    for (size_t type = 0; type < 5; type++) {
        struct writing w = new_writing(storage_types[type], MAX_DIM, ROWS, places);
        float *x = w.inputs[1].data;
        for (size_t i = 0; i < ROWS * HEADS * MAX_DIM; i++)
            x[i] = (x[i] + copysignf(2, x[i])) / 4 * numbers[i / (HEADS * MAX_DIM)];
        x[5] = NAN;
        x[500] = INFINITY;
        x[900] = -INFINITY;
        check_writing(*state, &w);
        free_writing(&w);
    }
}

/* Places that are not written keep their bytes, even bytes that a conversion to floats and back would
 * change. */
static void test_other_places_keep_their_bytes(void **state)
{
    (void)state;
    int32_t places[] = {3, 99};
    for (size_t type = 0; type < 5; type++) {
        struct writing w = new_writing(storage_types[type], MAX_DIM, 2, places);
        struct launch launch = {OP_COMPOSITE, &w.attributes, w.inputs, 3, &w.output, 1};
        size_t place = w.size_bytes / PLACES;
        unsigned char *old = w.inputs[0].data, *new = w.output.data;
        for (size_t i = 0; i < w.size_bytes; i++)
            old[i] = (unsigned char)random_bits();
        EACH_ISA (isa) {
            run_kernel(isa, &launch);
            assert_memory_equal(new, old, 3 * place);
            assert_memory_not_equal(new + 3 * place, old + 3 * place, place);
            assert_memory_equal(new + 4 * place, old + 4 * place, (PLACES - 4) * place);
            assert_in_place(isa, &launch);
        }
        free_writing(&w);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_embeddings_of_all_types_equal_the_definition),
        TEST(test_rotations_of_whole_and_part_heads_equal_the_definition),
        TEST(test_swiglu_of_every_width_equals_the_definition),
        TEST(test_swiglu_of_extreme_numbers_equals_the_definition),
        TEST(test_written_caches_of_all_types_equal_the_definition),
        TEST(test_extreme_numbers_are_written_as_the_definition_says),
        TEST(test_other_places_keep_their_bytes),
    };
    return cmocka_run_group_tests_name("cpu token rows", tests, NULL, NULL);
}
