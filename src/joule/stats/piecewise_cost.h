/* joule/stats/piecewise_cost.h - the cost of a series as a function of its last phase's mean.
 *
 * The function is piecewise quadratic. Each piece remembers the first value of the last phase (origin) that
 * gives the least cost for means in this piece. Used by change_points.c, which names the sources.
 */
#ifndef JOULE_STATS_PIECEWISE_COST_H
#define JOULE_STATS_PIECEWISE_COST_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"

/* The cost base + weight (mean - center)^2 for means from `begin` to the next piece. */
struct cost_piece {
    double begin, base, weight, center;
    size_t origin;
};

/* The function for all means: pieces in ascending order, and a second list of the same capacity for the next
 * function. */
struct piecewise_cost {
    struct cost_piece *pieces, *spare;
    size_t count, capacity;
    struct arena *arena;
    double least;       /* the least cost ... */
    size_t best_origin; /* ... and the origin of its piece; see piecewise_cost_minimise */
};

/* Initialises a function that is 0, with origin 0. Its pieces will be in the arena. Returns false if out of
 * memory, as all functions here do. */
bool piecewise_cost_begin(struct piecewise_cost *cost, struct arena *arena);
/* Replaces the function by `limit`, with `origin`, where it is larger. */
bool piecewise_cost_limit(struct piecewise_cost *cost, double limit, size_t origin);
/* Adds min((value - mean)^2, width^2). */
bool piecewise_cost_add(struct piecewise_cost *cost, double value, double width);
/* Sets `least` and `best_origin`. */
void piecewise_cost_minimise(struct piecewise_cost *cost);

#endif
