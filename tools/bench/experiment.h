/* bench/experiment.h - runs one or more commands in blocks, until their energies or ratios are known.
 *
 * A block runs each command once, in random order. Slow changes are thus common to all commands of a block.
 * `joule bench` is an experiment with one command.
 */
#ifndef BENCH_EXPERIMENT_H
#define BENCH_EXPERIMENT_H

#include "joule/stats/generator.h"
#include "run.h"
#include "runner.h"
#include "settings.h"
#include "store.h"

#define BENCH_LEVEL  0.95 /* of all intervals and tests */
#define MAX_WARM_UPS 1000 /* most warm-up runs of a command */

/* A command with its runs. */
struct variant {
    const char *name, *command; /* texts for people */
    const char *setting;        /* values of the sweeps: "size=1000"; "" without a sweep */
    char **argv;
    size_t reference; /* index of the variant to compare with; its own index: it is a reference */
    struct run_list runs;
    struct run_sums sums; /* of `runs`, before outliers are marked */
    struct stored_benchmark stored;
};

struct experiment {
    const struct settings *settings;
    struct arena arena;
    struct runner runner;
    struct store store; /* store.db NULL: nothing is stored */
    int64_t group;      /* id of the first stored benchmark; 0: none is stored */
    struct variant *variants;
    size_t count;
    enum basis basis; /* BASIS_UNKNOWN before the first run */
    bool is_basis_known;
    joule_class cls;
    unsigned block_count;
    unsigned planned_blocks;
    bool is_steady;  /* power, and temperature if it is readable, were steady at the end of the warm-up */
    bool has_begun;  /* the first run that counts has begun */
    bool has_target; /* the target interval was reached */
    bool is_out_of_time;
    double start_celsius; /* temperature before the first run that counts; NaN: not readable */
    size_t hot_starts;    /* runs that began outside the start band */
    int failed_code;      /* exit code if a command failed or cannot run; 0: none */
    int64_t begin_ns;
    char sources[256], machine[96], host[72], date[32];
    struct run_list baseline; /* stored runs of --baseline */
    struct stored_benchmark baseline_info;
};

/* Prepares the variants, opens database and meter. Returns 0, or the exit code after a message. */
int experiment_open(struct experiment *e, const struct settings *settings);
/* Runs everything. Returns false after a message if the experiment ended early, except by a signal. */
bool experiment_run(struct experiment *e);
/* Marks outliers and stores the summaries. */
void experiment_finish(struct experiment *e);
void experiment_close(struct experiment *e);

/* Pairs the runs of a variant and its reference by block. Writes the metric of the reference and of the
 * variant for each block in which both count, and returns the number of blocks. Arrays: [e->block_count] */
size_t experiment_pairs(const struct experiment *e, const struct variant *variant, enum metric metric,
                        double *out_reference, double *out_values);

#endif
