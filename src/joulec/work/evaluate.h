/* joulec/work/evaluate.h - evaluates the work of functions, in general and for calls with known arguments.
 *
 * Each function has one general evaluation, and one per set of argument ranges at a call. Only arguments that
 * matter are used: those on which loops or branches depend, in the function or in its callees.
 * Note: the number of evaluations and the depth of calls are limited. Beyond the limits the general figures
 * are used, with all their doubts.
 */
#ifndef JOULEC_EVALUATE_H
#define JOULEC_EVALUATE_H

#include "joulec/module/recursion.h"
#include "joulec/trips/value_range.h"
#include "joulec/work/sum.h"

/* The work of a function if its arguments are in these ranges. is_in_guessed_loop: called in a loop with a
 * guessed trip count. */
struct instance {
    struct trips_symbol *symbols;
    size_t count;
    bool is_in_guessed_loop;
    struct function_sum sum; /* without loops and doubts */
};

/* Texts about a loop; NULL: none. */
struct loop_notes {
    const char *formula;   /* iterations per entry, as a formula */
    const char *parameter; /* the parameter that needs a bound */
};

struct evaluated {
    const struct function *function;
    struct scev_function *facts; /* NULL: none */
    struct loops loops;
    struct trips_loop *nest; /* of each loop */
    struct trips *trips;     /* of each loop, in general */
    struct loop_notes *words;
    struct function_sum sum; /* in general */
    double frames[BOUNDS];   /* frames of the function in one call of it, including that call */
    struct advice *advice;   /* in general; largest saving first */
    size_t advice_count;
    uint32_t order;              /* position in the order of evaluation, from 1; 0: not evaluated */
    bool *is_relevant;           /* for each parameter: true if the work depends on it */
    struct trips_symbol *passed; /* values that all calls of the function pass, as far as known */
    size_t passed_count;
    struct instance **instances;
    size_t instance_count;
};

struct evaluator {
    struct arena *arena;
    const struct module *module;
    const struct target *target;
    double default_trips;        /* NaN: the defaults of trips.h */
    const struct groups *groups; /* NULL: unknown ... */
    const bool *is_counted;      /* ... for each group: true if evaluate_group() will count its frames */
    struct evaluated *functions; /* in the order of the module */
    uint32_t order;              /* the last one assigned */
    uint64_t blocks_left;        /* remaining number of blocks that may be evaluated again */
};

/* Sets *out, which is allocated in `arena`. The module must outlive it; names and formulas are added to the
 * pools of module->scev. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status evaluator_make(struct arena *arena, const struct module *module, const struct target *target,
                            double default_trips, struct evaluator *out);
/* Finds the function's loops and how they are entered, once. The caller may then add facts about the loops.
 * Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status evaluate_prepare(struct evaluator *evaluator, size_t index);
/* Evaluates a prepared function in general. Evaluate its callees first, except in recursions. Returns
 * JOULE_OK or JOULE_NO_MEMORY. */
joule_status evaluate(struct evaluator *evaluator, size_t index);
/* Marks the loops of a prepared function that call its own group in each iteration. */
void evaluate_find_recursive_calls(const struct evaluator *evaluator, struct evaluated *f);
/* Evaluates the functions of a recursive group after each of them was evaluated. depth: of each function, 0:
 * none; NULL: the depths do not bound the group. profiled: frames of each function per call from outside,
 * from a profile; NULL: none. One of both must be given. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status evaluate_group(struct evaluator *evaluator, const uint32_t *members, size_t count,
                            const double *depth, const double *profiled);
/* Returns the iterations per entry of a loop. Without a bound, the maximum is ten times the guess. */
struct loop_times evaluate_times(const struct trips *trips);

#endif
