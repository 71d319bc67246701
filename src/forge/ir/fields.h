/* ir/fields.h - describes the attributes of each operation as a list of fields.
 *
 * The lists are used to print and parse attributes. They are also used to check each attribute from a file by
 * itself; infer.c then checks whether all attributes fit together.
 *
 * Note: each row of ops.def needs a list in fields.c; otherwise fields.c does not compile.
 */
#ifndef FORGE_IR_FIELDS_H
#define FORGE_IR_FIELDS_H

#include "forge/ir/graph.h"

/* A field with the value 0 is printed only if its kind is marked "always" below. A list is printed with one
 * entry for each dimension of the first input. A list whose limit is 3 has one entry for each spatial
 * dimension instead. More entries are printed only if they are not 0. */
enum field_kind {
    FIELD_KIND,         /* uint32_t, after the operation's name, always: "unary.relu" */
    FIELD_NUMBER,       /* uint32_t: "groups=2" */
    FIELD_REAL,         /* double: "value=0.5" */
    FIELD_FLAG,         /* a bit of a uint32_t: "transpose_a" */
    FIELD_AXES,         /* a uint32_t with one bit per dimension: "axes=[0,2]" */
    FIELD_NUMBERS,      /* uint32_t[limit]: "order=[1,0]" */
    FIELD_WORDS,        /* uint32_t[limit] of any value: "code=[10]" */
    FIELD_STEPS,        /* int64_t[limit]: "step=[1,-1]" */
    FIELD_DIMS,         /* forge_dim[limit]: "start=[0,B]" */
    FIELD_REALS,        /* double[limit]: "reals=[1e-05]" */
    FIELD_DTYPE,        /* forge_dtype: "dtype=f32" */
    FIELD_ACCUMULATE,   /* forge_dtype; printed if it differs from the first input's: "accumulate=f32" */
    FIELD_RESULT_DTYPE, /* forge_dtype; not printed, because the line contains the result's type */
    FIELD_RESULT_SHAPE, /* forge_shape; not printed, because the line contains the result's shape */
    FIELD_ELEMENTS,     /* elements of a constant, always: "{1, 2}" */
    FIELD_PORT,         /* uint32_t, index in graph->inputs, always: "\"x\"" */
    FIELD_SLOT,         /* uint32_t, index in graph->slots, always: "\"fc1.weight\"" */
    FIELD_NAME,         /* char[32], after the operation's name and kind, always: "composite.attention" */
    FIELD_BODY,         /* const forge_graph *, always: "body=$2" */
    FIELD_END
};

/* One attribute of an operation. */
struct field {
    enum field_kind kind;
    const char *name;
    size_t offset;                        /* offset of the member in the attributes, in bytes */
    uint32_t limit;                       /* FIELD_FLAG: the bit. FIELD_KIND: number of kinds. Lists: number
                                           * of entries. */
    const char *(*kind_name)(unsigned i); /* FIELD_KIND only: returns the name of kind i */
};

/* Limit on strides, dilations, padding and other numbers in lists. It keeps index arithmetic within 64
 * bits. */
#define FIELDS_MAX_NUMBER (UINT32_C(1) << 24)

/* Returns the list of fields, which ends with FIELD_END. */
const struct field *op_fields(enum op op);

/* Returns the kind in an operation's name, for example "relu" for unary.relu and "attention" for
 * composite.attention; "" for an operation without kinds. The text is static, or part of the attributes. */
const char *fields_kind(enum op op, const void *attributes);

/* Checks each field by itself: ranks, sizes, types, kinds and flags must exist, and names must be terminated.
 * Returns the name of the first invalid field, or NULL if all fields are safe to use. size: bytes of the
 * attributes. */
const char *fields_check(enum op op, const void *attributes, size_t size, const struct dim_table *dims);

/* Returns true if a size or a position in the attributes is symbolic. */
bool fields_have_symbols(enum op op, const void *attributes);
/* Replaces symbolic sizes in the attributes by dim_substitute. values[i]: the number or other expression for
 * entry i of the dim table. */
void fields_substitute(enum op op, void *attributes, const forge_dim *values);

#endif
