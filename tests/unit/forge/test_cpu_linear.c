/* Checks the CPU's products with weights in storage types, for each instruction set, against products in f64
 * of the converted elements. */
#include <math.h>
#include "unit/forge/cpu_kernels.h"

enum { MAX_ROWS = 21, MAX_COLUMNS = 50, MAX_DEPTH = 1536 };

/* A launch with its operands. */
struct product {
    struct composite_attributes attributes;
    struct view inputs[3], output;
    size_t rows, columns, depth;
    float *x, *y, *bias;
    void *weight;
    double *exact, *magnitude; /* [rows, columns]: the result, and the sum of the magnitudes of its terms */
};

static void fill(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = (float)random_number();
}

/* Converts x to `dtype` and back. */
static void round_trip(const float *x, forge_dtype dtype, size_t count, float *out)
{
    void *stored = malloc(forge_dtype_size_bytes(dtype, count) + 1);
    assert_int_equal(forge_convert(FORGE_F32, x, dtype, stored, count), JOULE_OK);
    assert_int_equal(forge_convert(dtype, stored, FORGE_F32, out, count), JOULE_OK);
    free(stored);
}

static void compute_exact(struct product *p, bool is_rounded)
{
    float *x = malloc(p->rows * p->depth * sizeof *x), *w = malloc(p->columns * p->depth * sizeof *w);
    memcpy(x, p->x, p->rows * p->depth * sizeof *x);
    if (is_rounded)
        round_trip(p->x, FORGE_Q8_0, p->rows * p->depth, x);
    assert_int_equal(forge_convert(p->inputs[1].dtype, p->weight, FORGE_F32, w, p->columns * p->depth),
                     JOULE_OK);
    for (size_t i = 0; i < p->rows * p->columns; i++) {
        double sum = p->bias ? (double)p->bias[i % p->columns] : 0, magnitude = fabs(sum);
        for (size_t k = 0; k < p->depth; k++) {
            double term = (double)x[i / p->columns * p->depth + k] * (double)w[i % p->columns * p->depth + k];
            sum += term;
            magnitude += fabs(term);
        }
        p->exact[i] = sum;
        p->magnitude[i] = magnitude;
    }
    free(x);
    free(w);
}

static struct product new_product(forge_dtype dtype, size_t rows, size_t columns, size_t depth, bool has_bias)
{
    struct product p = {.attributes = {.name = "linear"}, .rows = rows, .columns = columns, .depth = depth};
    bool is_rounded = forge_dtype_block_elements(dtype) > 1;
    float *weight = malloc(columns * depth * sizeof *weight);
    p.attributes.numbers[0] = is_rounded;
    p.x = malloc(rows * depth * sizeof *p.x);
    p.y = malloc(rows * columns * sizeof *p.y);
    p.bias = has_bias ? malloc(columns * sizeof *p.bias) : NULL;
    p.weight = malloc(forge_dtype_size_bytes(dtype, columns * depth));
    p.exact = malloc(rows * columns * sizeof *p.exact);
    p.magnitude = malloc(rows * columns * sizeof *p.magnitude);
    fill(p.x, rows * depth);
    fill(weight, columns * depth);
    if (has_bias)
        fill(p.bias, columns);
    memset(p.x, 0, (depth < 32 ? depth : 32) * sizeof *p.x); /* a block of zeros */
    assert_int_equal(forge_convert(FORGE_F32, weight, dtype, p.weight, columns * depth), JOULE_OK);
    free(weight);
    p.inputs[0] = view_packed(FORGE_F32, p.x, forge_shape_of((int64_t)rows, (int64_t)depth));
    p.inputs[1] = view_packed(dtype, p.weight, forge_shape_of((int64_t)columns, (int64_t)depth));
    p.inputs[2] = view_packed(FORGE_F32, p.bias, forge_shape_of((int64_t)columns));
    p.output = view_packed(FORGE_F32, p.y, forge_shape_of((int64_t)rows, (int64_t)columns));
    compute_exact(&p, is_rounded);
    return p;
}

static void free_product(struct product *p)
{
    free(p->x);
    free(p->y);
    free(p->bias);
    free(p->weight);
    free(p->exact);
    free(p->magnitude);
}

