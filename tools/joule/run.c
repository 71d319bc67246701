/* tools/joule/run.c - `joule run`: a command, its joules, and an exit status that is the command's own.
 *
 * Owns the order of events: what can fail comes first, then the sensors are read for the first time, then the command
 * is made, waited for, and reported on.
 * Newcomers: once the command runs nothing may keep its status from the caller.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/string.h"
#include "child.h"
#include "commands.h"
#include "guard.h"
#include "joule/record.h"
#include "measuring.h"
#include "common/options.h"
#include "common/output.h"
#include "page.h"

#define LEFT_BEHIND_CHECK_NS (20 * 1000000LL)
#define GRACE_S              2

struct settings {
    const char *subject; /* what people typed: run or record */
    const char *json, *csv, *idle, *record;
    bool quiet, wait_all;
    unsigned runs;
    double idle_s; /* measure the baseline for so long; 0: do not */
    double grace_s;
    struct measuring_options measuring;
    struct option_list labels;
    char **command;
};

/* One call of `joule run`. */
struct job {
    struct settings settings;
    struct signals signals;
    struct measuring measuring;
    struct guard guard;
    struct recorder *recorder; /* NULL: no -o */
    struct child child;        /* of the last run */
    int64_t stopped_ns;        /* of all runs */
    int interrupted_by;        /* Ctrl-C or its like, whatever the command made of it; 0: nothing */
    bool lacks_runs;           /* for that alone */
    size_t left_count;         /* processes that outlive the last run, which nobody waits for */
};

/* --- settings ----------------------------------------------------------------------------------------------- */

static const struct command_text run_text = {
    .usage = "joule run [OPTIONS] [--] COMMAND [ARGUMENT...]",
    .summary = "Runs COMMAND and reports on standard error how much energy was used meanwhile, and by it.",
    .notes =
        "The exit status is the command's; if it died by a signal, joule dies by the same one. Otherwise:\n"
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

static bool check_settings(struct settings *s)
{
    joule_error error;
    for (size_t i = 0; i < s->labels.count; i++) {
        if (is_label(s->labels.items[i]))
            continue;
        complain(s->subject, "--label takes KEY=VALUE, not '%s'", s->labels.items[i]);
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
    .usage = "joule record -o FILE [OPTIONS] [--] COMMAND [ARGUMENT...]",
    .summary =
        "Runs COMMAND as `joule run` does and keeps every reading and region in FILE, for `joule report`.",
    .notes =
        "Exit status as for `joule run`. A record whose writer was killed can be read as far as it goes.\n",
};

static int read_settings(const char *subject, const struct command_text *text, int argc, char **argv,
                         struct settings *out)
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
         "end the command when it passes, say, 500J"},
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
        {0},
    };
    int first = options_read(table, text, argc, argv);
    if (first == OPTIONS_HELP || first == OPTIONS_WRONG)
        return first;
    if (first == argc) {
        complain(subject, "no command given; usage: %s", text->usage);
        return OPTIONS_WRONG;
    }
    out->command = argv + first;
    return check_settings(out) ? first : OPTIONS_WRONG;
}

static bool have_files_of_their_own(const struct settings *settings)
{
    const char *const paths[] = {settings->json, settings->csv, settings->record};
    joule_error error;
    if (output_check_apart(paths, 0, sizeof paths / sizeof paths[0], &error) == JOULE_OK)
        return true;
    complain(settings->subject, "%s", error.message);
    return false;
}

static bool can_write_outputs(const struct settings *settings)
{
    const char *const paths[] = {settings->json, settings->csv, settings->record};
    joule_error error;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (!paths[i] || output_check(paths[i], &error) == JOULE_OK)
            continue;
        complain(settings->subject, "%s", error.message);
        return false;
    }
    return true;
}

/* --- before the first run ----------------------------------------------------------------------------------- */

/* With a meter of its own, before anything is made that an interrupt could leave behind. */
static bool measure_idle(struct settings *s)
{
    joule_options how = {.struct_size = sizeof how,
                         .flags = JOULE_OPEN_NO_SESSION,
                         .period_s = s->measuring.period_s,
                         .sources = s->measuring.sources,
                         .root = s->measuring.root};
    joule_meter *meter;
    joule_error error;
    joule_status status = joule_open(&how, &meter, &error);
    if (status == JOULE_OK) {
        status = idle_measure(meter, s->idle_s, &s->measuring.idle, &error);
        joule_close(meter);
    }
    if (status != JOULE_OK) {
        complain(s->subject, "no idle baseline: %s", error.message);
        return false;
    }
    if (s->measuring.idle.busy > IDLE_BUSY_MAX)
        complain(
            s->subject,
            "the CPUs were %.0f %% busy while the idle baseline was measured, so it is too high: measure "
            "it again on a quiet machine",
            100 * s->measuring.idle.busy);
    if (!s->measuring.root && idle_store(&s->measuring.idle, &error) != JOULE_OK)
        complain(s->subject, "the idle baseline is not kept: %s", error.message);
    return true;
}

