/* support/views.h - operations on elements in memory, without a graph.
 *
 * Makes views for tests, and runs a reference function at once and in pieces. Note: the second run uses
 * separate memory and must write the same bytes. */
#ifndef SUPPORT_VIEWS_H
#define SUPPORT_VIEWS_H

#include "forge/ir/launch.h"

/* Returns the address of the element at this position of `shape`, to which the view is broadcast. */
const void *view_address(const struct view *view, const forge_shape *shape, size_t position);
/* Returns the element at this position of the view. */
double view_number(const struct view *view, size_t position);
/* Returns the size in bytes of the view's elements when packed. */
size_t view_size_bytes(const struct view *view);

/* Fills `space` with `count` random integers from `min` to `max`. Returns a view of this shape that begins in
 * the middle of `space`. Its strides are sometimes random, between -30 and 30 elements. */
struct view view_of_numbers(forge_dtype dtype, void *space, size_t count, forge_shape shape, int64_t min,
                            int64_t max);

/* Runs the whole operation at once and writes `outputs`. Then runs it again in pieces of unequal size, from
 * the last piece to the first. Fails the test if the bytes of the outputs differ. */
void run_reference(enum op op, const void *attributes, const struct view *inputs, size_t input_count,
                   const struct view *outputs, size_t output_count);

/* Returns one of three views at random: the packed view itself, the view with reversed dimensions, or the
 * view whose last dimension repeats its first element. */
struct view view_any_way(struct view view);

uint64_t random_bits(void);
/* Returns a random integer from `min` to `max`. */
int64_t pick(int64_t min, int64_t max);

#endif
