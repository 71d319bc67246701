/* joulec/verdict/analysis.h - analyses a translation unit: loops, figures and verdict of every function,
 * callees before callers.
 *
 * Note: functions without a budget are analysed as well, without a verdict, because others call them.
 */
#ifndef JOULEC_ANALYSIS_H
#define JOULEC_ANALYSIS_H

#include "joulec/source/marks.h"
#include "joulec/trips/profile.h"
#include "joulec/verdict/verdict.h"
#include "joulec/work/advice.h"
#include "joulec/work/evaluate.h"

/* Everything that is known about one function. */
struct function_result {
    const struct function *function;
    struct loops loops;
    struct trips *trips; /* trip count of each loop */
    uint32_t *marks;     /* mark of each loop; MARK_NONE: none */
    const struct loop_notes *words;
    struct function_sum sum;
    /* Number of frames in one call, including the call itself: 1 without recursion, infinite if unbounded. */
    double frames[BOUNDS];
    double depth; /* JOULE_DEPTH; 0: none, or invalid */
    const char *depth_words;
    joule_error bad_depth; /* error in depth_words; empty message: none */
    bool is_gpu_kernel, is_thermal_aware;
    double warmer_kelvin; /* temperature above that of the price table, in K, for which the function was
                           * judged */
    const struct advice *advice; /* largest saving first */
    size_t advice_count;
    const char *budget_words; /* NULL: no budget */
    struct budget_text budget;
    size_t bad_column; /* column of the error in budget_words, from 1; 0: no error */
    joule_error bad;   /* error in budget_words */
    struct judgement judgement;
    /* true if the sum of the file includes the function: no function outside its recursive group calls it. In
     * a recursive group, only one member is a root. */
    bool is_root;
};

/* Options of the command line, and annotations of the source. */
struct analysis_options {
    double default_trips;          /* iterations assumed for loops without a bound; NaN: that of trips.h */
    const struct marks *marks;     /* marks of the source; must outlive the analysis; NULL: none */
    const struct profile *profile; /* must outlive the analysis; NULL: none */
    double warmer_kelvin;          /* temperature above that of the price table, in K; NaN: not given */
    const char *level; /* optimization level of the build if below -O2, such as "-O0"; else NULL */
    /* OpenMP's threads are counted as one thread, without the cost of starting and joining threads. */
    bool merges_threads;
    double file_joules; /* budget of the whole file (analysis.whole), in J; NaN: none */
};

/* The analysis of one translation unit. */
struct analysis {
    struct arena arena;
    struct target target;
    const char *foreign; /* architecture of the code if this machine cannot run it; NULL: it can */
    struct cost_cooling cooling;
    struct analysis_options options;
    bool *mark_is_unclear;                /* for each mark: true if it could be for several loops */
    const struct trips **mark_is_refuted; /* for each mark: the trip count that contradicts it; NULL: none */
    struct function_result *results;      /* in the order of the module's functions */
    size_t result_count;
    /* The whole file as one function that calls each root once. It has no loops. */
    struct function file;
    struct function_result whole;
};

/* Analyses a module for the CPU that `cpu` and `target` describe. The module must outlive the analysis. After
 * JOULE_OK, the caller frees the analysis with analysis_free. Returns JOULE_NO_MEMORY, or JOULE_UNSUPPORTED
 * if a function has a budget that cannot be judged. */
joule_status analysis_make(const struct module *module, const struct cost_cpu *cpu,
                           const struct target *target, const struct analysis_options *options,
                           struct analysis *out_analysis, joule_error *out_error);
void analysis_free(struct analysis *analysis);
/* Returns the target, with its price table at the temperature for which this function was judged. */
struct target analysis_target(const struct analysis *analysis, const struct function_result *result);
/* Returns the root that takes the largest part of the file's joules. *out_part gets this part, 0 to 1.
 * Returns NULL if no root takes any joules. */
const struct function_result *analysis_largest_function(const struct analysis *analysis, double *out_part);
/* Returns the loop that takes the largest part of the function's joules. *out_part gets this part, 0 to 1.
 * Returns -1 if there is no loop. An inner loop that takes at least 80 % of the joules of an outer loop is
 * preferred to the outer loop. */
int32_t analysis_largest_loop(const struct analysis *analysis, const struct function_result *result,
                              double *out_part);

/* Returns the joules of a loop in one call, by category, including inner loops. *out_work gets the work of
 * the loop. */
struct cost analysis_loop_cost(const struct analysis *analysis, const struct function_result *result,
                               size_t loop, struct cost_features *out_work);

#endif
