/* compiler/layout_cost.c - the seconds that layouts save and cost; see laid_node.h.
 *
 * The figures are relative to the FLOP rate of the device. They were measured with the kernels of the CPU,
 * one thread, f32, on Zen 4 with AVX-512 (docs/compiler.md). */
#include "forge/compiler/laid_node.h"

#include <math.h>
#include "forge/hal/backend.h"

/* How fast convolutions are: packed, in each other layout, and packed but without packing of windows. */
enum { DIRECT = LAYOUT_COUNT };
static const struct layout_rate {
    double share;        /* of the FLOP rate that a convolution with enough pixels and channels reaches */
    double panel;        /* channels of the result that are computed at once; the last ones may be unused */
    double pixels;       /* neighbouring pixels of a row that are computed at once; INFINITY: of all rows */
    double window_bytes; /* bytes of windows that are packed for each byte of x and each tap */
} layout_rates[LAYOUT_COUNT + 1] = {
    [LAYOUT_PACKED] = {.share = 0.88, .panel = 1, .pixels = INFINITY, .window_bytes = 1},
    [LAYOUT_LAST] = {.share = 0.97, .panel = 32, .pixels = 14, .window_bytes = 0},
    [DIRECT] = {.share = 0.95, .panel = 32, .pixels = 14, .window_bytes = 0},
    [LAYOUT_BLOCKS] = {.share = 0.98, .panel = 32, .pixels = 14, .window_bytes = 0},
};

enum { FEW_PIXELS = 4 };      /* a tile with fewer pixels waits for the latency of its multiply-adds */
#define FLOP_PER_S      118e9 /* of one core, if the device does not state its rate */
#define WINDOW_BYTES_S  60e9  /* bytes of windows that are packed per second */
#define WEIGHT_BYTES_S  8e9   /* bytes of weights that are packed per second */
#define COPY_BYTES_S    20e9  /* bytes of rows that are copied per second, for padding and strides */
#define REORDER_BYTES_S 6e9   /* bytes of images that are reordered per second */

double layout_flop_per_s(forge_device *device)
{
    struct device_rates rates;
    bool is_known = device->ops->rates(device, &rates, NULL) == JOULE_OK;
    return is_known && rates.flop_per_s > 0 ? rates.flop_per_s : FLOP_PER_S;
}

static double bytes_of(const forge_graph *graph, const struct value *value)
{
    forge_shape shape = dim_max_shape(&graph->dims, &value->shape);
    return (double)forge_shape_elements(&shape) * (double)sizeof(float);
}

static double round_up(double x, double to)
{
    return ceil(x / to) * to;
}

/* The sizes on which the time of a convolution depends. */
struct conv_size {
    double flop, x_bytes, weight_bytes, taps, channels, columns;
    bool is_copied;
};

static struct conv_size size_of(const forge_graph *graph, const struct node *node,
                                const struct laid_node *laid)
{
    const struct value *x = &graph->values[node_input(graph, node, laid->operands[0].input)],
                       *weight = &graph->values[node_input(graph, node, laid->operands[1].input)],
                       *result = &graph->values[node->output];
    const forge_dim *dims = weight->shape.dims;
    const struct conv_attributes *conv = &laid->fused.conv;
    struct conv_size s = {.x_bytes = bytes_of(graph, x),
                          .weight_bytes = bytes_of(graph, weight),
                          .taps = (double)(dims[2] * dims[3]),
                          .channels = (double)dims[0] / (double)conv->groups,
                          .columns = (double)result->shape.dims[3]};
    double depth = (double)dims[1] * s.taps;
    s.flop = 2 * depth * bytes_of(graph, result) / (double)sizeof(float);
    s.is_copied = conv->stride[0] > 1 || conv->stride[1] > 1 || conv->before[0] + conv->after[0] > 0 ||
                  conv->before[1] + conv->after[1] > 0;
    if (s.taps == 1 && !s.is_copied) /* all rows are one */
        s.columns *= (double)result->shape.dims[2];
    return s;
}

/* layout: an enum value_layout or DIRECT. */
static double seconds_of(const struct conv_size *s, unsigned layout, bool is_packed_once, double flop_per_s)
{
    const struct layout_rate *rate = &layout_rates[layout];
    double flop = s->flop * round_up(s->channels, rate->panel) / s->channels;
    double pixels = isinf(rate->pixels) ? FEW_PIXELS : s->columns / ceil(s->columns / rate->pixels);
    double seconds = flop / (rate->share * flop_per_s) * fmax(1, FEW_PIXELS / pixels);
    if (layout == LAYOUT_PACKED)
        return seconds + rate->window_bytes * s->taps * s->x_bytes / WINDOW_BYTES_S +
               s->weight_bytes / WEIGHT_BYTES_S;
    if (s->is_copied || layout == LAYOUT_LAST)
        seconds += s->x_bytes / COPY_BYTES_S;
    return is_packed_once ? seconds : seconds + s->weight_bytes / WEIGHT_BYTES_S;
}

double layout_gain(const forge_graph *graph, const struct node *node, const struct laid_node *laid,
                   enum value_layout layout, bool is_packed_once, double flop_per_s, forge_device *device)
{
    struct conv_size size = size_of(graph, node, laid);
    unsigned packed = laid_is_direct(graph, node, device) ? DIRECT : LAYOUT_PACKED;
    return seconds_of(&size, packed, is_packed_once, flop_per_s) -
           seconds_of(&size, layout, is_packed_once, flop_per_s);
}

double layout_reorder_seconds(const forge_graph *graph, forge_value images)
{
    return bytes_of(graph, &graph->values[images]) / REORDER_BYTES_S;
}
