/* tools/forge/check_composite.c - makes cases of the composites in ir/library.def; see check_maker.h.
 *
 * Note: a case of CASE_VALUE contains both the composite and its gradient, which are two kernels.
 */
#include <string.h>
#include "base/string.h"
#include "check_maker.h"
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
    add(m, a, channels, -1, 1);
    add(m, a, channels, 0.25, 2);
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

/* The composites of language models have no cases: they take f32 only, so that no reference in f64 exists. */
#define make_linear          NULL
#define make_embedding       NULL
#define make_rotary          NULL
#define make_swiglu          NULL
#define make_cache_write     NULL
#define make_paged_attention NULL

static const struct recipe {
    const char *name;
    size_t values;                                      /* number of outputs */
    void (*make)(struct maker *m, struct arguments *a); /* NULL: no cases */
} recipes[] = {
#define COMPOSITE(name, min_inputs, max_inputs, values) {#name, values, make_##name},
#include "forge/ir/library.def"
};

const char *composite_name(unsigned i)
{
    return i < sizeof recipes / sizeof *recipes ? recipes[i].name : NULL;
}

bool composite_exists(unsigned i)
{
    return i < sizeof recipes / sizeof *recipes && recipes[i].make;
}

/* Returns true if the gradient of the composite must be checked. No program uses the gradient of an
 * optimiser's step. */
static bool has_gradient(const struct recipe *recipe)
{
    return recipe->make != make_adamw;
}

bool composite_make(struct maker *m, unsigned i)
{
    const struct recipe *recipe = &recipes[i];
    struct arguments a = {0};
    forge_value out[MAX_VALUES];
    if (m->purpose == CASE_GRAD && !has_gradient(recipe))
        return false;
    string_copy(a.attributes.name, sizeof a.attributes.name, recipe->name);
    recipe->make(m, &a);
    library_composite_many(m->b, &a.attributes, a.in, a.count, out);
    for (size_t k = 0; m->purpose != CASE_GRAD && k < recipe->values; k++) {
        char name[8] = "y";
        if (k)
            string_print(name, sizeof name, "y%zu", k);
        forge_output(m->b, name, out[k]);
    }
    if (m->purpose != CASE_TIME && has_gradient(recipe))
        maker_gradients(m, out[0]);
    return true;
}
