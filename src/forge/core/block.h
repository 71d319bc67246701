/* core/block.h - elements that come in blocks with a scale of their own.
 *
 * Owns the layout, packing and unpacking of q8_0 and q4_0; the table in dtype.c is their only user.
 * Newcomers: `first` and `count` are whole blocks.
 */
#ifndef FORGE_CORE_BLOCK_H
#define FORGE_CORE_BLOCK_H

#include <stddef.h>

enum { BLOCK_ELEMENTS = 32, Q8_0_BYTES = 34, Q4_0_BYTES = 18 };

void load_q8_0(const void *source, size_t first, size_t count, double *out);
void store_q8_0(void *target, size_t first, size_t count, const double *values);
void load_q4_0(const void *source, size_t first, size_t count, double *out);
void store_q4_0(void *target, size_t first, size_t count, const double *values);

#endif
