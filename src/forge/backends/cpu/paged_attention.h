/* backends/cpu/paged_attention.h - attention of rows of tokens over keys and values in pages.
 *
 * Shapes: t: number of rows; d: elements of a head; groups: heads of the keys; shared: heads of q that use
 * the same head of the keys; places: positions of all pages of the cache.
 * A piece is one row of q and one head of the keys, with all heads of q that share it. The result of a row is
 * computed from its own keys in the order of their positions, so its bits depend on no other row.
 */
#ifndef FORGE_CPU_PAGED_ATTENTION_H
#define FORGE_CPU_PAGED_ATTENTION_H

#include "forge/ir/launch.h"

enum { PAGED_MAX_DIMS = 512 }; /* maximum size of a head */

/* A cache of keys or values: [places, groups, d]. */
struct paged_cache {
    const char *data;
    forge_dtype dtype;
    size_t head_bytes; /* size of one head of one place */
};

/* The sizes and memory of a launch. */
struct paged_attention {
    const float *q; /* [t, groups * shared, d] */
    float *out;     /* [t, groups * shared, d] */
    struct paged_cache keys, values;
    const int32_t *tables;              /* [sequences, pages] */
    const int32_t *sequence, *position; /* [t] */
    size_t groups, shared, d;
    int64_t places, sequences, pages, page_size;
    float scale;
};

struct paged_attention paged_attention_of(const struct launch *launch);
/* Returns true if the kernel supports the launch. */
bool paged_attention_takes(const struct launch *launch);
/* Returns the number of pieces. *out_grain: minimum number of pieces per thread. */
size_t paged_attention_pieces(const struct launch *launch, size_t *out_grain);

/* Returns the number of keys that a row attends to: those of the positions 0 to its own. */
size_t paged_attention_length(const struct paged_attention *a, size_t row);
/* Returns the index along the cache's first dimension at which the key and value of `position` in a row's
 * sequence are stored. Returns -1 if the page table contains an index outside the cache. */
int64_t paged_attention_place(const struct paged_attention *a, size_t row, size_t position);

#endif