static struct launch launch_of(const struct product *p)
{
    return (struct launch){OP_COMPOSITE, &p->attributes, p->inputs, p->bias ? 3 : 2, &p->output, 1};
}

static void check_product(const struct product *p)
{
    struct launch launch = launch_of(p);
    EACH_ISA (isa) {
        assert_non_null(kernel_for(isa, &launch));
        run_kernel(isa, &launch);
        for (size_t i = 0; i < p->rows * p->columns; i++)
            if (!(fabs((double)p->y[i] - p->exact[i]) <= 1e-6 * (p->magnitude[i] + 1)))
                fail_msg("%s, %s, [%zu, %zu, %zu], element %zu: %.9g, not %.9g", isa_name(isa),
                         forge_dtype_name(p->inputs[1].dtype), p->rows, p->columns, p->depth, i,
                         (double)p->y[i], p->exact[i]);
    }
}

static void test_products_equal_those_of_the_converted_elements(void **state)
{
    (void)state;
    const size_t rows[] = {1, 2, 3, 5, 8, MAX_ROWS}, columns[] = {1, 15, 16, 33, MAX_COLUMNS};
    for (size_t t = 0; t < WEIGHT_TYPES; t++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            size_t block = forge_dtype_block_elements(storage_types[t]);
            const size_t depths[] = {block == 1 ? 7 : block, block == 1 ? 100 : 2 * block, MAX_DEPTH};
            for (size_t d = 0; d < 3; d++) {
                struct product p =
                    new_product(storage_types[t], rows[r], columns[(r + d) % 5], depths[d], (r + d) % 2 == 0);
                check_product(&p);
                free_product(&p);
            }
        }
}

/* Uses blocks of random bytes, because they contain bit patterns that no quantiser writes. */
static void test_products_of_random_blocks_equal_those_of_the_converted_elements(void **state)
{
    (void)state;
    for (size_t t = 3; t < WEIGHT_TYPES; t++) {
        struct product p = new_product(storage_types[t], 3, 20, 512, false);
        size_t size = forge_dtype_size_bytes(storage_types[t], p.columns * p.depth),
               block = forge_dtype_block_bytes(storage_types[t]),
               scale = storage_types[t] == FORGE_Q6_K ? 208 : 0;
        uint8_t *bytes = p.weight;
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)random_bits();
        for (size_t i = 0; i < size; i += block) { /* scales from 2^-8 to 2 in both signs */
            bytes[i + scale + 1] = (uint8_t)((bytes[i + scale + 1] & 0x9f) | 0x20);
            if (storage_types[t] == FORGE_Q4_K)
                bytes[i + 3] = (uint8_t)((bytes[i + 3] & 0x9f) | 0x20);
        }
        compute_exact(&p, true);
        check_product(&p);
        free_product(&p);
    }
}

/* The bits of a row must not depend on the number of rows. */
static void test_each_row_alone_has_the_same_bytes(void **state)
{
    (void)state;
    for (size_t t = 0; t < WEIGHT_TYPES; t++) {
        struct product p = new_product(storage_types[t], MAX_ROWS, MAX_COLUMNS, MAX_DEPTH, true);
        struct launch all = launch_of(&p);
        float *together = malloc(p.rows * p.columns * sizeof *together);
        EACH_ISA (isa) {
            run_kernel(isa, &all);
            memcpy(together, p.y, p.rows * p.columns * sizeof *together);
            for (size_t row = 0; row < p.rows; row++) {
                struct product one = p;
                one.inputs[0] =
                    view_packed(FORGE_F32, p.x + row * p.depth, forge_shape_of(1, (int64_t)p.depth));
                one.output = view_packed(FORGE_F32, p.y, forge_shape_of(1, (int64_t)p.columns));
                struct launch launch = launch_of(&one);
                run_kernel(isa, &launch);
                assert_memory_equal(p.y, together + row * p.columns, p.columns * sizeof *together);
            }
        }
        free(together);
        free_product(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_equal_those_of_the_converted_elements),
        cmocka_unit_test(test_products_of_random_blocks_equal_those_of_the_converted_elements),
        cmocka_unit_test(test_each_row_alone_has_the_same_bytes),
    };
    return cmocka_run_group_tests_name("cpu linear", tests, NULL, NULL);
}
