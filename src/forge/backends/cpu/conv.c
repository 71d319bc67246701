/* backends/cpu/conv.c - see conv.h. */
#include "forge/backends/cpu/conv.h"

#include <string.h>
#include "forge/reference/conv.h"

enum { X = CONV_AXES - 1 };

bool conv_takes_f32(const struct launch *launch)
{
    const struct conv_attributes *attributes = launch->attributes;
    return launch->outputs[0].dtype == FORGE_F32 && attributes->accumulate == FORGE_F32;
}

/* One image and group. */
struct image {
    const struct conv *conv;
    const float *x, *weight; /* of the group's first channels */
    int64_t weight_row, weight_channel;
};

/* --- packing ------------------------------------------------------------------------------------------------- */

/* Where k is: an input channel of the group, and a tap. */
struct depth {
    int64_t channel, tap[CONV_AXES];
};

static struct depth depth_of(const struct conv *c, size_t k)
{
    struct depth d;
    int64_t rest = (int64_t)k;
    for (int i = X; i >= 0; i--) {
        d.tap[i] = rest % c->axes[i].taps;
        rest /= c->axes[i].taps;
    }
    d.channel = rest;
    return d;
}

static void depth_next(const struct conv *c, struct depth *d)
{
    for (int i = X; i >= 0; i--) {
        if (++d->tap[i] < c->axes[i].taps)
            return;
        d->tap[i] = 0;
    }
    d->channel++;
}

/* Rows of weights: output channels. */
static void pack_weights(const struct gemm_side *side, size_t line, size_t lines, size_t k, size_t k_count,
                         size_t width, void *out)
{
    const struct image *image = side->data;
    const struct conv *c = image->conv;
    struct depth d = depth_of(c, k);
    float *to = out;
    for (size_t i = 0; i < k_count; i++, to += width, depth_next(c, &d)) {
        const float *from = image->weight + (int64_t)line * image->weight_row +
                            d.channel * image->weight_channel + d.tap[0] * c->w[0] + d.tap[1] * c->w[1] +
                            d.tap[2] * c->w[2];
        for (size_t l = 0; l < lines; l++)
            to[l] = from[(int64_t)l * image->weight_row];
        memset(to + lines, 0, (width - lines) * sizeof *to);
    }
}

/* The places from (z, y, first) on in one line of the output, as one tap reads them. */
static void pack_line(const struct conv *c, const float *channel, const struct depth *d,
                      const int64_t place[CONV_AXES], size_t count, float *to)
{
    int64_t z = slide_input(&c->axes[0], place[0], d->tap[0]),
            y = slide_input(&c->axes[1], place[1], d->tap[1]);
    memset(to, 0, count * sizeof *to);
    if (z < 0 || y < 0)
        return;
    struct slide_run run = slide_run(&c->axes[X], d->tap[X], place[X], (int64_t)count);
    const float *from = channel + z * c->x[0] + y * c->x[1] + run.in * c->x[X];
    int64_t step = run.in_step * c->x[X];
    if (step == 1 && run.out_step == 1)
        memcpy(to + run.out, from, (size_t)(run.count > 0 ? run.count : 0) * sizeof *to);
    else
        for (int64_t i = 0; i < run.count; i++)
            to[run.out + i * run.out_step] = from[i * step];
}

/* Columns: places of the output, of which each k group holds what one tap reads. */
static void pack_places(const struct gemm_side *side, size_t line, size_t lines, size_t k, size_t k_count,
                        size_t width, void *out)
{
    const struct image *image = side->data;
    const struct conv *c = image->conv;
    for (size_t l = 0, count; l < lines; l += count) {
        int64_t at = (int64_t)(line + l);
        int64_t place[CONV_AXES] = {at / c->out[X] / c->out[1], at / c->out[X] % c->out[1], at % c->out[X]};
        size_t to_end = (size_t)(c->out[X] - place[X]);
        count = to_end < lines - l ? to_end : lines - l;
        struct depth d = depth_of(c, k);
        for (size_t i = 0; i < k_count; i++, depth_next(c, &d))
            pack_line(c, image->x + d.channel * c->x_channel, &d, place, count, (float *)out + i * width + l);
    }
    for (size_t i = 0; lines < width && i < k_count; i++)
        memset((float *)out + i * width + lines, 0, (width - lines) * sizeof(float));
}

/* --- products ------------------------------------------------------------------------------------------------ */

static size_t columns_of(const struct conv *c)
{
    return (size_t)(c->out[0] * c->out[1] * c->out[2]);
}

static size_t depth_size(const struct conv *c)
{
    return (size_t)(c->in_channels * c->axes[0].taps * c->axes[1].taps * c->axes[2].taps);
}

static struct gemm_cut cut_of(const struct conv *c)
{
    return gemm_cut((size_t)c->out_channels, columns_of(c), depth_size(c));
}

size_t conv_pieces(const struct launch *launch, size_t *out_grain)
{
    struct conv c = conv_of(launch);
    struct gemm_cut cut = cut_of(&c);
    size_t groups = c.out_channels ? (size_t)(c.channels / c.out_channels) : 0;
    *out_grain = gemm_grain(&cut, depth_size(&c));
    return (size_t)launch->outputs[0].shape.dims[0] * groups * cut.row_pieces * cut.column_pieces;
}

static struct image image_of(const struct launch *launch, const struct conv *c, int64_t n, int64_t group)
{
    const float *x = launch->inputs[0].data, *weight = launch->inputs[1].data;
    struct image image = {.conv = c,
                          .x = x + n * c->x_batch + group * c->in_channels * c->x_channel,
                          .weight = weight + group * (c->is_transposed ? c->in_channels : c->out_channels) *
                                                 c->w_first,
                          .weight_row = c->w_first,
                          .weight_channel = c->w_second};
    if (c->is_transposed) {
        image.weight_row = c->w_second;
        image.weight_channel = c->w_first;
    }
    return image;
}

void conv_run(const struct gemm_code *code, const struct launch *launch, size_t first, size_t end,
              void *scratch)
{
    struct conv c = conv_of(launch);
    struct gemm_cut cut = cut_of(&c);
    size_t pieces = cut.row_pieces * cut.column_pieces, columns = columns_of(&c);
    int64_t groups = c.out_channels ? c.channels / c.out_channels : 1;
    for (size_t i = first, done; i < end; i += done) {
        size_t product = i / pieces;
        struct image image = image_of(launch, &c, (int64_t)product / groups, (int64_t)product % groups);
        struct gemm gemm = {.rows = (size_t)c.out_channels,
                            .columns = columns,
                            .depth = depth_size(&c),
                            .a = {.data = &image, .pack = pack_weights},
                            .b = {.data = &image, .pack = pack_places},
                            .c =
                                (float *)launch->outputs[0].data + product * (size_t)c.out_channels * columns,
                            .next_row = (int64_t)columns};
        done = gemm_run_piece(code, &gemm, &cut, i % pieces, end - i, scratch);
    }
}
