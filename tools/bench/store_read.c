/* bench/store_read.c - reads stored benchmarks and runs. See store.h.
 *
 * Another program may have written the rows. A value of a wrong kind is unknown.
 */
#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "store.h"

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
    const char *sql = query->id     ? "SELECT * FROM benchmarks WHERE id=?1 LIMIT ?2"
                      : query->name ? "SELECT * FROM benchmarks WHERE name=?1 ORDER BY id DESC LIMIT ?2"
                                    : "SELECT * FROM benchmarks ORDER BY id DESC LIMIT ?2";
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(store->db, sql, -1, &s, NULL) != SQLITE_OK)
        return store_fail(store, "read", out_error);
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
    return code == SQLITE_DONE || code == SQLITE_ROW ? JOULE_OK : store_fail(store, "read", out_error);
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
        return store_fail(store, "read", out_error);
    sqlite3_bind_int64(s, 1, id);
    while (has_memory && (code = sqlite3_step(s)) == SQLITE_ROW) {
        struct run run = run_of(s, arena);
        has_memory = run_list_add(out_runs, &run);
    }
    sqlite3_finalize(s);
    if (!has_memory || arena->is_out_of_memory)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot read %s: out of memory", store->path);
    return code == SQLITE_DONE ? JOULE_OK : store_fail(store, "read", out_error);
}
