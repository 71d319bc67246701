/* bench/settings.c - see settings.h. */
#include "settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/string.h"
#include "common/output.h"
#include "idle_option.h"
#include "plot/picture_file.h"

#define MIN_RUNS 6 /* the stop rule's pilot: joule/stats/stop_rule.h */
#define MAX_RUNS 30

static const struct command_text bench_text = {
    .usage = "joule bench [OPTIONS] [--] COMMAND [ARGUMENT...]",
    .summary =
        "Runs COMMAND until its mean energy is known, and reports joules, seconds and watts with their "
        "intervals.",
    .notes = "Exit status: 0 done, 3 COMMAND failed, 125 joule itself failed, 126 COMMAND cannot be run,\n"
             "127 COMMAND was not found, 130 interrupted with Ctrl-C (the runs so far are reported).\n",
};

static const struct command_text compare_text = {
    .usage = "joule compare [OPTIONS] 'COMMAND A' 'COMMAND B'...",
    .summary = "Runs commands in random order, and reports which uses less energy, time and power, and how "
               "certain that is.",
    .notes = "Each command is one argument, divided into words as a shell would, but run without a shell.\n"
             "Exit status: 0 done, 1 a condition of --fail-if holds, 3 a command failed, 125 joule itself\n"
             "failed, 126 and 127 a command cannot be run, 130 interrupted with Ctrl-C.\n",
};

/* Options as text, before they are checked. */
struct raw {
    const char *idle, *warm_up, *target, *work, *work_line, *carbon, *seed, *equivalent;
    double pue, price;
    unsigned runs;
    struct option_list sweeps, fails;
    const char *name;
};

#define TEXT_OPTION(word, member, value_name, text)                                                          \
    {                                                                                                        \
        word, 0, OPTION_TEXT, &(member), value_name, text                                                    \
    }
#define FLAG_OPTION(word, letter, member, text)                                                              \
    {                                                                                                        \
        word, letter, OPTION_FLAG, &(member), NULL, text                                                     \
    }

