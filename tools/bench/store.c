/* bench/store.c - see store.h. */
#include "store.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/string.h"

#define SCHEMA_VERSION    1
#define BUSY_MS           20000
#define MAX_CELL_BYTES    (16 << 20) /* a longer text, which another program wrote, is an error */
#define BENCHMARK_COLUMNS 21
#define RUN_COLUMNS       20

static const char schema[] =
    "CREATE TABLE benchmarks(id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, name TEXT, command TEXT, date "
    "TEXT,"
    " host TEXT, machine TEXT, sources TEXT, class TEXT, labels TEXT, basis INTEGER, comparison INTEGER,"
    " run_count INTEGER, rejected_count INTEGER, joules REAL, joules_low REAL, joules_high REAL, seconds "
    "REAL,"
    " watts REAL, work REAL, work_unit TEXT);"
    "CREATE INDEX benchmarks_by_name ON benchmarks(name, id);"
    "CREATE TABLE runs(benchmark INTEGER NOT NULL REFERENCES benchmarks(id) ON DELETE CASCADE, sequence "
    "INTEGER,"
    " block INTEGER, is_warm_up INTEGER, rejected TEXT, machine_joules REAL, net_joules REAL, command_joules "
    "REAL,"
    " own_sd REAL, common_sd REAL, seconds REAL, coverage REAL, cpu_busy REAL, other_busy REAL, gpu_busy "
    "REAL,"
    " temperature_celsius REAL, throttled INTEGER, work REAL, exit_code INTEGER, class INTEGER,"
    " PRIMARY KEY(benchmark, sequence)) WITHOUT ROWID;";

/* Sets the error of the database. */
static joule_status fail(const struct store *store, const char *what, joule_error *out_error)
{
    int code = sqlite3_errcode(store->db);
    joule_status status = code == SQLITE_CANTOPEN || code == SQLITE_READONLY ? JOULE_DENIED
                          : code == SQLITE_NOTADB || code == SQLITE_CORRUPT  ? JOULE_INVALID
                          : code == SQLITE_NOMEM                             ? JOULE_NO_MEMORY
                                                                             : JOULE_FAILED;
    return error_set(out_error, status, "cannot %s %s: %s", what, store->path, sqlite3_errmsg(store->db));
}

/* --- opening -------------------------------------------------------------------------------------------- */

const char *store_default_path(struct arena *arena)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    bool has_data = data && data[0] == '/';
    if (!has_data && (!home || !*home))
        return NULL;
    size_t size = strlen(has_data ? data : home) + 40;
    char *path = arena_alloc(arena, size);
    if (path)
        string_print(path, size, "%s%s/joule/runs.db", has_data ? data : home,
                     has_data ? "" : "/.local/share");
    return path;
}

/* Creates the folders of a path. A failure shows when the file is opened. */
static void create_folders(const char *path)
{
    char *copy = strdup(path);
    for (char *at = copy ? strchr(copy + 1, '/') : NULL; at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(copy, 0700);
        *at = '/';
    }
    free(copy);
}

/* Returns the first number of the first row of a query; -1: there is none. */
static int64_t read_number(const struct store *store, const char *sql)
{
    sqlite3_stmt *query = NULL;
    int64_t number = -1;
    if (sqlite3_prepare_v2(store->db, sql, -1, &query, NULL) == SQLITE_OK &&
        sqlite3_step(query) == SQLITE_ROW)
        number = sqlite3_column_int64(query, 0);
    sqlite3_finalize(query);
    return number;
}

static int read_version(const struct store *store)
{
    return (int)read_number(store, "PRAGMA user_version");
}

