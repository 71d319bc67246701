/* autodiff/gradient_rules_scan.c - the derivatives of scans and sorts; see gradient.h.
 *
 * Note: a reversed scan of x is flip(scan(flip(x))). Its derivative is computed in the same way: the inputs
 * are flipped, and then the result is flipped.
 */
#include "forge/autodiff/gradient.h"

static forge_value zeros_like(forge_builder *b, forge_value x)
{
    return forge_broadcast(b, forge_scalar(b, forge_value_dtype(b, x), 0), forge_value_shape(b, x));
}

/* A scan that is not reversed. `flags` is 0 or FORGE_SCAN_EXCLUSIVE. */
struct forward {
    forge_builder *b;
    forge_reduce_kind kind;
    uint32_t axis, flags;
    forge_value x, y, g;
};

/* Returns dx for a product scan. dx[k] is the sum over i >= k of g[i] y[i] / x[k]. If x[k] is the first 0 of
 * its line, y[i] / x[k] is the result of a scan with 1 instead of x[k]. For later zeros, dx[k] is 0. */
static forge_value product_gradient(const struct forward *f)
{
    forge_builder *b = f->b;
    forge_dtype dtype = forge_value_dtype(b, f->x);
    forge_value zero = forge_scalar(b, dtype, 0), one = forge_scalar(b, dtype, 1);
    uint32_t back = f->flags | FORGE_SCAN_REVERSE;
    forge_value is_zero = forge_binary(b, FORGE_EQ, f->x, zero);
    forge_value zeros = forge_scan(b, FORGE_SUM, forge_cast(b, dtype, is_zero), f->axis, 0);
    forge_value is_first = forge_binary(b, FORGE_AND, is_zero, forge_binary(b, FORGE_EQ, zeros, one));
    forge_value others =
        forge_scan(b, FORGE_PRODUCT, forge_select(b, is_first, one, f->x), f->axis, f->flags);
    forge_value to_first = forge_scan(b, FORGE_SUM, forge_mul(b, f->g, others), f->axis, back);
    forge_value to_all = forge_div(b, forge_scan(b, FORGE_SUM, forge_mul(b, f->g, f->y), f->axis, back),
                                   forge_select(b, is_zero, one, f->x));
    return forge_select(b, is_first, to_first, forge_select(b, is_zero, zero, to_all));
}

/* Returns dx for a scan of maxima or minima. The gradient of each result is added to the element of x that
 * set this maximum or minimum. The first result of an exclusive scan is not an element of x. Its index is
 * INT64_MIN, so the scatter ignores its gradient. */
static forge_value extreme_gradient(const struct forward *f)
{
    forge_builder *b = f->b;
    forge_value before = forge_scan(b, f->kind, f->x, f->axis, FORGE_SCAN_EXCLUSIVE);
    forge_value is_new = forge_binary(b, f->kind == FORGE_MAXIMUM ? FORGE_GT : FORGE_LT, f->x, before);
    forge_value place = forge_iota(b, FORGE_I64, forge_value_shape(b, f->x), f->axis);
    forge_value new_places = forge_select(b, is_new, place, forge_scalar(b, FORGE_I64, 0));
    forge_value places = forge_scan(b, FORGE_MAXIMUM, new_places, f->axis, f->flags);
    return forge_scatter_along(b, zeros_like(b, f->x), places, f->g, f->axis, FORGE_SCATTER_ADD);
}

void gradient_scan(struct gradient *r)
{
    const struct scan_attributes *a = r->node.attributes;
    forge_builder *b = r->b;
    if (a->kind == FORGE_SUM) {
        gradient_add(r, 0, forge_scan(b, FORGE_SUM, r->g, a->axis, a->flags ^ FORGE_SCAN_REVERSE));
        return;
    }
    uint32_t flips = a->flags & FORGE_SCAN_REVERSE ? 1u << a->axis : 0;
    struct forward f = {b,
                        (forge_reduce_kind)a->kind,
                        a->axis,
                        a->flags & FORGE_SCAN_EXCLUSIVE,
                        forge_flip(b, r->inputs[0], flips),
                        forge_flip(b, r->y, flips),
                        forge_flip(b, r->g, flips)};
    forge_value dx = a->kind == FORGE_PRODUCT ? product_gradient(&f) : extreme_gradient(&f);
    gradient_add(r, 0, forge_flip(b, dx, flips));
}

void gradient_sort(struct gradient *r)
{
    const struct sort_attributes *a = r->node.attributes;
    gradient_add(r, 0,
                 forge_scatter_along(r->b, zeros_like(r->b, r->inputs[0]), r->y + 1, r->g, a->axis,
                                     FORGE_SCATTER_ADD));
}
