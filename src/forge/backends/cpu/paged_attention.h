/* backends/cpu/paged_attention.h - attention of rows of tokens over keys and values in pages.
 *
 * A piece is a block of consecutive rows of q and one head of the keys, with all heads of q that share it.
 * The rows of a sequence in a block share the loads of keys and values (isa/paged_attention.inc).
 * Note: the result of a row is computed from its own keys in the order of their positions, and each element
 * is a sum in a fixed order. So the bits of a row depend neither on other rows nor on the division into
 * blocks. */
#ifndef FORGE_CPU_PAGED_ATTENTION_H
#define FORGE_CPU_PAGED_ATTENTION_H

#include "forge/backends/cpu/kernel.h"
#include "forge/ir/launch.h"

enum {
    PAGED_MAX_DIMS = 512, /* maximum size of a head */
    PAGED_LINES = 64,     /* maximum number of lines, heads of q in one row, that share loads */
    PAGED_TILE = 32,      /* maximum number of keys or values that are loaded at once */
    /* The parts of scratch memory, in f32: rows of a tile and their transpose, lines of q, and scores. */
    PAGED_TILE_FLOATS = PAGED_TILE * PAGED_MAX_DIMS,
    PAGED_LINE_FLOATS = PAGED_LINES * PAGED_MAX_DIMS,
    PAGED_SCORES = KERNEL_SCRATCH_BYTES / 4 - 2 * PAGED_TILE_FLOATS - PAGED_LINE_FLOATS,
};

/* A cache of keys or values: [places, groups, d]. */
struct paged_cache {
    const char *data;
    forge_dtype dtype;
    size_t head_bytes; /* size of one head of one place */
};

/* The sizes and memory of a launch. */
struct paged_attention {
    const float *q; /* [rows, groups * shared, d] */
    float *out;     /* [rows, groups * shared, d] */
    struct paged_cache keys, values;
    const int32_t *tables;              /* [sequences, pages] */
    const int32_t *sequence, *position; /* [rows] */
    size_t rows, groups, shared, d;
    size_t block_rows; /* maximum number of rows of a block */
    int64_t places, sequences, pages, page_size;
    float scale;
};

struct paged_attention paged_attention_of(const struct launch *launch);
bool paged_attention_takes(const struct launch *launch);
size_t paged_attention_pieces(const struct launch *launch, size_t *out_grain);

/* Returns the number of rows from `row` on, but before `end`, that have the same sequence as `row`. */
size_t paged_attention_run(const struct paged_attention *a, size_t row, size_t end);
/* Returns the number of keys that a row attends to: those of the positions 0 to its own. */
size_t paged_attention_length(const struct paged_attention *a, size_t row);
/* Finds the keys and values of the positions [first, first + count) of a row's sequence. out_places: [count],
 * their indices along the cache's first dimension, or -1 if the page table contains an index outside the
 * cache. */
void paged_attention_places(const struct paged_attention *a, size_t row, size_t first, size_t count,
                            int64_t *out_places);

#endif