/* Creates the tables unless another program has created them in the meantime. */
static joule_status create_tables(struct store *store, joule_error *out_error)
{
    char set_version[48];
    string_print(set_version, sizeof set_version, "PRAGMA user_version=%d", SCHEMA_VERSION);
    bool done = sqlite3_exec(store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK;
    if (done && read_version(store) == 0)
        done = sqlite3_exec(store->db, schema, NULL, NULL, NULL) == SQLITE_OK &&
               sqlite3_exec(store->db, set_version, NULL, NULL, NULL) == SQLITE_OK;
    done = done && sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
    return done ? JOULE_OK : fail(store, "create tables in", out_error);
}

static joule_status not_of_joule(const struct store *store, joule_error *out_error)
{
    return error_set(out_error, JOULE_INVALID, "cannot read %s: it is not a database of joule", store->path);
}

/* Checks that the tables are those of the schema. Views and triggers of another program could run for ever,
 * or change what is stored. */
static joule_status check_tables(const struct store *store, joule_error *out_error)
{
    int64_t benchmarks = read_number(store, "SELECT count(*) FROM pragma_table_info('benchmarks')");
    int64_t runs = read_number(store, "SELECT count(*) FROM pragma_table_info('runs')");
    int64_t others =
        read_number(store, "SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger')");
    if (benchmarks < 0 || runs < 0 || others < 0)
        return fail(store, "read", out_error);
    if (benchmarks != BENCHMARK_COLUMNS || runs != RUN_COLUMNS || others > 0)
        return not_of_joule(store, out_error);
    return JOULE_OK;
}

static joule_status check_version(struct store *store, bool creates, joule_error *out_error)
{
    int version = read_version(store);
    if (version < 0)
        return sqlite3_errcode(store->db) == SQLITE_OK ? not_of_joule(store, out_error)
                                                       : fail(store, "read", out_error);
    if (version > SCHEMA_VERSION)
        return error_set(out_error, JOULE_UNSUPPORTED,
                         "cannot use %s: a newer version of joule wrote it (schema %d, known: %d)",
                         store->path, version, SCHEMA_VERSION);
    if (version == 0 && !creates)
        return not_of_joule(store, out_error);
    joule_status status = version == 0 ? create_tables(store, out_error) : JOULE_OK;
    return status == JOULE_OK ? check_tables(store, out_error) : status;
}

joule_status store_open(struct store *store, const char *path, bool creates, joule_error *out_error)
{
    *store = (struct store){.path = path};
    if (!creates && access(path, F_OK) != 0)
        return error_set(out_error, errno == ENOENT ? JOULE_ABSENT : JOULE_DENIED, "cannot open %s: %s", path,
                         strerror(errno));
    if (creates)
        create_folders(path);
    int flags = SQLITE_OPEN_READWRITE | (creates ? SQLITE_OPEN_CREATE : 0);
    joule_status status = JOULE_OK;
    if (sqlite3_open_v2(path, &store->db, flags, NULL) != SQLITE_OK) {
        status = store->db ? fail(store, "open", out_error)
                           : error_set(out_error, JOULE_NO_MEMORY, "cannot open %s: out of memory", path);
    } else {
        sqlite3_busy_timeout(store->db, BUSY_MS);
        sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES);
        sqlite3_exec(store->db, "PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF", NULL, NULL, NULL);
        status = check_version(store, creates, out_error);
    }
    if (status != JOULE_OK)
        store_close(store);
    return status;
}

void store_close(struct store *store)
{
    sqlite3_close(store->db);
    store->db = NULL;
}

/* --- writing -------------------------------------------------------------------------------------------- */

static void bind_text(sqlite3_stmt *statement, int *at, const char *text)
{
    sqlite3_bind_text(statement, (*at)++, text, -1, SQLITE_STATIC); /* NULL becomes NULL */
}

static void bind_number(sqlite3_stmt *statement, int *at, double value)
{
    if (isfinite(value))
        sqlite3_bind_double(statement, *at, value);
    (*at)++; /* parameters without a value are NULL */
}

static void bind_integer(sqlite3_stmt *statement, int *at, int64_t value)
{
    sqlite3_bind_int64(statement, (*at)++, value);
}

