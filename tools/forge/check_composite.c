/* tools/forge/check_composite.c - makes cases of the composites in ir/library.def; see check_maker.h.
 *
 * Note: a case of CASE_VALUE contains both the composite and its gradient, which are two kernels.
 */
#include <string.h>
#include "base/string.h"
#include "check_maker.h"
#include "forge/ir/fused.h"
#include "forge/ir/layout.h"
#include "forge/ir/builder.h"
#include "forge/ir/library.h"

enum { MAX_INPUTS = ADAMW_INPUTS, MAX_VALUES = 3 };

/* Attributes and inputs of one composite. */
struct arguments {
    struct composite_attributes attributes;
    forge_value in[MAX_INPUTS];
    size_t count;
};

static void add(struct maker *m, struct arguments *a, forge_shape shape, double low, double high)
{
    a->in[a->count++] = maker_input(m, m->dtype, shape, low, high);
}

static forge_shape rows(struct maker *m)
{
    int64_t count = maker_size(m, 20, 2048);
    return forge_shape_of(count, maker_size(m, 150, 2048));
}

static void make_softmax(struct maker *m, struct arguments *a)
{
    add(m, a, rows(m), -4, 4);
}

static void make_log_softmax(struct maker *m, struct arguments *a)
{
    make_softmax(m, a);
}

static void make_cross_entropy(struct maker *m, struct arguments *a)
{
    forge_shape shape = rows(m);
    add(m, a, shape, -4, 4);
    a->in[a->count++] = maker_input(m, FORGE_I32, forge_shape_of(shape.dims[0]), 0, (double)shape.dims[1]);
}

/* Adds the arguments of a normalisation: x and `weights` vectors. Each row has at least 2 values, because the
 * variance of a single value is 0. */
static void add_normed(struct maker *m, struct arguments *a, size_t weights)
{
    forge_shape shape = rows(m);
    shape.dims[1]++;
    a->attributes.reals[0] = 1e-2;
    a->attributes.numbers[0] = 1;
    add(m, a, shape, -2, 2);
    for (size_t i = 0; i < weights; i++)
        add(m, a, forge_shape_of(shape.dims[1]), -1, 1);
}

static void make_layer_norm(struct maker *m, struct arguments *a)
{
    add_normed(m, a, 1 + maker_below(m, 2));
}

static void make_rms_norm(struct maker *m, struct arguments *a)
{
    add_normed(m, a, 1);
}

/* Adds x: [n, channels, width], weight: [channels] and bias: [channels]. */
static void add_images(struct maker *m, struct arguments *a, int64_t groups)
{
    int64_t n = maker_size(m, 6, 32), channels = groups * maker_size(m, 5, 64);
    a->attributes.reals[0] = 1e-2;
    add(m, a, forge_shape_of(n, channels, 1 + maker_size(m, 60, 1024)), -2, 2);
    for (int i = 0; i < 2; i++)
        add(m, a, forge_shape_of(channels), -1, 1);
}

static void make_group_norm(struct maker *m, struct arguments *a)
{
    a->attributes.numbers[0] = 1 + maker_below(m, 3);
    add_images(m, a, a->attributes.numbers[0]);
}

static void make_instance_norm(struct maker *m, struct arguments *a)
{
    add_images(m, a, 1);
    a->attributes.numbers[0] = (uint32_t)forge_value_shape(m->b, a->in[1]).dims[0];
}

static void make_batch_norm_training(struct maker *m, struct arguments *a)
{
    add_images(m, a, 1);
}

static void make_batch_norm(struct maker *m, struct arguments *a)
{
    add_images(m, a, 1);
    forge_shape channels = forge_value_shape(m->b, a->in[1]);
    forge_dtype dtype = builder_accumulator(m->dtype); /* the type of statistics */
    a->in[a->count++] = maker_input(m, dtype, channels, -1, 1);
    a->in[a->count++] = maker_input(m, dtype, channels, 0.25, 2);
}

