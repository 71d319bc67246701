/* backends/cpu/attention.c - see attention.h. */
#include "forge/backends/cpu/attention.h"

#include <string.h>
#include "forge/backends/cpu/kernel.h"
#include "forge/backends/cpu/packed.h"

enum {
    /* Maximum number of queries per block. In causal attention, a larger block computes more masked
     * scores. */
    ROWS = 3 * GEMM_TILE_ROWS,
    MIN_ROWS = 8,
    /* Maximum number of elements of each of the two score matrices in scratch memory. */
    SCORES = (KERNEL_SCRATCH_BYTES - GEMM_SCRATCH_BYTES) / 4 / 2,
};
#define MIN_THREAD_WORK 4e6 /* minimum work per thread, in FLOP */

enum { Q, K, V, GRADIENT };

/* A strided matrix view; steps are in elements. */
struct matrix {
    const float *data;
    int64_t next_row, next_column;
};

/* The sizes of an attention. q: [batch, groups * shared, t, d]; k: [batch, groups, s, d]; v: [batch, groups,
 * s, e]; result: [batch, groups * shared, t, e]. There are t queries and s keys; `shared` heads of q use one
 * head of k and v. */
struct attention {
    size_t groups, shared, t, s, d, e;
    size_t rows; /* queries per block */
    bool is_causal;
    float scale;
};

static size_t whole_lanes(size_t count)
{
    return (count + ATTENTION_LANES - 1) / ATTENTION_LANES * ATTENTION_LANES;
}

static struct attention attention_of(const struct launch *launch)
{
    const struct composite_attributes *attributes = launch->attributes;
    const forge_shape *q = &launch->inputs[Q].shape, *k = &launch->inputs[K].shape;
    struct attention a = {.groups = (size_t)k->dims[1],
                          .shared = (size_t)(q->dims[1] / k->dims[1]),
                          .t = (size_t)q->dims[2],
                          .s = (size_t)k->dims[2],
                          .d = (size_t)q->dims[3],
                          .e = (size_t)launch->inputs[V].shape.dims[3],
                          .is_causal = attributes->numbers[0] != 0,
                          .scale = (float)attributes->reals[0]};
    size_t max_rows = SCORES / whole_lanes(a.s);
    a.rows = max_rows < ROWS ? max_rows : ROWS;
    return a;
}

/* --- supported inputs ----------------------------------------------------------------------------------- */

