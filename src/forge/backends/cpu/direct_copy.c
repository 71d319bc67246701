/* backends/cpu/direct_copy.c - copies the rows of images that a direct convolution reads; see direct.h. */
#include <string.h>
#include "forge/backends/cpu/direct.h"

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t quotient_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

int64_t direct_copy_rows(const struct direct *d, int64_t rows)
{
    return d->taps[0] == 1 ? rows : (rows - 1) * d->stride[0] + (d->taps[0] - 1) * d->dilation[0] + 1;
}

/* Copies `count` pixels of a row of x, `stride` pixels apart. channels: of the block, if x is in
 * LAYOUT_LAST. */
static void copy_pixels(const struct direct_code *code, const struct direct *d, const float *from,
                        int64_t stride, int64_t count, int64_t channels, float *to)
{
    int64_t next = d->from == LAYOUT_LAST ? d->in * d->groups : d->next_pixel;
    if (d->next_pixel == 1 && stride == 1) {
        memcpy(to, from, (size_t)count * sizeof *to);
    } else if (d->next_pixel == 1 && stride == 2) {
        code->copy_second(from, (size_t)count, to);
    } else if (d->next_pixel == 1) {
        for (int64_t i = 0; i < count; i++)
            to[i] = from[i * stride];
    } else if (channels < LAYOUT_LANES) {
        memset(to, 0, (size_t)(count * LAYOUT_LANES) * sizeof *to);
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * LAYOUT_LANES, from + i * stride * next, (size_t)channels * sizeof *to);
    } else if (stride == 1 && next == LAYOUT_LANES) {
        memcpy(to, from, (size_t)(count * LAYOUT_LANES) * sizeof *to);
    } else {
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * LAYOUT_LANES, from + i * stride * next, LAYOUT_LANES * sizeof *to);
    }
}

/* Copies one row of a plane, with padding. from: the row; NULL: a row of padding. */
static void copy_row(const struct direct_code *code, const struct direct *d, const float *from,
                     int64_t channels, float *to)
{
    int64_t pixels = d->copy_phase / d->next_pixel, stride = d->stride[1];
    int64_t next = d->from == LAYOUT_LAST ? d->in * d->groups : d->next_pixel;
    for (int64_t phase = 0; phase < d->phases; phase++, to += d->copy_phase) {
        /* pixel i of the phase is pixel i * stride + phase - before of x */
        int64_t first = phase - d->before[1], begin = first < 0 ? quotient_up(-first, stride) : 0;
        int64_t end = d->x_columns > first ? quotient_up(d->x_columns - first, stride) : 0;
        begin = min(begin, pixels);
        end = from ? min(end, pixels) : begin;
        end = end > begin ? end : begin;
        memset(to, 0, (size_t)(begin * d->next_pixel) * sizeof *to);
        if (end > begin)
            copy_pixels(code, d, from + (begin * stride + first) * next, stride, end - begin, channels,
                        to + begin * d->next_pixel);
        memset(to + end * d->next_pixel, 0, (size_t)((pixels - end) * d->next_pixel) * sizeof *to);
    }
}

const float *direct_row(const struct direct *d, const float *x, int64_t image, int64_t group, int64_t plane,
                        int64_t row)
{
    int64_t size = d->x_rows * d->x_columns, channels = d->in * d->groups;
    switch (d->from) {
    case LAYOUT_PACKED:
        return x + ((image * channels + group * d->in + plane) * d->x_rows + row) * d->x_columns;
    case LAYOUT_LAST:
        return x + (image * size + row * d->x_columns) * channels + group * d->in + plane * LAYOUT_LANES;
    default:
        return x + (image * layout_blocks(channels) + group * d->in_blocks + plane) * size * LAYOUT_LANES +
               row * d->x_columns * LAYOUT_LANES;
    }
}

void direct_copy_band(const struct direct_code *code, const struct direct *d, const float *x, int64_t image,
                      int64_t group, int64_t row, int64_t rows, float *to)
{
    bool is_by_channel = d->next_pixel == 1;
    int64_t planes = is_by_channel ? d->in : d->in_blocks, count = direct_copy_rows(d, rows);
    int64_t step = d->taps[0] == 1 ? d->stride[0] : 1;
    for (int64_t p = 0; p < planes; p++)
        for (int64_t i = 0; i < count; i++, to += d->copy_row) {
            int64_t at = row * d->stride[0] - d->before[0] + i * step;
            bool is_there = at >= 0 && at < d->x_rows;
            copy_row(code, d, is_there ? direct_row(d, x, image, group, p, at) : NULL,
                     is_by_channel ? 1 : min(LAYOUT_LANES, d->in - p * LAYOUT_LANES), to);
        }
}