/* Adds the arguments of one AdamW step, with values as in the first steps of a training. */
static void make_adamw(struct maker *m, struct arguments *a)
{
    static const double lows[] = {-1, -1, -1, 0.25, 0.9, 0.001, 0.1, 0.1, 0.9, 0.001, 1e-8};
    static const double highs[] = {1, 1, 1, 1, 1, 0.1, 1, 0.2, 1, 0.1, 1e-6};
    forge_shape shape = rows(m);
    for (size_t i = 0; i < ADAMW_INPUTS; i++)
        add(m, a, i < ADAMW_KEEP ? shape : (forge_shape){0}, lows[i], highs[i]);
}

static void make_attention(struct maker *m, struct arguments *a)
{
    int64_t b = maker_size(m, 2, 4), kv_heads = maker_size(m, 3, 8), heads = kv_heads * maker_size(m, 3, 1);
    int64_t t = maker_size(m, 70, 256), s = t + maker_size(m, 20, 0), d = maker_size(m, 33, 64);
    int64_t e = maker_size(m, 33, 64);
    a->attributes.reals[0] = 0.25;
    a->attributes.numbers[0] = maker_below(m, 2);
    add(m, a, forge_shape_of(b, heads, t, d), -1, 1);
    add(m, a, forge_shape_of(b, kv_heads, s, d), -1, 1);
    add(m, a, forge_shape_of(b, kv_heads, s, e), -1, 1);
}

static void make_rope(struct maker *m, struct arguments *a)
{
    int64_t heads = maker_size(m, 6, 32), t = maker_size(m, 40, 1024), d = 2 * maker_size(m, 20, 32);
    a->attributes.reals[0] = 10000;
    a->attributes.numbers[0] = maker_below(m, 2);
    add(m, a, forge_shape_of(heads, t, d), -1, 1);
    a->in[a->count++] = maker_input(m, FORGE_I32, forge_shape_of(t), 0, 1000);
}

static void make_gelu_back(struct maker *m, struct arguments *a)
{
    forge_shape shape = rows(m);
    a->attributes.numbers[0] = maker_below(m, 2);
    add(m, a, shape, -1, 1);
    add(m, a, shape, -4, 4);
}

/* --- composites of language models ---------------------------------------------------------------------- */

enum { CACHE_TYPES = 4, WEIGHT_TYPES = 7 };

/* Returns a random element type: one of the first `count` types of the table, or m->dtype instead of f32. In
 * CASE_GRAD returns m->dtype, because block formats round small steps away. In CASE_TIME returns `timed`. */
static forge_dtype storage_type(struct maker *m, uint32_t count, forge_dtype timed)
{
    static const forge_dtype types[WEIGHT_TYPES] = {FORGE_F32,  FORGE_F16,  FORGE_BF16, FORGE_Q8_0,
                                                    FORGE_Q4_0, FORGE_Q4_K, FORGE_Q6_K};
    forge_dtype dtype = types[maker_below(m, count)];
    if (m->purpose == CASE_TIME)
        return timed;
    return dtype == FORGE_F32 || m->purpose == CASE_GRAD ? m->dtype : dtype;
}

/* Returns a random size from 1 to about `max` that is a multiple of `unit`; in CASE_TIME `large`. */
static int64_t size_in_units(struct maker *m, size_t unit, uint32_t max, int64_t large)
{
    return (int64_t)unit * maker_size(m, max / (uint32_t)unit + 1, large / (int64_t)unit);
}

static void add_typed(struct maker *m, struct arguments *a, forge_dtype dtype, forge_shape shape, double low,
                      double high)
{
    a->in[a->count++] = maker_input(m, dtype, shape, low, high);
}

/* Adds random indices from low to high - 1. */
static void add_indices(struct maker *m, struct arguments *a, forge_shape shape, int64_t low, int64_t high)
{
    add_typed(m, a, FORGE_I32, shape, (double)low, (double)high);
}

/* In most cases x is rounded if the weight is in blocks, because there are kernels for these cases. The mean
 * of the weights is not 0, so that sums of many terms do not cancel. */
