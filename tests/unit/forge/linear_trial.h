/* tests/unit/forge/linear_trial.h - checks products with weights of all element types, for tables of kernels.
 *
 * The results are compared with products in f64 of the converted elements. trial_add names the tables first.
 */
#ifndef LINEAR_TRIAL_H
#define LINEAR_TRIAL_H

#include <math.h>
#include "forge/ir/library.h"
#include "unit/forge/cpu_kernels.h"

/* The tables to check. */
static struct {
    const char *name;
    const struct cpu_kernel *table;
} trials[ISA_COUNT];
static size_t trial_count;

static inline void trial_add(const char *name, const struct cpu_kernel *table)
{
    trials[trial_count].name = name;
    trials[trial_count++].table = table;
}

static inline const char *trial_name(const struct cpu_kernel *table)
{
    for (size_t i = 0; i < trial_count; i++)
        if (trials[i].table == table)
            return trials[i].name;
    return "";
}

#define EACH_TABLE(table)                                                                                    \
    for (size_t trial_ = 0; trial_ < trial_count; trial_++)                                                  \
        for (const struct cpu_kernel *table = trials[trial_].table; table; table = NULL)

static const struct {
    forge_dtype dtype;
    enum linear_rounding rounding;
} kinds[] = {{FORGE_F32, LINEAR_EXACT}, {FORGE_F16, LINEAR_EXACT}, {FORGE_BF16, LINEAR_EXACT},
             {FORGE_BF16, LINEAR_BF16}, {FORGE_Q8_0, LINEAR_Q8_0}, {FORGE_Q4_0, LINEAR_Q8_0},
             {FORGE_Q4_K, LINEAR_Q8_0}, {FORGE_Q6_K, LINEAR_Q8_0}};
enum { KINDS = sizeof kinds / sizeof *kinds, FIRST_BLOCK = 4 };

enum { MAX_ROWS = 43, MAX_COLUMNS = 50, MAX_DEPTH = 1536 };

/* A launch with its operands. */
struct product {
    struct composite_attributes attributes;
    struct view inputs[3], output;
    size_t rows, columns, depth;
    float *x, *y, *bias;
    void *weight;
    double *exact, *magnitude; /* [rows, columns]: the result, and the sum of the magnitudes of its terms */
};

static inline void fill(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = (float)random_number();
}

/* Converts x to `dtype` and back. */
static inline void round_trip(const float *x, forge_dtype dtype, size_t count, float *out)
{
    void *stored = malloc(forge_dtype_size_bytes(dtype, count) + 1);
    assert_int_equal(forge_convert(FORGE_F32, x, dtype, stored, count), JOULE_OK);
    assert_int_equal(forge_convert(dtype, stored, FORGE_F32, out, count), JOULE_OK);
    free(stored);
}

