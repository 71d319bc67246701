/* ir/fields.c - see fields.h. */
#include "forge/ir/fields.h"

#include <string.h>
#include "forge/ir/infer.h"

#define FIELD(KIND, text, family, member)                                                                    \
    {                                                                                                        \
        FIELD_##KIND, text, offsetof(struct family##_attributes, member), 0, NULL                            \
    }
#define FLAG(text, family, member, bit)                                                                      \
    {                                                                                                        \
        FIELD_FLAG, text, offsetof(struct family##_attributes, member), bit, NULL                            \
    }
#define KIND(family, count, name_of)                                                                         \
    {                                                                                                        \
        FIELD_KIND, "kind", offsetof(struct family##_attributes, kind), count, name_of                       \
    }
#define LIST(KIND, text, family, member)                                                                     \
    {                                                                                                        \
        FIELD_##KIND, text, offsetof(struct family##_attributes, member),                                    \
            sizeof(((struct family##_attributes *)0)->member) /                                              \
                sizeof(((struct family##_attributes *)0)->member[0]),                                        \
            NULL                                                                                             \
    }
#define CUT(family)                                                                                          \
    LIST(DIMS, "start", family, cut.start), LIST(DIMS, "limit", family, cut.limit),                          \
        LIST(STEPS, "step", family, cut.step)
#define WINDOWS(family)                                                                                      \
    FIELD(AXES, "axes", family, windows.axes), LIST(NUMBERS, "size", family, windows.size),                  \
        LIST(NUMBERS, "stride", family, windows.stride),                                                     \
        LIST(NUMBERS, "dilation", family, windows.dilation),                                                 \
        LIST(NUMBERS, "before", family, windows.before), LIST(NUMBERS, "after", family, windows.after)
#define END                                                                                                  \
    {                                                                                                        \
        FIELD_END, NULL, 0, 0, NULL                                                                          \
    }

/* --- one list for each row of ops.def ------------------------------------------------------------------- */

static const struct field input_fields[] = {FIELD(PORT, "index", input, index),
                                            FIELD(RESULT_DTYPE, "dtype", input, dtype),
                                            FIELD(RESULT_SHAPE, "shape", input, shape), END};
static const struct field read_fields[] = {FIELD(SLOT, "slot", read, slot), END};
static const struct field constant_fields[] = {FIELD(ELEMENTS, "elements", constant, bytes),
                                               FIELD(RESULT_DTYPE, "dtype", constant, dtype),
                                               FIELD(RESULT_SHAPE, "shape", constant, shape), END};
static const struct field iota_fields[] = {FIELD(RESULT_DTYPE, "dtype", iota, dtype),
                                           FIELD(NUMBER, "axis", iota, axis),
                                           FIELD(RESULT_SHAPE, "shape", iota, shape), END};
static const struct field unary_fields[] = {KIND(kind, FORGE_UNARY_KINDS, unary_name), END};
static const struct field binary_fields[] = {KIND(kind, FORGE_BINARY_KINDS, binary_name), END};
static const struct field select_fields[] = {END};
static const struct field cast_fields[] = {FIELD(RESULT_DTYPE, "dtype", cast, dtype), END};
static const struct field reduce_fields[] = {
    KIND(reduce, FORGE_REDUCE_KINDS, reduce_name), FIELD(AXES, "axes", reduce, axes),
    FLAG("keeps_dims", reduce, keep_dims, 1), FIELD(ACCUMULATE, "accumulate", reduce, accumulate), END};
static const struct field matmul_fields[] = {FLAG("transpose_a", matmul, flags, FORGE_TRANSPOSE_A),
                                             FLAG("transpose_b", matmul, flags, FORGE_TRANSPOSE_B),
                                             FIELD(ACCUMULATE, "accumulate", matmul, accumulate), END};
static const struct field reshape_fields[] = {FIELD(RESULT_SHAPE, "shape", shape, shape), END};
static const struct field broadcast_fields[] = {FIELD(RESULT_SHAPE, "shape", shape, shape), END};
static const struct field transpose_fields[] = {LIST(NUMBERS, "order", transpose, order), END};
static const struct field composite_fields[] = {
    FIELD(NAME, "name", composite, name),         LIST(REALS, "reals", composite, reals),
    LIST(NUMBERS, "numbers", composite, numbers), FIELD(NUMBER, "wanted", composite, wanted),
    FIELD(NUMBER, "given", composite, given),     LIST(WORDS, "code", composite, code),
    FIELD(BODY, "body", composite, body),         END};
static const struct field concat_fields[] = {FIELD(NUMBER, "axis", axis, axis), END};
static const struct field slice_fields[] = {CUT(slice), END};
static const struct field pad_fields[] = {CUT(pad), FIELD(REAL, "value", pad, value),
                                          FIELD(RESULT_SHAPE, "shape", pad, shape), END};
static const struct field conv_fields[] = {FLAG("transposed", conv, flags, CONV_TRANSPOSED),
                                           FLAG("sized", conv, flags, CONV_SIZED),
                                           FIELD(NUMBER, "groups", conv, groups),
                                           LIST(NUMBERS, "stride", conv, stride),
                                           LIST(NUMBERS, "dilation", conv, dilation),
                                           LIST(NUMBERS, "before", conv, before),
                                           LIST(NUMBERS, "after", conv, after),
                                           LIST(NUMBERS, "extra", conv, extra),
                                           LIST(DIMS, "size", conv, size),
                                           FIELD(ACCUMULATE, "accumulate", conv, accumulate),
                                           END};
static const struct field window_fields[] = {KIND(window, FORGE_REDUCE_KINDS, reduce_name), WINDOWS(window),
                                             FLAG("counts_padding", window, count_padding, 1), END};
static const struct field unfold_fields[] = {WINDOWS(unfold), FIELD(REAL, "padding", unfold, padding), END};
static const struct field fold_fields[] = {WINDOWS(fold), FIELD(RESULT_SHAPE, "shape", fold, shape), END};
static const struct field share_fields[] = {WINDOWS(share), END};
static const struct field random_fields[] = {KIND(random, FORGE_RANDOM_KINDS, random_name),
                                             FIELD(NUMBER, "stream", random, stream),
                                             FIELD(RESULT_SHAPE, "shape", random, shape), END};
static const struct field gather_fields[] = {FIELD(NUMBER, "axis", gather, axis),
                                             FLAG("along", gather, is_along, 1),
                                             FLAG("gives_zero", gather, gives_zero, 1), END};
static const struct field scatter_fields[] = {KIND(scatter, FORGE_SCATTER_KINDS, scatter_name),
                                              FIELD(NUMBER, "axis", scatter, axis),
                                              FLAG("along", scatter, is_along, 1), END};
static const struct field scan_fields[] = {KIND(scan, FORGE_REDUCE_KINDS, reduce_name),
                                           FIELD(NUMBER, "axis", scan, axis),
                                           FLAG("exclusive", scan, flags, FORGE_SCAN_EXCLUSIVE),
                                           FLAG("reverse", scan, flags, FORGE_SCAN_REVERSE), END};
static const struct field sort_fields[] = {FIELD(NUMBER, "axis", sort, axis),
                                           FLAG("descending", sort, is_descending, 1),
                                           FIELD(RESULT_SHAPE, "shape", sort, shape), END};
static const struct field transfer_fields[] = {END};
static const struct field stop_gradient_fields[] = {END};
static const struct field collective_fields[] = {KIND(collective, FORGE_COLLECTIVE_KINDS, collective_name),
                                                 FIELD(NAME, "group", collective, group),
                                                 FIELD(NUMBER, "size", collective, size),
                                                 FIELD(NUMBER, "axis", collective, axis),
                                                 FIELD(NUMBER, "root", collective, root),
                                                 END};

static const struct field *const fields[OP_COUNT] = {
#define OP(NAME, name, min_inputs, max_inputs, attributes) [OP_##NAME] = name##_fields,
#include "forge/ir/ops.def"
};

const struct field *op_fields(enum op op)
{
    return fields[op];
}

/* --- checking ------------------------------------------------------------------------------------------- */

static bool is_shape(const forge_shape *shape, const struct dim_table *dims)
{
    if (shape->rank > FORGE_MAX_RANK || shape->reserved)
        return false;
    for (uint32_t i = 0; i < FORGE_MAX_RANK; i++)
        if (i < shape->rank ? !dim_is_known(dims, shape->dims[i]) : shape->dims[i] != 0)
            return false;
    return true;
}

/* Returns true if every number of a list is in range. Steps may be negative. A negative size stands for a
 * symbol, so it is also valid. */
static bool are_numbers(const struct field *field, const void *at, const struct dim_table *dims)
{
    for (uint32_t i = 0; i < field->limit; i++) {
        if (field->kind == FIELD_NUMBERS) {
            if (((const uint32_t *)at)[i] > FIELDS_MAX_NUMBER)
                return false;
            continue;
        }
        int64_t number = ((const int64_t *)at)[i];
        if (field->kind == FIELD_DIMS ? !dim_is_known(dims, number)
                                      : number > DIM_MAX_NUMBER || number < -DIM_MAX_NUMBER)
            return false;
    }
    return true;
}

/* Returns the bits of all flags that the operation has in the member at `offset`. */
static uint32_t flags_at(const struct field *field, size_t offset)
{
    uint32_t flags = 0;
    for (; field->kind != FIELD_END; field++)
        flags |= field->kind == FIELD_FLAG && field->offset == offset ? field->limit : 0;
    return flags;
}

static bool is_valid_field(const struct field *field, enum op op, const void *attributes,
                           const struct dim_table *dims)
{
    const void *at = (const char *)attributes + field->offset;
    uint32_t number = 0;
    if (field->kind != FIELD_NAME && field->kind != FIELD_ELEMENTS)
        memcpy(&number, at, sizeof number);
    switch (field->kind) {
    case FIELD_KIND:
        return number < field->limit;
    case FIELD_FLAG:
        return (number & ~flags_at(op_fields(op), field->offset)) == 0;
    case FIELD_AXES:
        return number >> FORGE_MAX_RANK == 0;
    case FIELD_NUMBERS:
    case FIELD_STEPS:
    case FIELD_DIMS:
        return are_numbers(field, at, dims);
    case FIELD_DTYPE:
    case FIELD_ACCUMULATE:
    case FIELD_RESULT_DTYPE:
        return forge_dtype_block_bytes((forge_dtype)number) != 0;
    case FIELD_RESULT_SHAPE:
        return is_shape(at, dims);
    case FIELD_NAME:
        return memchr(at, '\0', sizeof(((struct composite_attributes *)0)->name)) != NULL;
    default:
        return true; /* any number is valid; infer.c checks ports, slots and bodies */
    }
}

const char *fields_kind(enum op op, const void *attributes)
{
    for (const struct field *field = op_fields(op); field->kind != FIELD_END; field++) {
        const char *at = (const char *)attributes + field->offset;
        if (field->kind == FIELD_KIND)
            return field->kind_name(*(const uint32_t *)(const void *)at);
        if (field->kind == FIELD_NAME)
            return at;
    }
    return "";
}

const char *fields_check(enum op op, const void *attributes, size_t size, const struct dim_table *dims)
{
    size_t own = op_attributes_size(op);
    if (size < own)
        return "size";
    if (size != own &&
        (op != OP_CONSTANT || size - own != ((const struct constant_attributes *)attributes)->size_bytes))
        return "size";
    for (const struct field *field = op_fields(op); field->kind != FIELD_END; field++)
        if (!is_valid_field(field, op, attributes, dims))
            return field->name;
    return NULL;
}

/* Returns the number of values of type forge_dim (sizes or positions) in a field, and sets *out_dims to the
 * first of them. Returns 0 if the field has none. */
static uint32_t dims_of(const struct field *field, const void *attributes, forge_dim **out_dims)
{
    char *at = (char *)attributes + field->offset;
    *out_dims = field->kind == FIELD_RESULT_SHAPE ? ((forge_shape *)at)->dims : (forge_dim *)at;
    return field->kind == FIELD_RESULT_SHAPE ? ((forge_shape *)at)->rank
           : field->kind == FIELD_DIMS       ? field->limit
                                             : 0;
}

bool fields_have_symbols(enum op op, const void *attributes)
{
    bool has = false;
    for (const struct field *field = op_fields(op); field->kind != FIELD_END; field++) {
        forge_dim *dims;
        uint32_t count = dims_of(field, attributes, &dims);
        for (uint32_t i = 0; i < count; i++)
            has |= dims[i] < 0;
    }
    return has;
}

void fields_substitute(enum op op, void *attributes, const forge_dim *values)
{
    for (const struct field *field = op_fields(op); field->kind != FIELD_END; field++) {
        forge_dim *dims;
        uint32_t count = dims_of(field, attributes, &dims);
        for (uint32_t i = 0; i < count; i++)
            dims[i] = dim_substitute(dims[i], values);
    }
}
