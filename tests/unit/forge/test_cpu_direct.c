/* Checks the CPU's kernels for direct convolutions and for images in other layouts (direct.h, reorder.h), for
 * each instruction set, against their bodies in f64. Also checks that the sums of a convolution do not depend
 * on the layout of its images. */
#include "forge/backends/cpu/direct.h"
#include "forge/ir/layout.h"
#include "unit/forge/composite_trial.h"

struct size {
    int64_t n, in, out, rows, columns, kernel_rows, kernel_columns;
    uint32_t groups, stride[2], dilation[2], before[2], after[2];
    int64_t less; /* rows and columns that the stated size of the result leaves out */
};

static int64_t result_size(const struct size *s, int i)
{
    int64_t in = i ? s->columns : s->rows, taps = i ? s->kernel_columns : s->kernel_rows;
    return (in + s->before[i] + s->after[i] - (taps - 1) * s->dilation[i] - 1) / s->stride[i] + 1 - s->less;
}

static struct view random_view(forge_shape shape)
{
    return view_packed(FORGE_F32, random_floats(FORGE_F32, forge_shape_elements(&shape)), shape);
}

/* Describes a convolution without further steps. */
static struct fused fused_of(const struct size *s)
{
    struct fused fused = {
        .count = 1, .steps = {{OP_CONV, 0, 2, {0, 1}}}, .conv = {.groups = s->groups ? s->groups : 1}};
    for (int i = 0; i < 2; i++) {
        fused.conv.stride[i] = s->stride[i];
        fused.conv.dilation[i] = s->dilation[i];
        fused.conv.before[i] = s->before[i];
        fused.conv.after[i] = s->after[i];
        fused.conv.size[i] = s->less ? result_size(s, i) : 0;
    }
    fused.conv.flags = s->less ? CONV_SIZED : 0;
    fused.steps[0].kind = (uint8_t)fused.conv.flags;
    return fused;
}

static void add_step(struct fused *fused, enum op op, uint8_t kind, uint8_t operand)
{
    uint8_t previous = (uint8_t)(FUSED_MAX_INPUTS + fused->count - 1);
    fused->steps[fused->count++] = (struct fused_step){
        (uint8_t)op, kind, op == OP_UNARY ? 1 : 2, {previous, op == OP_UNARY ? 0 : operand}};
}

/* Adds images that are multiplied by and added to a number for each channel, and then added to the sums. */
static void add_side(struct trial *t, struct fused *fused, forge_shape each, forge_shape channels)
{
    uint8_t sums = (uint8_t)(FUSED_MAX_INPUTS + fused->count - 1), first = (uint8_t)t->input_count;
    t->inputs[t->input_count++] = random_view(channels);
    t->inputs[t->input_count++] = random_view(each);
    fused->steps[fused->count++] =
        (struct fused_step){OP_BINARY, FORGE_MUL, 2, {first, (uint8_t)(first + 1)}};
    add_step(fused, OP_BINARY, FORGE_ADD, first);
    fused->steps[fused->count] =
        (struct fused_step){OP_BINARY, FORGE_ADD, 2, {(uint8_t)(FUSED_MAX_INPUTS + fused->count - 1), sums}};
    fused->count++;
}

/* Adds an operand of every extent, and steps that read them. */
static void add_steps(struct trial *t, struct fused *fused, forge_shape result, enum value_layout to)
{
    forge_shape each = layout_shape(to, &result), channels = each;
    channels.dims[to == LAYOUT_LAST ? 1 : 2] = channels.dims[to == LAYOUT_LAST ? 2 : 3] = 1;
    forge_shape of_images = channels;
    channels.dims[0] = 1;
    const forge_shape shapes[] = {channels, of_images, each, {0}};
    for (uint8_t i = 0; i < 4; i++) {
        add_step(fused, OP_BINARY, i % 2 ? FORGE_MUL : FORGE_ADD, (uint8_t)t->input_count);
        t->inputs[t->input_count++] = random_view(shapes[i]);
    }
    add_side(t, fused, each, channels);
    add_step(fused, OP_UNARY, FORGE_RELU, 0);
    add_step(fused, OP_UNARY, FORGE_SIGMOID, 0);
}

/* Checks a convolution from one layout to another. */
static void check_conv(struct workbench *bench, const struct size *s, enum value_layout from,
                       enum value_layout to, bool has_steps)
{
    struct fused fused = fused_of(s);
    forge_shape images = forge_shape_of(s->n, s->in, s->rows, s->columns);
    forge_shape weight = forge_shape_of(s->out, s->in / fused.conv.groups, s->kernel_rows, s->kernel_columns);
    forge_shape result = forge_shape_of(s->n, s->out, result_size(s, 0), result_size(s, 1));
    struct trial t = {.attributes = {.name = "layout_conv", .numbers = {from, to}},
                      .input_count = 2,
                      .inputs = {random_view(layout_shape(from, &images)), random_view(weight)},
                      .tolerance = 0x1p-20 * (double)(weight.dims[1] * weight.dims[2] * weight.dims[3] + 8)};
    if (has_steps)
        add_steps(&t, &fused, result, to);
    assert_true(fused_write(&fused, &t.attributes));
    string_copy(t.attributes.name, sizeof t.attributes.name, "layout_conv");
    run_trial(bench, &t, true);
    for (size_t i = 0; i < t.input_count; i++)
        free(t.inputs[i].data);
}