static void make_linear(struct maker *m, struct arguments *a)
{
    forge_dtype dtype = storage_type(m, WEIGHT_TYPES, FORGE_Q8_0);
    size_t unit = forge_dtype_block_elements(dtype);
    bool is_rounded = (maker_below(m, 8) == 0) != (unit > 1);
    if (m->purpose != CASE_VALUE)
        is_rounded = unit > 1;
    if (is_rounded && unit <= 1)
        unit = forge_dtype_block_elements(FORGE_Q8_0);
    int64_t rows = maker_size(m, 20, 512), in = size_in_units(m, unit, 1200, 2048);
    int64_t out = maker_size(m, 50, 2048);
    a->attributes.numbers[0] = is_rounded;
    add(m, a, forge_shape_of(rows, in), 0, 1);
    add_typed(m, a, dtype, forge_shape_of(out, in), -0.5, 1);
    if (maker_below(m, 2))
        add(m, a, forge_shape_of(out), -1, 1);
}

/* In CASE_VALUE, some ids are out of range. */
static void make_embedding(struct maker *m, struct arguments *a)
{
    forge_dtype dtype = storage_type(m, WEIGHT_TYPES, FORGE_Q8_0);
    int64_t count = maker_size(m, 30, 32000), beyond = m->purpose == CASE_VALUE;
    int64_t width = size_in_units(m, forge_dtype_block_elements(dtype), 150, 2048);
    add_typed(m, a, dtype, forge_shape_of(count, width), -2, 2);
    add_indices(m, a, forge_shape_of(maker_size(m, 20, 512)), -count - beyond, count + beyond);
}

static void make_rotary(struct maker *m, struct arguments *a)
{
    int64_t t = maker_size(m, 20, 512), heads = maker_size(m, 6, 32), half = maker_size(m, 20, 32);
    int64_t rest = m->purpose == CASE_TIME ? 0 : maker_below(m, 5);
    a->attributes.numbers[0] = maker_below(m, 2);
    add(m, a, forge_shape_of(t, heads, 2 * half + rest), -1, 1);
    for (int i = 0; i < 2; i++)
        add(m, a, forge_shape_of(t, half), -1, 1);
}

static void make_swiglu(struct maker *m, struct arguments *a)
{
    forge_shape shape = rows(m);
    add(m, a, shape, -4, 4);
    add(m, a, shape, -1, 1);
}

/* Several rows may have the same place. Some places are outside the cache. */
static void make_cache_write(struct maker *m, struct arguments *a)
{
    forge_dtype dtype = storage_type(m, CACHE_TYPES, FORGE_F16);
    int64_t places = maker_size(m, 20, 16384), heads = maker_size(m, 3, 4), t = maker_size(m, 20, 512);
    int64_t d = size_in_units(m, forge_dtype_block_elements(dtype), 40, 64);
    add_typed(m, a, dtype, forge_shape_of(places, heads, d), -1, 1);
    add(m, a, forge_shape_of(t, heads, d), -1, 1);
    add_indices(m, a, forge_shape_of(t), -places - 1, places + 1);
}

/* Sequences may share pages. Rows of a sequence are often adjacent. In CASE_VALUE, a row may have no key, or
 * a position after the end of its table. */
static void make_paged_attention(struct maker *m, struct arguments *a)
{
    forge_dtype dtype = storage_type(m, CACHE_TYPES, FORGE_F16);
    int64_t t = maker_size(m, 30, 512), kv_heads = maker_size(m, 3, 4),
            heads = kv_heads * maker_size(m, 5, 8);
    int64_t d = size_in_units(m, forge_dtype_block_elements(dtype), 70, 64);
    int64_t page_size = maker_size(m, 9, 16), all_pages = maker_size(m, 20, 128),
            beyond = m->purpose == CASE_VALUE;
    int64_t sequences = maker_size(m, 3, 1), pages = maker_size(m, 10, 128);
    a->attributes.reals[0] = 0.25;
    a->attributes.numbers[0] = (uint32_t)page_size;
    add(m, a, forge_shape_of(t, heads, d), -1, 1);
    for (int i = 0; i < 2; i++)
        add_typed(m, a, dtype, forge_shape_of(all_pages * page_size, kv_heads, d), -1, 1);
    add_indices(m, a, forge_shape_of(sequences, pages), -all_pages, all_pages);
    add_indices(m, a, forge_shape_of(t), -sequences, sequences);
    m->c->inputs[m->c->input_count - 1].is_ascending = maker_below(m, 4) > 0;
    add_indices(m, a, forge_shape_of(t), -beyond, pages * page_size + beyond);
    m->c->inputs[m->c->input_count - 1].is_ascending = maker_below(m, 2);
}

