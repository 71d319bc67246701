/* joulec/verdict/analysis.h - analyses a translation unit: loops, figures and verdict of every function,
 * callees before callers.
 *
 * Note: functions without a budget are also analysed, but not judged, because functions with budgets may call
 * them.
 */
#ifndef JOULEC_ANALYSIS_H
#define JOULEC_ANALYSIS_H

#include "joulec/source/marks.h"
#include "joulec/trips/profile.h"
#include "joulec/verdict/verdict.h"
#include "joulec/work/advice.h"
#include "joulec/work/evaluate.h"

/* The results of the analysis of one function. */
struct function_result {
    const struct function *function;
    struct loops loops;
    struct trips *trips;            /* trip count of each loop */
    uint32_t *marks;                /* mark of each loop; MARK_NONE: none */
    const struct loop_notes *words; /* texts about each loop */
    struct function_sum sum;
    /* Number of frames of the function in one call, including the call itself: 1 without recursion, infinite
     * if unbounded. */
    double frames[BOUNDS];
    double depth;            /* value of JOULE_DEPTH; 0: none, or invalid */
    const char *depth_words; /* argument of JOULE_DEPTH; NULL: none */
    joule_error bad_depth;   /* error in depth_words; empty message: none */
    bool is_gpu_kernel, is_thermal_aware;
    /* temperature for which the function was judged, in K above that of the price table */
    double warmer_kelvin;
    const struct advice *advice; /* largest saving first */
    size_t advice_count;
    const char *budget_words; /* argument of JOULE_BUDGET; NULL: no budget */
    struct budget_text budget;
    size_t bad_column; /* column of the error in budget_words, from 1; 0: no error */
    joule_error bad;   /* error in budget_words */
    struct judgement judgement;
    /* true: the sum over the file includes one call of this function. Roots are all functions that no other
     * function calls, and one member of each recursive group that no other root reaches. */
    bool is_root;
};

/* Options of the command line, and annotations of the source. */
struct analysis_options {
    /* iterations assumed for loops without a bound; NaN: the default in trips.h */
    double default_trips;
    const struct marks *marks;     /* marks of the source; must outlive the analysis; NULL: none */
    const struct profile *profile; /* must outlive the analysis; NULL: none */
    double warmer_kelvin;          /* temperature above that of the price table, in K; NaN: not given */
    const char *level; /* optimization level of the build if below -O2, such as "-O0"; else NULL */
    /* true: the threads of OpenMP are counted as one thread, without the cost of starting and joining
     * threads. */
    bool merges_threads;
    double file_joules; /* budget of the whole file (analysis.whole), in J; NaN: none */
};

/* The analysis of one translation unit. */
struct analysis {
    struct arena arena;
    struct target target;
    const char *foreign; /* architecture of the code if this machine cannot run it; else NULL */
    struct cost_cooling cooling;
    struct analysis_options options;
    bool *mark_is_unclear;                /* for each mark: true if it may belong to several loops */
    const struct trips **mark_is_refuted; /* for each mark: the trip count that contradicts it; NULL: none */
    struct function_result *results;      /* in the order of the module's functions */
    size_t result_count;
    /* The whole file as one function that calls each root once. It has no loops. */
    struct function file;
    struct function_result whole;
};

/* Analyses a module for the CPU that `cpu` and `target` describe. The module must outlive the analysis. After
 * JOULE_OK, the caller frees the analysis with analysis_free. Returns JOULE_NO_MEMORY, or JOULE_UNSUPPORTED
 * if clang dropped the body of a function with annotations. */
joule_status analysis_make(const struct module *module, const struct cost_cpu *cpu,
                           const struct target *target, const struct analysis_options *options,
                           struct analysis *out_analysis, joule_error *out_error);
void analysis_free(struct analysis *analysis);
/* Returns the target, with its price table at the temperature for which this function was judged. */
struct target analysis_target(const struct analysis *analysis, const struct function_result *result);
/* Returns the root with the largest part of the file's joules; the analysis owns the root. Sets *out_part to
 * this part, 0 to 1. Returns NULL if the joules of all roots are 0. */
const struct function_result *analysis_largest_function(const struct analysis *analysis, double *out_part);
/* Returns the index of the loop with the largest part of the function's joules. Sets *out_part to this part,
 * 0 to 1. Returns -1 if there is no loop. Prefers an inner loop to the loop around it if the inner loop
 * takes at least 80 % of the joules. */
int32_t analysis_largest_loop(const struct analysis *analysis, const struct function_result *result,
                              double *out_part);

/* Returns the joules of a loop in one call of the function, by category, including inner loops. Sets
 * *out_work to the work of the loop. */
struct cost analysis_loop_cost(const struct analysis *analysis, const struct function_result *result,
                               size_t loop, struct cost_features *out_work);

#endif