/* Options that both subcommands have. */
#define COMMON_OPTIONS(s, raw)                                                                               \
    TEXT_OPTION("warmup", (raw).warm_up, "HOW",                                                              \
                "runs that do not count: a number, a time, 'none' or 'auto' (default: until steady)"),       \
        {"cooldown",  0,                                                                                     \
         OPTION_TIME, &(s)->cool_down_s,                                                                     \
         "TIME",      "before each run, wait up to TIME until the start temperature is reached"},            \
        TEXT_OPTION("target", (raw).target, "PERCENT",                                                       \
                    "repeat until the 95 % interval is within +-PERCENT (default 1%)"),                      \
        {"min-runs", 0, OPTION_COUNT, &(s)->min_runs, "N", "runs before the first check (default 6)"},       \
        {"max-runs", 0, OPTION_COUNT, &(s)->max_runs, "N", "largest number of runs (default 30)"},           \
        {"runs", 'r', OPTION_COUNT, &(raw).runs, "N", "exactly N runs"},                                     \
        {"max-time", 0, OPTION_TIME, &(s)->max_s, "TIME", "start no run after TIME"},                        \
        TEXT_OPTION("setup", (s)->setup, "COMMAND", "run COMMAND with a shell once, before all runs"),       \
        TEXT_OPTION("prepare", (s)->prepare, "COMMAND",                                                      \
                    "run COMMAND with a shell before each run; it is not measured"),                         \
        FLAG_OPTION("ignore-failure", 'i', (s)->ignores_failure, "count runs with a non-zero exit status"),  \
        FLAG_OPTION("keep-outliers", 0, (s)->keeps_outliers, "do not reject outliers"),                      \
        FLAG_OPTION("show-output", 0, (s)->shows_output, "pass on the commands' standard output"),           \
        TEXT_OPTION("work", (raw).work, "WORK",                                                              \
                    "work of a run, for work per joule: 1.2e12flop, samples=60000, tokens=512"),             \
        TEXT_OPTION("work-line", (raw).work_line, "REGEX",                                                   \
                    "take the amount from the output line that matches REGEX, its first group"),             \
        TEXT_OPTION("carbon", (raw).carbon, "GRAMS",                                                         \
                    "carbon intensity in g per kWh, or a region such as DE, FR, US"),                        \
        {"pue",      0,        OPTION_NUMBER,                                                                \
         &(raw).pue, "FACTOR", "energy of the data centre per energy of its computers (default 1)"},         \
        {"price", 0, OPTION_NUMBER, &(raw).price, "PRICE", "price of a kWh, for the cost of a run"},         \
        TEXT_OPTION("idle", (raw).idle, "HOW",                                                               \
                    "baseline to subtract: 'auto' (stored), a time (measure it first), 'none'"),             \
        {"interval",  0,                                                                                     \
         OPTION_TIME, &(s)->measurement.period_s,                                                            \
         "TIME",      "time between sensor readings, 1ms to 60s (default 100ms)"},                           \
        TEXT_OPTION("sources", (s)->measurement.sources, "LIST",                                             \
                    "use only these sources (\"a,b\"), or all except some (\"-a\")"),                        \
        TEXT_OPTION("root", (s)->measurement.root, "FOLDER",                                                 \
                    "read the sensors of the machine recorded in FOLDER"),                                   \
        {"label", 0, OPTION_LIST, &(s)->labels, "KEY=VALUE", "add a label; may be repeated"},                \
        TEXT_OPTION("db", (s)->database, "FILE",                                                             \
                    "database of runs (default: ~/.local/share/joule/runs.db)"),                             \
        FLAG_OPTION("no-store", 0, (s)->stores_nothing, "do not store the runs"),                            \
        TEXT_OPTION("json", (s)->json, "FILE", "write the results as JSON ('-': standard output)"),          \
        TEXT_OPTION("csv", (s)->csv, "FILE", "write a table with one row per run"),                          \
        TEXT_OPTION("plot", (s)->plot, "FILE", "write a picture; FILE ends with .svg, .png or .html"),       \
        FLAG_OPTION("quiet", 'q', (s)->is_quiet, "show no progress")

/* --- checks --------------------------------------------------------------------------------------------- */

/* Parses "2%" or "2". */
static bool read_percent(const struct settings *s, const char *option, const char *text, double *out_ratio)
{
    double percent;
    const char *end = text ? string_scan_double(text, &percent) : NULL;
    if (!text)
        return true;
    if (end && (!*end || strcmp(end, "%") == 0) && percent > 0 && percent < 100) {
        *out_ratio = percent / 100;
        return true;
    }
    complain(s->subject, "--%s takes a percentage above 0 and below 100, not '%s'", option, text);
    return false;
}

static bool read_warm_up(struct settings *s, const char *text)
{
    uint64_t runs = 0;
    joule_error error;
    s->warm_ups = WARM_UP_AUTOMATIC;
    if (!text || strcmp(text, "auto") == 0)
        return true;
    bool is_count = strcmp(text, "none") == 0 || string_to_u64(text, 10, &runs);
    if (is_count && runs <= 1000) {
        s->warm_ups = (uint32_t)runs;
        return true;
    }
    if (!is_count && joule_parse(text, JOULE_DIMENSION_TIME, &s->warm_up_s, &error) == JOULE_OK &&
        s->warm_up_s > 0)
        return true;
    complain(s->subject,
             "--warmup takes a number of runs up to 1000, a time such as 10s, 'none' or 'auto', not '%s'",
             text);
    return false;
}

static bool read_work(struct settings *s, const char *work, const char *line)
{
    joule_error error;
    if (work && line && !strchr(work, '=') && strspn(work, "0123456789.") == 0) {
        string_copy(s->work.unit, sizeof s->work.unit, work); /* only the unit; the amount is in the output */
    } else if (work && work_parse(work, &s->work, &error) != JOULE_OK) {
        complain(s->subject, "%s", error.message);
        return false;
    }
    if (!line)
        return true;
    int wrong = regcomp(&s->work_line, line, REG_EXTENDED);
    if (wrong || s->work_line.re_nsub < 1) {
        char reason[200] = "it has no group in parentheses";
        if (wrong)
            regerror(wrong, &s->work_line, reason, sizeof reason);
        complain(s->subject, "--work-line takes an extended regular expression with a group, not '%s': %s",
                 line, reason);
        return false;
    }
    s->has_work_line = true;
    if (!s->work.unit[0])
        string_copy(s->work.unit, sizeof s->work.unit, "work");
    return true;
}