static inline void compute_exact(struct product *p)
{
    float *x = malloc(p->rows * p->depth * sizeof *x), *w = malloc(p->columns * p->depth * sizeof *w);
    memcpy(x, p->x, p->rows * p->depth * sizeof *x);
    if (p->attributes.numbers[0] != LINEAR_EXACT)
        round_trip(p->x, p->attributes.numbers[0] == LINEAR_Q8_0 ? FORGE_Q8_0 : FORGE_BF16,
                   p->rows * p->depth, x);
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

static inline struct product new_product(size_t kind, size_t rows, size_t columns, size_t depth,
                                         bool has_bias)
{
    struct product p = {.attributes = {.name = "linear"}, .rows = rows, .columns = columns, .depth = depth};
    forge_dtype dtype = kinds[kind].dtype;
    float *weight = malloc(columns * depth * sizeof *weight);
    p.attributes.numbers[0] = kinds[kind].rounding;
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
    compute_exact(&p);
    return p;
}

static inline void free_product(struct product *p)
{
    free(p->x);
    free(p->y);
    free(p->bias);
    free(p->weight);
    free(p->exact);
    free(p->magnitude);
}

static inline struct launch launch_of(const struct product *p)
{
    return (struct launch){OP_COMPOSITE, &p->attributes, p->inputs, p->bias ? 3 : 2, &p->output, 1};
}

static inline void check_output(const struct product *p, const char *name)
{
    for (size_t i = 0; i < p->rows * p->columns; i++)
        if (!(fabs((double)p->y[i] - p->exact[i]) <= 1e-6 * (p->magnitude[i] + 1)))
            fail_msg("%s, %s%s, [%zu, %zu, %zu], element %zu: %.9g, not %.9g", name,
                     forge_dtype_name(p->inputs[1].dtype), p->inputs[1].repacked ? " repacked" : "", p->rows,
                     p->columns, p->depth, i, (double)p->y[i], p->exact[i]);
}

/* Returns the repacked weight of a launch, or NULL if the kernel does not repack it. The pieces are repacked
 * one by one, from the last to the first. The caller frees the weight. */
static inline void *repacked(const struct cpu_kernel *table, const struct launch *launch)
{
    const struct cpu_kernel *kernel = kernel_in(table, launch);
    size_t grain, bytes = kernel->repacked_bytes(launch);
    size_t pieces = (kernel->second_pieces ? kernel->second_pieces : kernel->pieces)(launch, &grain);
    void *copy = bytes ? malloc(bytes) : NULL;
    for (size_t i = pieces; copy && i > 0; i--)
        kernel->repack(launch, i - 1, i, copy);
    return copy;
}

static inline void check_product(struct product *p)
{
    struct launch launch = launch_of(p);
    bool is_block = forge_dtype_block_elements(p->inputs[1].dtype) > 1;
    float *y = malloc(p->rows * p->columns * sizeof *y);
    EACH_TABLE(table)
    {
        assert_non_null(kernel_in(table, &launch));
        run_one_kernel(kernel_in(table, &launch), &launch);
        check_output(p, trial_name(table));
        memcpy(y, p->y, p->rows * p->columns * sizeof *y);
        void *copy = repacked(table, &launch);
        assert_true(copy || (!is_block && p->depth % 2));
        p->inputs[1].repacked = copy;
        run_one_kernel(kernel_in(table, &launch), &launch);
        check_output(p, trial_name(table));
        if (is_block)
            assert_memory_equal(p->y, y, p->rows * p->columns * sizeof *y);
        p->inputs[1].repacked = NULL;
        free(copy);
    }
    free(y);
}

static inline void test_products_equal_those_of_the_converted_elements(void **state)
{
    (void)state;
    const size_t rows[] = {1, 2, 3, 5, 8, 15, MAX_ROWS}, columns[] = {1, 15, 16, 33, MAX_COLUMNS};
    for (size_t t = 0; t < KINDS; t++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            size_t block = forge_dtype_block_elements(kinds[t].dtype);
            const size_t depths[] = {block == 1 ? 7 : block, block == 1 ? 100 : 2 * block, MAX_DEPTH};
            for (size_t d = 0; d < 3; d++) {
                struct product p = new_product(t, rows[r], columns[(r + d) % 5], depths[d], (r + d) % 2 == 0);
                check_product(&p);
                free_product(&p);
            }
        }
}

/* Fills the blocks of a weight with random bytes, or with `byte` if it is not negative. The scales are from
 * 2^-8 to 2 in both signs. */
static inline void fill_blocks(struct product *p, int byte)
{
    forge_dtype dtype = p->inputs[1].dtype;
    size_t size = forge_dtype_size_bytes(dtype, p->columns * p->depth),
           block = forge_dtype_block_bytes(dtype), scale = dtype == FORGE_Q6_K ? 208 : 0;
    uint8_t *bytes = p->weight;
    for (size_t i = 0; i < size; i++)
        bytes[i] = byte < 0 ? (uint8_t)random_bits() : (uint8_t)byte;
    for (size_t i = 0; i < size; i += block) {
        bytes[i + scale + 1] = (uint8_t)((random_bits() & 0x9f) | 0x20);
        if (dtype == FORGE_Q4_K)
            bytes[i + 3] = (uint8_t)((random_bits() & 0x9f) | 0x20);
    }
}

/* Uses blocks of random bytes, because they contain bit patterns that no quantiser writes. */
static inline void test_products_of_random_blocks_equal_those_of_the_converted_elements(void **state)
{
    (void)state;
    for (size_t t = FIRST_BLOCK; t < KINDS; t++) {
        struct product p = new_product(t, 3, 20, 512, false);
        fill_blocks(&p, -1);
        compute_exact(&p);
        check_product(&p);
        free_product(&p);
    }
}

/* Kernels may add products of bytes in 16 bits. */
static inline void test_quants_of_the_largest_magnitude_do_not_overflow(void **state)
{
    (void)state;
    for (size_t t = FIRST_BLOCK; t < KINDS; t++)
        for (int sign = -1; sign <= 1; sign += 2) {
            struct product p = new_product(t, 6, 20, 512, false);
            fill_blocks(&p, kinds[t].dtype == FORGE_Q8_0 ? 0x80 : 0xff);
            for (size_t i = 0; i < p.rows * p.depth; i++)
                p.x[i] = (float)sign;
            compute_exact(&p);
            check_product(&p);
            free_product(&p);
        }
}

/* Asserts that each row of the launch, computed alone, has the same bytes. */
static inline void check_rows_alone(struct product *p, const struct cpu_kernel *table)
{
    struct launch all = launch_of(p);
    float *together = malloc(p->rows * p->columns * sizeof *together);
    run_one_kernel(kernel_in(table, &all), &all);
    memcpy(together, p->y, p->rows * p->columns * sizeof *together);
    for (size_t row = 0; row < p->rows; row++) {
        struct product one = *p;
        one.inputs[0] = view_packed(FORGE_F32, p->x + row * p->depth, forge_shape_of(1, (int64_t)p->depth));
        one.output = view_packed(FORGE_F32, p->y, forge_shape_of(1, (int64_t)p->columns));
        struct launch launch = launch_of(&one);
        run_one_kernel(kernel_in(table, &launch), &launch);
        assert_memory_equal(p->y, together + row * p->columns, p->columns * sizeof *together);
    }
    free(together);
}

/* The bits of a row must not depend on the number of rows. */
static inline void test_each_row_alone_has_the_same_bytes(void **state)
{
    (void)state;
    for (size_t t = 0; t < KINDS; t++) {
        struct product p = new_product(t, MAX_ROWS, MAX_COLUMNS, MAX_DEPTH, true);
        struct launch launch = launch_of(&p);
        EACH_TABLE(table)
        {
            check_rows_alone(&p, table);
            void *copy = repacked(table, &launch);
            p.inputs[1].repacked = copy;
            check_rows_alone(&p, table);
            p.inputs[1].repacked = NULL;
            free(copy);
        }
        free_product(&p);
    }
}

static const struct CMUnitTest linear_tests[] = {
    cmocka_unit_test(test_products_equal_those_of_the_converted_elements),
    cmocka_unit_test(test_products_of_random_blocks_equal_those_of_the_converted_elements),
    cmocka_unit_test(test_quants_of_the_largest_magnitude_do_not_overflow),
    cmocka_unit_test(test_each_row_alone_has_the_same_bytes),
};

#endif
