/* ir/library.h - the composites that come with the library, which devices may have kernels for.
 *
 * Owns their table (library.def), the bodies that are their meaning, and the comparison with them. Newcomers: a name alone
 * means nothing. Anybody can give a composite of his own the name "softmax"; it is the library's only where its body is
 * what library_body writes, and only then may a kernel take its place.
 */
#ifndef FORGE_IR_LIBRARY_H
#define FORGE_IR_LIBRARY_H

#include "forge/ir/build.h"
#include "forge/ir/infer.h"

/* Writes the body; context: its struct composite_attributes. Inputs and attributes may be any: it fails the builder. */
#define COMPOSITE(name, least, most, values)                                                                 \
    void library_##name(forge_builder *b, const forge_value *in, size_t count, const void *context,          \
                        forge_value *out);
#include "forge/ir/library.def"

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

/* A node of the library's composite that the attributes name; as many values as its row says. */
void library_composite_many(forge_builder *b, const struct composite_attributes *attributes,
                            const forge_value *in, size_t count, forge_value *out);
/* The same where there is one value. */
forge_value library_composite(forge_builder *b, const struct composite_attributes *attributes,
                              const forge_value *in, size_t count);

/* The body of the library's composite that these attributes name, or, where they are of its gradient, of the composite
 * itself. NULL, with a message: there is none, or it does not take these inputs. The caller frees it. */
forge_graph *library_body(const struct composite_attributes *attributes, const struct value *const *in,
                          size_t count, const struct dim_table *dims, joule_error *out_error);
/* Whether the name is that of a gradient: "softmax.gradient". */
bool library_is_gradient(const struct composite_attributes *attributes);
/* "NAME.gradient"; where that is too long, "gradient". */
void library_name_gradient(const char *name, char out_name[32]);

/* What infer does for a composite that has no body: what the library's would make of these inputs. */
bool library_infer(struct inference *inference);

/* Whether two bodies have the same nodes in the same order, whatever their ports are named and wherever they stand. */
bool library_same_body(const forge_graph *a, const forge_graph *b);

#endif
