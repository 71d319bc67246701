/* kernels.h - six kernels, each with one loop that does the bulk of the work.
 *
 * `size` is the number of rows of a square matrix, of points, or of characters. With `is_parallel`, the loop
 * runs in the threads of OpenMP. Both ways compute each element in the same order, so results are equal.
 */
#ifndef EXAMPLES_KERNELS_H
#define EXAMPLES_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel {
    const char *name;
    size_t sizes[3]; /* small, medium, large */
    size_t max_size;
    /* Allocates input and output; the caller frees both. *out_bytes is the size of the output. */
    void (*prepare)(size_t size, uint64_t seed, void **out_input, void **out_output, size_t *out_bytes);
    void (*run)(size_t size, const void *input, void *output, bool is_parallel);
};

enum { KERNELS = 6 };
extern const struct kernel kernels[KERNELS];

#endif