#define PLAIN                                                                                                \
    {1, 1}, {1, 1}, {0, 0},                                                                                  \
    {                                                                                                        \
        0, 0                                                                                                 \
    }
#define SAME                                                                                                 \
    {1, 1}, {1, 1}, {1, 1},                                                                                  \
    {                                                                                                        \
        1, 1                                                                                                 \
    }

static void check_layouts(void **state, const struct size *s)
{
    for (enum value_layout from = LAYOUT_PACKED; from < LAYOUT_COUNT; from++)
        for (enum value_layout to = LAYOUT_LAST; to < LAYOUT_COUNT; to++)
            if (to != LAYOUT_LAST || s->out / (s->groups ? s->groups : 1) % LAYOUT_LANES == 0)
                check_conv(*state, s, from, to, s->rows % 2);
}

static void test_channels_of_every_number(void **state)
{
    static const int64_t counts[] = {1, 3, 15, 16, 17, 31, 32, 33, 48, 70};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k += 3) {
            struct size s = {2, counts[i], counts[(k + i) % 10], 5, 6, 3, 3, 1, SAME};
            check_layouts(state, &s);
        }
}

static void test_rows_of_every_length(void **state)
{
    for (int64_t n = 1; n <= 33; n++) {
        struct size padded = {1, 16, 32, 3, n, 3, 3, 1, SAME}, direct = {1, 16, 32, 3, n, 1, 1, 1, PLAIN};
        check_layouts(state, &padded);
        check_layouts(state, &direct);
    }
}

