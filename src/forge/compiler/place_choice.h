/* compiler/place_choice.h - chooses places for parts of a graph, given what each part costs on each place and
 * what a transfer costs.
 *
 * Note: this file knows no graphs. choose_places.c describes a graph in its terms. */
#ifndef FORGE_COMPILER_PLACE_CHOICE_H
#define FORGE_COMPILER_PLACE_CHOICE_H

#include <forge/placed.h>

enum { MAX_PLACES = FORGE_MAX_PLACED_DEVICES };

struct place_cost {
    double seconds, joules;
};

/* A part is read by another one. */
struct place_edge {
    uint32_t value; /* what is transferred, once to each place */
    uint32_t from, to;
};

struct place_problem {
    size_t part_count, place_count, value_count, edge_count;
    const struct place_cost *costs; /* [part_count][place_count]; INFINITY: the part cannot run there */
    const struct place_edge *edges;
    const double *bytes; /* [value_count] */
    /* of a transfer from place i to place k: start[i][k] + bytes * per_byte[i][k]. Both are symmetric, 0 if i
     * equals k or if no transfer is needed, and no larger than the sum of two transfers by way of another
     * place. */
    struct place_cost start[MAX_PLACES][MAX_PLACES], per_byte[MAX_PLACES][MAX_PLACES];
    forge_minimise objective;
};

/* Cost of a choice, with transfers. */
struct place_sum {
    struct place_cost cost;
    size_t transfers;
    double transfer_bytes;
};

/* Returns the cost of a choice. places: [part_count]. scratch: [value_count]. */
struct place_sum place_sum_of(const struct place_problem *problem, const uint8_t *places, uint8_t *scratch);
/* Returns what the objective minimises. */
double place_score(const struct place_problem *problem, struct place_cost cost);
/* Chooses a place for each part. Never worse than all parts on one place, with the parts that cannot run
 * there where they cost least. out_places:
 * [part_count]. Returns false if out of memory. */
bool place_choose(const struct place_problem *problem, uint8_t *out_places);

#endif
