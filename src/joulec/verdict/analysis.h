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

struct function_result {
    const struct function *function;
    struct loops loops;
    struct trips *trips; /* trip count of each loop */
    uint32_t *marks;     /* mark of each loop; MARK_NONE: none */
    const struct loop_words *words;
    struct function_sum sum;
    /* frames in one call, the call itself included: 1 without recursion, infinite if unbounded */
    double frames[BOUNDS];
    double depth; /* JOULE_DEPTH; 0: none, or invalid */
    const char *depth_words;
    joule_error bad_depth; /* error in depth_words; empty message: none */
    bool is_gpu_kernel, is_thermal_aware;
    double warmer_kelvin; /* temperature above that of the price table, in K, for which it was judged */
    const struct advice *advice; /* largest saving first */
    size_t advice_count;
    const char *budget_words; /* NULL: no budget */
    struct budget_text budget;
    size_t bad_column; /* of the error in budget_words, from 1; 0: no error */
    joule_error bad;   /* error in budget_words */
    struct judgement judgement;
    /* counts for the file: no function outside its recursive group calls it; of a group, one member */
    bool is_root;
};

/* Options of the command line, and annotations of the source. */
struct analysis_options {
    double default_trips;      /* iterations assumed for loops without a bound; NaN: the default of trips.h */
    const struct marks *marks; /* marks of the source; must outlive the analysis; NULL: none */
    const struct profile *profile; /* must outlive the analysis; NULL: none */
    double warmer_kelvin;          /* temperature above that of the price table, in K; NaN: not given */
    const char *level; /* optimization level of the build if it is below -O2: "-O0"; NULL: it is not */
    /* OpenMP's threads are counted as one, without the cost of starting and joining them */
    bool merges_threads;
    double file_joules; /* budget of the whole file (analysis.whole), in J; NaN: none */
};

struct analysis {
    struct arena arena;
    struct target target;
    const char *foreign; /* architecture of the code if this machine cannot run it; NULL: it can */
    struct cost_cooling cooling;
    struct analysis_options options;
    bool *mark_is_unclear;                /* of each mark: it is ambiguous which loop it is for */
    const struct trips **mark_is_refuted; /* of each mark: the trip count that contradicts it; NULL: none */
    struct function_result *results;      /* same order as the functions of the module */
    size_t result_count;
    /* The whole file as one function that calls each root once. It has no loops. */
    struct function file;
    struct function_result whole;
};

/* Analyses a module for the CPU that `cpu` and `target` describe. The module must outlive the analysis, which
 * the caller frees by analysis_free after JOULE_OK. NO_MEMORY; UNSUPPORTED: a function has a budget that
 * cannot be judged. */
joule_status analysis_make(const struct module *module, const struct cost_cpu *cpu,
                           const struct target *target, const struct analysis_options *options,
                           struct analysis *out_analysis, joule_error *out_error);
void analysis_free(struct analysis *analysis);
/* Returns the target with its price table at the temperature for which this function was judged. */
struct target analysis_target(const struct analysis *analysis, const struct function_result *result);
/* Returns the root that takes most of the file's joules, and its share in *out_part, 0 to 1; NULL: none takes
 * any. */
const struct function_result *analysis_largest_function(const struct analysis *analysis, double *out_part);
/* Returns the loop that takes most of the function's joules, and its share in *out_part, 0 to 1; -1: there is
 * none. An inner loop with 80 % of the joules of an outer one is preferred to it. */
int32_t analysis_largest_loop(const struct analysis *analysis, const struct function_result *result,
                              double *out_part);

/* Returns the joules that a loop takes in one call, with inner loops, by category; *out_work: its work. */
struct cost analysis_loop_cost(const struct analysis *analysis, const struct function_result *result,
                               size_t loop, struct cost_features *out_work);

#endif
