/* ir/operations_window.c - the public builder functions for convolutions, windows and random numbers.
 *
 * Note: infer_window.c decides what is allowed. Attributes are compared as bytes, so entries for dimensions
 * that do not exist are 0.
 */
#include "base/abi.h"
#include "forge/ir/builder.h"

static uint32_t or_default(uint32_t number, uint32_t usual)
{
    return number ? number : usual;
}

forge_value forge_conv(forge_builder *builder, forge_value x, forge_value weight,
                       const forge_conv_options *options)
{
    forge_conv_options o = {.struct_size = sizeof o};
    if (options && !builder_take_options(builder, "conv", "forge_conv_options", &o, sizeof o,
                                         SIZE_UP_TO(forge_conv_options, is_transposed), options))
        return FORGE_NO_VALUE;
    struct conv_attributes attributes = {.flags = o.is_transposed ? CONV_TRANSPOSED : 0,
                                         .groups = or_default(o.groups, 1),
                                         .accumulate = builder_accumulator(forge_value_dtype(builder, x))};
    uint32_t rank = forge_value_shape(builder, x).rank;
    for (uint32_t i = 0; i < 3 && i + 2 < rank; i++) {
        attributes.stride[i] = or_default(o.stride[i], 1);
        attributes.dilation[i] = or_default(o.dilation[i], 1);
        attributes.before[i] = o.padding_before[i];
        attributes.after[i] = o.padding_after[i];
        attributes.extra[i] = o.is_transposed ? o.output_padding[i] : 0;
    }
    return builder_emit(builder, OP_CONV, &attributes, sizeof attributes, (forge_value[]){x, weight}, 2);
}

/* --- windows -------------------------------------------------------------------------------------------- */

static struct windows windows_of(uint32_t axes, const forge_window *windows)
{
    struct windows w = {.axes = axes};
    for (uint32_t i = 0; i < FORGE_MAX_RANK; i++) {
        if (!(axes >> i & 1))
            continue;
        w.size[i] = windows->size;
        w.stride[i] = or_default(windows->stride, windows->size);
        w.dilation[i] = or_default(windows->dilation, 1);
        w.before[i] = windows->before;
        w.after[i] = windows->after;
        windows++;
    }
    return w;
}

forge_value forge_window_reduce(forge_builder *builder, forge_reduce_kind kind, forge_value x, uint32_t axes,
                                const forge_window *windows, bool count_padding)
{
    struct window_attributes attributes = {kind, kind == FORGE_MEAN && count_padding,
                                           windows_of(axes, windows)};
    return builder_emit(builder, OP_WINDOW, &attributes, sizeof attributes, &x, 1);
}

static forge_value pool(forge_builder *builder, forge_reduce_kind kind, forge_value x, forge_window window,
                        bool count_padding)
{
    forge_window windows[FORGE_MAX_RANK];
    uint32_t rank = forge_value_shape(builder, x).rank;
    for (uint32_t i = 0; i < FORGE_MAX_RANK; i++)
        windows[i] = window;
    if (builder_is_ok(builder) && x && (rank < 3 || rank > 5))
        forge_builder_fail(builder, "a pool takes [n, channels, 1 to 3 spatial dimensions], not rank %u",
                           rank);
    return forge_window_reduce(builder, kind, x, ((1u << rank) - 1) & ~3u, windows, count_padding);
}

forge_value forge_max_pool(forge_builder *builder, forge_value x, uint32_t size, uint32_t stride,
                           uint32_t padding)
{
    forge_window window = {.size = size, .stride = stride, .before = padding, .after = padding};
    return pool(builder, FORGE_MAXIMUM, x, window, false);
}

forge_value forge_avg_pool(forge_builder *builder, forge_value x, uint32_t size, uint32_t stride,
                           uint32_t padding, bool count_padding)
{
    forge_window window = {.size = size, .stride = stride, .before = padding, .after = padding};
    return pool(builder, FORGE_MEAN, x, window, count_padding);
}

forge_value forge_unfold(forge_builder *builder, forge_value x, uint32_t axes, const forge_window *windows,
                         double padding)
{
    struct unfold_attributes attributes = {padding, windows_of(axes, windows), 0};
    return builder_emit(builder, OP_UNFOLD, &attributes, sizeof attributes, &x, 1);
}

forge_value forge_fold(forge_builder *builder, forge_value x, forge_shape shape, uint32_t axes,
                       const forge_window *windows)
{
    struct fold_attributes attributes = {builder_clean_shape(shape), windows_of(axes, windows), 0};
    return builder_emit(builder, OP_FOLD, &attributes, sizeof attributes, &x, 1);
}

forge_value forge_share(forge_builder *builder, forge_value x, forge_value y, forge_value parts,
                        uint32_t axes, const forge_window *windows)
{
    struct share_attributes attributes = {windows_of(axes, windows)};
    return builder_emit(builder, OP_SHARE, &attributes, sizeof attributes, (forge_value[]){x, y, parts}, 3);
}

/* --- random numbers ------------------------------------------------------------------------------------- */

forge_value forge_random_numbers(forge_builder *builder, forge_random_kind kind, forge_shape shape,
                                 forge_value key, forge_value step, uint32_t stream)
{
    struct random_attributes attributes = {kind, stream, builder_clean_shape(shape)};
    return builder_emit(builder, OP_RANDOM, &attributes, sizeof attributes, (forge_value[]){key, step}, 2);
}
