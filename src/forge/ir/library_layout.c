/* ir/library_layout.c - the bodies of the composites "reorder" and "layout_conv"; see layout.h. */
#include "forge/ir/fused.h"
#include "forge/ir/layout.h"
#include "forge/ir/library.h"

/* Returns true if x can be images of `channels` channels in this layout. Otherwise fails the builder. */
static bool is_laid_out(forge_builder *b, const char *what, forge_value x, uint32_t layout, int64_t channels)
{
    static const uint32_t channel_dims[LAYOUT_COUNT] = {1, 3, 1};
    forge_shape shape = forge_value_shape(b, x);
    if (!builder_is_ok(b))
        return false;
    bool is_known = layout < LAYOUT_COUNT && channels > 0 && channels <= DIM_MAX_NUMBER - LAYOUT_LANES;
    bool is_so =
        is_known && shape.rank == (layout == LAYOUT_BLOCKS ? 5 : 4) &&
        shape.dims[channel_dims[layout]] == (layout == LAYOUT_BLOCKS ? layout_blocks(channels) : channels) &&
        (layout != LAYOUT_BLOCKS || shape.dims[4] == LAYOUT_LANES);
    if (!is_so)
        forge_builder_fail(b, "%s: an operand is not %lld channels in the layout %s", what,
                           (long long)channels, layout_name((enum value_layout)layout));
    return is_so;
}

void library_reorder(forge_builder *b, const forge_value *in, size_t count, const void *context,
                     forge_value *out)
{
    const struct composite_attributes *a = context;
    (void)count;
    if (builder_is_ok(b) && a->numbers[1] >= LAYOUT_COUNT)
        forge_builder_fail(b, "reorder: unknown layout %u", a->numbers[1]);
    if (!is_laid_out(b, "reorder", in[0], a->numbers[0], a->numbers[2]))
        return;
    forge_value images = layout_undo(b, in[0], (enum value_layout)a->numbers[0], a->numbers[2]);
    out[0] = layout_apply(b, images, (enum value_layout)a->numbers[1]);
}

void library_layout_steps(forge_builder *b, const struct composite_attributes *a, const forge_value *in,
                          size_t count, const char *const *scopes, forge_value *out)
{
    struct fused fused;
    if (!builder_is_ok(b))
        return;
    if (!fused_read(a, count, &fused) || fused.steps[0].operands[0] != 0 || fused.steps[0].operands[1] != 1 ||
        a->numbers[1] >= LAYOUT_COUNT) {
        forge_builder_fail(b, "layout_conv: its code or its layout is invalid");
        return;
    }
    forge_shape weight = forge_value_shape(b, in[1]);
    int64_t channels = 0;
    if (weight.rank != 4 || __builtin_mul_overflow(weight.dims[1], (int64_t)fused.conv.groups, &channels)) {
        forge_builder_fail(b, "layout_conv: the weight needs [out, in, rows, columns]");
        return;
    }
    if (!is_laid_out(b, "layout_conv", in[0], a->numbers[0], channels))
        return;
    forge_value values[FUSED_MAX_INPUTS];
    for (size_t i = 0; i < count; i++)
        values[i] = in[i];
    if (scopes)
        b->scope = builder_add_scope(b, scopes[0]);
    values[0] = layout_undo(b, in[0], (enum value_layout)a->numbers[0], channels);
    library_fused_steps(b, &fused, values, count, (enum value_layout)a->numbers[1], scopes, out);
}

void library_layout_conv(forge_builder *b, const forge_value *in, size_t count, const void *context,
                         forge_value *out)
{
    library_layout_steps(b, context, in, count, NULL, out);
}
