/* compiler/min_cut.h - the minimum cut of a network: which numbers to choose, 0 or 1, so that the sum of the
 * costs of the numbers and of pairs of numbers is least.
 *
 * The method is Dinic's ("Algorithm for solution of a problem of maximum flow in networks with power
 * estimation", Soviet Math. Doklady 11, 1970). */
#ifndef FORGE_COMPILER_MIN_CUT_H
#define FORGE_COMPILER_MIN_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct min_cut; /* min_cut.c */

/* Returns a network for `count` numbers and up to max_pairs pairs, without costs; NULL if out of memory. The
 * caller frees it with min_cut_free. */
struct min_cut *min_cut_new(size_t count, size_t max_pairs);
void min_cut_free(struct min_cut *cut);

/* Adds costs, which must be finite: `zero` if number i is 0, and `one` if it is 1. */
void min_cut_add(struct min_cut *cut, size_t i, double zero, double one);
/* Adds a cost of at least 0 if number i is 0 and number k is 1. */
void min_cut_add_pair(struct min_cut *cut, size_t i, size_t k, double cost);
/* Chooses the numbers. out_numbers: [count]. If several choices cost the least, numbers are 0 if possible. */
void min_cut_solve(struct min_cut *cut, bool *out_numbers);

#endif
