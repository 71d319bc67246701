/* ir/library.h - the composites of the library, for which devices may have kernels.
 *
 * Note: a name alone proves nothing, because callers may name their own composite "softmax". A kernel may
 * replace a composite only if the composite's body equals the body that library_body builds.
 */
#ifndef FORGE_IR_LIBRARY_H
#define FORGE_IR_LIBRARY_H

#include "forge/ir/builder.h"
#include "forge/ir/infer.h"
#include "forge/ir/layout.h"

/* Adds the body of the composite to `b`. in: [count], the inputs; library.def states the valid counts. out:
 * gets the outputs. context: the struct composite_attributes. If inputs or attributes are invalid, the
 * function fails the builder. */
#define COMPOSITE(name, min_inputs, max_inputs, values)                                                      \
    void library_##name(forge_builder *b, const forge_value *in, size_t count, const void *context,          \
                        forge_value *out);
#include "forge/ir/library.def"

struct fused;
/* Adds the steps of a fused composite (fused.h) to its body. in: [count], with images in LAYOUT_PACKED as the
 * input of a convolution. layout: the layout of the value of the first step, and of all steps after it.
 * scopes: the scope of each step; NULL: all have that of the builder. */
void library_fused_steps(forge_builder *b, const struct fused *fused, const forge_value *in, size_t count,
                         enum value_layout layout, const char *const *scopes, forge_value *out);
/* Adds the body of a layout_conv, as library_layout_conv does. scopes: as above. */
void library_layout_steps(forge_builder *b, const struct composite_attributes *attributes,
                          const forge_value *in, size_t count, const char *const *scopes, forge_value *out);

/* How the composite "linear" rounds x before the product: its attribute numbers[0]. */
enum linear_rounding {
    LINEAR_EXACT,
    LINEAR_Q8_0, /* kernels with integer products need this */
    LINEAR_BF16, /* products of two bf16 are exact in f32, and some processors compute them fastest */
};
/* Returns the rounding of x that is fastest for weights in `dtype`. */
enum linear_rounding library_linear_rounding(forge_dtype dtype);

/* The inputs of the composite "adamw". In the comments, rate, beta1, beta2 and weight_decay are
 * hyperparameters; t is the number of the step, from 1. */
enum adamw_input {
    ADAMW_PARAMETER,
    ADAMW_GRADIENT,
    ADAMW_EXP_AVG,
    ADAMW_EXP_AVG_SQ,
    ADAMW_KEEP,      /* 1 - rate * weight_decay */
    ADAMW_STEP_SIZE, /* rate / (1 - beta1^t) */
    ADAMW_ROOT,      /* sqrt(1 - beta2^t) */
    ADAMW_ONE_LESS_BETA1,
    ADAMW_BETA2,
    ADAMW_ONE_LESS_BETA2,
    ADAMW_EPSILON,
    ADAMW_INPUTS
};

/* Adds a node for the composite with the attributes' name, which must be a row of library.def. in: [count].
 * out: gets all outputs; the row states their number. If there is no such row for `count` inputs, fails the
 * builder. */
void library_composite_many(forge_builder *b, const struct composite_attributes *attributes,
                            const forge_value *in, size_t count, forge_value *out);
/* Like library_composite_many, for a composite with one output. Returns the output. */
forge_value library_composite(forge_builder *b, const struct composite_attributes *attributes,
                              const forge_value *in, size_t count);

/* Returns the body of the composite with the attributes' name. For a gradient, such as softmax.gradient,
 * returns the body of softmax itself. The caller frees the body with forge_graph_free. Returns NULL, with a
 * message, if there is no such composite or its inputs are invalid. */
forge_graph *library_body(const struct composite_attributes *attributes, const struct value *const *in,
                          size_t count, const struct dim_table *dims, joule_error *out_error);
/* Like library_body, with a function that makes the bodies of gradients in the body. library_body gives them
 * bodies that only have the right types, because the rules of differentiation are in a higher room. */
forge_graph *library_body_with(const struct composite_attributes *attributes, const struct value *const *in,
                               size_t count, const struct dim_table *dims, builder_gradient_fn *gradient_fn,
                               joule_error *out_error);
/* Returns true if the name ends with ".gradient". */
bool library_is_gradient(const struct composite_attributes *attributes);
/* Returns true if the composite copies its first input except for some parts (PARTIAL_WRITE in
 * library.def). */
bool library_writes_parts(const struct composite_attributes *attributes);
/* Returns true for such a composite, and for a scatter, which copies the rest of its first input too. */
static inline bool library_copies_rest(enum op op, const void *attributes)
{
    return op == OP_SCATTER || (op == OP_COMPOSITE && library_writes_parts(attributes));
}
/* Writes "NAME.gradient", or "gradient" if that is longer than 31 bytes. Fills the rest of out_name with
 * zeros. */
void library_name_gradient(const char *name, char out_name[32]);

/* Infers the outputs of a composite without a body, by building the library's body for its inputs. Returns
 * false, with a message, if the composite is invalid. */
bool library_infer(struct inference *inference);

/* Returns true if two bodies have the same nodes in the same order. Names of inputs and outputs, scopes and
 * phases are not compared. */
bool library_same_body(const forge_graph *a, const forge_graph *b);

#endif
