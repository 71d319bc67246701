/* joulec/verdict/analysis.h - a translation unit judged: every function with its loops, figures and verdict.
 *
 * Owns the order: callees before callers. Newcomers: functions without a budget are judged as well, without a verdict, as others
 * call them.
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
    struct trips *trips; /* of each loop */
    uint32_t *marks;     /* of each loop; MARK_NONE: none */
    const struct loop_words *words;
    struct function_sum sum;
    double frames[BOUNDS]; /* calls of itself in one call, that one among them: 1 but for JOULE_DEPTH */
    double depth;          /* JOULE_DEPTH; 0: none, or a wrong one */
    const char *depth_words;
    joule_error bad_depth; /* message empty: it is good, or there is none */
    bool is_gpu_kernel, is_thermal_aware;
    double warmer_kelvin;        /* than where the table's figures hold: so it was judged */
    const struct advice *advice; /* what saves most first */
    size_t advice_count;
    const char *budget_words; /* NULL: no budget */
    struct budget_text budget;
    size_t bad_column; /* of budget_words, from 1; 0: they are good */
    joule_error bad;   /* what is wrong with them */
    struct judgement judgement;
    bool
        is_root; /* no other function of the file calls it, or only those that it calls itself: it counts for the file */
};

/* What is said beside the code. */
struct analysis_options {
    double default_trips;          /* of loops that nothing bounds; NaN: trips.h says */
    const struct marks *marks;     /* of the source, which outlive the analysis; NULL: none */
    const struct profile *profile; /* which does, too; NULL: none */
    double warmer_kelvin; /* the machine, than where the table's figures hold; NaN: nothing was said */
    const char
        *level; /* of the build, where it is below the one that figures are of: "-O0"; NULL: it is not */
    bool merges_threads; /* OpenMP's threads are counted as one, without starting and joining them */
    double file_joules;  /* limit for the file as a whole (analysis.whole); NaN: none */
};

struct analysis {
    struct arena arena;
    struct target target;
    const char *foreign; /* as the module's: figures are of a core that it does not run on; NULL: it does */
    struct cost_cooling cooling;
    struct analysis_options options;
    bool *mark_is_unclear;                /* of each mark: nobody can tell which loop it is for */
    const struct trips **mark_is_refuted; /* of each mark: by this count; NULL: it is not */
    struct function_result *results;      /* as the module has its functions */
    size_t result_count;
    /* The file as if it were a function: one call of each root. Without loops. */
    struct function file;
    struct function_result whole;
};

/* Of a module that outlives it, on the core of a CPU that `target` is. NO_MEMORY, or OK; UNSUPPORTED: something
 * in it has a budget that cannot be judged. */
joule_status analysis_make(const struct module *module, const struct cost_cpu *cpu,
                           const struct target *target, const struct analysis_options *options,
                           struct analysis *out_analysis, joule_error *out_error);
void analysis_free(struct analysis *analysis);
/* The machine as warm as it is for this function. */
struct target analysis_target(const struct analysis *analysis, const struct function_result *result);
/* The function that takes most of the file's joules, among those that count for it, and how much of them; NULL: none does. */
const struct function_result *analysis_largest_function(const struct analysis *analysis, double *out_part);
/* The loop that takes most of the joules, and how much of the function's; -1: there is none. Outer loops that do nothing but
 * another are passed over. */
int32_t analysis_largest_loop(const struct analysis *analysis, const struct function_result *result,
                              double *out_part);

/* Of all its rounds in a call, the joules by what they are for, and the work; inner loops included. */
struct cost analysis_loop_cost(const struct analysis *analysis, const struct function_result *result,
                               size_t loop, struct cost_features *out_work);

#endif
