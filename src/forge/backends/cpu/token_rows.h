/* backends/cpu/token_rows.h - small kernels of language models, whose pieces are rows of tokens: embedding,
 * rotary embedding, swiglu, and writing to the cache of keys and values. */
#ifndef FORGE_CPU_TOKEN_ROWS_H
#define FORGE_CPU_TOKEN_ROWS_H

#include "forge/ir/launch.h"

/* Return true if the kernel supports the launch: packed operands with the types and shapes of the
 * composite. */
bool token_rows_take_embedding(const struct launch *launch);
bool token_rows_take_rotary(const struct launch *launch);
bool token_rows_take_swiglu(const struct launch *launch);
bool token_rows_take_cache(const struct launch *launch);

/* Return the number of pieces. token_rows_pieces: one piece for each row of the result.
 * token_rows_cache_pieces: 1, because a later row may overwrite an earlier row of the cache. *out_grain:
 * minimum number of pieces per thread. */
size_t token_rows_pieces(const struct launch *launch, size_t *out_grain);
size_t token_rows_cache_pieces(const struct launch *launch, size_t *out_grain);

#endif
