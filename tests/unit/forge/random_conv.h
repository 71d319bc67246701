/* tests/unit/forge/random_conv.h - random convolutions with consistent shapes.
 *
 * Note: the number of images may be 0. */
#ifndef RANDOM_CONV_H
#define RANDOM_CONV_H

#include <forge/graph.h>
#include "support/views.h"

struct conv_case {
    forge_shape x, weight;
    forge_conv_options options;
};

/* Limits of a random case: images, channels of a group, and spatial sizes. `beyond` is added to the kernel's
 * span if the case is not transposed. */
struct conv_limits {
    int64_t images, in, out, transposed, beyond;
};

static inline struct conv_case random_conv(bool is_transposed, struct conv_limits max)
{
    uint32_t axes = (uint32_t)pick(1, 3);
    int64_t groups = pick(1, 3), in = groups * pick(1, max.in), out = groups * pick(1, max.out);
    forge_conv_options o = {
        .struct_size = sizeof o, .groups = (uint32_t)groups, .is_transposed = is_transposed};
    forge_shape x = {.rank = axes + 2, .dims = {pick(0, max.images), in}}, w = x;
    w.dims[0] = is_transposed ? in : out;
    w.dims[1] = (is_transposed ? out : in) / groups;
    for (uint32_t k = 0; k < axes; k++) {
        o.stride[k] = (uint32_t)pick(1, 3);
        o.dilation[k] = (uint32_t)pick(1, 3);
        w.dims[k + 2] = pick(1, 4);
        int64_t span = o.dilation[k] * (w.dims[k + 2] - 1) + 1;
        int64_t larger = o.stride[k] > o.dilation[k] ? o.stride[k] : o.dilation[k];
        o.padding_before[k] = (uint32_t)pick(0, is_transposed ? (span - 1) / 2 : 4);
        o.padding_after[k] = (uint32_t)pick(0, is_transposed ? (span - 1) / 2 : 4);
        o.output_padding[k] = is_transposed ? (uint32_t)pick(0, larger - 1) : 0;
        x.dims[k + 2] = pick(is_transposed ? 1 : span, is_transposed ? max.transposed : span + max.beyond);
    }
    return (struct conv_case){x, w, o};
}

#endif