static bool read_conversion(struct settings *s, const struct raw *raw)
{
    joule_error error;
    s->conversion = conversion_none();
    if (raw->carbon && conversion_read_carbon(&s->conversion, raw->carbon, &error) != JOULE_OK) {
        complain(s->subject, "%s", error.message);
        return false;
    }
    if (!isnan(raw->pue) && raw->pue < 1) {
        complain(s->subject, "--pue takes a factor of at least 1");
        return false;
    }
    s->conversion.pue = isnan(raw->pue) ? 1 : raw->pue;
    s->conversion.price_per_kwh = raw->price;
    return true;
}

static bool read_sweeps(struct settings *s, const struct option_list *texts)
{
    joule_error error;
    if (texts->count > SWEEPS_MAX) {
        complain(s->subject, "--sweep may be given at most %d times", SWEEPS_MAX);
        return false;
    }
    for (size_t i = 0; i < texts->count; i++) {
        if (sweep_parse(&s->arena, texts->items[i], &s->sweeps[s->sweep_count++], &error) == JOULE_OK)
            continue;
        complain(s->subject, "%s", error.message);
        return false;
    }
    return true;
}

static bool read_fail_rules(struct settings *s, const struct option_list *texts)
{
    joule_error error;
    for (size_t i = 0; i < texts->count; i++) {
        s->fail_texts[s->fail_count] = texts->items[i];
        if (fail_rule_parse(texts->items[i], &s->fail_rules[s->fail_count++], &error) == JOULE_OK)
            continue;
        complain(s->subject, "%s", error.message);
        return false;
    }
    return true;
}

static bool read_seed(struct settings *s, const char *text)
{
    s->seed = (uint64_t)clock_wall_ns() / 1000 % 1000000000;
    if (!text || string_to_u64(text, 10, &s->seed))
        return true;
    complain(s->subject, "--seed takes a whole number, not '%s'", text);
    return false;
}

static bool check_runs(struct settings *s, unsigned runs)
{
    if (runs)
        s->min_runs = s->max_runs = runs;
    if (s->max_runs < s->min_runs && s->min_runs == MIN_RUNS)
        s->min_runs = s->max_runs;
    if (s->min_runs > s->max_runs || s->max_runs > 10000 || s->max_runs < 2) {
        complain(s->subject, "the number of runs must be 2 to 10000, and --min-runs not above --max-runs");
        return false;
    }
    return true;
}

static bool check_labels(const struct settings *s)
{
    for (size_t i = 0; i < s->labels.count; i++) {
        const char *equals = strchr(s->labels.items[i], '=');
        if (equals && equals > s->labels.items[i])
            continue;
        complain(s->subject, "--label takes KEY=VALUE, not '%s'", s->labels.items[i]);
        return false;
    }
    return true;
}

static bool check_outputs(const struct settings *s)
{
    const char *const paths[] = {s->json, s->csv, s->plot};
    joule_error error;
    joule_status status = output_check_apart(paths, 0, 3, &error);
    if (status == JOULE_OK)
        status = output_check_one_stdout(paths, 2, &error);
    for (size_t i = 0; i < 2 && status == JOULE_OK; i++)
        if (paths[i])
            status = output_check(paths[i], &error);
    if (status == JOULE_OK && s->plot)
        status = picture_check(s->plot, &error);
    if (status != JOULE_OK)
        complain(s->subject, "%s", error.message);
    return status == JOULE_OK;
}

