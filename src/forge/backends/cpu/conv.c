/* backends/cpu/conv.c - see conv.h. */
#include "forge/backends/cpu/conv.h"

#include <string.h>
#include "forge/reference/conv.h"

enum { X = CONV_AXES - 1, TAPS_KNOWN = 16 };

bool conv_takes_f32(const struct launch *launch)
{
    const struct conv_attributes *attributes = launch->attributes;
    return launch->outputs[0].dtype == FORGE_F32 && attributes->accumulate == FORGE_F32;
}

/* All images of one group. */
struct images {
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
    const struct images *images = side->data;
    const struct conv *c = images->conv;
    struct depth d = depth_of(c, k);
    float *to = out;
    for (size_t i = 0; i < k_count; i++, to += width, depth_next(c, &d)) {
        const float *from = images->weight + (int64_t)line * images->weight_row +
                            d.channel * images->weight_channel + d.tap[0] * c->w[0] + d.tap[1] * c->w[1] +
                            d.tap[2] * c->w[2];
        for (size_t l = 0; l < lines; l++)
            to[l] = from[(int64_t)l * images->weight_row];
        for (size_t l = lines; l < width; l++)
            to[l] = 0;
    }
}

/* The line of a channel that these taps read from a place; NULL: padding. */
static const float *find_line(const struct conv *c, const float *channel, const struct depth *d,
                              const int64_t place[CONV_AXES])
{
    int64_t z = slide_input(&c->axes[0], place[0], d->tap[0]),
            y = slide_input(&c->axes[1], place[1], d->tap[1]);
    return z < 0 || y < 0 ? NULL : channel + z * c->x[0] + y * c->x[1];
}

/* `count` places of one line of the output, as a tap reads them from a line; step: between elements of x. */
static void pack_line(const float *line, const struct slide_run *run, int64_t step, size_t count, float *to)
{
    size_t there = line && run->count > 0 ? (size_t)run->count : 0, first = there ? (size_t)run->out : count;
    if (there && run->out_step == 1 && run->in_step * step == 1) {
        for (size_t i = 0; i < first; i++)
            to[i] = 0;
        memcpy(to + first, line + run->in, there * sizeof *to);
        for (size_t i = first + there; i < count; i++)
            to[i] = 0;
        return;
    }
    memset(to, 0, count * sizeof *to);
    for (size_t i = 0; i < there; i++)
        to[run->out + (int64_t)i * run->out_step] = line[(run->in + (int64_t)i * run->in_step) * step];
}

/* A column's place in the output, and its image. */
static const float *find_column(const struct images *images, size_t line, int64_t place[CONV_AXES])
{
    const struct conv *c = images->conv;
    int64_t rest = (int64_t)line;
    for (int i = X; i >= 0; i--) {
        place[i] = rest % c->out[i];
        rest /= c->out[i];
    }
    return images->x + rest * c->x_batch;
}

/* `count` columns beside each other in one line of the output. What a tap reads of a line is the same for all lines. */
static void pack_stretch(const struct conv *c, const float *x, const int64_t place[CONV_AXES], size_t count,
                         size_t k, size_t k_count, size_t width, float *to)
{
    struct slide_run runs[TAPS_KNOWN], run;
    const float *line = NULL;
    struct depth d = depth_of(c, k);
    for (int64_t tap = 0; tap < TAPS_KNOWN && tap < c->axes[X].taps; tap++)
        runs[tap] = slide_run(&c->axes[X], tap, place[X], (int64_t)count);
    for (size_t i = 0; i < k_count; i++, to += width, depth_next(c, &d)) {
        if (i == 0 || d.tap[X] == 0)
            line = find_line(c, x + d.channel * c->x_channel, &d, place);
        if (d.tap[X] < TAPS_KNOWN)
            run = runs[d.tap[X]];
        else
            run = slide_run(&c->axes[X], d.tap[X], place[X], (int64_t)count);
        pack_line(line, &run, c->x[X], count, to);
    }
}

/* Columns: places of the output, of one image after the other. Each k group holds what one tap reads. */
static void pack_places(const struct gemm_side *side, size_t line, size_t lines, size_t k, size_t k_count,
                        size_t width, void *out)
{
    const struct images *images = side->data;
    const struct conv *c = images->conv;
    for (size_t l = 0, count; l < lines; l += count) {
        int64_t place[CONV_AXES];
        const float *x = find_column(images, line + l, place);
        size_t to_end = (size_t)(c->out[X] - place[X]);
        count = to_end < lines - l ? to_end : lines - l;
        pack_stretch(c, x, place, count, k, k_count, width, (float *)out + l);
    }
    for (size_t i = 0; lines < width && i < k_count; i++)
        memset((float *)out + i * width + lines, 0, (width - lines) * sizeof(float));
}

