/* bench/experiment_open.c - prepares an experiment: its variants, database, baseline and meter. See
 * experiment.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "command_words.h"
#include "common/options.h"
#include "experiment.h"
#include "idle_option.h"

#define MAX_VARIANTS 256

/* --- variants ------------------------------------------------------------------------------------------- */

/* Returns the words of a command joined by spaces, in the arena; NULL: out of memory. */
static const char *join_words(struct arena *arena, char **words)
{
    size_t size = 1;
    for (char **word = words; *word; word++)
        size += strlen(*word) + 1;
    char *joined = arena_alloc(arena, size);
    struct text out;
    text_init(&out, joined, joined ? size : 0);
    for (char **word = words; joined && *word; word++)
        text_printf(&out, "%s%s", word == words ? "" : " ", *word);
    return joined;
}

/* Returns the number of combinations of sweep values. */
static size_t setting_count(const struct settings *s)
{
    size_t count = 1;
    for (size_t i = 0; i < s->sweep_count; i++)
        count *= s->sweeps[i].count; /* at most 64^4 */
    return count;
}

/* Sets chosen[] to combination number `index`, and returns its text "size=1000 kind=b" in the arena. */
static const char *choose_setting(struct arena *arena, const struct settings *s, size_t index, size_t *chosen)
{
    char buffer[512];
    struct text out;
    text_init(&out, buffer, sizeof buffer);
    text_add(&out, "");
    for (size_t i = s->sweep_count; i-- > 0; index /= s->sweeps[i].count)
        chosen[i] = index % s->sweeps[i].count;
    for (size_t i = 0; i < s->sweep_count; i++)
        text_printf(&out, "%s%s=%s", i ? " " : "", s->sweeps[i].name, s->sweeps[i].values[chosen[i]]);
    return arena_copy(arena, buffer, strlen(buffer));
}

/* Sets argv of a variant from its text. */
static joule_status set_words(struct arena *arena, const struct settings *s, struct variant *v,
                              joule_error *out_error)
{
    static char shell[] = "sh", option[] = "-c";
    if (!s->uses_shell)
        return command_words(arena, v->command, &v->argv, out_error);
    v->argv = arena_alloc(arena, 4 * sizeof *v->argv);
    if (!v->argv)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot prepare a command: out of memory");
    v->argv[0] = shell;
    v->argv[1] = option;
    v->argv[2] = arena_copy(arena, v->command, strlen(v->command));
    return JOULE_OK;
}

static joule_status out_of_memory(joule_error *out_error)
{
    return error_set(out_error, JOULE_NO_MEMORY, "cannot prepare the commands: out of memory");
}

/* Returns the number of the command to compare with, or command_count. */
static size_t find_reference(const struct settings *s)
{
    size_t i = 0;
    if (!s->reference)
        return 0;
    for (; i < s->command_count; i++)
        if (strcmp(s->reference, i < s->names.count ? s->names.items[i] : s->commands[i]) == 0)
            break;
    return i;
}

/* Makes the variants of `joule compare`: all commands with the first combination of sweep values, then with
 * the second, and so on. */
static joule_status add_variants(struct experiment *e, joule_error *out_error)
{
    const struct settings *s = e->settings;
    size_t settings = setting_count(s), reference = find_reference(s), chosen[SWEEPS_MAX];
    if (settings > MAX_VARIANTS || settings * s->command_count > MAX_VARIANTS)
        return error_set(out_error, JOULE_INVALID,
                         "cannot run more than %d combinations of commands and values", MAX_VARIANTS);
    if (s->names.count > s->command_count)
        return error_set(out_error, JOULE_INVALID, "--name was given %zu times for %zu commands",
                         s->names.count, s->command_count);
    if (reference == s->command_count)
        return error_set(out_error, JOULE_INVALID, "--reference '%s' is not the name of a command",
                         s->reference);
    e->variants = arena_alloc(&e->arena, settings * s->command_count * sizeof *e->variants);
    if (!e->variants)
        return out_of_memory(out_error);
    for (size_t i = 0; i < settings * s->command_count; i++) {
        size_t command = i % s->command_count;
        struct variant *v = &e->variants[i];
        v->setting = choose_setting(&e->arena, s, i / s->command_count, chosen);
        v->command = sweep_replace(&e->arena, s->commands[command], s->sweeps, chosen, s->sweep_count);
        if (!v->setting || !v->command)
            return out_of_memory(out_error);
        char *texts[] = {(char *)s->names.items[command], (char *)v->setting, NULL};
        if (!v->setting[0])
            texts[1] = NULL;
        v->name = command < s->names.count ? join_words(&e->arena, texts) : v->command;
        v->reference = s->baseline ? i : s->command_count == 1 ? 0 : i - command + reference;
        joule_status status = set_words(&e->arena, s, v, out_error);
        if (status != JOULE_OK)
            return status;
    }
    e->count = settings * s->command_count;
    return e->arena.is_out_of_memory ? out_of_memory(out_error) : JOULE_OK;
}

static joule_status add_command(struct experiment *e, joule_error *out_error)
{
    const struct settings *s = e->settings;
    e->count = 1;
    e->variants = arena_alloc(&e->arena, sizeof *e->variants);
    if (!e->variants)
        return out_of_memory(out_error);
    e->variants->command = join_words(&e->arena, s->command);
    e->variants->name = s->names.count ? s->names.items[0] : e->variants->command;
    e->variants->setting = "";
    e->variants->argv = s->command;
    return e->variants->command ? JOULE_OK : out_of_memory(out_error);
}

