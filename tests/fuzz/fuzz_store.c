/* Fuzz target: stored benchmarks and runs (bench/store.h), and the output of joule history. The input is a
 * database file, or lines with the cells of one benchmark and of its runs: 'i' an integer, 'f' a number, 't'
 * a text, 'b' bytes; any other line is an empty cell. Checks that numbers are finite or unknown, that
 * enumerations are in range, that a failure has a message, and that reading does not change the file. */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "file.h"
#include "history.h"

#define BENCHMARK_CELLS 21
#define RUN_CELLS       20
#define MAX_RUNS        30
#define MAX_BENCHMARKS  20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- writing -------------------------------------------------------------------------------------------- */

/* Binds the line at *at to a parameter and moves to the next line. */
static void bind_cell(sqlite3_stmt *statement, int parameter, const char **at, const char *end)
{
    const char *line = *at, *next = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
    int length = (int)((next ? next : end) - line) - 1;
    *at = next ? next + 1 : end;
    if (length < 0)
        return;
    if (*line == 'i')
        sqlite3_bind_int64(statement, parameter, strtoll(line + 1, NULL, 10));
    else if (*line == 'f')
        sqlite3_bind_double(statement, parameter, strtod(line + 1, NULL));
    else if (*line == 't')
        sqlite3_bind_text(statement, parameter, line + 1, length, SQLITE_TRANSIENT);
    else if (*line == 'b')
        sqlite3_bind_blob(statement, parameter, line + 1, length, SQLITE_TRANSIENT);
}

/* Inserts a row whose first `fixed` cells are given numbers. */
static void insert(sqlite3 *db, const char *sql, const int *fixed, int fixed_count, int count,
                   const char **at, const char *end)
{
    sqlite3_stmt *statement;
    require(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK);
    for (int i = 0; i < count; i++) {
        if (i < fixed_count)
            sqlite3_bind_int(statement, i + 1, fixed[i]);
        else
            bind_cell(statement, i + 1, at, end);
    }
    require(sqlite3_step(statement) == SQLITE_DONE);
    sqlite3_finalize(statement);
}

/* Replaces the rows of the database by those of the text, which ends with NUL. */
static void write_cells(const char *path, const char *text, size_t size)
{
    const char *at = text, *end = text + size;
    struct store store;
    require(store_open(&store, path, true, NULL) == JOULE_OK);
    require(sqlite3_exec(store.db, "PRAGMA synchronous=OFF; BEGIN; DELETE FROM benchmarks", NULL, NULL,
                         NULL) == SQLITE_OK);
    insert(store.db, "INSERT INTO benchmarks VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
           (const int[]){1}, 1, BENCHMARK_CELLS, &at, end);
    for (int i = 0; i < MAX_RUNS && at < end; i++)
        insert(store.db, "INSERT INTO runs VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
               (const int[]){1, i}, 2, RUN_CELLS, &at, end);
    require(sqlite3_exec(store.db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
    store_close(&store);
}

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    require(file && fwrite(data, 1, size, file) == size);
    require(fclose(file) == 0);
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void require_number(double value)
{
    require(isnan(value) || isfinite(value));
}

/* Keeps the numbers of a benchmark. Its strings are not valid later. */
static bool keep(const struct stored_benchmark *benchmark, void *context)
{
    struct history *h = context;
    const double numbers[] = {benchmark->joules,  benchmark->joules_low, benchmark->joules_high,
                              benchmark->seconds, benchmark->watts,      benchmark->work};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        require_number(numbers[i]);
    require((int)benchmark->basis >= 0 && benchmark->basis <= BASIS_COMMAND);
    h->items[h->count] = *benchmark;
    struct stored_benchmark *kept = &h->items[h->count++];
    const char **const texts[] = {&kept->kind,   &kept->name,     &kept->command, &kept->date,
                                  &kept->host,   &kept->machine,  &kept->sources, &kept->cls,
                                  &kept->labels, &kept->work_unit};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (*texts[i])
            require((*texts[i] = store_copy_text(&h->arena, *texts[i])) != NULL);
    return h->count < MAX_BENCHMARKS;
}

static void check_run(const struct run *run)
{
    const double numbers[] = {run->machine_joules, run->net_joules, run->command_joules,
                              run->own_sd,         run->common_sd,  run->seconds,
                              run->coverage,       run->cpu_busy,   run->other_busy,
                              run->gpu_busy,       run->work,       run->temperature_celsius};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        require_number(numbers[i]);
    require((int)run->cls >= 0 && run->cls <= JOULE_CLASS_ASSUMED);
}

static void print_all(const struct history *h)
{
    void (*const printers[])(const void *, struct text *) = {
        history_print_list, history_print_csv,      history_print_json,
        history_print_runs, history_print_runs_csv, history_print_trend,
    };
    static char page[1 << 20];
    for (size_t i = 0; i < sizeof printers / sizeof printers[0]; i++) {
        struct text out;
        text_init(&out, page, sizeof page);
        printers[i](h, &out);
        require(out.length > 0);
    }
}

static void read_all(const char *path)
{
    struct stored_benchmark items[MAX_BENCHMARKS];
    struct run_list runs[MAX_BENCHMARKS] = {{0}};
    struct history h = {.items = items, .runs = runs};
    const struct store_query query = {.limit = MAX_BENCHMARKS};
    struct store store;
    joule_error error = {0};
    joule_status status = store_open(&store, path, false, &error);
    if (status == JOULE_OK)
        status = store_list(&store, &query, keep, &h, &error);
    for (size_t i = 0; i < h.count && status == JOULE_OK; i++) {
        status = store_runs(&store, &h.arena, items[i].id, &runs[i], &error);
        for (size_t j = 0; j < runs[i].count; j++)
            check_run(&runs[i].items[j]);
    }
    require(status == JOULE_OK || error.message[0]);
    if (status == JOULE_OK && h.count > 0)
        print_all(&h);
    store_close(&store);
    for (size_t i = 0; i < h.count; i++)
        free(runs[i].items);
    arena_free(&h.arena);
}

/* Returns true if the file contains exactly these bytes. */
static bool is_unchanged(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "rb");
    char *now = malloc(size + 1);
    require(file && now);
    bool is_equal = fread(now, 1, size + 1, file) == size && memcmp(now, data, size) == 0;
    fclose(file);
    free(now);
    return is_equal;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char magic[] = "SQLite format 3";
    const char *path = fuzz_copy();
    if (size > sizeof magic && memcmp(data, magic, sizeof magic) == 0) {
        write_file(path, data, size);
        read_all(path);
        require(is_unchanged(path, data, size));
        remove(path);
        return 0;
    }
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    write_cells(path, text, size);
    read_all(path);
    free(text);
    return 0;
}
