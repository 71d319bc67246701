/* ir/fields.h - what the attributes of each family are made of.
 *
 * Owns one list of fields for each row of ops.def, from which attributes are written as text, read back, and checked where
 * they come from a file. It does not know which values go together: infer.c does.
 * Newcomers: a new row of ops.def needs its list in fields.c; without one that file does not compile.
 */
#ifndef FORGE_IR_FIELDS_H
#define FORGE_IR_FIELDS_H

#include "forge/ir/graph.h"

/* Fields that are 0 are not written, unless it says "always". Lists are as long as the first input's rank, or, where they
 * have only 3 entries, as its spatial dimensions; longer where something stands behind. */
enum field_kind {
    FIELD_KIND,         /* uint32_t, after the family's name, always: "unary.relu" */
    FIELD_NUMBER,       /* uint32_t: "groups=2" */
    FIELD_REAL,         /* double: "value=0.5" */
    FIELD_FLAG,         /* a bit of a uint32_t: "transpose_a" */
    FIELD_AXES,         /* a uint32_t with a bit for each dimension: "axes=[0,2]" */
    FIELD_NUMBERS,      /* uint32_t[limit]: "order=[1,0]" */
    FIELD_STEPS,        /* int64_t[limit]: "step=[1,-1]" */
    FIELD_DIMS,         /* forge_dim[limit]: "start=[0,B]" */
    FIELD_REALS,        /* double[limit]: "reals=[1e-05]" */
    FIELD_DTYPE,        /* forge_dtype: "dtype=f32" */
    FIELD_ACCUMULATE,   /* forge_dtype; written where it is not the first input's: "accumulate=f32" */
    FIELD_RESULT_DTYPE, /* forge_dtype; the result's, which is written anyway */
    FIELD_RESULT_SHAPE, /* forge_shape; likewise */
    FIELD_ELEMENTS,     /* of a constant, always: "{1, 2}" */
    FIELD_PORT,         /* uint32_t, of the graph's inputs, always: "\"x\"" */
    FIELD_SLOT,         /* uint32_t, of its slots, always: "\"fc1.weight\"" */
    FIELD_NAME,         /* char[32], after the family's name and kind, always: "composite.attention" */
    FIELD_BODY,         /* const forge_graph *, always: "body=$2" */
    FIELD_END
};

struct field {
    enum field_kind kind;
    const char *name;
    size_t offset;                        /* in the attributes */
    uint32_t limit;                       /* FLAG: the bit; KIND: how many there are; lists: entries */
    const char *(*kind_name)(unsigned i); /* KIND */
};

/* Up to FIELD_END. */
const struct field *op_fields(enum op op);

/* "relu" of unary.relu, "attention" of composite.attention; empty for a family without kinds. In static storage, or the
 * attributes'. */
const char *fields_kind(enum op op, const void *attributes);

/* Whether each field on its own makes sense, so that it can be looked at: shapes whose rank and sizes exist, types, kinds,
 * flags, names that end. The name of the first that does not; NULL: all do. `size` is that of the attributes. */
const char *fields_check(enum op op, const void *attributes, size_t size, const struct dim_table *dims);

/* Whether a size or a place in the attributes is an expression of symbols. */
bool fields_have_symbols(enum op op, const void *attributes);
/* Puts numbers, or other expressions, in place of those whose entry i is values[i]. */
void fields_put_sizes(enum op op, void *attributes, const forge_dim *values);

#endif
