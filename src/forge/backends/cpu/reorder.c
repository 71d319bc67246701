/* backends/cpu/reorder.c - see reorder.h. */
#include "forge/backends/cpu/reorder.h"

#include "forge/backends/cpu/packed.h"

#define MIN_THREAD_WORK 65536 /* minimum work per thread, in elements */

static struct ordered ordered_of(enum value_layout layout, int64_t channels, int64_t blocks, int64_t pixels)
{
    switch (layout) {
    case LAYOUT_LAST:
        return (struct ordered){layout, channels * pixels, LAYOUT_LANES, 1, channels};
    case LAYOUT_BLOCKS:
        return (struct ordered){layout, blocks * LAYOUT_LANES * pixels, LAYOUT_LANES * pixels, 1,
                                LAYOUT_LANES};
    default:
        return (struct ordered){layout, channels * pixels, LAYOUT_LANES * pixels, pixels, 1};
    }
}

bool reorder_takes(const struct launch *launch)
{
    const struct composite_attributes *a = launch->attributes;
    const struct view *x = &launch->inputs[0];
    return a->numbers[0] < LAYOUT_COUNT && a->numbers[1] < LAYOUT_COUNT && x->dtype == FORGE_F32 &&
           view_is_packed(x) && x->shape.rank == (a->numbers[0] == LAYOUT_BLOCKS ? 5 : 4) &&
           launch->outputs[0].shape.rank == (a->numbers[1] == LAYOUT_BLOCKS ? 5 : 4);
}

struct reorder reorder_of(const struct launch *launch)
{
    const struct composite_attributes *a = launch->attributes;
    const forge_dim *x = launch->inputs[0].shape.dims;
    struct reorder r = {.images = x[0], .channels = a->numbers[2], .blocks = layout_blocks(a->numbers[2])};
    r.pixels = a->numbers[0] == LAYOUT_LAST ? x[1] * x[2] : x[2] * x[3];
    r.from = ordered_of((enum value_layout)a->numbers[0], r.channels, r.blocks, r.pixels);
    r.to = ordered_of((enum value_layout)a->numbers[1], r.channels, r.blocks, r.pixels);
    return r;
}

size_t reorder_pieces(const struct launch *launch, size_t *out_grain)
{
    struct reorder r = reorder_of(launch);
    *out_grain = MIN_THREAD_WORK / (REORDER_PIXELS * LAYOUT_LANES) + 1;
    return (size_t)(r.images * r.blocks * ((r.pixels + REORDER_PIXELS - 1) / REORDER_PIXELS));
}