/* --- fused elementwise operations ----------------------------------------------------------------------- */

/* Returns a random step of a smooth function that keeps values small. previous: the operand number of the
 * step before; other: of any value. */
static struct fused_step smooth_step(struct maker *m, uint8_t previous, uint8_t other)
{
    static const uint8_t unaries[] = {FORGE_TANH, FORGE_SIGMOID, FORGE_SILU, FORGE_NEG},
                         binaries[] = {FORGE_ADD, FORGE_SUB, FORGE_MUL};
    if (maker_below(m, 2))
        return (struct fused_step){OP_UNARY, unaries[maker_below(m, 4)], 1, {previous}};
    return (struct fused_step){OP_BINARY, binaries[maker_below(m, 3)], 2, {previous, other}};
}

/* Adds random steps, each of which reads the step before, so that all have one shape. first: the operand that
 * the first step reads. others: numbers of `count` inputs that are broadcast to it. In CASE_VALUE, the last
 * two steps choose between values by a comparison of inputs, which is exact. */
static void add_steps(struct maker *m, struct fused *fused, uint8_t first, const uint8_t *others,
                      uint32_t count)
{
    uint32_t begin = fused->count, end = begin + 2 + maker_below(m, 6);
    uint8_t previous = first;
    while (fused->count < end) {
        uint32_t other = maker_below(m, count + fused->count - begin);
        uint8_t operand = other < count ? others[other] : (uint8_t)(FUSED_MAX_INPUTS + begin + other - count);
        fused->steps[fused->count] = smooth_step(m, previous, operand);
        previous = (uint8_t)(FUSED_MAX_INPUTS + fused->count++);
    }
    if (m->purpose != CASE_VALUE)
        return;
    struct fused_step compare = {OP_BINARY, FORGE_LT, 2, {others[0], others[1]}};
    struct fused_step choose = {OP_SELECT, 0, 3, {(uint8_t)(previous + 1), previous, others[0]}};
    fused->steps[fused->count++] = compare;
    fused->steps[fused->count++] = choose;
}

/* Adds an input of floats, which is f32 instead of a narrower type: such steps are not fused. */
static void add_wide(struct maker *m, struct arguments *a, forge_shape shape, double low, double high)
{
    add_typed(m, a, m->dtype == FORGE_F64 ? FORGE_F64 : FORGE_F32, shape, low, high);
}

/* Inputs: x, a row and a scalar. */
static void make_fused(struct maker *m, struct arguments *a)
{
    forge_shape shape = rows(m);
    struct fused fused = {0};
    add_wide(m, a, shape, -1, 1);
    add_wide(m, a, forge_shape_of(shape.dims[1]), -1, 1);
    add_wide(m, a, (forge_shape){0}, -1, 1);
    add_steps(m, &fused, 0, (const uint8_t[]){0, 1, 2}, 3);
    fused_write(&fused, &a->attributes);
}

/* Adds the inputs of the steps after a product: values of the shape of the product, of `row`, and a scalar.
 * Then adds the steps. */
static void add_rest(struct maker *m, struct arguments *a, struct fused *fused, forge_shape shape,
                     forge_shape row)
{
    add_wide(m, a, shape, -1, 1);
    add_wide(m, a, row, -1, 1);
    add_wide(m, a, (forge_shape){0}, -1, 1);
    add_steps(m, fused, FUSED_MAX_INPUTS, (const uint8_t[]){2, 3, 4}, 3);
    fused_write(fused, &a->attributes);
}

static void make_fused_matmul(struct maker *m, struct arguments *a)
{
    int64_t count = maker_size(m, 70, 512), depth = maker_size(m, 60, 512), columns = maker_size(m, 90, 512);
    uint8_t flags = (uint8_t)maker_below(m, 4);
    struct fused fused = {.count = 1, .steps = {{OP_MATMUL, flags, 2, {0, 1}}}};
    bool is_a = flags & FORGE_TRANSPOSE_A, is_b = flags & FORGE_TRANSPOSE_B;
    add_wide(m, a, is_a ? forge_shape_of(depth, count) : forge_shape_of(count, depth), -1, 1);
    add_wide(m, a, is_b ? forge_shape_of(columns, depth) : forge_shape_of(depth, columns), -1, 1);
    add_rest(m, a, &fused, forge_shape_of(count, columns), forge_shape_of(columns));
}

