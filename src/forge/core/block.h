/* core/block.h - packs and unpacks the block formats q8_0 and q4_0: 32 elements with a common scale.
 *
 * Note: `first` and `count` are in elements, multiples of BLOCK_ELEMENTS. The table in dtype.c is the only
 * user.
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
