/* backends/cpu/conv_phase.c - splits a transposed convolution with a stride into several transposed
 * convolutions of stride 1.
 *
 * Tap t of output o reads input p if o = p * stride + t * dilation - before. So outputs whose distance is a
 * multiple of the stride use the same taps. The distance between these taps is stride / gcd(stride,
 * dilation).
 * Note: a phase without taps is a product of depth 0, which writes zeros.
 */
#include "forge/backends/cpu/conv.h"

#include "forge/ir/dim.h"

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns the number of phases along one dimension, at most the number of outputs along this dimension. */
static int64_t phases_of(const struct conv *c, int axis)
{
    return c->is_transposed ? min(c->axes[axis].stride, c->out[axis]) : 1;
}

size_t conv_phases(const struct conv *c)
{
    size_t count = 1;
    for (int i = 0; i < CONV_AXES; i++)
        count *= (size_t)phases_of(c, i);
    return count;
}

/* Returns the slide of one phase of `all`. Output i of the phase is output at + i * stride of `all`. Tap i of
 * the phase is tap *out_tap + i * *out_tap_step of `all`. */
static struct slide slide_phase(const struct slide *all, int64_t at, int64_t *out_tap, int64_t *out_tap_step)
{
    int64_t shared = greatest_common_divisor(all->stride, all->dilation), step = all->stride / shared,
            tap = 0;
    int64_t end = min(step, all->taps);
    while (tap < end && (at + all->before - tap * all->dilation) % all->stride)
        tap++;
    *out_tap = tap;
    *out_tap_step = step;
    return (struct slide){.in = all->in,
                          .taps = tap < end ? (all->taps - tap + step - 1) / step : 0,
                          .stride = 1,
                          .dilation = all->dilation / shared,
                          .before = (at + all->before - tap * all->dilation) / all->stride,
                          .is_transposed = true};
}

static void enter_phase(struct conv_phase *phase, int axis, int64_t at)
{
    struct conv *c = &phase->conv;
    int64_t stride = c->axes[axis].stride, tap, tap_step;
    struct slide slide = slide_phase(&c->axes[axis], at, &tap, &tap_step);
    phase->from += at * phase->steps[axis];
    phase->steps[axis] *= stride;
    phase->depth *= (size_t)slide.taps;
    /* the depth is 0, so no tap is read, but a struct conv must not contain sizes of 0 */
    if (slide.taps == 0)
        slide.taps = 1;
    else
        phase->weight += tap * c->w[axis];
    c->out[axis] = (c->out[axis] - at + stride - 1) / stride;
    c->w[axis] *= tap_step;
    c->axes[axis] = slide;
}

struct conv_phase conv_phase_of(const struct conv *c, size_t index)
{
    struct conv_phase phase = {.conv = *c, .depth = (size_t)c->in_channels, .next_channel = 1};
    int64_t rest = (int64_t)index;
    for (int i = CONV_AXES - 1; i >= 0; i--) {
        int64_t count = phases_of(c, i);
        phase.steps[i] = phase.next_channel;
        phase.next_channel *= c->out[i];
        if (c->is_transposed && count > 0)
            enter_phase(&phase, i, rest % count);
        else
            phase.depth *= (size_t)c->axes[i].taps;
        rest /= count > 0 ? count : 1;
    }
    return phase;
}
