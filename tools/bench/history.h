/* bench/history.h - stored benchmarks, and their output as text, JSON and CSV. */
#ifndef BENCH_HISTORY_H
#define BENCH_HISTORY_H

#include "base/arena.h"
#include "base/string.h"
#include "store.h"

/* Benchmarks, newest first, with strings in the arena. */
struct history {
    struct arena arena;
    struct stored_benchmark *items;
    size_t count, capacity;
    struct run_list *runs; /* of each benchmark; NULL: not read */
    bool is_out_of_memory;
};

/* These functions print; `context` is a struct history. The last three need the runs. */
void history_print_list(const void *context, struct text *out);
void history_print_csv(const void *context, struct text *out);
void history_print_json(const void *context,
                        struct text *out); /* docs/history.schema.json; runs if they were read */
void history_print_runs(const void *context, struct text *out);
void history_print_runs_csv(const void *context, struct text *out);
void history_print_trend(const void *context, struct text *out);

#endif
