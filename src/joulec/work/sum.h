/* joulec/work/sum.h - what one call of a function takes: the work of its blocks, as often as they run, and of what it calls.
 *
 * Owns the way from blocks and trip counts to amounts of work: the cheapest and the dearest path, and the likely mix of them.
 * It knows no budget. Who could not be bounded, and why, is kept as doubts.
 * Newcomers: three sums go side by side. The low and the high one are of paths that exist in the graph, not of worst cases
 * of a real machine; the middle one weighs branches.
 */
#ifndef JOULEC_SUM_H
#define JOULEC_SUM_H

#include "joule/cost/core.h"
#include "joulec/module/loops.h"

enum bound { BOUND_LOW, BOUND_EST, BOUND_HIGH, BOUNDS };

/* Work, with the cycles that it takes. */
struct amounts {
    struct cost_features of[BOUNDS];
};

/* How often a loop goes round for each time that it is entered. */
struct loop_times {
    double times[BOUNDS]; /* on the average of all entries */
    double least, most;   /* in any of them; the same: each has as many; infinite: unknown */
};

enum doubt_kind {
    DOUBT_LOOP,      /* nobody knows how often it runs */
    DOUBT_CALLEE,    /* a function without a body here, and without a contract */
    DOUBT_POINTER,   /* a call through a pointer */
    DOUBT_RECURSION, /* a function that comes back to itself, without JOULE_DEPTH */
    DOUBT_SHAPE,     /* a way into the middle of a loop */
    DOUBT_DEPTH,     /* loops nested deeper than LOOPS_MAX_DEPTH */
    DOUBT_CALL,      /* a function that leaves something open where it is called like this */
    DOUBT_DEVICE,    /* it runs on a GPU */
    DOUBT_LENGTH,    /* nobody knows over how many bytes a function of the library goes */
    DOUBT_FRAMES,    /* its calls of itself are too many to count, though JOULE_DEPTH says how deep they go */
};

struct doubt {
    enum doubt_kind kind;
    const char *name; /* of the callee; NULL: none */
    struct source_place place;
    bool is_missing; /* it has no figure at all, and counts for nothing; else its rounds are guessed */
};

/* A block each time that it runs, with what it calls. */
struct block_sum {
    double share; /* how often, as is likely, for each time round its loop, or for each call */
    double cycles[BOUNDS], joules[BOUNDS];
};

/* A loop in a call, as is likely. */
struct loop_runs {
    double entries, rounds;
};

/* The weakest thing that a figure rests on. Seen: by a profile, or on other machines (contract.h). Open: how often a loop runs is
 * guessed. Missing: something in it has no figure and counts for nothing, so that it takes this at least. */
enum basis { BASIS_EXACT, BASIS_BOUNDED, BASIS_SEEN, BASIS_OPEN, BASIS_MISSING };

struct function_sum {
    struct amounts call;
    double bytes[BOUNDS]; /* that a call touches; who knows the addresses fills them in */
    enum basis basis;     /* that of its callees, and of its doubts; who counted the loops adds theirs */
    bool has_ways;        /* its work may differ from call to call; the caller adds the loops */
    bool has_guess; /* a trip count is bounded, but its likely value is guessed; the caller adds the loops */
    struct block_sum *blocks; /* of each block; zeros where it cannot be reached */
    struct amounts *loops;    /* of each loop, what it takes each time that it is entered */
    struct loop_runs *runs;   /* of each loop */
    struct doubt *doubts;
    size_t doubt_count;
};

/* The machine on which it would run. */
struct target {
    struct cost_core core;
    struct cost_table table;
};

struct block_memory;

/* How many bytes a call of the library's goes over, where that is known. */
struct call_length {
    double bytes[BOUNDS]; /* high NaN: it is not */
    bool is_guess;        /* the likely length is guessed between low and high */
};

/* Of a function, what is known never to happen, and how much is done where something is called. */
struct sum_ways {
    bool *is_closed;             /* by an edge's number: it is not taken */
    bool *is_reached;            /* by block: it can be */
    struct call_length *lengths; /* by call */
};

/* Adds up a function. `callees` has, by the number of each call, what a function with a body takes there; NULL where that is
 * not known yet, which is a recursion. times: those of its loops; memory: of each block, levels.h, NULL:
 * all is in the first level; ways NULL: all can be gone. In `arena`. NO_MEMORY, or OK. */
joule_status sum_function(struct arena *arena, const struct function *function, const struct loops *loops,
                          const struct loop_times *times, const struct block_memory *memory,
                          const struct target *target, const struct function_sum *const *callees,
                          const struct sum_ways *ways, struct function_sum *out_sum);
/* "callee"; the kinds of a report. */
const char *doubt_name(enum doubt_kind kind);
/* As strcmp does; 0: they are the same, by their callee, or, of what has no name, by their place. */
int doubt_order(const struct doubt *a, const struct doubt *b);
/* out += by * more, in each bound. */
void amounts_add(struct amounts *out, const double by[BOUNDS], const struct amounts *more);
/* The operations of a block, without their time. */
struct cost_features sum_features(const struct block *block);
/* Of steps that wait for one another. */
double sum_latency_cycles(const double steps[WORK_KINDS], const struct cost_core *core);
/* Of the longest chain inside; 0: unknown. */
double sum_longest_cycles(const struct block *block, const struct cost_core *core);
/* What a round waits for in it; NaN: unknown. */
double sum_chain_cycles(const struct block *block, const struct cost_core *core);
/* With the cycles that it takes, and what its package needs meanwhile. */
void sum_set_time(const struct target *target, struct cost_features *work, double cycles);
/* With those that a core takes for it at one bound. */
void sum_set_cycles(const struct target *target, enum bound bound, const struct cost_flow *flow,
                    struct cost_features *work);
/* Joules by the table's middle prices. */
double amounts_joules(const struct target *target, const struct amounts *amounts, enum bound bound);

#endif
