/* joulec/work/evaluate.h - what functions take: in general, and where they are called with arguments of which something is known.
 *
 * Owns the evaluations of each function, one in general and one for each set of ranges that its arguments have at a call, as far
 * as they matter: those that loops and branches depend on, its own or those of what it calls.
 * Newcomers: there may be too many calls to look at each. Then, and where calls are nested too deep, the general figures
 * stand, with all their doubts.
 */
#ifndef JOULEC_EVALUATE_H
#define JOULEC_EVALUATE_H

#include "joulec/module/recursion.h"
#include "joulec/trips/value_range.h"
#include "joulec/work/sum.h"

/* What a function takes where its arguments are in these ranges, and where it is called in a loop whose rounds are guessed. */
struct instance {
    struct trips_symbol *symbols;
    size_t count;
    bool is_in_guess;
    struct function_sum sum; /* without loops and doubts */
};

/* What to say of a loop; NULL: nothing. */
struct loop_words {
    const char *formula;   /* of its rounds, each time that it is entered */
    const char *parameter; /* that has to be bounded for it to be */
};

struct evaluated {
    const struct function *function;
    struct scev_function *facts; /* NULL: none */
    struct loops loops;
    struct trips_loop *nest; /* of each loop */
    struct trips *trips;     /* the same, in general */
    struct loop_words *words;
    struct function_sum sum; /* in general */
    double frames[BOUNDS];   /* calls of itself in one call, that one among them */
    struct advice *advice;   /* for it, as it is in general; what saves most first */
    size_t advice_count;
    uint32_t order;              /* position in the order of evaluation, from 1; 0: not evaluated */
    bool *matters;               /* for each parameter: whether the work depends on it */
    struct trips_symbol *passed; /* values that all its calls pass, as far as known */
    size_t passed_count;
    struct instance **instances;
    size_t instance_count;
};

struct evaluator {
    struct arena *arena;
    const struct module *module;
    const struct target *target;
    double default_trips;        /* NaN: trips.h says how often */
    const struct groups *groups; /* NULL: none is known ... */
    const bool *is_counted;      /* of each group: evaluate_group will count its frames */
    struct evaluated *functions; /* as in the module */
    uint32_t order;              /* the last one that was given */
    uint64_t blocks_left;        /* that may be evaluated again */
};

/* In `arena`. The text must outlive it; names are added to it. NO_MEMORY, or OK. */
joule_status evaluator_make(struct arena *arena, const struct module *module, struct scev_text *text,
                            const struct target *target, double default_trips, struct evaluator *out);
/* Finds its loops and how they are reached, once. Callers that know more about the loops may add it.
 * NO_MEMORY, or OK. */
joule_status evaluate_prepare(struct evaluator *evaluator, size_t index);
/* A function in general, once it is prepared. Those that it calls come first, but for recursions. NO_MEMORY, or OK. */
joule_status evaluate(struct evaluator *evaluator, size_t index);
/* Marks the loops of a prepared function in each of whose rounds its own group is called. */
void evaluate_find_recursive_calls(const struct evaluator *evaluator, struct evaluated *f);
/* Functions of a group that is counted, once each is evaluated. `depth` of each, 0: none, where together they bound the group, else
 * NULL; `seen`: calls of each in one call from outside as a profile has them, or NULL. One of both is known. NO_MEMORY, or OK. */
joule_status evaluate_group(struct evaluator *evaluator, const uint32_t *members, size_t count,
                            const double *depth, const double *seen);
/* For each time that a loop is entered. One without a bound is taken to run ten times as often as was guessed, at
 * most. */
struct loop_times evaluate_times(const struct trips *trips);

#endif
