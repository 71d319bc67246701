/* tools/joule/run.c - `joule run`: a command, its joules, and an exit status that is the command's own.
 *
 * Owns the order of events: checks that can fail come first, the command is made and held, the sensors are read, the
 * command is let go, waited for, and the report is written.
 * Newcomers: once the command runs nothing may keep its status from the caller.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/wait.h>
#include "base/string.h"
#include "child.h"
#include "commands.h"
#include "options.h"
#include "output.h"

#define LEFT_BEHIND_CHECK_NS (20 * 1000000LL)

struct settings {
    const char *json, *csv;
    bool quiet, wait_all;
    unsigned runs;
    struct option_list labels;
    char **command;
};

/* --- settings ----------------------------------------------------------------------------------------------- */

static const struct command_text text = {
    .usage = "joule run [OPTIONS] [--] COMMAND [ARGUMENT...]",
    .summary = "Runs COMMAND and reports on standard error how much energy was used meanwhile, and by it.",
    .notes =
        "The exit status is the command's; if it died by a signal, joule dies by the same one. Otherwise:\n"
        "    2  wrong usage\n"
        "  125  joule itself failed\n"
        "  126  the command cannot be run\n"
        "  127  the command was not found\n",
};

static int read_settings(int argc, char **argv, struct settings *out)
{
    *out = (struct settings){.runs = 1};
    const struct option table[] = {
        {"json", 0, OPTION_TEXT, &out->json, "FILE",
         "write the report as one line of JSON ('-': standard output)"},
        {"csv", 0, OPTION_TEXT, &out->csv, "FILE", "write one row for each run"},
        {"repeat", 'r', OPTION_COUNT, &out->runs, "N", "run N times; stops at the first run that fails"},
        {"label", 0, OPTION_LIST, &out->labels, "KEY=VALUE", "put a label into the report; may be repeated"},
        {"wait-all", 0, OPTION_FLAG, &out->wait_all, NULL,
         "measure until every process that the command left has ended"},
        {"quiet", 'q', OPTION_FLAG, &out->quiet, NULL, "no report on standard error"},
        {0},
    };
    int first = options_read(table, &text, argc, argv);
    if (first == OPTIONS_HELP || first == OPTIONS_WRONG)
        return first;
    if (first == argc) {
        complain("run", "no command given; usage: %s", text.usage);
        return OPTIONS_WRONG;
    }
    for (size_t i = 0; i < out->labels.count; i++) {
        if (strcspn(out->labels.items[i], "=") - 1 < strlen(out->labels.items[i]) - 1)
            continue;
        complain("run", "--label takes KEY=VALUE, not '%s'", out->labels.items[i]);
        return OPTIONS_WRONG;
    }
    out->command = argv + first;
    return first;
}

static bool can_write_outputs(const struct settings *settings)
{
    const char *const paths[] = {settings->json, settings->csv};
    joule_error error;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (!paths[i] || output_check(paths[i], &error) == JOULE_OK)
            continue;
        complain("run", "%s", error.message);
        return false;
    }
    return true;
}

/* --- one run ------------------------------------------------------------------------------------------------ */

/* Processes that the command left behind; SIGINT and its like end the waiting and not the processes. */
static void wait_for_the_rest(struct child *child)
{
    while (attribute_alive(child->group, NULL, 0) > 0) {
        int taken = child_wait(child, now_ns() + LEFT_BEHIND_CHECK_NS);
        if (taken == SIGINT || taken == SIGTERM || taken == SIGHUP || taken == SIGQUIT)
            break;
    }
    child->end_ns = now_ns();
}

static int complain_exec(const char *command, int why)
{
    bool is_missing = why == ENOENT;
    const char *hint =
        is_missing && strchr(command, ' ') ? " (program and arguments are separate words)" : "";
    complain("run", "cannot run '%s': %s%s", command, strerror(why), hint);
    return is_missing ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* False: the command never ran, and *out_code says why. */
static bool run_once(const struct settings *settings, const struct signals *signals, struct child *child,
                     int *out_code)
{
    struct attribute_group *group = attribute_begin(host_real(), ATTRIBUTE_CGROUP);
    if (!group || !child_hold(child, signals, group, settings->command)) {
        complain("run", "cannot make a process: %s", strerror(errno));
        attribute_free(group);
        *out_code = EXIT_OWN_FAILURE;
        return false;
    }
    attribute_start(group);
    child_release(child);
    while (!child->has_ended)
        child_wait(child, INT64_MAX);
    if (child->exec_errno) {
        *out_code = complain_exec(settings->command[0], child->exec_errno);
        attribute_free(group);
        return false;
    }
    if (settings->wait_all)
        wait_for_the_rest(child);
    attribute_free(group);
    return true;
}

int run_main(int argc, char **argv)
{
    struct settings settings;
    output_guard_streams();
    int first = read_settings(argc, argv, &settings);
    if (first == OPTIONS_HELP || first == OPTIONS_WRONG)
        return first == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (!can_write_outputs(&settings))
        return EXIT_OWN_FAILURE;
    struct signals signals;
    struct child child;
    int code = 0;
    signals_take(&signals);
    for (unsigned i = 0; i < settings.runs; i++) {
        if (!run_once(&settings, &signals, &child, &code))
            return code;
        if (child.status != 0)
            break;
    }
    exit_like(child.status);
}
