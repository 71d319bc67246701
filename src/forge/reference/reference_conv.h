/* reference/reference_conv.h - sizes, strides and slides of a convolution in three spatial dimensions.
 *
 * A convolution with fewer spatial dimensions gets leading dimensions of size 1 with one tap.
 */
#ifndef FORGE_REFERENCE_CONV_H
#define FORGE_REFERENCE_CONV_H

#include "forge/ir/launch.h"
#include "forge/reference/reference_slide.h"

enum { CONV_AXES = 3 };

/* A convolution of x [batch, channels, spatial...] with a weight [first, second, taps...]. */
struct conv {
    struct slide axes[CONV_AXES];
    int64_t out[CONV_AXES];                   /* spatial sizes of the output */
    int64_t x_batch, x_channel, x[CONV_AXES]; /* strides of x, in elements */
    int64_t w_first, w_second, w[CONV_AXES];  /* strides of the weight, in elements */
    int64_t channels;                         /* channels of the output */
    int64_t in_channels, out_channels;        /* channels per group */
    bool is_transposed;
    const struct view *x_view, *weight_view;
};

/* Returns the convolution of a launch of OP_CONV. The result points to the launch's views. */
struct conv conv_of(const struct launch *launch);

#endif
