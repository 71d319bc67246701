/* tools/joule/run_settings.c - see run_settings.h. */
#include "run_settings.h"

#include <string.h>
#include "common/output.h"

#define GRACE_S 2

static const struct command_text run_text = {
    .usage = "joule run [OPTIONS] {[--] COMMAND [ARGUMENT...] | --pid PID}",
    .summary =
        "Runs COMMAND, or watches a process, and reports how much energy was used meanwhile, and by it.",
    .notes =
        "A process is measured with its children until it ends, or until Ctrl-C; the exit status is then 0.\n"
        "The exit status is a command's own; if it died by a signal, joule dies by the same one. Otherwise:\n"
        "    2  wrong usage\n"
        "  124  the budget was passed\n"
        "  125  joule itself failed\n"
        "  126  the command cannot be run\n"
        "  127  the command was not found\n",
};

static bool is_label(const char *word)
{
    const char *equals = strchr(word, '=');
    return equals && equals > word;
}

/* What is asked of a command makes no sense of a process that nobody here started, and the reverse. */
static bool check_subject(const struct settings *s, const struct command_text *text)
{
    bool wants_command = s->runs != 1 || s->measuring.budget_joules > 0 || s->wait_all;
    const char *problem = NULL;
    if (!s->pid && !*s->command)
        problem = "no command given";
    else if (s->pid && *s->command)
        problem = "either a command or --pid";
    else if (s->pid && wants_command)
        problem = "--budget, --repeat and --wait-all are for commands; --pid leaves its process alone";
    else if (!s->pid && s->longest_s > 0)
        problem = "--for goes with --pid; timeout(1) bounds a command";
    if (problem)
        complain(s->subject, "%s; usage: %s", problem, text->usage);
    return !problem;
}

static bool check_settings(struct settings *s)
{
    joule_error error;
    for (size_t i = 0; i < s->labels.count; i++) {
        if (is_label(s->labels.items[i]))
            continue;
        complain(s->subject, "--label takes KEY=VALUE, not '%s'", s->labels.items[i]);
        return false;
    }
    if (s->record && strcmp(s->record, "-") == 0) {
        complain(s->subject, "-o -: standard output is the command's; name a file, or a pipe as /dev/fd/3");
        return false;
    }
    /* What was kept is of this machine. */
    s->measuring.uses_idle = (!s->idle || strcmp(s->idle, "none") != 0) && !s->measuring.root;
    if (!s->idle || strcmp(s->idle, "none") == 0 || strcmp(s->idle, "auto") == 0)
        return true;
    if (joule_parse(s->idle, JOULE_DIMENSION_TIME, &s->idle_s, &error) == JOULE_OK && s->idle_s > 0)
        return true;
    complain(s->subject, "--idle takes 'auto', 'none' or a time to measure for, such as 10s; not '%s'",
             s->idle);
    return false;
}

static const struct command_text record_text = {
    .usage = "joule record -o FILE [OPTIONS] {[--] COMMAND [ARGUMENT...] | --pid PID}",
    .summary =
        "Runs COMMAND as `joule run` does and keeps every reading and region in FILE, for `joule report`.",
    .notes =
        "Exit status as for `joule run`. A record whose writer was killed can be read as far as it goes.\n",
};

bool settings_read(const char *subject, int argc, char **argv, struct settings *out, int *out_code)
{
    *out = (struct settings){
        .subject = subject, .runs = 1, .grace_s = GRACE_S, .measuring.idle = idle_unknown()};
    const struct option table[] = {
        {"json", 0, OPTION_TEXT, &out->json, "FILE",
         "write the report as one line of JSON ('-': standard output)"},
        {"csv", 0, OPTION_TEXT, &out->csv, "FILE", "write one row for each run"},
        {"quiet", 'q', OPTION_FLAG, &out->quiet, NULL, "no report on standard error"},
        {"repeat", 'r', OPTION_COUNT, &out->runs, "N", "run N times; ends at the first run that fails"},
        {"budget", 0, OPTION_ENERGY, &out->measuring.budget_joules, "JOULES",
         "end it when the machine, or it alone without sensors, passes, say, 500J"},
        {"grace", 0, OPTION_TIME, &out->grace_s, "TIME", "from SIGTERM to SIGKILL for such a command (2s)"},
        {"idle", 0, OPTION_TEXT, &out->idle, "HOW",
         "'auto': net of the kept baseline; a time: measure and keep it; 'none'"},
        {"interval", 0, OPTION_TIME, &out->measuring.period_s, "TIME",
         "between readings of the sensors, 1ms to 60s (100ms)"},
        {"sources", 0, OPTION_TEXT, &out->measuring.sources, "LIST",
         "use these alone, or '-NAME' to leave one out"},
        {"root", 0, OPTION_TEXT, &out->measuring.root, "FOLDER",
         "read the sensors of a machine recorded there"},
        {"label", 0, OPTION_LIST, &out->labels, "KEY=VALUE", "put a label into the report; may be repeated"},
        {"output", 'o', OPTION_TEXT, &out->record, "FILE",
         "keep every reading and region, for `joule report`"},
        {"wait-all", 0, OPTION_FLAG, &out->wait_all, NULL,
         "measure until all that the command started has ended"},
        {"pid", 'p', OPTION_PID, &out->pid, "PID",
         "measure this process, which runs already, and no command"},
        {"for", 0, OPTION_TIME, &out->longest_s, "TIME", "not longer than this, with --pid"},
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
        complain(subject, "-o FILE is needed: where to keep the record");
    return (!records || out->record) && check_subject(out, text) && check_settings(out);
}