static void make_fused_conv(struct maker *m, struct arguments *a)
{
    int64_t n = maker_size(m, 3, 4), groups = maker_size(m, 2, 1), in = groups * maker_size(m, 5, 64);
    int64_t out = groups * maker_size(m, 9, 64), width = 3 + maker_size(m, 17, 53);
    uint32_t stride = 1 + maker_below(m, 2);
    struct fused fused = {.count = 1,
                          .steps = {{OP_CONV, 0, 2, {0, 1}}},
                          .conv = {.groups = (uint32_t)groups,
                                   .stride = {1, stride},
                                   .dilation = {1, 1},
                                   .before = {1, 1},
                                   .after = {1, 1}}};
    add_wide(m, a, forge_shape_of(n, in, width, width), -1, 1);
    add_wide(m, a, forge_shape_of(out, in / groups, 3, 3), -1, 1);
    add_rest(m, a, &fused, forge_shape_of(n, out, width, (width - 1) / stride + 1),
             forge_shape_of(out, 1, 1));
}

/* Inputs: x, a row and a scalar. Steps, a softmax or log_softmax of them, and more steps. */
static void make_fused_rows(struct maker *m, struct arguments *a)
{
    static const uint8_t others[] = {0, 1, 2};
    forge_shape shape = rows(m);
    struct fused fused = {0};
    uint8_t kind = maker_below(m, 2) ? FUSED_SOFTMAX : FUSED_LOG_SOFTMAX;
    add_wide(m, a, shape, -1, 1);
    add_wide(m, a, forge_shape_of(shape.dims[1]), -1, 1);
    add_wide(m, a, (forge_shape){0}, -1, 1);
    add_steps(m, &fused, 0, others, 3);
    uint8_t last = (uint8_t)(FUSED_MAX_INPUTS + fused.count - 1);
    fused.steps[fused.count++] = (struct fused_step){OP_COMPOSITE, kind, 1, {last}};
    add_steps(m, &fused, (uint8_t)(last + 1), others, 3);
    fused_write(&fused, &a->attributes);
}

/* --- images in other layouts ---------------------------------------------------------------------------- */

static void make_reorder(struct maker *m, struct arguments *a)
{
    forge_shape images = forge_shape_of(maker_size(m, 3, 4), maker_size(m, 40, 256), maker_size(m, 9, 56),
                                        maker_size(m, 20, 56));
    uint32_t from = maker_below(m, LAYOUT_COUNT), to = maker_below(m, LAYOUT_COUNT);
    add_wide(m, a, layout_shape((enum value_layout)from, &images), -1, 1);
    a->attributes.numbers[0] = from;
    a->attributes.numbers[1] = to;
    a->attributes.numbers[2] = (uint32_t)images.dims[1];
}

/* Inputs: x and the weight, then operands of the steps: images, a number for each channel, and a scalar. */
static void make_layout_conv(struct maker *m, struct arguments *a)
{
    int64_t n = maker_size(m, 3, 4), in = maker_size(m, 18, 64), out = 16 * maker_size(m, 3, 4);
    int64_t width = 3 + maker_size(m, 17, 53);
    uint32_t stride = 1 + maker_below(m, 2), from = maker_below(m, LAYOUT_COUNT), to = 1 + maker_below(m, 2);
    forge_shape images = forge_shape_of(n, in, width, width),
                result = forge_shape_of(n, out, width, (width - 1) / stride + 1),
                one = forge_shape_of(1, out, 1, 1);
    struct fused fused = {
        .count = 4,
        .steps = {{OP_CONV, 0, 2, {0, 1}},
                  {OP_BINARY, FORGE_MUL, 2, {FUSED_MAX_INPUTS, 3}},
                  {OP_BINARY, FORGE_ADD, 2, {2, FUSED_MAX_INPUTS + 1}},
                  {OP_UNARY, FORGE_TANH, 1, {FUSED_MAX_INPUTS + 2}}},
        .conv = {.groups = 1, .stride = {1, stride}, .dilation = {1, 1}, .before = {1, 1}, .after = {1, 1}}};
    add_wide(m, a, layout_shape((enum value_layout)from, &images), -1, 1);
    add_wide(m, a, forge_shape_of(out, in, 3, 3), -1, 1);
    add_wide(m, a, layout_shape((enum value_layout)to, &result), -1, 1);
    add_wide(m, a, layout_shape((enum value_layout)to, &one), -1, 1);
    fused_write(&fused, &a->attributes);
    string_copy(a->attributes.name, sizeof a->attributes.name, "layout_conv");
    a->attributes.numbers[0] = from;
    a->attributes.numbers[1] = to;
}

