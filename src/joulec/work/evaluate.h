/* joulec/work/evaluate.h - evaluates the work of functions, for any arguments and for calls with known
 * arguments.
 *
 * Each function has one general evaluation, for any arguments. It has one more for each set of argument
 * ranges that a call passes. Only relevant arguments count: those on which loops or branches depend, in the
 * function or in its callees.
 * Note: the number of evaluations and the depth of calls are limited. Beyond the limits, the general
 * evaluation is used, with all its doubts.
 */
#ifndef JOULEC_EVALUATE_H
#define JOULEC_EVALUATE_H

#include "joulec/module/recursion.h"
#include "joulec/trips/value_range.h"
#include "joulec/work/sum.h"

/* The work of a function for given ranges of its arguments. */
struct instance {
    struct trips_symbol *symbols; /* ranges of arguments */
    size_t count;
    bool is_in_guessed_loop; /* the function is called in a loop with a guessed trip count */
    struct function_sum sum; /* without blocks, loops and doubts */
};

/* Texts about a loop; NULL: none. */
struct loop_notes {
    const char *formula;   /* iterations per entry, as a formula */
    const char *parameter; /* the parameter that needs a bound */
};

/* A function and its evaluations. */
struct evaluated {
    const struct function *function;
    struct scev_function *facts; /* NULL: none */
    struct loops loops;
    struct trips_loop *nest;  /* entry and facts of each loop */
    struct trips *trips;      /* trip count of each loop, from the general evaluation */
    struct loop_notes *words; /* texts about each loop */
    struct function_sum sum;  /* from the general evaluation */
    double frames[BOUNDS];    /* frames of the function in one call, including the call itself */
    struct advice *advice;    /* from the general evaluation; largest saving first */
    size_t advice_count;
    uint32_t order;              /* position in the order of evaluation, from 1; 0: not evaluated */
    bool *is_relevant;           /* for each parameter: true if the work depends on it */
    struct trips_symbol *passed; /* ranges of those parameters for which all calls pass known values */
    size_t passed_count;
    struct instance **instances;
    size_t instance_count;
};

struct evaluator {
    struct arena *arena;
    const struct module *module;
    const struct target *target;
    double default_trips;        /* NaN: the defaults of trips.h */
    const struct groups *groups; /* NULL: unknown */
    const bool *is_counted;      /* for each group: true if evaluate_group() will count its frames */
    struct evaluated *functions; /* in the order of the module */
    uint32_t order;              /* last value of `order` that a function got */
    uint64_t blocks_left;        /* number of blocks that further evaluations may process */
};

/* Fills *out. Allocates its arrays in `arena`. `module` and `target` must outlive *out; names and formulas
 * are added to the pools of module->scev. default_trips: iterations assumed for loops without a bound; NaN:
 * the defaults of trips.h. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status evaluator_make(struct arena *arena, const struct module *module, const struct target *target,
                            double default_trips, struct evaluator *out);
/* Finds the loops of function `index` and how they are entered, if this was not done before. The caller may
 * then add facts to functions[index].nest. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status evaluate_prepare(struct evaluator *evaluator, size_t index);
/* Evaluates a prepared function for any arguments. The caller evaluates its callees first, except those in
 * the same recursive group. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status evaluate(struct evaluator *evaluator, size_t index);
/* Sets has_recursive_call of the loops in f->nest that call the function's own group in each iteration. */
void evaluate_find_recursive_calls(const struct evaluator *evaluator, struct evaluated *f);
/* Adds all frames of a recursive group to the evaluation of each of its functions, which evaluate() has
 * processed before. members: [count]. depth: [count], JOULE_DEPTH or 0; NULL: the depths do not bound the
 * group. profiled: [count], frames per call from outside the group; NULL: no profile. At least one of both is
 * not NULL. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status evaluate_group(struct evaluator *evaluator, const uint32_t *members, size_t count,
                            const double *depth, const double *profiled);
/* Returns the iterations per entry of a loop. Without a bound, the maximum is ten times the guess. */
struct loop_times evaluate_times(const struct trips *trips);

#endif