/* Runs a statement that returns no rows, and frees it. */
static bool finish(sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);
    return sqlite3_finalize(statement) == SQLITE_OK && code == SQLITE_DONE;
}

/* Adds the benchmark, or replaces its row. */
static bool put_benchmark(struct store *store, const struct stored_benchmark *b)
{
    static const char sql[] =
        "INSERT INTO benchmarks VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE "
        "SET"
        " run_count=excluded.run_count, rejected_count=excluded.rejected_count, joules=excluded.joules,"
        " joules_low=excluded.joules_low, joules_high=excluded.joules_high, seconds=excluded.seconds,"
        " watts=excluded.watts, work=excluded.work";
    sqlite3_stmt *s;
    int at = 1;
    if (sqlite3_prepare_v2(store->db, sql, -1, &s, NULL) != SQLITE_OK)
        return false;
    if (b->id)
        sqlite3_bind_int64(s, at, b->id);
    at++;
    bind_text(s, &at, b->kind);
    bind_text(s, &at, b->name);
    bind_text(s, &at, b->command);
    bind_text(s, &at, b->date);
    bind_text(s, &at, b->host);
    bind_text(s, &at, b->machine);
    bind_text(s, &at, b->sources);
    bind_text(s, &at, b->cls);
    bind_text(s, &at, b->labels);
    bind_integer(s, &at, b->basis);
    bind_integer(s, &at, b->group);
    bind_integer(s, &at, (int64_t)b->run_count);
    bind_integer(s, &at, (int64_t)b->rejected_count);
    bind_number(s, &at, b->joules);
    bind_number(s, &at, b->joules_low);
    bind_number(s, &at, b->joules_high);
    bind_number(s, &at, b->seconds);
    bind_number(s, &at, b->watts);
    bind_number(s, &at, b->work);
    bind_text(s, &at, b->work_unit);
    return finish(s);
}

static bool put_run(struct store *store, int64_t id, size_t sequence, const struct run *run)
{
    static const char sql[] = "INSERT INTO runs VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
    sqlite3_stmt *s;
    int at = 1;
    if (sqlite3_prepare_v2(store->db, sql, -1, &s, NULL) != SQLITE_OK)
        return false;
    bind_integer(s, &at, id);
    bind_integer(s, &at, (int64_t)sequence);
    bind_integer(s, &at, run->block);
    bind_integer(s, &at, run->is_warm_up);
    bind_text(s, &at, run->rejected);
    bind_number(s, &at, run->machine_joules);
    bind_number(s, &at, run->net_joules);
    bind_number(s, &at, run->command_joules);
    bind_number(s, &at, run->own_sd);
    bind_number(s, &at, run->common_sd);
    bind_number(s, &at, run->seconds);
    bind_number(s, &at, run->coverage);
    bind_number(s, &at, run->cpu_busy);
    bind_number(s, &at, run->other_busy);
    bind_number(s, &at, run->gpu_busy);
    bind_number(s, &at, run->temperature_celsius);
    bind_integer(s, &at, run->throttled);
    bind_number(s, &at, run->work);
    bind_integer(s, &at, run->exit_code);
    bind_integer(s, &at, run->cls);
    return finish(s);
}

