/* joulec/work/sum.h - the work of one call of a function: of its blocks, by how often they run, and of its
 * callees.
 *
 * Sums over paths: the cheapest one, the most expensive one, and the mean weighted by branch probabilities.
 * Budgets are judged elsewhere. Work that could not be bounded is recorded as doubts.
 * Note: the low and high sums are those of paths in the control flow graph, not worst cases of a real
 * machine.
 */
#ifndef JOULEC_SUM_H
#define JOULEC_SUM_H

#include "joule/cost/core.h"
#include "joulec/module/loops.h"

enum bound { BOUND_LOW, BOUND_EST, BOUND_HIGH, BOUNDS };

/* Work, with its cycles. */
struct amounts {
    struct cost_features of[BOUNDS];
};

/* Iterations of a loop per entry. */
struct loop_times {
    double times[BOUNDS]; /* mean of all entries */
    /* Minimum and maximum of any entry. Equal: all entries have the same count. Infinite: unknown. */
    double min, max;
};

enum doubt_kind {
    DOUBT_LOOP,      /* unknown trip count */
    DOUBT_CALLEE,    /* a function without a body and without known work */
    DOUBT_POINTER,   /* a call through a pointer */
    DOUBT_RECURSION, /* a recursive function without JOULE_DEPTH */
    DOUBT_SHAPE,     /* a jump into the middle of a loop */
    DOUBT_DEPTH,     /* loops nested deeper than LOOPS_MAX_DEPTH */
    DOUBT_CALL,      /* the work of a function is open for this call */
    DOUBT_DEVICE,    /* it runs on a GPU */
    DOUBT_LENGTH,    /* the number of bytes that a library function processes is unknown */
    DOUBT_FRAMES,    /* JOULE_DEPTH bounds the depth, but there are too many recursive calls to count */
};

struct doubt {
    enum doubt_kind kind;
    const char *name; /* name of the callee; NULL: none */
    struct source_place place;
    bool is_missing; /* it has no figure and counts as nothing; otherwise its figure is guessed */
};

/* The work of one run of a block, with its calls. */
struct block_sum {
    double frequency; /* estimated runs per iteration of its loop, or per call */
    double cycles[BOUNDS], joules[BOUNDS];
};

/* Estimated runs of a loop per call. */
struct loop_runs {
    double entries, iterations;
};

/* The weakest evidence of a figure. OBSERVED: from a profile or from other machines (library_call.h). OPEN: a
 * trip count is guessed. MISSING: a part has no figure and counts as nothing, so the figure is a minimum. */
enum basis { BASIS_EXACT, BASIS_BOUNDED, BASIS_OBSERVED, BASIS_OPEN, BASIS_MISSING };

struct function_sum {
    struct amounts call;
    double bytes[BOUNDS]; /* bytes that one call touches; set by the caller, which knows the addresses */
    enum basis basis;     /* of callees and doubts; the caller adds that of the loops */
    bool is_variable;     /* the work may differ from call to call; the caller adds the loops */
    bool has_guess; /* a trip count is bounded, but its estimate is guessed; the caller adds the loops */
    struct block_sum *blocks; /* of each block; zeros if it cannot be reached */
    struct amounts *loops;    /* work per entry of each loop */
    struct loop_runs *runs;   /* of each loop */
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
    double bytes[BOUNDS]; /* high NaN: unknown */
    bool is_guess;        /* the estimate is a guess between low and high */
};

/* The feasible paths of one evaluation of a function, and the lengths of its library calls. */
struct sum_context {
    bool *is_infeasible;         /* by number of an edge: never taken */
    bool *is_reachable;          /* by block */
    struct call_length *lengths; /* by number of a call */
};

/* Sums the work of a function. callees: by the number of each call, the work of a function with a body; NULL:
 * not known yet, which means a recursion. times: by loop; memory: of each block (cache_levels.h), NULL: all
 * data is in L1; context NULL: all edges are feasible. Allocates in `arena`. Returns JOULE_OK or
 * JOULE_NO_MEMORY. */
joule_status sum_function(struct arena *arena, const struct function *function, const struct loops *loops,
                          const struct loop_times *times, const struct block_memory *memory,
                          const struct target *target, const struct function_sum *const *callees,
                          const struct sum_context *context, struct function_sum *out_sum);
/* Returns the kind as in reports, such as "callee". */
const char *doubt_name(enum doubt_kind kind);
/* Orders like strcmp(); 0: they have the same callee, or, without a name, the same place. */
int doubt_order(const struct doubt *a, const struct doubt *b);
/* Computes out += by * more, for each bound. */
void amounts_add(struct amounts *out, const double by[BOUNDS], const struct amounts *more);
/* Returns the operations of a block, without their time. */
struct cost_features sum_features(const struct block *block);
/* Returns the latency of the critical path of a block; 0: unknown. */
double sum_critical_path_cycles(const struct block *block, const struct cost_core *core);
/* Returns the latency of the loop-carried recurrence within a block; NaN: unknown. */
double sum_chain_cycles(const struct block *block, const struct cost_core *core);
/* Sets the cycles, and the package's time meanwhile. */
void sum_set_time(const struct target *target, struct cost_features *work, double cycles);
/* Sets the cycles that a core needs for the work at one bound. */
void sum_set_cycles(const struct target *target, enum bound bound, const struct cost_flow *flow,
                    struct cost_features *work);
/* Returns joules by the middle prices of the table. */
double amounts_joules(const struct target *target, const struct amounts *amounts, enum bound bound);

#endif
