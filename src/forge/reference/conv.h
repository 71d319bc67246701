/* reference/conv.h - a convolution with its sizes as numbers.
 *
 * Owns the way from a launch to sizes, strides and slides of three dimensions. Newcomers: dimensions that are not there
 * have size 1, and one tap.
 */
#ifndef FORGE_REFERENCE_CONV_H
#define FORGE_REFERENCE_CONV_H

#include "forge/ir/launch.h"
#include "forge/reference/slide.h"

enum { CONV_AXES = 3 };

struct conv {
    struct slide axes[CONV_AXES];
    int64_t out[CONV_AXES];                   /* the output's spatial sizes */
    int64_t x_batch, x_channel, x[CONV_AXES]; /* strides */
    int64_t w_first, w_second, w[CONV_AXES];
    int64_t channels;                  /* of the output */
    int64_t in_channels, out_channels; /* of a group */
    bool is_transposed;
    const struct view *x_view, *weight_view;
};

struct conv conv_of(const struct launch *launch);

#endif