/* What `count` taps from d on, of one line of the kernel, read at one place. */
static void pack_taps(const struct conv *c, const float *channel, const struct depth *d,
                      const int64_t place[CONV_AXES], size_t count, size_t width, float *to)
{
    const struct slide *slide = &c->axes[X]; /* along taps, stride and dilation change places */
    struct slide turned = {slide->in, slide->taps, slide->dilation, slide->stride, slide->before, false};
    const float *from = find_line(c, channel, d, place);
    struct slide_run run = slide_run(&turned, place[X], d->tap[X], (int64_t)count);
    size_t first = count, end = count;
    if (from && run.count > 0) {
        first = (size_t)run.out;
        end = first + (size_t)run.count;
        from += run.in * c->x[X];
    }
    for (size_t i = 0; i < first; i++)
        to[i * width] = 0;
    for (size_t i = first; i < end; i++, from += run.in_step * c->x[X])
        to[i * width] = *from;
    for (size_t i = end; i < count; i++)
        to[i * width] = 0;
}

/* The same column by column, for kernels that are wider than the output, as of a weight's gradient. */
static void pack_places_by_taps(const struct gemm_side *side, size_t line, size_t lines, size_t k,
                                size_t k_count, size_t width, void *out)
{
    const struct images *images = side->data;
    const struct conv *c = images->conv;
    for (size_t l = 0; l < lines; l++) {
        int64_t place[CONV_AXES];
        const float *x = find_column(images, line + l, place);
        struct depth d = depth_of(c, k);
        for (size_t i = 0, count; i < k_count; i += count, depth_next(c, &d)) {
            size_t to_end = (size_t)(c->axes[X].taps - d.tap[X]);
            count = to_end < k_count - i ? to_end : k_count - i;
            pack_taps(c, x + d.channel * c->x_channel, &d, place, count, width, (float *)out + i * width + l);
            d.tap[X] += (int64_t)count - 1;
        }
    }
    for (size_t i = 0; lines < width && i < k_count; i++)
        memset((float *)out + i * width + lines, 0, (width - lines) * sizeof(float));
}

/* --- products ------------------------------------------------------------------------------------------------ */

static size_t places_of(const struct conv *c)
{
    return (size_t)(c->out[0] * c->out[1] * c->out[2]);
}

static size_t depth_size(const struct conv *c)
{
    return (size_t)(c->in_channels * c->axes[0].taps * c->axes[1].taps * c->axes[2].taps);
}

static size_t columns_of(const struct launch *launch, const struct conv *c)
{
    return (size_t)launch->outputs[0].shape.dims[0] * places_of(c);
}

size_t conv_pieces(const struct launch *launch, size_t *out_grain)
{
    struct conv c = conv_of(launch);
    struct gemm_cut cut = gemm_cut((size_t)c.out_channels, columns_of(launch, &c), depth_size(&c));
    size_t groups = c.out_channels ? (size_t)(c.channels / c.out_channels) : 0;
    *out_grain = gemm_grain(&cut, depth_size(&c));
    return groups * cut.row_pieces * cut.column_pieces;
}

static struct images images_of(const struct launch *launch, const struct conv *c, int64_t group)
{
    const float *x = launch->inputs[0].data, *weight = launch->inputs[1].data;
    int64_t channels =
        c->is_transposed ? c->in_channels : c->out_channels; /* of the weight's first dimension */
    struct images images = {.conv = c,
                            .x = x + group * c->in_channels * c->x_channel,
                            .weight = weight + group * channels * c->w_first,
                            .weight_row = c->w_first,
                            .weight_channel = c->w_second};
    if (c->is_transposed) {
        images.weight_row = c->w_second;
        images.weight_channel = c->w_first;
    }
    return images;
}

void conv_run(const struct gemm_code *code, const struct launch *launch, size_t first, size_t end,
              void *scratch)
{
    struct conv c = conv_of(launch);
    size_t places = places_of(&c), columns = columns_of(launch, &c), rows = (size_t)c.out_channels;
    struct gemm_cut cut = gemm_cut(rows, columns, depth_size(&c));
    size_t pieces = cut.row_pieces * cut.column_pieces;
    bool is_wide = !c.is_transposed && c.axes[X].taps > c.out[X];
    for (size_t i = first, done; i < end; i += done) {
        size_t group = i / pieces;
        struct images images = images_of(launch, &c, (int64_t)group);
        struct gemm gemm = {.rows = rows,
                            .columns = columns,
                            .depth = depth_size(&c),
                            .a = {.data = &images, .pack = pack_weights},
                            .b = {.data = &images, .pack = is_wide ? pack_places_by_taps : pack_places},
                            .c = (float *)launch->outputs[0].data + group * rows * places,
                            .next_row = (int64_t)places,
                            .run = places,
                            .next_run = c.channels * (int64_t)places};
        done = gemm_run_piece(code, &gemm, &cut, i % pieces, end - i, scratch);
    }
}
