/* reference/reference_conv.c - convolutions and transposed convolutions in up to three dimensions.
 *
 * x: [batch, channels, spatial...]; out: [batch, out_channels, spatial...]; weight:
 * [out_channels, channels / groups, taps...], or [channels, out_channels / groups, taps...] if transposed.
 * Each tile of an output row is the sum of products of lines of x and lines of the weight. Missing dimensions
 * have size 1.
 * Note: each element is summed over channels, then taps, in the same order for any division of rows among
 * threads.
 */
#include "forge/reference/reference_conv.h"
#include "forge/reference/reference.h"
#include "forge/reference/reference_walk.h"

enum { AXES = CONV_AXES };

struct conv conv_of(const struct launch *launch)
{
    const struct conv_attributes *a = launch->attributes;
    const struct view *x = &launch->inputs[0], *weight = &launch->inputs[1], *out = &launch->outputs[0];
    int64_t groups = a->groups;
    struct conv c = {.x_batch = x->strides[0],
                     .x_channel = x->strides[1],
                     .w_first = weight->strides[0],
                     .w_second = weight->strides[1],
                     .channels = out->shape.dims[1],
                     .in_channels = x->shape.dims[1] / groups,
                     .out_channels = out->shape.dims[1] / groups,
                     .is_transposed = a->flags & CONV_TRANSPOSED,
                     .x_view = x,
                     .weight_view = weight};
    uint32_t missing = AXES + 2 - x->shape.rank;
    for (uint32_t k = 0; k < AXES; k++) {
        uint32_t from = k + 2 - missing; /* dimension of the tensors for spatial dimension k; not used if the
                                          * tensors lack it */
        c.axes[k] = slide_none(1);
        c.out[k] = 1;
        if (k < missing)
            continue;
        c.axes[k] = (struct slide){.in = x->shape.dims[from],
                                   .taps = weight->shape.dims[from],
                                   .stride = a->stride[k - missing],
                                   .dilation = a->dilation[k - missing],
                                   .before = a->before[k - missing],
                                   .is_transposed = c.is_transposed};
        c.out[k] = out->shape.dims[from];
        c.x[k] = x->strides[from];
        c.w[k] = weight->strides[from];
    }
    return c;
}

/* Returns a walk over `count` elements of the view. offset: position of the first element; offset and stride
 * are in elements. */
static struct walk line_of(const struct view *view, int64_t offset, int64_t stride, int64_t count)
{
    return (struct walk){.dtype = dtype_row(view->dtype),
                         .data = view->data,
                         .start = offset,
                         .rank = 1,
                         .dims = {count},
                         .strides = {stride}};
}

/* --- products of two lines ------------------------------------------------------------------------------ */

/* A tile of elements, as doubles or as integers. */
union cells {
    double numbers[TILE];
    uint64_t bits[TILE];
};

/* The loop sums[a + i * da] += x[i] * w[b + i * db] for 0 <= i < count. Either da or db is 0. */
struct products {
    int64_t count, a, da, b, db;
};

static void add_numbers(union cells *sums, const union cells *x, const union cells *w, struct products p)
{
    for (int64_t i = 0; i < p.count; i++)
        sums->numbers[p.a + i * p.da] += x->numbers[i] * w->numbers[p.b + i * p.db];
}

static void add_integers(union cells *sums, const union cells *x, const union cells *w, struct products p)
{
    for (int64_t i = 0; i < p.count; i++)
        sums->bits[p.a + i * p.da] += x->bits[i] * w->bits[p.b + i * p.db];
}

static void load(const struct walk *line, struct tile part, union cells *out)
{
    if (line->dtype->kind == DTYPE_FLOAT)
        walk_load(line, part.first, part.count, out->numbers);
    else
        walk_load_bits(line, part.first, part.count, out->bits);
}

/* Adds the products of one line of x and one line of the weight to a part of an output row. The outer loop is
 * over taps and the inner loop over outputs. If there are more taps than outputs, as in the gradient of a
 * weight, the loops are swapped. Stride and dilation of the slide are then swapped too. In both cases, the
 * products of an element are added in the same order. */
