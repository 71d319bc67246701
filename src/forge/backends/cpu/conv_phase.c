/* backends/cpu/conv_phase.c - transposed convolutions with a stride, as some without.
 *
 * Owns the arithmetic. Output o reads input p through tap t where o = p stride + t dilation - before, so all outputs that are
 * a stride apart have the same taps, and these are stride / gcd(stride, dilation) apart. Newcomers: a phase that no tap
 * reaches is a product of depth 0, which writes zeros.
 */
#include "forge/backends/cpu/conv.h"

#include "forge/ir/dim.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Along one dimension; fewer where there are not so many outputs. */
static int64_t phases_of(const struct conv *c, int axis)
{
    return c->is_transposed ? least(c->axes[axis].stride, c->out[axis]) : 1;
}

size_t conv_phases(const struct conv *c)
{
    size_t count = 1;
    for (int i = 0; i < CONV_AXES; i++)
        count *= (size_t)phases_of(c, i);
    return count;
}

/* What outputs at, at + stride and so on read, as outputs 0, 1 and so on. Taps are *out_tap_step apart. */
static struct slide slide_phase(const struct slide *all, int64_t at, int64_t *out_tap, int64_t *out_tap_step)
{
    int64_t shared = greatest_common_divisor(all->stride, all->dilation), step = all->stride / shared,
            tap = 0;
    int64_t end = least(step, all->taps);
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
    if (slide.taps == 0) /* nothing will be read, but sizes are not to be 0 */
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
