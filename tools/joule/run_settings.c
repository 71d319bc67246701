/* tools/joule/run_settings.c - see run_settings.h. */
#include "run_settings.h"

#include <string.h>
#include "common/output.h"
#include "idle_option.h"

#define GRACE_S 2

static const struct command_text run_text = {
    .usage = "joule run [OPTIONS] {[--] COMMAND [ARGUMENT...] | --pid PID}",
    .summary =
        "Runs COMMAND, or observes a process, and reports the energy that it and the whole machine used.",
    .notes =
        "With --pid, the process and its children are measured until it ends or Ctrl-C is pressed; the exit\n"
        "status is then 0. With COMMAND, the exit status is the command's own; if a signal ended the "
        "command,\n"
        "the same signal ends joule. Other exit statuses:\n"
        "    2  wrong usage\n"
        "  124  the budget was exceeded\n"
        "  125  joule itself failed\n"
        "  126  the command cannot be run\n"
        "  127  the command was not found\n",
};

static bool is_label(const char *word)
{
    const char *equals = strchr(word, '=');
    return equals && equals > word;
}

/* Returns false after a message if an option does not apply. Some options are only for commands, others
 * only for --pid. */
static bool check_subject(const struct settings *s, const struct command_text *text)
{
    bool wants_command = s->runs != 1 || s->measurement.budget_joules > 0 || s->wait_all;
    const char *problem = NULL;
    if (!s->pid && !*s->command)
        problem = "no command given";
    else if (s->pid && *s->command)
        problem = "give either a command or --pid, not both";
    else if (s->pid && wants_command)
        problem = "--budget, --repeat and --wait-all need a command; --pid only observes";
    else if (!s->pid && s->max_s > 0)
        problem = "--for needs --pid; use timeout(1) to limit a command";
    if (problem)
        complain(s->subject, "%s; usage: %s", problem, text->usage);
    return !problem;
}

static bool check_settings(struct settings *s)
{
    for (size_t i = 0; i < s->labels.count; i++) {
        if (is_label(s->labels.items[i]))
            continue;
        complain(s->subject, "--label takes KEY=VALUE, not '%s'", s->labels.items[i]);
        return false;
    }
    if (s->record && strcmp(s->record, "-") == 0) {
        complain(s->subject, "cannot record to standard output: the command uses it; name a file, or a pipe "
                             "such as /dev/fd/3");
        return false;
    }
    return idle_option_read(s->subject, s->idle, &s->measurement, &s->idle_s);
}

static const struct command_text record_text = {
    .usage = "joule record -o FILE [OPTIONS] {[--] COMMAND [ARGUMENT...] | --pid PID}",
    .summary =
        "Runs COMMAND as `joule run` does, and stores every reading and region in FILE for `joule report`.",
    .notes = "The exit status is that of `joule run`. If joule is killed, the record is readable up to that\n"
             "time.\n",
};

bool settings_read(const char *subject, int argc, char **argv, struct settings *out, int *out_code)
{
    *out = (struct settings){
        .subject = subject, .runs = 1, .grace_s = GRACE_S, .measurement.idle = idle_unknown()};
    const struct option table[] = {
        {"json", 0, OPTION_TEXT, &out->json, "FILE",
         "write the report as one line of JSON ('-': standard output)"},
        {"csv", 0, OPTION_TEXT, &out->csv, "FILE", "write the report as a table with one row per run"},
        {"quiet", 'q', OPTION_FLAG, &out->quiet, NULL, "print no report on standard error"},
        {"repeat", 'r', OPTION_COUNT, &out->runs, "N",
         "run the command N times; stop at the first run that fails"},
        {"budget", 0, OPTION_ENERGY, &out->measurement.budget_joules, "JOULES",
         "end the command when the machine (without sensors: the command) used JOULES"},
        {"grace", 0, OPTION_TIME, &out->grace_s, "TIME",
         "time between SIGTERM and SIGKILL for such a command (default 2s)"},
        {"idle", 0, OPTION_TEXT, &out->idle, "HOW",
         "baseline to subtract: 'auto' (stored), a time (measure, store it), 'none'"},
        {"interval", 0, OPTION_TIME, &out->measurement.period_s, "TIME",
         "time between sensor readings, 1ms to 60s (default 100ms)"},
        {"sources", 0, OPTION_TEXT, &out->measurement.sources, "LIST",
         "use only these sources (\"a,b\"), or all except some (\"-a\")"},
        {"root", 0, OPTION_TEXT, &out->measurement.root, "FOLDER",
         "read the sensors of the machine recorded in FOLDER"},
        {"label", 0, OPTION_LIST, &out->labels, "KEY=VALUE", "add a label to the report; may be repeated"},
        {"output", 'o', OPTION_TEXT, &out->record, "FILE",
         "store every reading and region in FILE for `joule report`"},
        {"plot", 0, OPTION_FLAG, &out->plot, NULL,
         "show the power over time on standard error after the report"},
        {"wait-all", 0, OPTION_FLAG, &out->wait_all, NULL,
         "measure until all processes that the command started have ended"},
        {"pid", 'p', OPTION_PID, &out->pid, "PID", "measure the running process PID instead of a command"},
        {"for", 0, OPTION_TIME, &out->max_s, "TIME", "with --pid: measure at most this long"},
        {0},
    };
    bool records = strcmp(subject, "record") == 0;
    const struct command_text *text = records ? &record_text : &run_text;
    int first = options_read(table, text, argc, argv);
    *out_code = first == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (first == OPTIONS_HELP || first == OPTIONS_WRONG)
        return false;
    out->command = argv + first;
    if (records && !out->record)
        complain(subject, "-o FILE is missing; usage: %s", text->usage);
    return (!records || out->record) && check_subject(out, text) && check_settings(out);
}