/* Ends a transaction. After a failure, takes all its changes back. */
static joule_status end(struct store *store, bool done, joule_error *out_error)
{
    if (done && sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
        return JOULE_OK;
    joule_status status = fail(store, "write", out_error);
    sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

joule_status store_add_run(struct store *store, struct stored_benchmark *benchmark, size_t sequence,
                           const struct run *run, joule_error *out_error)
{
    bool is_new = benchmark->id == 0;
    bool done = sqlite3_exec(store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
                put_benchmark(store, benchmark);
    int64_t id = is_new ? sqlite3_last_insert_rowid(store->db) : benchmark->id;
    joule_status status = end(store, done && put_run(store, id, sequence, run), out_error);
    if (status == JOULE_OK)
        benchmark->id = id;
    return status;
}

static bool put_reason(struct store *store, int64_t id, size_t sequence, const char *reason)
{
    sqlite3_stmt *s;
    int at = 1;
    if (sqlite3_prepare_v2(store->db, "UPDATE runs SET rejected=? WHERE benchmark=? AND sequence=?", -1, &s,
                           NULL) != SQLITE_OK)
        return false;
    bind_text(s, &at, reason);
    bind_integer(s, &at, id);
    bind_integer(s, &at, (int64_t)sequence);
    return finish(s);
}

joule_status store_finish(struct store *store, const struct stored_benchmark *benchmark,
                          const struct run_list *runs, joule_error *out_error)
{
    bool done = sqlite3_exec(store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
                put_benchmark(store, benchmark);
    for (size_t i = 0; done && i < runs->count; i++)
        if (runs->items[i].rejected)
            done = put_reason(store, benchmark->id, i, runs->items[i].rejected);
    return end(store, done, out_error);
}

joule_status store_forget(struct store *store, int64_t id, const char *name, int64_t *out_count,
                          joule_error *out_error)
{
    sqlite3_stmt *s;
    int at = 1;
    if (sqlite3_prepare_v2(store->db,
                           "DELETE FROM benchmarks WHERE (?1=0 OR id=?1) AND (?2 IS NULL OR name=?2)", -1, &s,
                           NULL) != SQLITE_OK)
        return fail(store, "change", out_error);
    bind_integer(s, &at, id);
    bind_text(s, &at, name);
    if (!finish(s))
        return fail(store, "change", out_error);
    *out_count = sqlite3_changes(store->db);
    return JOULE_OK;
}

/* --- reading -------------------------------------------------------------------------------------------- */

/* Returns a finite number; NaN: the cell is empty, or another program wrote something else there. */
static double number_at(sqlite3_stmt *s, int column)
{
    int type = sqlite3_column_type(s, column);
    double value = sqlite3_column_double(s, column);
    return (type == SQLITE_INTEGER || type == SQLITE_FLOAT) && isfinite(value) ? value : NAN;
}

/* Returns a number of things; 0 if the file contains a negative one. */
static size_t count_at(sqlite3_stmt *s, int column)
{
    int64_t value = sqlite3_column_int64(s, column);
    return value > 0 ? (size_t)value : 0;
}

static const char *text_at(sqlite3_stmt *s, int column)
{
    return (const char *)sqlite3_column_text(s, column);
}

/* Returns a number of an enumeration that a file contains; 0 if it is out of range. */
static int choice_at(sqlite3_stmt *s, int column, int last)
{
    int value = sqlite3_column_int(s, column);
    return value >= 0 && value <= last ? value : 0;
}

static struct stored_benchmark benchmark_of(sqlite3_stmt *s)
{
    return (struct stored_benchmark){
        .id = sqlite3_column_int64(s, 0),
        .kind = text_at(s, 1),
        .name = text_at(s, 2),
        .command = text_at(s, 3),
        .date = text_at(s, 4),
        .host = text_at(s, 5),
        .machine = text_at(s, 6),
        .sources = text_at(s, 7),
        .cls = text_at(s, 8),
        .labels = text_at(s, 9),
        .basis = (enum basis)choice_at(s, 10, BASIS_COMMAND),
        .group = sqlite3_column_int64(s, 11),
        .run_count = count_at(s, 12),
        .rejected_count = count_at(s, 13),
        .joules = number_at(s, 14),
        .joules_low = number_at(s, 15),
        .joules_high = number_at(s, 16),
        .seconds = number_at(s, 17),
        .watts = number_at(s, 18),
        .work = number_at(s, 19),
        .work_unit = text_at(s, 20),
    };
}

joule_status store_list(struct store *store, const struct store_query *query,
                        bool (*each)(const struct stored_benchmark *benchmark, void *context), void *context,
                        joule_error *out_error)
{
    static const char with_comparisons[] =
        "SELECT * FROM benchmarks WHERE ifnull(nullif(comparison,0),id) IN (SELECT"
        " ifnull(nullif(comparison,0),id) FROM benchmarks WHERE name=?1 ORDER BY id DESC LIMIT ?2)"
        " ORDER BY id DESC";
    const char *sql = query->id ? "SELECT * FROM benchmarks WHERE id=?1 LIMIT ?2"
                      : query->name && query->has_comparisons ? with_comparisons
                      : query->name ? "SELECT * FROM benchmarks WHERE name=?1 ORDER BY id DESC LIMIT ?2"
                                    : "SELECT * FROM benchmarks ORDER BY id DESC LIMIT ?2";
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(store->db, sql, -1, &s, NULL) != SQLITE_OK)
        return fail(store, "read", out_error);
    if (query->id)
        sqlite3_bind_int64(s, 1, query->id);
    else if (query->name)
        sqlite3_bind_text(s, 1, query->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, query->limit ? (int64_t)query->limit : -1);
    int code;
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        struct stored_benchmark benchmark = benchmark_of(s);
        if (!each(&benchmark, context))
            break;
    }
    sqlite3_finalize(s);
    return code == SQLITE_DONE || code == SQLITE_ROW ? JOULE_OK : fail(store, "read", out_error);
}

char *store_copy_text(struct arena *arena, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    char *copy = text ? arena_copy(arena, text, length) : NULL;
    for (size_t i = 0; copy && i < length;) {
        uint32_t character;
        size_t size = string_utf8_read(copy + i, length - i, &character);
        bool is_plain = size > 0 && (character >= 0xa0 || (character >= ' ' && character < 0x7f) ||
                                     character == '\t' || character == '\n');
        size = size > 0 ? size : 1;
        if (!is_plain)
            memset(copy + i, '?', size);
        i += size;
    }
    return copy;
}

static struct run run_of(sqlite3_stmt *s, struct arena *arena)
{
    return (struct run){
        .block = (unsigned)sqlite3_column_int(s, 2),
        .is_warm_up = sqlite3_column_int(s, 3) != 0,
        .rejected = store_copy_text(arena, text_at(s, 4)),
        .machine_joules = number_at(s, 5),
        .net_joules = number_at(s, 6),
        .command_joules = number_at(s, 7),
        .own_sd = number_at(s, 8),
        .common_sd = number_at(s, 9),
        .seconds = number_at(s, 10),
        .coverage = number_at(s, 11),
        .cpu_busy = number_at(s, 12),
        .other_busy = number_at(s, 13),
        .gpu_busy = number_at(s, 14),
        .temperature_celsius = number_at(s, 15),
        .throttled = sqlite3_column_int(s, 16),
        .work = number_at(s, 17),
        .exit_code = sqlite3_column_int(s, 18),
        .cls = (joule_class)choice_at(s, 19, JOULE_CLASS_ASSUMED),
    };
}

joule_status store_runs(struct store *store, struct arena *arena, int64_t id, struct run_list *out_runs,
                        joule_error *out_error)
{
    sqlite3_stmt *s;
    int code;
    bool has_memory = true;
    if (sqlite3_prepare_v2(store->db, "SELECT * FROM runs WHERE benchmark=? ORDER BY sequence", -1, &s,
                           NULL) != SQLITE_OK)
        return fail(store, "read", out_error);
    sqlite3_bind_int64(s, 1, id);
    while (has_memory && (code = sqlite3_step(s)) == SQLITE_ROW) {
        struct run run = run_of(s, arena);
        has_memory = run_list_add(out_runs, &run);
    }
    sqlite3_finalize(s);
    if (!has_memory || arena->is_out_of_memory)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot read %s: out of memory", store->path);
    return code == SQLITE_DONE ? JOULE_OK : fail(store, "read", out_error);
}
