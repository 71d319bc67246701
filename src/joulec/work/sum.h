/* joulec/work/sum.h - sums the work of one call of a function: of its blocks, by number of executions, and of
 * its callees.
 *
 * Low: the cheapest path. High: the most expensive path. Estimate: the mean of all paths, weighted by branch
 * probabilities. Work that could not be bounded is recorded as doubts.
 * Note: low and high are extremes over paths of the control flow graph, and not of a real machine.
 */
#ifndef JOULEC_SUM_H
#define JOULEC_SUM_H

#include "joule/cost/core.h"
#include "joulec/module/loops.h"

enum bound { BOUND_LOW, BOUND_EST, BOUND_HIGH, BOUNDS };

/* Amounts of work, including cycles, at each bound. */
struct amounts {
    struct cost_features of[BOUNDS];
};

/* Iterations of a loop per entry. */
struct loop_times {
    double times[BOUNDS]; /* mean over all entries */
    /* Minimum and maximum of a single entry. Equal: all entries have the same count. max infinite:
     * unknown. */
    double min, max;
};

enum doubt_kind {
    DOUBT_LOOP,      /* unknown trip count */
    DOUBT_CALLEE,    /* a function without a body and without known work */
    DOUBT_POINTER,   /* a call through a pointer */
    DOUBT_RECURSION, /* a recursive function without JOULE_DEPTH */
    DOUBT_SHAPE,     /* a jump into the middle of a loop */
    DOUBT_DEPTH,     /* loops nested deeper than LOOPS_MAX_DEPTH */
    DOUBT_CALL,      /* the callee's work has no bound or figure for the arguments of this call */
    DOUBT_DEVICE,    /* the function runs on a GPU */
    DOUBT_LENGTH,    /* the number of bytes that a library function processes is unknown */
    DOUBT_FRAMES,    /* JOULE_DEPTH bounds the depth, but there are too many recursive calls to count */
};

/* A part of the work that could not be bounded. */
struct doubt {
    enum doubt_kind kind;
    const char *name; /* name of the callee; NULL: none */
    struct source_place place;
    bool is_missing; /* true: the part has no figure and counts as 0; false: its figure is guessed */
};

/* The work of one execution of a block, including its calls. */
struct block_sum {
    double frequency; /* estimated executions per iteration of its loop, or per call of the function */
    double cycles[BOUNDS], joules[BOUNDS];
};

/* Estimated entries and iterations of a loop per call of the function. */
struct loop_runs {
    double entries, iterations;
};

/* The weakest evidence of a figure, from strongest to weakest. OBSERVED: from a profile or from other
 * machines (library_call.h). OPEN: a trip count is guessed. MISSING: a part has no figure and counts as 0, so
 * the figure is a minimum. */
enum basis { BASIS_EXACT, BASIS_BOUNDED, BASIS_OBSERVED, BASIS_OPEN, BASIS_MISSING };

/* The work of one call of a function. After sum_function(), its caller sets `bytes`, and updates `basis`,
 * `is_variable` and `has_guess` for the trip counts of loops. */
struct function_sum {
    struct amounts call;
    double bytes[BOUNDS]; /* bytes that one call touches */
    enum basis basis;
    bool is_variable;         /* the work may differ from call to call */
    bool has_guess;           /* a trip count or length is bounded, but its estimate is guessed */
    struct block_sum *blocks; /* for each block; zeros if the block cannot be reached */
    struct amounts *loops;    /* work per entry of each loop */
    struct loop_runs *runs;   /* for each loop */
    struct doubt *doubts;
    size_t doubt_count;
};

/* The machine for which work is priced. */
struct target {
    struct cost_core core;
    struct cost_table table;
};

struct block_memory;

/* The number of bytes that a library call processes. */
struct call_length {
    double bytes[BOUNDS]; /* bytes[BOUND_HIGH] NaN: unknown */
    bool is_guess;        /* the estimate is a guess between low and high */
};

/* The feasible paths of one evaluation of a function, and the lengths of its library calls. */
struct sum_context {
    bool *is_infeasible;         /* by edge number: true if the edge is never taken */
    bool *is_reachable;          /* by block */
    struct call_length *lengths; /* by call number */
};

/* Sums the work of one call of a function.
 *
 * times: by loop. memory: by block (cache_levels.h); NULL: all data is in L1. callees: by call number, the
 * work of a callee with a body; an element NULL: not evaluated yet, so the call is recursive. context NULL:
 * all edges are feasible. Allocates the arrays of *out_sum in `arena`. Returns JOULE_OK or
 * JOULE_NO_MEMORY. */
joule_status sum_function(struct arena *arena, const struct function *function, const struct loops *loops,
                          const struct loop_times *times, const struct block_memory *memory,
                          const struct target *target, const struct function_sum *const *callees,
                          const struct sum_context *context, struct function_sum *out_sum);
/* Returns the name of the kind in reports, such as "callee". The text is static. */
const char *doubt_name(enum doubt_kind kind);
/* Compares two doubts like strcmp(). Doubts of one kind are equal if they have the same callee or, without a
 * name, the same place. */
int doubt_order(const struct doubt *a, const struct doubt *b);
/* Adds by[b] * more to *out, for each bound b. */
void amounts_add(struct amounts *out, const double by[BOUNDS], const struct amounts *more);
/* Returns the operations of a block, without cycles, cache lines and calls. */
struct cost_features sum_features(const struct block *block);
/* Returns the latency of block->chain in cycles; 0: unknown. */
double sum_critical_path_cycles(const struct block *block, const struct cost_core *core);
/* Returns the latency of the block's part of the loop-carried chain, in cycles; NaN: unknown. */
double sum_chain_cycles(const struct block *block, const struct cost_core *core);
/* Sets the cycles of `work`, and the core's part of the package's time during these cycles. */
void sum_set_time(const struct target *target, struct cost_features *work, double cycles);
/* Sets the cycles that a core needs for `work` at one bound, and the package's time. */
void sum_set_cycles(const struct target *target, enum bound bound, const struct cost_flow *flow,
                    struct cost_features *work);
/* Returns the joules of the work at one bound, at the middle prices of the table. */
double amounts_joules(const struct target *target, const struct amounts *amounts, enum bound bound);

#endif