/* Returns the value of a composite in LAYOUT_PACKED, because outputs of graphs are packed. */
static forge_value to_packed(struct maker *m, const struct arguments *a, forge_value value)
{
    struct composite_attributes reorder = {.name = "reorder", .numbers = {a->attributes.numbers[1]}};
    bool is_reorder = strcmp(a->attributes.name, "reorder") == 0;
    if (!is_reorder && strcmp(a->attributes.name, "layout_conv") != 0)
        return value;
    reorder.numbers[2] =
        is_reorder ? a->attributes.numbers[2] : (uint32_t)forge_value_shape(m->b, a->in[1]).dims[0];
    return library_composite(m->b, &reorder, &value, 1);
}

static const struct recipe {
    const char *name;
    size_t values; /* number of outputs */
    void (*make)(struct maker *m, struct arguments *a);
} recipes[] = {
#define COMPOSITE(name, min_inputs, max_inputs, values) {#name, (values) ? (values) : 1, make_##name},
#include "forge/ir/library.def"
};

const char *composite_name(unsigned i)
{
    return i < sizeof recipes / sizeof *recipes ? recipes[i].name : NULL;
}

bool composite_is_of_models(unsigned i)
{
    static const char *const of_models[] = {"linear",      "embedding",       "rotary", "swiglu",
                                            "cache_write", "paged_attention", NULL};
    return string_is_one_of(recipes[i].name, of_models);
}

static bool is_fused(unsigned i)
{
    static const char *const names[] = {"fused",   "fused_matmul", "fused_conv", "fused_rows",
                                        "reorder", "layout_conv",  NULL};
    return string_is_one_of(recipes[i].name, names);
}

/* Returns true if the gradient of composite i must be checked. No program uses the gradient of an optimiser's
 * step, or of composites that a pass adds for layouts. Gradients without kernels are checked only in
 * CASE_GRAD: those of the composites of language models and of fused operations, and the gradient of gelu's
 * gradient. */
static bool has_gradient(const struct maker *m, unsigned i)
{
    bool has_kernel = !composite_is_of_models(i) && recipes[i].make != make_gelu_back && !is_fused(i);
    bool has_layout = recipes[i].make == make_reorder || recipes[i].make == make_layout_conv;
    return recipes[i].make != make_adamw && !has_layout && (m->purpose == CASE_GRAD || has_kernel);
}

bool composite_make(struct maker *m, unsigned i)
{
    const struct recipe *recipe = &recipes[i];
    struct arguments a = {0};
    forge_value out[MAX_VALUES];
    if (m->purpose == CASE_GRAD && !has_gradient(m, i))
        return false;
    string_copy(a.attributes.name, sizeof a.attributes.name, recipe->name);
    recipe->make(m, &a);
    library_composite_many(m->b, &a.attributes, a.in, a.count, out);
    out[0] = to_packed(m, &a, out[0]);
    for (size_t k = 0; m->purpose != CASE_GRAD && k < recipe->values; k++) {
        char name[8] = "y";
        if (k)
            string_print(name, sizeof name, "y%zu", k);
        forge_output(m->b, name, out[k]);
    }
    if (m->purpose != CASE_TIME && has_gradient(m, i))
        maker_gradients(m, out[0]);
    return true;
}