static void test_strides_dilations_paddings_and_groups(void **state)
{
    static const struct size sizes[] = {
        {2, 16, 16, 9, 11, 3, 3, 1, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
        {1, 3, 64, 17, 18, 7, 7, 1, {2, 2}, {1, 1}, {3, 3}, {3, 3}},
        {2, 32, 16, 8, 9, 1, 1, 1, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
        {1, 20, 17, 12, 13, 3, 2, 1, {1, 3}, {2, 1}, {2, 0}, {0, 2}},
        {1, 16, 16, 12, 13, 3, 3, 1, {3, 2}, {1, 3}, {0, 3}, {4, 4}},
        {2, 16, 16, 6, 7, 3, 3, 1, PLAIN},
        {2, 32, 32, 6, 7, 3, 3, 2, SAME},
        {1, 48, 96, 6, 7, 1, 1, 3, PLAIN},
        {1, 16, 16, 1, 1, 3, 3, 1, {1, 1}, {1, 1}, {3, 3}, {3, 3}}, /* most taps read padding only */
        {1, 16, 48, 40, 112, 3, 3, 1, SAME},                        /* several bands */
        {3, 300, 40, 7, 7, 1, 1, 1, PLAIN},
        {2, 16, 16, 9, 11, 1, 1, 1, PLAIN, 2},
        {2, 16, 32, 9, 12, 3, 3, 1, SAME, 1},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_layouts(state, &sizes[i]);
}

/* Makes the last input the first one, and changes the numbers of the operands. */
static void rotate_inputs(struct trial *t, struct fused *fused)
{
    struct view last = t->inputs[t->input_count - 1];
    memmove(t->inputs + 1, t->inputs, (t->input_count - 1) * sizeof *t->inputs);
    t->inputs[0] = last;
    for (uint32_t i = 0; i < fused->count; i++)
        for (int k = 0; k < fused->steps[i].operand_count; k++)
            if (fused->steps[i].operands[k] < FUSED_MAX_INPUTS)
                fused->steps[i].operands[k] = (uint8_t)((fused->steps[i].operands[k] + 1) % t->input_count);
}

/* Checks the composite fused_conv, whose images are packed. */
static void check_fused(struct workbench *bench, const struct size *s, bool is_rotated)
{
    struct fused fused = fused_of(s);
    forge_shape images = forge_shape_of(s->n, s->in, s->rows, s->columns);
    forge_shape weight = forge_shape_of(s->out, s->in, s->kernel_rows, s->kernel_columns);
    forge_shape result = forge_shape_of(s->n, s->out, result_size(s, 0), result_size(s, 1));
    struct trial t = {.input_count = 2,
                      .inputs = {random_view(images), random_view(weight)},
                      .tolerance = 0x1p-20 * (double)(weight.dims[1] * weight.dims[2] * weight.dims[3] + 8)};
    add_steps(&t, &fused, result, LAYOUT_PACKED);
    if (is_rotated)
        rotate_inputs(&t, &fused);
    assert_true(fused_write(&fused, &t.attributes));
    assert_string_equal(t.attributes.name, "fused_conv");
    struct view out = view_packed(FORGE_F32, NULL, result);
    struct launch launch = {OP_COMPOSITE, &t.attributes, t.inputs, t.input_count, &out, 1};
    assert_true(direct_takes_fused(&launch));
    run_trial(bench, &t, true);
    for (size_t i = 0; i < t.input_count; i++)
        free(t.inputs[i].data);
}

static void test_packed_images_with_steps(void **state)
{
    static const struct size sizes[] = {
        {2, 16, 32, 9, 11, 3, 3, 1, SAME},
        {1, 32, 64, 13, 13, 3, 3, 1, PLAIN},
        {3, 130, 32, 8, 9, 1, 1, 1, PLAIN},
        {1, 16, 64, 20, 31, 3, 3, 1, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int is_rotated = 0; is_rotated < 2; is_rotated++)
            check_fused(*state, &sizes[i], is_rotated);
}

static void check_reorder(void **state, forge_shape images)
{
    for (enum value_layout from = 0; from < LAYOUT_COUNT; from++)
        for (enum value_layout to = 0; to < LAYOUT_COUNT; to++) {
            struct trial t = {
                .attributes = {.name = "reorder", .numbers = {from, to, (uint32_t)images.dims[1]}},
                .input_count = 1,
                .inputs = {random_view(layout_shape(from, &images))}};
            run_trial(*state, &t, true);
            free(t.inputs[0].data);
        }
}

static void test_reorders_move_each_element(void **state)
{
    for (int64_t channels = 1; channels <= 40; channels += 3)
        check_reorder(state, forge_shape_of(2, channels, 5, 7));
    check_reorder(state, forge_shape_of(1, 16, 16, 16));
    check_reorder(state, forge_shape_of(1, 32, 17, 31));
    check_reorder(state, forge_shape_of(3, 16, 1, 1));
}

/* --- the same sums -------------------------------------------------------------------------------------- */

/* Runs a convolution of images that are given packed, and returns its result, also packed. */
static float *conv_in(enum isa isa, const struct size *s, const struct view *images,
                      const struct view *weight, enum value_layout from, enum value_layout to)
{
    struct fused fused = fused_of(s);
    forge_shape result = forge_shape_of(s->n, s->out, result_size(s, 0), result_size(s, 1));
    struct composite_attributes conv = {0}, in = {"reorder", .numbers = {0, from, (uint32_t)s->in}},
                                out = {"reorder", .numbers = {to, 0, (uint32_t)s->out}};
    struct view x = random_view(layout_shape(from, &images->shape)),
                y = random_view(layout_shape(to, &result)), z = random_view(result), inputs[2] = {x, *weight};
    assert_true(fused_write(&fused, &conv));
    strcpy(conv.name, "layout_conv");
    conv.numbers[0] = from;
    conv.numbers[1] = to;
    run_kernel(isa, &(struct launch){OP_COMPOSITE, &in, images, 1, &x, 1});
    run_kernel(isa, &(struct launch){OP_COMPOSITE, &conv, inputs, 2, &y, 1});
    run_kernel(isa, &(struct launch){OP_COMPOSITE, &out, &y, 1, &z, 1});
    free(x.data);
    free(y.data);
    return z.data;
}

static void test_sums_do_not_depend_on_the_layout(void **state)
{
    static const struct size s = {2, 35, 32, 9, 10, 3, 3, 1, SAME};
    struct view images = random_view(forge_shape_of(s.n, s.in, s.rows, s.columns)),
                weight = random_view(forge_shape_of(s.out, s.in, 3, 3));
    (void)state;
    float *first[2] = {NULL, NULL}; /* with fused multiply-adds, and without */
    EACH_ISA (isa)
        for (enum value_layout from = 0; from < LAYOUT_COUNT; from++)
            for (enum value_layout to = LAYOUT_LAST; to < LAYOUT_COUNT; to++) {
                float *y = conv_in(isa, &s, &images, &weight, from, to), **same = &first[isa == ISA_PLAIN];
                if (*same)
                    assert_memory_equal(y, *same, sizeof *y * (size_t)(s.n * s.out * s.rows * s.columns));
                else
                    *same = y;
                if (y != *same)
                    free(y);
            }
    free(first[0]);
    free(first[1]);
    free(images.data);
    free(weight.data);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_channels_of_every_number),
        TEST(test_rows_of_every_length),
        TEST(test_strides_dilations_paddings_and_groups),
        TEST(test_packed_images_with_steps),
        TEST(test_reorders_move_each_element),
        TEST(test_sums_do_not_depend_on_the_layout),
    };
    return cmocka_run_group_tests_name("cpu_direct", tests, NULL, NULL);
}
