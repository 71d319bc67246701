/* bench/output.h - the results of an experiment as text, JSON and CSV. */
#ifndef BENCH_OUTPUT_H
#define BENCH_OUTPUT_H

#include "base/string.h"
#include "summary.h"

/* The results, gathered once. */
struct results {
    const struct experiment *e;
    struct comparison *comparisons; /* NULL: bench */
    size_t comparison_count;
    bool fails[OPTION_LIST_MAX]; /* conditions of --fail-if that hold */
    bool is_interrupted;
};

/* These functions print the results; `context` is a struct results. */
void print_text(const void *context, struct text *out);
void print_json(const void *context, struct text *out); /* docs/bench.schema.json, docs/compare.schema.json */
void print_csv(const void *context, struct text *out);  /* a header, and one row for each run */

#endif
