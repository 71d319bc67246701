/* bench/store.h - stores benchmarks and their runs in an SQLite database.
 *
 * Each run is stored in a transaction of its own, so a killed program loses at most the run in progress.
 * Several programs may use one database at the same time.
 * */
#ifndef BENCH_STORE_H
#define BENCH_STORE_H

#include <joule/base.h>
#include <stdint.h>
#include "base/arena.h"
#include "run.h"

/* A database. */
struct store {
    struct sqlite3 *db; /* NULL: closed */
    const char *path;
};

/* A row of the table of benchmarks: one command, and a summary of its runs. Strings may be NULL:
 * unknown. Numbers are NaN: unknown. */
struct stored_benchmark {
    int64_t id;
    const char *kind; /* "bench" or "compare" */
    const char *name, *command;
    const char *date; /* start, RFC 3339 */
    const char *host, *machine, *sources, *cls, *labels;
    enum basis basis;
    int64_t group; /* id of the first stored benchmark of the same comparison; 0: this one */
    size_t run_count, rejected_count;
    double joules, joules_low, joules_high; /* mean of the energy that decides, with its 95 % interval */
    double seconds, watts;                  /* means */
    double work;                            /* mean work of a run */
    const char *work_unit;
};

/* Returns the path of the default database, $XDG_DATA_HOME/joule/runs.db or ~/.local/share/joule/runs.db, in
 * the arena; NULL: there is no home folder, or out of memory. */
const char *store_default_path(struct arena *arena);
/* Opens a database. `creates`: creates it, with its folder, if it does not exist. Errors have a message:
 * ABSENT, DENIED, or INVALID for a file that is not such a database. `path` must outlive the store. */
joule_status store_open(struct store *store, const char *path, bool creates, joule_error *out_error);
void store_close(struct store *store);

/* Stores a run and the summary in one transaction. The first call, with id 0, adds the benchmark and sets its
 * id. */
joule_status store_add_run(struct store *store, struct stored_benchmark *benchmark, size_t sequence,
                           const struct run *run, joule_error *out_error);
/* Stores the summary again, and why runs were rejected afterwards, for example as outliers. */
joule_status store_finish(struct store *store, const struct stored_benchmark *benchmark,
                          const struct run_list *runs, joule_error *out_error);

/* Which benchmarks to list. */
struct store_query {
    const char *name;     /* NULL: all */
    int64_t id;           /* 0: all */
    unsigned limit;       /* the newest; 0: all */
    bool has_comparisons; /* also the other commands of their comparisons, beyond the limit; needs a name */
};
/* Calls each() for the benchmarks, newest first, until it returns false. The strings are valid during the
 * call. */
joule_status store_list(struct store *store, const struct store_query *query,
                        bool (*each)(const struct stored_benchmark *benchmark, void *context), void *context,
                        joule_error *out_error);
/* Returns a copy of a stored text in the arena, for output; NULL: the text is NULL, or out of memory. Bytes
 * that are not UTF-8, and control characters except tab and newline, which could change a terminal, become
 * '?'. */
char *store_copy_text(struct arena *arena, const char *text);
/* Reads the runs of a benchmark, in their order. Reasons of rejected runs are in the arena. The caller frees
 * out_runs->items. */
joule_status store_runs(struct store *store, struct arena *arena, int64_t id, struct run_list *out_runs,
                        joule_error *out_error);
/* Deletes benchmarks with this id (0: any) and name (NULL: any) with their runs. *out_count: their number. */
joule_status store_forget(struct store *store, int64_t id, const char *name, int64_t *out_count,
                          joule_error *out_error);

#endif