static void add_line(const struct conv *c, int64_t x_offset, int64_t w_offset, struct tile part,
                     union cells *sums)
{
    enum { X = AXES - 1 };
    struct slide axis = c->axes[X];
    bool by_output = !axis.is_transposed && axis.taps > (int64_t)part.count;
    if (by_output)
        axis = (struct slide){axis.in, 0, axis.dilation, axis.stride, axis.before, false};
    struct walk weights = line_of(c->weight_view, w_offset, c->w[X], c->axes[X].taps);
    for (struct tile taps = tile_from(0, (size_t)c->axes[X].taps); taps.count; taps = tile_next(taps)) {
        union cells w, x;
        load(&weights, taps, &w);
        struct tile outer = by_output ? part : taps, inner = by_output ? taps : part;
        for (int64_t k = 0; k < (int64_t)outer.count; k++) {
            struct slide_run run =
                slide_run(&axis, (int64_t)outer.first + k, (int64_t)inner.first, (int64_t)inner.count);
            struct walk line =
                line_of(c->x_view, x_offset + run.in * c->x[X], run.in_step * c->x[X], run.count);
            if (run.count == 0)
                continue;
            load(&line, tile_from(0, (size_t)run.count), &x);
            (line.dtype->kind == DTYPE_FLOAT ? add_numbers : add_integers)(
                sums, &x, &w,
                by_output ? (struct products){run.count, k, 0, run.out, 1}
                          : (struct products){run.count, run.out, run.out_step, k, 0});
        }
    }
}

/* --- rows ----------------------------------------------------------------------------------------------- */

/* Indices of a row of the output: out[n, channel, z, y, :]. */
struct place {
    int64_t n, channel, z, y;
};

static struct place place_of(const struct conv *c, int64_t row)
{
    int64_t y = row % c->out[1], z = row / c->out[1] % c->out[0], of_batch = row / c->out[1] / c->out[0];
    return (struct place){of_batch / c->channels, of_batch % c->channels, z, y};
}

/* Adds the products of all lines of one input channel to a part of a row. Offsets are in elements. */
static void gather_channel(const struct conv *c, const struct place *p, int64_t x_offset, int64_t w_offset,
                           struct tile part, union cells *sums)
{
    for (int64_t kz = 0; kz < c->axes[0].taps; kz++) {
        int64_t z = slide_input(&c->axes[0], p->z, kz);
        for (int64_t ky = 0; z >= 0 && ky < c->axes[1].taps; ky++) {
            int64_t y = slide_input(&c->axes[1], p->y, ky);
            if (y >= 0)
                add_line(c, x_offset + z * c->x[0] + y * c->x[1], w_offset + kz * c->w[0] + ky * c->w[1],
                         part, sums);
        }
    }
}

/* Adds the products of all input channels of the group to a part of a row. */
static void gather(const struct conv *c, const struct place *p, struct tile part, union cells *sums)
{
    int64_t group = p->channel / c->out_channels, own = p->channel % c->out_channels;
    for (int64_t k = 0; k < c->in_channels; k++) {
        int64_t channel = group * c->in_channels + k;
        int64_t w_offset = c->is_transposed ? channel * c->w_first + own * c->w_second
                                            : p->channel * c->w_first + k * c->w_second;
        gather_channel(c, p, p->n * c->x_batch + channel * c->x_channel, w_offset, part, sums);
    }
}

/* Computes rows [first, end) of out: [batch, out_channels, z, y, x]. A row is a line along x. */
void reference_conv(const struct launch *launch, size_t first, size_t end)
{
    const struct view *out = &launch->outputs[0];
    const struct dtype_row *dtype = dtype_row(out->dtype);
    struct conv c = conv_of(launch);
    size_t columns = (size_t)c.out[AXES - 1];
    for (size_t row = first; row < end; row++) {
        struct place p = place_of(&c, (int64_t)row);
        for (struct tile part = tile_from(0, columns); part.count; part = tile_next(part)) {
            union cells sums = {.bits = {0}}; /* bits that are all 0 also represent the double 0.0 */
            gather(&c, &p, part, &sums);
            if (dtype->kind == DTYPE_FLOAT)
                dtype->store(out->data, row * columns + part.first, part.count, sums.numbers);
            else
                dtype->store_bits(out->data, row * columns + part.first, part.count, sums.bits);
        }
    }
}