/* --- labels --------------------------------------------------------------------------------------------- */

/* Returns the labels as a JSON object in the arena; NULL: none. */
static const char *labels_json(struct experiment *e)
{
    const struct option_list *labels = &e->settings->labels;
    char buffer[4096];
    struct text out;
    struct json json = {.out = &out};
    text_init(&out, buffer, sizeof buffer);
    json_open(&json, NULL, '{');
    for (size_t i = 0; i < labels->count; i++) {
        const char *equals = strchr(labels->items[i], '=');
        char *key = arena_copy(&e->arena, labels->items[i], (size_t)(equals - labels->items[i]));
        if (key)
            json_string(&json, key, equals + 1);
    }
    json_close(&json, '}');
    return labels->count && out.length < sizeof buffer ? arena_copy(&e->arena, buffer, out.length) : NULL;
}

/* --- database ------------------------------------------------------------------------------------------- */

static bool take_baseline(const struct stored_benchmark *benchmark, void *context)
{
    struct experiment *e = context;
    const char *const texts[] = {benchmark->name, benchmark->host,    benchmark->machine,
                                 benchmark->date, benchmark->sources, benchmark->cls};
    const char *copies[6];
    for (size_t i = 0; i < 6; i++)
        copies[i] = texts[i] ? store_copy_text(&e->arena, texts[i]) : "";
    e->baseline_info = *benchmark;
    e->baseline_info.name = copies[0];
    e->baseline_info.host = copies[1];
    e->baseline_info.machine = copies[2];
    e->baseline_info.date = copies[3];
    e->baseline_info.sources = copies[4];
    e->baseline_info.cls = copies[5];
    e->baseline_info.command = e->baseline_info.labels = e->baseline_info.kind = e->baseline_info.work_unit =
        NULL;
    return false;
}

/* Reads the newest stored runs of --baseline. */
static joule_status load_baseline(struct experiment *e, const char *path, joule_error *out_error)
{
    const struct store_query query = {.name = e->settings->baseline, .limit = 1};
    struct store store;
    joule_status status = store_open(&store, path, false, out_error);
    if (status != JOULE_OK)
        return status;
    status = store_list(&store, &query, take_baseline, e, out_error);
    if (status == JOULE_OK && !e->baseline_info.id)
        status =
            error_set(out_error, JOULE_ABSENT, "no benchmark named '%s' is stored in %s; see joule history",
                      e->settings->baseline, path);
    if (status == JOULE_OK)
        status = store_runs(&store, &e->arena, e->baseline_info.id, &e->baseline, out_error);
    store_close(&store);
    return status;
}

/* Opens the database. Without --db, a failure is a warning, because the measurement does not need it. */
static joule_status open_store(struct experiment *e, joule_error *out_error)
{
    const struct settings *s = e->settings;
    const char *path = s->database ? s->database : store_default_path(&e->arena);
    joule_status status = JOULE_OK;
    if (!path && s->baseline)
        return error_set(out_error, JOULE_ABSENT,
                         "--baseline needs --db FILE, because there is no home folder");
    if (s->baseline)
        status = load_baseline(e, path, out_error);
    if (status != JOULE_OK || s->stores_nothing || !path)
        return status;
    status = store_open(&e->store, path, true, out_error);
    if (status == JOULE_OK || s->database)
        return status;
    complain(s->subject, "%s; the runs are not stored", out_error->message);
    return JOULE_OK;
}

/* --- all ------------------------------------------------------------------------------------------------ */

static joule_status open_runner(struct experiment *e, const struct measurement_options *measurement,
                                joule_error *out_error)
{
    const struct settings *s = e->settings;
    const struct runner_options options = {.subject = s->subject,
                                           .measurement = *measurement,
                                           .shows_output = s->shows_output,
                                           .work_line = s->has_work_line ? &s->work_line : NULL};
    return runner_open(&e->runner, &options, e->count * (s->max_runs + (size_t)MAX_WARM_UPS), out_error);
}

int experiment_open(struct experiment *e, const struct settings *settings)
{
    joule_error error;
    struct utsname names;
    *e = (struct experiment){.settings = settings, .start_celsius = NAN};
    if (uname(&names) == 0)
        string_copy(e->host, sizeof e->host, names.nodename);
    report_time(clock_wall_ns(), e->date);
    joule_status status = settings->command ? add_command(e, &error) : add_variants(e, &error);
    if (status != JOULE_OK) {
        complain(settings->subject, "%s", error.message);
        return status == JOULE_INVALID ? EXIT_USAGE : EXIT_OWN_FAILURE;
    }
    const char *labels = labels_json(e);
    for (size_t i = 0; i < e->count; i++)
        e->variants[i].stored.labels = labels;
    status = open_store(e, &error);
    struct measurement_options measurement = settings->measurement;
    if (status == JOULE_OK && !idle_option_measure(settings->subject, &measurement, settings->idle_s)) {
        store_close(&e->store);
        return EXIT_OWN_FAILURE;
    }
    if (status == JOULE_OK)
        status = open_runner(e, &measurement, &error);
    if (status == JOULE_OK)
        return 0;
    complain(settings->subject, "%s", error.message);
    store_close(&e->store);
    return status == JOULE_INVALID && !settings->database ? EXIT_USAGE : EXIT_OWN_FAILURE;
}

void experiment_close(struct experiment *e)
{
    runner_close(&e->runner);
    store_close(&e->store);
    for (size_t i = 0; i < e->count; i++)
        free(e->variants[i].runs.items);
    free(e->baseline.items);
    arena_free(&e->arena);
}