/* --- one run ------------------------------------------------------------------------------------------------ */

/* True while processes that the command left behind are to be waited for. */
static bool has_rest(struct job *job)
{
    bool wanted = job->settings.wait_all || guard_has_acted(&job->guard);
    return wanted && attribute_alive(job->child.group, NULL, 0) > 0;
}

static void watch_when_due(struct job *job)
{
    if (clock_now_ns() >= measuring_watch_ns(&job->measuring))
        measuring_watch(&job->measuring);
}

/* SIGINT and its like end the waiting, and not the processes. */
static void wait_for_the_rest(struct job *job)
{
    while (has_rest(job)) {
        int taken = child_wait(&job->child, clock_now_ns() + LEFT_BEHIND_CHECK_NS);
        watch_when_due(job);
        if (signal_asks_to_end(taken))
            break;
        guard_look(&job->guard, &job->measuring, &job->child);
    }
    job->child.end_ns = clock_now_ns();
}

static int complain_exec(const struct settings *s, int why)
{
    const char *command = s->command[0];
    bool is_missing = why == ENOENT;
    const char *hint =
        is_missing && strchr(command, ' ') ? " (program and arguments are separate words)" : "";
    complain(s->subject, "cannot run '%s': %s%s", command, strerror(why), hint);
    return is_missing ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static void wait_once(struct job *job)
{
    int64_t watch_ns = measuring_watch_ns(&job->measuring);
    int taken = child_wait(&job->child, watch_ns < job->guard.next_ns ? watch_ns : job->guard.next_ns);
    if (signal_asks_to_end(taken))
        job->interrupted_by = taken;
    if (!job->child.has_ended)
        watch_when_due(job);
    guard_look(&job->guard, &job->measuring, &job->child);
}

/* 0, or the exit code that says why the command never ran. */
static int run_in_group(struct job *job, struct attribute_group *group)
{
    struct child *child = &job->child;
    measuring_wait_ready(&job->measuring);
    if (!group || !child_start(child, &job->signals, group, job->settings.command)) {
        complain(job->settings.subject, "cannot make a process: %s", strerror(errno));
        return EXIT_OWN_FAILURE;
    }
    measuring_started(&job->measuring);
    while (!child->has_ended)
        wait_once(job);
    if (child->exec_errno)
        return complain_exec(&job->settings, child->exec_errno);
    if (has_rest(job))
        wait_for_the_rest(job);
    struct attribution share = attribute_finish(group);
    job->left_count = attribute_alive(group, NULL, 0);
    measuring_add(&job->measuring, child->begin_ns, child->end_ns, &share);
    return 0;
}

static int run_once(struct job *job)
{
    struct attribute_group *group = attribute_begin(host_real(), ATTRIBUTE_CGROUP);
    int code = run_in_group(job, group);
    attribute_free(group);
    return code;
}

/* As often as asked, or until a run fails or is interrupted. */
static int run_all(struct job *job)
{
    unsigned runs = job->settings.runs;
    for (unsigned i = 0; i < runs; i++) {
        int code = run_once(job);
        if (code)
            return code;
        job->stopped_ns += job->child.stopped_ns;
        bool has_failed = job->child.status != 0 || guard_has_acted(&job->guard);
        if (!has_failed && !job->interrupted_by)
            continue;
        job->lacks_runs = !has_failed && i + 1 < runs;
        if (i + 1 < runs && !job->settings.quiet)
            complain(job->settings.subject, "run %u of %u %s; the report covers what has run", i + 1, runs,
                     job->interrupted_by ? "was interrupted" : "failed");
        break;
    }
    return 0;
}

/* --- the report --------------------------------------------------------------------------------------------- */

static void add_labels(const struct settings *s, struct report *report)
{
    report->labels = arena_alloc(&report->arena, s->labels.count * sizeof *report->labels);
    for (size_t i = 0; report->labels && i < s->labels.count; i++) {
        const char *equals = strchr(s->labels.items[i], '=');
        report->labels[report->label_count++] = (struct report_label){
            .key = arena_copy(&report->arena, s->labels.items[i], (size_t)(equals - s->labels.items[i])),
            .value = equals + 1};
    }
}

static void add_ending(const struct job *job, struct report *report)
{
    int status = job->child.status;
    report->has_exit_status = true;
    report->exit_status = exit_code_of(status);
    report->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    report->stopped_s = (double)job->stopped_ns * 1e-9;
}

static void print_words(const struct report *report, struct text *out)
{
    report_text(report, page_has_colour(STDERR_FILENO), out);
}

static const char *program_name(struct arena *arena, char **command)
{
    size_t size = 1;
    for (char **word = command; *word; word++)
        size += strlen(*word) + 1;
    char *name = arena_alloc(arena, size);
    struct text out;
    text_init(&out, name, name ? size : 0);
    for (char **word = command; name && *word; word++) {
        text_add(&out, word == command ? "" : " ");
        text_add(&out, *word);
    }
    return name ? name : command[0];
}

/* Their joules are in no figure, which a daemon or a server of builds makes easy to overlook. */
static void tell_left(const struct job *job)
{
    const struct settings *s = &job->settings;
    if (job->left_count && !job->interrupted_by && !s->wait_all && !s->quiet)
        complain(s->subject, "%zu %s measured no further; --wait-all waits", job->left_count,
                 job->left_count == 1 ? "process that the command left behind is"
                                      : "processes that the command left behind are");
}

/* Writes all that was asked for. */
static bool report_all(struct job *job)
{
    const struct settings *s = &job->settings;
    struct report report;
    struct arena arena = {0};
    measuring_finish(&job->measuring);
    joule_status status = measuring_report(&job->measuring, program_name(&arena, s->command), &report);
    bool done = status == JOULE_OK;
    if (done) {
        add_ending(job, &report);
        add_labels(s, &report);
        if (job->recorder)
            recorder_report(job->recorder, &report);
        done = (!s->json || page_report(s->subject, &report, s->json, page_json_line)) && done;
        done = (!s->csv || page_report(s->subject, &report, s->csv, report_csv)) && done;
        if (!s->quiet)
            page_report(s->subject, &report, NULL, print_words);
    } else {
        complain(s->subject, "no report: %s", joule_status_name(status));
    }
    report_free(&report);
    arena_free(&arena);
    return done;
}

/* --- the record --------------------------------------------------------------------------------------------- */

static bool start_record(struct job *job)
{
    joule_error error;
    struct arena arena = {0};
    joule_status status = recorder_open(job->measuring.meter, job->settings.record,
                                        program_name(&arena, job->settings.command), &job->recorder, &error);
    arena_free(&arena);
    if (status != JOULE_OK)
        complain("record", "%s", error.message);
    return status == JOULE_OK;
}

static bool end_record(struct job *job)
{
    joule_error error;
    if (!job->recorder || recorder_close(job->recorder, &error) == JOULE_OK)
        return true;
    complain("record", "%s", error.message);
    return false;
}

/* ------------------------------------------------------------------------------------------------------------ */

static int run_job(struct job *job)
{
    joule_error error;
    job->settings.measuring.has_gauges = job->settings.record;
    signals_take(&job->signals);
    joule_status status =
        measuring_open(&job->measuring, &job->settings.measuring, job->settings.runs, &error);
    if (status != JOULE_OK) {
        complain(job->settings.subject, "%s", error.message);
        return status == JOULE_INVALID ? EXIT_USAGE : EXIT_OWN_FAILURE;
    }
    if (job->settings.record && !start_record(job)) {
        measuring_leave();
        _exit(EXIT_OWN_FAILURE);
    }
    job->guard = guard_start(job->settings.measuring.budget_joules, job->settings.grace_s,
                             job->settings.quiet ? NULL : job->settings.subject);
    int code = run_all(job);
    if (code == 0)
        tell_left(job);
    if (code == 0 && !report_all(job))
        code = EXIT_OWN_FAILURE;
    if (!end_record(job) && code == 0)
        code = EXIT_OWN_FAILURE;
    bool is_over = job->measuring.is_over;
    measuring_leave();
    if (code && (code != EXIT_OWN_FAILURE || job->child.status == 0))
        _exit(code);
    if (guard_has_acted(&job->guard) || (is_over && job->child.status == 0))
        _exit(EXIT_OVER_BUDGET);
    exit_like(job->lacks_runs ? job->interrupted_by : job->child.status);
}

static int main_of(const char *subject, const struct command_text *subject_text, int argc, char **argv)
{
    struct job job = {0};
    int first = read_settings(subject, subject_text, argc, argv, &job.settings);
    if (first == OPTIONS_HELP || first == OPTIONS_WRONG)
        return first == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (subject_text == &record_text && !job.settings.record) {
        complain(subject, "-o FILE is needed: where to keep the record");
        return EXIT_USAGE;
    }
    if (!have_files_of_their_own(&job.settings))
        return EXIT_USAGE;
    if (!can_write_outputs(&job.settings) || (job.settings.idle_s > 0 && !measure_idle(&job.settings)))
        return EXIT_OWN_FAILURE;
    return run_job(&job);
}

int run_main(int argc, char **argv)
{
    return main_of("run", &run_text, argc, argv);
}

int record_main(int argc, char **argv)
{
    return main_of("record", &record_text, argc, argv);
}
