/* support/views.h - operations on elements in memory, without a graph.
 *
 * Owns views for tests, and the running of a reference function in whole and in pieces. Newcomers: the second run is in
 * memory of its own, and must give the same bytes.
 */
#ifndef SUPPORT_VIEWS_H
#define SUPPORT_VIEWS_H

#include "forge/ir/launch.h"

/* Where the element at this position of `shape` lies in a view that is broadcast to it. */
const void *view_address(const struct view *view, const forge_shape *shape, size_t position);
/* The element at this position of the view, as a double. */
double view_number(const struct view *view, size_t position);
/* What its elements take when they are packed. */
size_t view_size_bytes(const struct view *view);

/* `count` random whole numbers from least to most, and a view from their middle on, sometimes with strides of either
 * sign, up to 30. */
struct view view_of_numbers(forge_dtype dtype, void *space, size_t count, forge_shape shape, int64_t least,
                            int64_t most);

/* All of the work at once into `outputs`, then again from the last piece to the first in uneven runs. */
void run_reference(enum op op, const void *attributes, const struct view *inputs, size_t input_count,
                   const struct view *outputs, size_t output_count);

/* A packed view as it is, with its dimensions the other way round, or repeating its last one's first element. */
struct view view_any_way(struct view view);

uint64_t random_bits(void);
/* A whole number from least to most. */
int64_t pick(int64_t least, int64_t most);

#endif
