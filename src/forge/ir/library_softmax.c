/* ir/library_softmax.c - softmax, log_softmax and cross_entropy, as composites; softmax is over the last
 * dimension.
 *
 * Note: if the label of a row is not a class, the row has the loss 0, and still counts in the mean.
 */
#include "forge/ir/library.h"

/* Returns the mask of the last axis, with one bit set; 0 for rank 0. */
static uint32_t last_axis(const forge_builder *b, forge_value x)
{
    uint32_t rank = forge_value_shape(b, x).rank;
    return rank ? 1u << (rank - 1) : 0;
}

static bool has_dimension(forge_builder *b, const char *name, forge_value x)
{
    if (builder_is_ok(b) && forge_value_shape(b, x).rank == 0)
        forge_builder_fail(b, "%s needs at least one dimension", name);
    return builder_is_ok(b);
}

static bool are_rows_and_labels(forge_builder *b, forge_value logits, forge_value labels)
{
    forge_shape rows = forge_value_shape(b, logits), row = forge_value_shape(b, labels);
    if (builder_is_ok(b) && (rows.rank != 2 || row.rank != 1 || rows.dims[0] != row.dims[0] ||
                             !forge_dtype_is_integer(forge_value_dtype(b, labels))))
        forge_builder_fail(b, "cross_entropy needs logits [n, classes] and integer labels [n]");
    return builder_is_ok(b);
}

/* Returns x minus its maximum along the last axis, so that exp does not overflow. */
static forge_value shifted(forge_builder *b, forge_value x)
{
    return forge_sub(b, x, forge_reduce(b, FORGE_MAXIMUM, x, last_axis(b, x), true));
}

void library_softmax(forge_builder *b, const forge_value *in, size_t count, const void *context,
                     forge_value *out)
{
    (void)count, (void)context;
    if (!has_dimension(b, "softmax", in[0]))
        return;
    forge_value e = forge_exp(b, shifted(b, in[0]));
    out[0] = forge_div(b, e, forge_reduce(b, FORGE_SUM, e, last_axis(b, e), true));
}

void library_log_softmax(forge_builder *b, const forge_value *in, size_t count, const void *context,
                         forge_value *out)
{
    (void)count, (void)context;
    if (!has_dimension(b, "log_softmax", in[0]))
        return;
    forge_value x = shifted(b, in[0]);
    out[0] =
        forge_sub(b, x, forge_log(b, forge_reduce(b, FORGE_SUM, forge_exp(b, x), last_axis(b, x), true)));
}

/* Builds the cross entropy. logits: [n, classes]; labels: [n]; result: [], the mean over the rows. */
void library_cross_entropy(forge_builder *b, const forge_value *in, size_t count, const void *context,
                           forge_value *out)
{
    (void)count, (void)context;
    if (!are_rows_and_labels(b, in[0], in[1]))
        return;
    forge_value rows = forge_log_softmax(b, in[0]);
    forge_shape shape = forge_value_shape(b, rows);
    forge_dtype dtype = forge_value_dtype(b, rows), label_dtype = forge_value_dtype(b, in[1]);
    forge_value label = forge_reshape(b, in[1], forge_shape_of(shape.dims[0], 1));
    forge_value is_label = forge_binary(b, FORGE_EQ, forge_iota(b, label_dtype, shape, 1), label);
    forge_value chosen = forge_select(b, is_label, rows, forge_scalar(b, dtype, 0));
    forge_value of_row = forge_reduce(b, FORGE_SUM, chosen, 2, false);
    out[0] = forge_neg(b, forge_reduce(b, FORGE_MEAN, of_row, 1, false));
}

forge_value forge_softmax(forge_builder *builder, forge_value x)
{
    has_dimension(builder, "softmax", x);
    return library_composite(builder, &(struct composite_attributes){.name = "softmax"}, &x, 1);
}

forge_value forge_log_softmax(forge_builder *builder, forge_value x)
{
    has_dimension(builder, "log_softmax", x);
    return library_composite(builder, &(struct composite_attributes){.name = "log_softmax"}, &x, 1);
}

forge_value forge_cross_entropy(forge_builder *builder, forge_value logits, forge_value labels)
{
    are_rows_and_labels(builder, logits, labels);
    return library_composite(builder, &(struct composite_attributes){.name = "cross_entropy"},
                             (forge_value[]){logits, labels}, 2);
}
