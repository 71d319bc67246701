/* backends/cpu/elementwise.h - which operations on single elements have fast kernels (isa/elementwise.inc). */
#ifndef FORGE_CPU_ELEMENTWISE_H
#define FORGE_CPU_ELEMENTWISE_H

#include "forge/backends/cpu/runs.h"

bool elementwise_takes_unary(const struct launch *launch);
bool elementwise_takes_unary_f64(const struct launch *launch);
bool elementwise_takes_binary(const struct launch *launch);
bool elementwise_takes_binary_f64(const struct launch *launch);
bool elementwise_takes_select(const struct launch *launch);
bool elementwise_takes_select_f64(const struct launch *launch);
/* From bool or u8 to f32. */
bool elementwise_takes_cast(const struct launch *launch);
bool elementwise_takes_cast_f64(const struct launch *launch);
/* The result's gradient and x, of its shape. */
bool elementwise_takes_gelu_back(const struct launch *launch);

size_t elementwise_unary_pieces(const struct launch *launch, size_t *out_grain);
/* Of those with a polynomial. */
size_t elementwise_dear_pieces(const struct launch *launch, size_t *out_grain);
/* Of binary, select and cast. */
size_t elementwise_pieces(const struct launch *launch, size_t *out_grain);

#endif
