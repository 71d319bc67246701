/* bench/history.c - `joule history`: lists, shows and deletes stored benchmarks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "commands.h"
#include "common/options.h"
#include "common/page.h"
#include "history.h"
#include "output_plot.h"
#include "joule/stats/compare.h"
#include "store.h"

#define SUBCOMMAND "history"
#define LIMIT      50

static const struct command_text command = {
    .usage = "joule history [OPTIONS] [ACTION [WHAT]]",
    .summary = "Lists the benchmarks that `joule bench` and `joule compare` stored, newest first.",
    .notes = "ACTION and WHAT:\n"
             "  list            list benchmarks (default)\n"
             "  show NUMBER     print all runs of a benchmark\n"
             "  trend NAME      compare the benchmarks of a name with the oldest one listed\n"
             "  forget NUMBER   delete a benchmark; with --name NAME and no NUMBER, all of that name\n",
};

/* The options. */
struct request {
    const char *action, *what, *database, *name, *plot;
    unsigned limit;
    bool prints_json, prints_csv;
};

/* --- reading -------------------------------------------------------------------------------------------- */

static bool keep(const struct stored_benchmark *benchmark, void *context)
{
    struct history *h = context;
    const char *const texts[] = {benchmark->kind,   benchmark->name,     benchmark->command, benchmark->date,
                                 benchmark->host,   benchmark->machine,  benchmark->sources, benchmark->cls,
                                 benchmark->labels, benchmark->work_unit};
    const char *copies[10] = {0};
    h->is_out_of_memory = !ARRAY_ROOM(h->items, h->capacity, h->count);
    if (h->is_out_of_memory)
        return false;
    for (size_t i = 0; i < 10; i++)
        copies[i] = store_copy_text(&h->arena, texts[i]);
    struct stored_benchmark *kept = &h->items[h->count++];
    *kept = *benchmark;
    kept->kind = copies[0];
    kept->name = copies[1];
    kept->command = copies[2];
    kept->date = copies[3];
    kept->host = copies[4];
    kept->machine = copies[5];
    kept->sources = copies[6];
    kept->cls = copies[7];
    kept->labels = copies[8];
    kept->work_unit = copies[9];
    return true;
}

/* Reads the benchmarks, and with `has_runs` the runs of each. Returns false after a message. */
static bool read_history(struct history *h, struct store *store, const struct store_query *query,
                         bool has_runs)
{
    joule_error error;
    h->arena.block_size = 65536;
    joule_status status = store_list(store, query, keep, h, &error);
    if (has_runs && status == JOULE_OK)
        h->runs = calloc(h->count + 1, sizeof *h->runs);
    for (size_t i = 0; h->runs && i < h->count && status == JOULE_OK; i++)
        status = store_runs(store, &h->arena, h->items[i].id, &h->runs[i], &error);
    if (status != JOULE_OK)
        complain(SUBCOMMAND, "%s", error.message);
    else if (h->is_out_of_memory || h->arena.is_out_of_memory || (has_runs && !h->runs))
        complain(SUBCOMMAND, "cannot read the history: out of memory");
    else
        return true;
    return false;
}

static void free_history(struct history *h)
{
    for (size_t i = 0; h->runs && i < h->count; i++)
        free(h->runs[i].items);
    free(h->runs);
    free(h->items);
    arena_free(&h->arena);
}

/* --- forget --------------------------------------------------------------------------------------------- */

static int forget(struct store *store, int64_t id, const char *name)
{
    joule_error error;
    int64_t count = 0;
    if (!id && !name) {
        complain(SUBCOMMAND, "forget needs the number of a benchmark, or --name NAME");
        return EXIT_USAGE;
    }
    if (store_forget(store, id, name, &count, &error) != JOULE_OK) {
        complain(SUBCOMMAND, "%s", error.message);
        return EXIT_OWN_FAILURE;
    }
    if (count == 0) {
        complain(SUBCOMMAND, "no such benchmark is stored");
        return 1;
    }
    return 0;
}

/* --- the subcommand ------------------------------------------------------------------------------------- */

/* Reads the options. Returns 1, OPTIONS_HELP or OPTIONS_WRONG. */
static int read_request(struct request *r, int argc, char **argv)
{
    const struct option table[] = {
        {"name", 0, OPTION_TEXT, &r->name, "NAME", "only benchmarks of this name"},
        {"limit", 'n', OPTION_COUNT, &r->limit, "N", "at most N benchmarks, the newest (default 50)"},
        {"json", 0, OPTION_FLAG, &r->prints_json, NULL, "print JSON"},
        {"csv", 0, OPTION_FLAG, &r->prints_csv, NULL, "print a table as CSV"},
        {"plot", 0, OPTION_TEXT, &r->plot, "FILE",
         "with trend: write a picture; FILE ends with .svg, .png or .html"},
        {"db", 0, OPTION_TEXT, &r->database, "FILE",
         "database of runs (default: ~/.local/share/joule/runs.db)"},
        {0},
    };
    const struct program_operand operands[] = {{"ACTION", &r->action, true}, {"WHAT", &r->what, true}};
    int ready = options_read_operands(table, &command, operands, 2, argc, argv);
    if (ready == 1 && r->prints_json && r->prints_csv) {
        complain(SUBCOMMAND, "choose one of --json and --csv");
        return OPTIONS_WRONG;
    }
    return ready;
}

