/* backends/cpu/elementwise.h - checks which elementwise operations have fast kernels (isa/elements.inc,
 * isa/elementwise.inc). */
#ifndef FORGE_CPU_ELEMENTWISE_H
#define FORGE_CPU_ELEMENTWISE_H

#include "forge/backends/cpu/runs.h"

/* Returns true if the f32 kernel (or the f64 kernel, for *_f64; or the kernel for bf16 and f16, for *_narrow)
 * supports the launch. */
bool elementwise_takes_unary(const struct launch *launch);
bool elementwise_takes_unary_f64(const struct launch *launch);
bool elementwise_takes_unary_narrow(const struct launch *launch);
bool elementwise_takes_binary(const struct launch *launch);
bool elementwise_takes_binary_f64(const struct launch *launch);
bool elementwise_takes_binary_narrow(const struct launch *launch);
bool elementwise_takes_select(const struct launch *launch);
bool elementwise_takes_select_f64(const struct launch *launch);
bool elementwise_takes_select_narrow(const struct launch *launch);
/* Return true for casts from bool or u8: the first function for casts to f32, the second function for casts
 * to f64. The third function returns true for casts from or to bf16 or f16, if the other type is bool, u8,
 * f32, bf16 or f16. */
bool elementwise_takes_cast(const struct launch *launch);
bool elementwise_takes_cast_f64(const struct launch *launch);
bool elementwise_takes_cast_narrow(const struct launch *launch);
/* Return true if the f32 kernel (or the kernel for bf16 and f16) of the composite gelu_back supports the
 * launch. Inputs: the gradient of the result and x, both with the result's shape. */
bool elementwise_takes_gelu_back(const struct launch *launch);
bool elementwise_takes_gelu_back_narrow(const struct launch *launch);

/* Returns the number of pieces of a unary operation. *out_grain: minimum number of pieces per thread. */
size_t elementwise_unary_pieces(const struct launch *launch, size_t *out_grain);
/* Returns the number of pieces of another operation that evaluates a polynomial. *out_grain: as above. */
size_t elementwise_polynomial_pieces(const struct launch *launch, size_t *out_grain);
/* Returns the number of pieces of a binary operation, a select or a cast. *out_grain: as above. */
size_t elementwise_pieces(const struct launch *launch, size_t *out_grain);
/* Returns the approximate time of a unary, a binary, a select or a cast for 1000 elements, in ns. */
double elementwise_ns(const struct launch *launch);

#endif
