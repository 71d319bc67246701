/* ir/infer_layout.c - which operations support images in which layouts; see layout.h. */
#include "forge/ir/layout.h"

#include <string.h>
#include "forge/ir/infer.h"

static bool is_named(const struct inference *i, const char *name)
{
    return i->op == OP_COMPOSITE &&
           strcmp(((const struct composite_attributes *)i->attributes)->name, name) == 0;
}

/* Returns true if each element of the result depends on one element of each input. */
static bool is_elementwise(const struct inference *i)
{
    return op_is_elementwise(i->op) || i->op == OP_TRANSFER || i->op == OP_STOP_GRADIENT ||
           is_named(i, "fused");
}

/* Returns the layout of the inputs that are not packed, or LAYOUT_PACKED if all are packed. */
static uint32_t common_layout(const struct inference *i)
{
    for (size_t k = 0; k < i->input_count; k++)
        if (i->inputs[k]->layout != LAYOUT_PACKED)
            return i->inputs[k]->layout;
    return LAYOUT_PACKED;
}

/* Gives the first output `layout`. Returns false if an input from `first` on has another one. Operands in
 * LAYOUT_PACKED may be broadcast, or arrays of which no layout is known. */
static bool keep_layout(struct inference *i, size_t first, uint32_t layout)
{
    i->outputs[0].layout = layout;
    for (size_t k = first; layout != LAYOUT_PACKED && k < i->input_count; k++)
        if (i->inputs[k]->layout != layout && i->inputs[k]->layout != LAYOUT_PACKED)
            return infer_fail(i, "input %zu is not in the layout %s: add a reorder", k,
                              layout_name((enum value_layout)layout));
    return true;
}

/* Infers the layout of a composite that names the layouts of its first input and of its result. */
static bool change_layout(struct inference *i)
{
    const uint32_t *layouts = ((const struct composite_attributes *)i->attributes)->numbers;
    if (layouts[0] != i->inputs[0]->layout && i->inputs[0]->layout != LAYOUT_PACKED)
        return infer_fail(i, "its first input is in the layout %s, not %s",
                          layout_name((enum value_layout)i->inputs[0]->layout),
                          layout_name((enum value_layout)layouts[0]));
    if (i->input_count > 1 && i->inputs[1]->layout != LAYOUT_PACKED)
        return infer_fail(i, "the weight is in the layout %s",
                          layout_name((enum value_layout)i->inputs[1]->layout));
    return keep_layout(i, 2, layouts[1]);
}

/* Returns true if the windows slide along rows and columns of images in this layout only. */
static bool slides_along_pixels(const struct inference *i, uint32_t layout)
{
    const struct window_attributes *a = i->attributes;
    return !(a->windows.axes & ~(layout == LAYOUT_LAST ? 6u : 12u));
}

bool infer_layouts(struct inference *i)
{
    uint32_t layout = common_layout(i);
    if (is_named(i, "reorder") || is_named(i, "layout_conv"))
        return change_layout(i);
    /* reductions, and operations that treat an image as an array of its shape */
    if (layout == LAYOUT_PACKED || i->op == OP_REDUCE || i->op == OP_TRANSPOSE || i->op == OP_RESHAPE)
        return true;
    if (is_elementwise(i) || (i->op == OP_WINDOW && slides_along_pixels(i, layout)))
        return keep_layout(i, 0, layout);
    return infer_fail(i, "it does not support the layout %s: add a reorder",
                      layout_name((enum value_layout)layout));
}