static bool takes_inputs(const struct launch *launch, size_t count)
{
    const struct composite_attributes *attributes = launch->attributes;
    bool are_valid = true;
    if (launch->input_count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        are_valid &= launch->inputs[i].dtype == FORGE_F32 && launch->inputs[i].shape.rank == 4;
    if (!are_valid)
        return false;
    const int64_t *k = launch->inputs[K].shape.dims, *v = launch->inputs[V].shape.dims;
    return k[1] > 0 && k[2] > 0 && k[3] > 0 && v[3] > 0 && k[2] <= SCORES / MIN_ROWS - ATTENTION_LANES &&
           attributes->reals[0] > 0;
}

bool attention_takes(const struct launch *launch)
{
    const struct view *out = &launch->outputs[0];
    return takes_inputs(launch, 3) && launch->output_count == 1 && view_is(out, &out->shape);
}

bool attention_takes_gradient(const struct launch *launch)
{
    const struct composite_attributes *attributes = launch->attributes;
    bool are_valid = takes_inputs(launch, 4) && launch->output_count == 3 && attributes->wanted == 7 &&
                     attributes->given == 1;
    for (size_t i = 0; are_valid && i < 3; i++)
        are_valid = view_is(&launch->outputs[i], &launch->inputs[i].shape);
    return are_valid;
}

size_t attention_pieces(const struct launch *launch, size_t *out_grain)
{
    struct attention a = attention_of(launch);
    double flop = 2. * (double)(a.shared * a.t) * (double)a.s * (double)(a.d + a.e);
    *out_grain = 1 + (size_t)(MIN_THREAD_WORK / (flop + 1));
    return (size_t)launch->inputs[Q].shape.dims[0] * a.groups;
}

/* --- blocks --------------------------------------------------------------------------------------------- */

/* Returns the matrix [rows, columns] of one head of a view of rank 4, from row `row` on. */
static struct matrix head_of(const struct view *view, size_t example, size_t head, size_t row)
{
    const int64_t *strides = view->strides;
    return (struct matrix){(const float *)view->data + (int64_t)example * strides[0] +
                               (int64_t)head * strides[1] + (int64_t)row * strides[2],
                           strides[2], strides[3]};
}

/* Returns the address of row `row` of one head of a packed output. */
static float *result_of(const struct view *view, size_t example, size_t head, size_t row)
{
    return (float *)view->data + (int64_t)example * view->strides[0] + (int64_t)head * view->strides[1] +
           (int64_t)row * view->strides[2];
}

static struct matrix transposed(struct matrix m)
{
    return (struct matrix){m.data, m.next_column, m.next_row};
}

/* A block of queries of one head, and the keys to which at least one of these queries attends. */
struct block {
    const struct attention_code *code;
    const struct attention *a;
    size_t row, rows, columns, next_row; /* next_row: row stride of the score matrices, in elements */
    /* weights, gradients: [rows, columns]. `gradients` first holds the gradient of the weights, and is then
     * overwritten by the gradient of the scores. */
    float *weights, *gradients;
    void *scratch;
};

/* Computes c = a x b, or c += a x b if `adds`. a: [rows, depth]; b: [depth, columns]; c: [rows, columns],
 * with a row stride of next_row elements. */
static void multiply(const struct block *block, struct matrix a, struct matrix b, size_t rows, size_t columns,
                     size_t depth, float *c, size_t next_row, bool adds)
{
    struct gemm gemm = {.rows = rows,
                        .columns = columns,
                        .depth = depth,
                        .a = {.data = a.data, .next_line = a.next_row, .next_k = a.next_column},
                        .b = {.data = b.data, .next_line = b.next_column, .next_k = b.next_row},
                        .c = c,
                        .next_row = (int64_t)next_row,
                        .adds = adds};
    gemm_run(block->code->gemm, &gemm, block->scratch);
}

static struct matrix scores_in(const struct block *block, const float *data)
{
    return (struct matrix){data, (int64_t)block->next_row, 1};
}

/* Returns the number of keys to which query i of the block attends. These are always the first keys. */
static size_t visible_keys(const struct block *block, size_t i)
{
    const struct attention *a = block->a;
    return a->is_causal ? a->s - a->t + block->row + i + 1 : a->s;
}

static struct block block_at(const struct attention_code *code, const struct attention *a, size_t row,
                             void *scratch)
{
    struct block block = {.code = code, .a = a, .row = row, .scratch = scratch};
    block.rows = a->t - row < a->rows ? a->t - row : a->rows;
    block.columns = visible_keys(&block, block.rows - 1);
    block.next_row = whole_lanes(block.columns);
    block.weights = (float *)((char *)scratch + GEMM_SCRATCH_BYTES);
    block.gradients = block.weights + SCORES;
    return block;
}

/* Computes block->weights = softmax(scale q k^T). q: [rows, d]; k: [columns, d]; masked weights become 0. */
static void weigh(const struct block *block, struct matrix q, struct matrix k)
{
    multiply(block, q, transposed(k), block->rows, block->columns, block->a->d, block->weights,
             block->next_row, false);
    for (size_t i = 0; i < block->rows; i++) {
        float *row = block->weights + i * block->next_row;
        size_t visible = visible_keys(block, i);
        block->code->weigh(row, block->a->scale, visible);
        memset(row + visible, 0, (block->columns - visible) * sizeof *row);
    }
}

/* --- forward -------------------------------------------------------------------------------------------- */

static void run_head(const struct attention_code *code, const struct attention *a,
                     const struct launch *launch, size_t example, size_t head, void *scratch)
{
    const struct view *in = launch->inputs;
    struct matrix k = head_of(&in[K], example, head / a->shared, 0),
                  v = head_of(&in[V], example, head / a->shared, 0);
    for (size_t row = 0; row < a->t; row += a->rows) {
        struct block block = block_at(code, a, row, scratch);
        weigh(&block, head_of(&in[Q], example, head, row), k);
        multiply(&block, scores_in(&block, block.weights), v, block.rows, a->e, block.columns,
                 result_of(&launch->outputs[0], example, head, row), a->e, false);
    }
}

void attention_run(const struct attention_code *code, const struct launch *launch, size_t first, size_t end,
                   void *scratch)
{
    struct attention a = attention_of(launch);
    for (size_t piece = first; piece < end; piece++)
        for (size_t i = 0; i < a.shared; i++)
            run_head(code, &a, launch, piece / a.groups, piece % a.groups * a.shared + i, scratch);
}

/* --- gradient ------------------------------------------------------------------------------------------- */

/* Computes block->gradients, the gradient of the scores, from the result's gradient g and block->weights.
 * g: [rows, e]; v: [columns, e]. */
static void weigh_back(const struct block *block, struct matrix g, struct matrix v)
{
    multiply(block, g, transposed(v), block->rows, block->columns, block->a->e, block->gradients,
             block->next_row, false);
    for (size_t i = 0; i < block->rows; i++) {
        float *row = block->gradients + i * block->next_row;
        size_t visible = visible_keys(block, i);
        block->code->back(block->weights + i * block->next_row, row, block->a->scale, visible);
        memset(row + visible, 0, (block->columns - visible) * sizeof *row);
    }
}

static void run_head_back(const struct attention_code *code, const struct attention *a,
                          const struct launch *launch, size_t example, size_t head, void *scratch)
{
    const struct view *in = launch->inputs, *out = launch->outputs;
    size_t group = head / a->shared;
    struct matrix k = head_of(&in[K], example, group, 0), v = head_of(&in[V], example, group, 0);
    for (size_t row = 0; row < a->t; row += a->rows) {
        struct block block = block_at(code, a, row, scratch);
        struct matrix q = head_of(&in[Q], example, head, row), g = head_of(&in[GRADIENT], example, head, row);
        weigh(&block, q, k);
        weigh_back(&block, g, v);
        struct matrix weights = scores_in(&block, block.weights), scores = scores_in(&block, block.gradients);
        multiply(&block, scores, k, block.rows, a->d, block.columns, result_of(&out[Q], example, head, row),
                 a->d, false);
        multiply(&block, transposed(scores), q, block.columns, a->d, block.rows,
                 result_of(&out[K], example, group, 0), a->d, true);
        multiply(&block, transposed(weights), g, block.columns, a->e, block.rows,
                 result_of(&out[V], example, group, 0), a->e, true);
    }
}

void attention_run_gradient(const struct attention_code *code, const struct launch *launch, size_t first,
                            size_t end, void *scratch)
{
    struct attention a = attention_of(launch);
    for (size_t piece = first; piece < end; piece++) {
        size_t example = piece / a.groups, group = piece % a.groups;
        memset(result_of(&launch->outputs[K], example, group, 0), 0, a.s * a.d * sizeof(float));
        memset(result_of(&launch->outputs[V], example, group, 0), 0, a.s * a.e * sizeof(float));
        for (size_t i = 0; i < a.shared; i++)
            run_head_back(code, &a, launch, example, group * a.shared + i, scratch);
    }
}
