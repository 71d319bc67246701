/* emit/emit.h - renders fused elementwise operations (ir/fused.h) as source code.
 *
 * The code is one function, which computes each operation once for each element and keeps intermediate values
 * in registers. The table of dialects (dialect.h) contains all differences between languages.
 *
 * In the dialect "c", the function is
 *     void forge_group(const void *const *inputs, const int64_t *steps, void *out, size_t count);
 * It computes `count` consecutive elements of the result. Consecutive elements of an input are 1 element
 * apart, or all are the same element if its step is 0. The output may overwrite an input.
 *
 * In all other dialects, each thread computes one element. The arguments are the inputs, the output, and
 * `places`, an array of 64-bit integers: the number of elements; `rank` sizes, whose product it is; and for
 * each input `rank` strides, in elements.
 */
#ifndef FORGE_EMIT_EMIT_H
#define FORGE_EMIT_EMIT_H

#include <joule/base.h>
#include "forge/ir/fused.h"

struct dialect;

/* The operations of a group. */
struct emit_group {
    const struct fused *fused; /* elementwise steps only */
    const forge_dtype *dtypes; /* of inputs and steps, by operand number */
    size_t input_count;
    uint32_t vector_bytes; /* for "c": size of a vector register: 16, 32 or 64 */
    uint32_t rank;         /* for other dialects: 1 to FORGE_MAX_RANK */
};

/* Return a dialect, in static storage: by position, or by name ("c", "opencl", "cuda", "hip", "metal"). NULL:
 * there is none. */
const struct dialect *dialect_at(size_t i);
const struct dialect *dialect_find(const char *name);

const char *dialect_name(const struct dialect *dialect);

/* Returns the source. The caller frees it. JOULE_UNSUPPORTED: the dialect cannot express an operation or a
 * type, or the step is not elementwise; the message names it. JOULE_INVALID: there are no steps, or too many
 * inputs. */
joule_status emit_source(const struct dialect *dialect, const struct emit_group *group, char **out_source,
                         joule_error *out_error);

#endif