static bool check(struct settings *s, const struct raw *raw)
{
    return read_percent(s, "target", raw->target, &s->target) &&
           read_percent(s, "equivalent", raw->equivalent, &s->margin) && read_warm_up(s, raw->warm_up) &&
           idle_option_read(s->subject, raw->idle, &s->measurement, &s->idle_s) &&
           read_work(s, raw->work, raw->work_line) && read_conversion(s, raw) &&
           read_sweeps(s, &raw->sweeps) && read_fail_rules(s, &raw->fails) && read_seed(s, raw->seed) &&
           check_runs(s, raw->runs) && check_labels(s);
}

/* --- reading -------------------------------------------------------------------------------------------- */

static int read_bench(struct settings *s, struct raw *raw, int argc, char **argv)
{
    const struct option table[] = {
        TEXT_OPTION("name", raw->name, "NAME", "name of the benchmark (default: the command)"),
        COMMON_OPTIONS(s, *raw),
        {0},
    };
    int first = options_read(table, &bench_text, argc, argv);
    if (first <= OPTIONS_HELP)
        return first;
    s->command = argv + first;
    s->names.items[0] = raw->name;
    s->names.count = raw->name != NULL;
    if (first < argc)
        return 1;
    complain(s->subject, "no command given; usage: %s", bench_text.usage);
    return OPTIONS_WRONG;
}

/* Reads options before, between and after the commands. */
static int read_compare(struct settings *s, struct raw *raw, int argc, char **argv)
{
    const struct option table[] = {
        {"name", 0, OPTION_LIST, &s->names, "NAME", "name of a command, in their order; may be repeated"},
        {"sweep", 0, OPTION_LIST, &raw->sweeps, "NAME=LIST",
         "run with each value (NAME=1,2,3) in place of {NAME}; may be repeated"},
        TEXT_OPTION("reference", s->reference, "NAME", "command to compare with (default: the first)"),
        TEXT_OPTION("baseline", s->baseline, "NAME",
                    "compare with the newest stored runs of this name instead"),
        TEXT_OPTION("equivalent", raw->equivalent, "PERCENT", "call differences below PERCENT equivalent"),
        {"fail-if", 0, OPTION_LIST, &raw->fails, "CONDITION",
         "exit with 1 if 'energy > +3%' is certain (energy, time, power, edp); may be repeated"},
        FLAG_OPTION("shell", 0, s->uses_shell, "run the commands with sh -c"),
        TEXT_OPTION("seed", raw->seed, "N", "seed of the random order"),
        COMMON_OPTIONS(s, *raw),
        {0},
    };
    s->commands = arena_alloc(&s->arena, (size_t)argc * sizeof *s->commands);
    bool has_ended = false;
    while (s->commands && argc > 1) {
        int first = has_ended ? 1 : options_read(table, &compare_text, argc, argv);
        if (first <= OPTIONS_HELP)
            return first;
        has_ended = has_ended || (first > 1 && strcmp(argv[first - 1], "--") == 0);
        if (first < argc)
            s->commands[s->command_count++] = argv[first];
        argv[first < argc ? first : argc - 1] = argv[0];
        argv += first < argc ? first : argc - 1;
        argc -= first < argc ? first : argc - 1;
    }
    if (s->command_count + (s->baseline != NULL) >= 2 || (s->command_count == 1 && raw->sweeps.count))
        return 1;
    complain(s->subject, "give two or more commands, one with --sweep, or one with --baseline; usage: %s",
             compare_text.usage);
    return OPTIONS_WRONG;
}

bool settings_read(const char *subject, int argc, char **argv, struct settings *out, int *out_code)
{
    bool compares = strcmp(subject, "compare") == 0;
    struct raw raw = {.pue = NAN, .price = NAN};
    *out = (struct settings){.subject = subject,
                             .target = 0.01,
                             .min_runs = MIN_RUNS,
                             .max_runs = MAX_RUNS,
                             .measurement.idle = idle_unknown()};
    int ready = compares ? read_compare(out, &raw, argc, argv) : read_bench(out, &raw, argc, argv);
    *out_code = ready == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (ready != 1 || !check(out, &raw))
        return false;
    *out_code = EXIT_OWN_FAILURE;
    return check_outputs(out);
}