/* Checks the action and its operand. Returns false after a message. */
static bool read_action(struct request *r, int64_t *out_id)
{
    static const char *const actions[] = {"list", "show", "trend", "forget", NULL};
    uint64_t id = 0;
    r->action = r->action ? r->action : "list";
    bool needs_number = strcmp(r->action, "show") == 0 || (strcmp(r->action, "forget") == 0 && r->what);
    if (!string_is_one_of(r->action, actions)) {
        complain(SUBCOMMAND, "unknown action '%s'; the actions are list, show, trend and forget", r->action);
        return false;
    }
    if (needs_number && (!r->what || !string_to_u64(r->what, 10, &id) || id == 0 || id > INT64_MAX)) {
        complain(SUBCOMMAND, "%s takes the number of a benchmark, not '%s'", r->action,
                 r->what ? r->what : "");
        return false;
    }
    if (strcmp(r->action, "trend") == 0) {
        r->name = r->what ? r->what : r->name;
        if (!r->name) {
            complain(SUBCOMMAND, "trend takes the name of benchmarks");
            return false;
        }
    } else if (strcmp(r->action, "list") == 0 && r->what) {
        complain(SUBCOMMAND, "unexpected argument '%s'; see joule history --help", r->what);
        return false;
    }
    if (r->plot && strcmp(r->action, "trend") != 0) {
        complain(SUBCOMMAND, "--plot needs the action trend");
        return false;
    }
    *out_id = (int64_t)id;
    return true;
}

/* Returns the function that prints the answer to a request. */
static page_print_fn printer_of(const struct request *r)
{
    bool shows = strcmp(r->action, "show") == 0;
    if (r->prints_json)
        return history_print_json;
    if (r->prints_csv)
        return shows ? history_print_runs_csv : history_print_csv;
    if (strcmp(r->action, "trend") == 0)
        return history_print_trend;
    return shows ? history_print_runs : history_print_list;
}

/* Draws the trend of a name with all commands of its comparisons. */
static int draw_trend(const struct request *r, struct store *store)
{
    const struct store_query query = {.name = r->name, .limit = r->limit, .has_comparisons = true};
    struct history h = {0};
    joule_error error;
    int code = EXIT_OWN_FAILURE;
    if (read_history(&h, store, &query, false)) {
        code = plot_history(&h, r->name, r->plot, &error) == JOULE_OK ? 0 : EXIT_OWN_FAILURE;
        if (code)
            complain(SUBCOMMAND, "%s", error.message);
    }
    free_history(&h);
    return code;
}

static int answer(const struct request *r, struct store *store, int64_t id)
{
    if (strcmp(r->action, "forget") == 0)
        return forget(store, id, r->name);
    const struct store_query query = {.name = r->name, .id = id, .limit = r->limit};
    struct history h = {0};
    bool lists = strcmp(r->action, "list") == 0;
    int code = EXIT_OWN_FAILURE;
    if (read_history(&h, store, &query, !lists)) {
        code = lists || h.count ? page_print(SUBCOMMAND, printer_of(r), &h) : 1;
        if (code == 0 && r->plot)
            code = draw_trend(r, store);
        if (code == 1)
            complain(SUBCOMMAND, "no such benchmark is stored in %s", store->path);
    }
    free_history(&h);
    return code;
}

int history_main(int argc, char **argv)
{
    struct request request = {.limit = LIMIT};
    struct arena arena = {0};
    struct store store;
    joule_error error;
    int64_t id = 0;
    int ready = read_request(&request, argc, argv);
    if (ready != 1)
        return ready == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (!read_action(&request, &id))
        return EXIT_USAGE;
    const char *path = request.database ? request.database : store_default_path(&arena);
    int code = EXIT_OWN_FAILURE;
    joule_status status = path ? store_open(&store, path, false, &error) : JOULE_ABSENT;
    if (!path)
        complain(SUBCOMMAND, "there is no home folder; name the database with --db FILE");
    else if (status == JOULE_ABSENT && !request.database && strcmp(request.action, "list") == 0)
        code = page_print(SUBCOMMAND, printer_of(&request), &(struct history){0});
    else if (status != JOULE_OK)
        complain(SUBCOMMAND, "%s", error.message);
    else
        code = answer(&request, &store, id);
    if (status == JOULE_OK)
        store_close(&store);
    arena_free(&arena);
    return code;
}
