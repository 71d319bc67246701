/* ir/infer_scan.c - the inference rules of scans and sorts; see infer.h.
 *
 * Note: sizes may be symbolic. The number of elements that a sort returns must not exceed the size of x for
 * any values of the symbols.
 */
#include "forge/ir/infer.h"

bool infer_scan(struct inference *i)
{
    const struct scan_attributes *a = i->attributes;
    const struct value *x = i->inputs[0];
    if (a->kind != FORGE_SUM && a->kind != FORGE_PRODUCT && a->kind != FORGE_MAXIMUM &&
        a->kind != FORGE_MINIMUM)
        return infer_fail(i, "a scan cannot compute %s", reduce_name((forge_reduce_kind)a->kind));
    if (a->flags & ~(uint32_t)(FORGE_SCAN_EXCLUSIVE | FORGE_SCAN_REVERSE))
        return infer_fail(i, "unknown flags 0x%x", a->flags);
    if (a->axis >= x->shape.rank)
        return infer_fail(i, "axis %u does not exist", a->axis);
    if (x->dtype == FORGE_BOOL)
        return infer_fail(i, "%s does not support bool", reduce_name((forge_reduce_kind)a->kind));
    return infer_add_output(i, x->dtype, &x->shape);
}

bool infer_sort(struct inference *i)
{
    const struct sort_attributes *a = i->attributes;
    forge_shape shape = i->inputs[0]->shape;
    if (a->axis >= shape.rank)
        return infer_fail(i, "axis %u does not exist", a->axis);
    forge_dim all = shape.dims[a->axis], count = shape.dims[a->axis] = a->shape.dims[a->axis];
    if (!forge_shape_equal(&shape, &a->shape))
        return infer_fail(i, "the result's size may differ only along axis %u", a->axis);
    if (!dim_is_at_most(&i->graph->dims, count, all)) {
        char wanted[100];
        struct text text;
        text_init(&text, wanted, sizeof wanted);
        dim_print(&i->graph->dims, count, &text);
        return infer_fail(i, "there may be fewer than %s elements along axis %u", wanted, a->axis);
    }
    return infer_add_output(i, i->inputs[0]->dtype, &shape) && infer_add_output(i, FORGE_I64, &shape);
}
