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

/* A strided matrix view; steps are in elements. is_stored: the elements have the type of the inputs,
 * otherwise f32. */
struct matrix {
    const void *data;
    int64_t next_row, next_column;
    bool is_stored;
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

static bool takes_inputs(const struct launch *launch, forge_dtype dtype, size_t count)
{
    const struct composite_attributes *attributes = launch->attributes;
    bool are_valid = true;
    if (launch->input_count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        are_valid &= launch->inputs[i].dtype == dtype && launch->inputs[i].shape.rank == 4;
    if (!are_valid)
        return false;
    const int64_t *k = launch->inputs[K].shape.dims, *v = launch->inputs[V].shape.dims;
    return k[1] > 0 && k[2] > 0 && k[3] > 0 && v[3] > 0 && k[2] <= SCORES / MIN_ROWS - ATTENTION_LANES &&
           attributes->reals[0] > 0;
}

static bool takes(const struct launch *launch, forge_dtype dtype)
{
    const struct view *out = &launch->outputs[0];
    return takes_inputs(launch, dtype, 3) && launch->output_count == 1 && view_has(out, dtype, &out->shape);
}

static bool takes_gradient(const struct launch *launch, forge_dtype dtype)
{
    const struct composite_attributes *attributes = launch->attributes;
    bool are_valid = takes_inputs(launch, dtype, 4) && launch->output_count == 3 && attributes->wanted == 7 &&
                     attributes->given == 1;
    for (size_t i = 0; are_valid && i < 3; i++)
        are_valid = view_has(&launch->outputs[i], dtype, &launch->inputs[i].shape);
    return are_valid;
}

bool attention_takes(const struct launch *launch)
{
    return takes(launch, FORGE_F32);
}

bool attention_takes_bf16(const struct launch *launch)
{
    return takes(launch, FORGE_BF16);
}

bool attention_takes_f16(const struct launch *launch)
{
    return takes(launch, FORGE_F16);
}

bool attention_takes_gradient(const struct launch *launch)
{
    return takes_gradient(launch, FORGE_F32);
}

bool attention_takes_gradient_bf16(const struct launch *launch)
{
    return takes_gradient(launch, FORGE_BF16);
}

bool attention_takes_gradient_f16(const struct launch *launch)
{
    return takes_gradient(launch, FORGE_F16);
}

size_t attention_pieces(const struct launch *launch, size_t *out_grain)
{
    struct attention a = attention_of(launch);
    double flop = 2. * (double)(a.shared * a.t) * (double)a.s * (double)(a.d + a.e);
    *out_grain = 1 + (size_t)(MIN_THREAD_WORK / (flop + 1));
    return (size_t)launch->inputs[Q].shape.dims[0] * a.groups;
}

/* --- blocks --------------------------------------------------------------------------------------------- */

/* Returns the offset of row `row` of one head of a view of rank 4, in elements. */
static int64_t offset_of(const struct view *view, size_t example, size_t head, size_t row)
{
    const int64_t *strides = view->strides;
    return (int64_t)example * strides[0] + (int64_t)head * strides[1] + (int64_t)row * strides[2];
}

/* Returns the matrix [rows, columns] of one head of a view, from row `row` on. */
static struct matrix head_of(const struct attention_code *code, const struct view *view, size_t example,
                             size_t head, size_t row)
{
    int64_t offset = offset_of(view, example, head, row) * (int64_t)code->elements->bytes;
    return (struct matrix){(const char *)view->data + offset, view->strides[2], view->strides[3], true};
}

/* Returns the address of row `row` of one head of a packed output. */
static void *result_of(const struct attention_code *code, const struct view *view, size_t example,
                       size_t head, size_t row)
{
    return (char *)view->data + offset_of(view, example, head, row) * (int64_t)code->elements->bytes;
}

static struct matrix transposed(struct matrix m)
{
    return (struct matrix){m.data, m.next_column, m.next_row, m.is_stored};
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

/* Where a product goes: [rows, columns], with a row stride of next_row elements. is_stored: the elements have
 * the type of the outputs, otherwise f32. adds: the product is added; then the elements are f32. */
struct target {
    void *data;
    size_t next_row;
    bool is_stored, adds;
};

/* Computes c = a x b, or c += a x b. a: [rows, depth]; b: [depth, columns]; c: [rows, columns]. */
static void multiply(const struct block *block, struct matrix a, struct matrix b, size_t rows, size_t columns,
                     size_t depth, struct target c)
{
    const struct gemm_elements *elements = block->code->elements;
    struct gemm gemm = {.rows = rows,
                        .columns = columns,
                        .depth = depth,
                        .a = {.data = a.data, .next_line = a.next_row, .next_k = a.next_column},
                        .b = {.data = b.data, .next_line = b.next_column, .next_k = b.next_row},
                        .c = c.data,
                        .next_row = (int64_t)c.next_row,
                        .adds = c.adds,
                        .narrow = c.is_stored ? elements->narrow : NULL};
    gemm.a.pack = a.is_stored ? elements->pack : NULL;
    gemm.b.pack = b.is_stored ? elements->pack : NULL;
    gemm_run(elements->code, &gemm, block->scratch);
}

static struct matrix scores_in(const struct block *block, const float *data)
{
    return (struct matrix){data, (int64_t)block->next_row, 1, false};
}

static struct target to_scores(const struct block *block, float *data)
{
    return (struct target){data, block->next_row, false, false};
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
    multiply(block, q, transposed(k), block->rows, block->columns, block->a->d,
             to_scores(block, block->weights));
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
    struct matrix k = head_of(code, &in[K], example, head / a->shared, 0),
                  v = head_of(code, &in[V], example, head / a->shared, 0);
    for (size_t row = 0; row < a->t; row += a->rows) {
        struct block block = block_at(code, a, row, scratch);
        void *result = result_of(code, &launch->outputs[0], example, head, row);
        weigh(&block, head_of(code, &in[Q], example, head, row), k);
        multiply(&block, scores_in(&block, block.weights), v, block.rows, a->e, block.columns,
                 (struct target){result, a->e, true, false});
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
    multiply(block, g, transposed(v), block->rows, block->columns, block->a->e,
             to_scores(block, block->gradients));
    for (size_t i = 0; i < block->rows; i++) {
        float *row = block->gradients + i * block->next_row;
        size_t visible = visible_keys(block, i);
        block->code->back(block->weights + i * block->next_row, row, block->a->scale, visible);
        memset(row + visible, 0, (block->columns - visible) * sizeof *row);
    }
}

/* The gradients of k and v of one head, as f32, to which the gradients from all blocks are added. */
struct sums {
    float *k, *v; /* [s, d], [s, e] */
};

static void run_head_back(const struct attention_code *code, const struct attention *a,
                          const struct launch *launch, size_t example, size_t head, const struct sums *sums,
                          void *scratch)
{
    const struct view *in = launch->inputs;
    size_t group = head / a->shared;
    struct matrix k = head_of(code, &in[K], example, group, 0), v = head_of(code, &in[V], example, group, 0);
    for (size_t row = 0; row < a->t; row += a->rows) {
        struct block block = block_at(code, a, row, scratch);
        struct matrix q = head_of(code, &in[Q], example, head, row),
                      g = head_of(code, &in[GRADIENT], example, head, row);
        void *of_q = result_of(code, &launch->outputs[Q], example, head, row);
        weigh(&block, q, k);
        weigh_back(&block, g, v);
        struct matrix weights = scores_in(&block, block.weights), scores = scores_in(&block, block.gradients);
        multiply(&block, scores, k, block.rows, a->d, block.columns,
                 (struct target){of_q, a->d, true, false});
        multiply(&block, transposed(scores), q, block.columns, a->d, block.rows,
                 (struct target){sums->k, a->d, false, true});
        multiply(&block, transposed(weights), g, block.columns, a->e, block.rows,
                 (struct target){sums->v, a->e, false, true});
    }
}

size_t attention_shared_bytes(const struct launch *launch)
{
    return (forge_shape_elements(&launch->inputs[K].shape) + forge_shape_elements(&launch->inputs[V].shape)) *
           sizeof(float);
}

/* Returns where the gradients of k and v are added up: in the outputs if they are f32, otherwise in
 * `shared`. */
static struct sums sums_of(const struct attention_code *code, const struct attention *a,
                           const struct launch *launch, size_t piece, float *shared)
{
    const struct view *out = launch->outputs;
    size_t example = piece / a->groups, group = piece % a->groups;
    if (!code->elements->narrow)
        return (struct sums){result_of(code, &out[K], example, group, 0),
                             result_of(code, &out[V], example, group, 0)};
    float *of_v = shared + forge_shape_elements(&out[K].shape);
    return (struct sums){shared + piece * a->s * a->d, of_v + piece * a->s * a->e};
}

void attention_run_gradient(const struct attention_code *code, const struct launch *launch, size_t first,
                            size_t end, float *shared, void *scratch)
{
    struct attention a = attention_of(launch);
    gemm_narrow_fn *narrow = code->elements->narrow;
    for (size_t piece = first; piece < end; piece++) {
        size_t example = piece / a.groups, group = piece % a.groups;
        struct sums sums = sums_of(code, &a, launch, piece, shared);
        memset(sums.k, 0, a.s * a.d * sizeof(float));
        memset(sums.v, 0, a.s * a.e * sizeof(float));
        for (size_t i = 0; i < a.shared; i++)
            run_head_back(code, &a, launch, example, group * a.shared + i, &sums, scratch);
        if (!narrow)
            continue;
        narrow(sums.k, a.s * a.d, result_of(code, &launch->outputs[K], example, group, 0));
        narrow(sums.v, a.s * a.e, result_of(code, &launch->outputs[V], example, group, 0));
    }
}
