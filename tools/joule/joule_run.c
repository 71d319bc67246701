/* tools/joule/joule_run.c - `joule run`: measures a command and returns the command's own exit status.
 *
 * Everything that can fail is done first. Then the sensors are read for the first time, and the command is
 * started, waited for, and reported.
 *
 * Note: once the command runs, no failure may hide its status from the caller.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/string.h"
#include "attach.h"
#include "child.h"
#include "joule_commands.h"
#include "budget_guard.h"
#include "idle_option.h"
#include "joule/record/record.h"
#include "measurement.h"
#include "common/output.h"
#include "report_page.h"
#include "terminal_plot.h"
#include "run_settings.h"

#define DESCENDANT_CHECK_NS (20 * 1000000LL)
#define PROGRAM_SIZE        1024 /* minimum size of the program's name; enough for an attached process */

/* One call of `joule run`. */
struct job {
    struct settings settings;
    struct signals signals;
    struct measurement measurement;
    struct guard guard;
    int pipe;                  /* pipe for the record, kept open until the recorder has opened it too; -1:
                                * none */
    struct recorder *recorder; /* NULL: no -o */
    bool has_begun;            /* a measurement has begun: the record may replace an older one */
    struct child child;        /* the last run; with --pid only times and group are used */
    struct arena arena;        /* memory of `program` */
    const char *program;       /* name in the report */
    char plot_path[32];        /* path of a record in memory, for --plot without -o */
    int64_t stopped_ns;        /* total of all runs */
    int interrupted_by;        /* signal that requested the end, even if the command ignored it; 0: none */
    bool lacks_runs;           /* fewer runs than requested, only because of interrupted_by */
    size_t remaining_count;    /* processes that outlive the last run and are not waited for */
};

/* --- before the first run ------------------------------------------------------------------------------- */

static bool has_distinct_outputs(const struct settings *settings)
{
    const char *const paths[] = {settings->json, settings->csv, settings->record};
    joule_error error;
    size_t count = sizeof paths / sizeof paths[0];
    if (output_check_apart(paths, 0, count, &error) == JOULE_OK &&
        output_check_one_stdout(paths, count, &error) == JOULE_OK)
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

/* Opens the pipe `path` for the record and returns its descriptor. Waits until the pipe has a reader. During
 * this wait a signal ends the process. Returns -1 if `path` is not a pipe or cannot be opened. In the second
 * case the recorder reports the error later. */
static int await_reader(const char *path)
{
    struct stat info;
    bool is_pipe = path && stat(path, &info) == 0 && S_ISFIFO(info.st_mode);
    return is_pipe ? open(path, O_WRONLY | O_CLOEXEC) : -1;
}

/* Returns the name of the program for the report. Called before the measurement, because an attached process
 * may have ended afterwards. */
static const char *program_name(const struct settings *s, struct arena *arena)
{
    size_t size = PROGRAM_SIZE;
    for (char **word = s->command; *word; word++)
        size += strlen(*word) + 1;
    char *name = arena_alloc(arena, size);
    struct text out;
    text_init(&out, name, name ? size : 0);
    for (char **word = s->command; name && *word; word++) {
        text_add(&out, word == s->command ? "" : " ");
        text_add(&out, *word);
    }
    if (name && s->pid)
        attach_name((pid_t)s->pid, name, size);
    return name ? name : s->subject;
}

/* --- one run -------------------------------------------------------------------------------------------- */

/* Returns true while descendants of the command must be waited for. */
static bool has_descendants(struct job *job)
{
    bool wanted = job->settings.wait_all || guard_has_acted(&job->guard);
    return wanted && attribute_alive(job->child.group, NULL, 0) > 0;
}

static void begin_record(struct job *job)
{
    if (job->recorder && !job->has_begun)
        recorder_begin(job->recorder);
    job->has_begun = true;
}

static void watch_when_due(struct job *job)
{
    if (clock_now_ns() >= measurement_watch_ns(&job->measurement))
        measurement_watch(&job->measurement);
}

/* Waits for the descendants of the command. Signals such as SIGINT end the wait, not the processes. */
static void wait_for_descendants(struct job *job)
{
    while (has_descendants(job)) {
        int taken = child_wait(&job->child, clock_now_ns() + DESCENDANT_CHECK_NS);
        watch_when_due(job);
        if (signal_asks_to_end(taken))
            break;
        guard_check(&job->guard, &job->measurement, &job->child);
    }
    job->child.end_ns = clock_now_ns();
}

static int complain_exec(const struct settings *s, int errno_value)
{
    const char *command = s->command[0];
    bool is_missing = errno_value == ENOENT;
    const char *hint =
        is_missing && strchr(command, ' ') ? " (program and arguments are separate words)" : "";
    complain(s->subject, "cannot run '%s': %s%s", command, strerror(errno_value), hint);
    return is_missing ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static void wait_once(struct job *job)
{
    int64_t watch_ns = measurement_watch_ns(&job->measurement);
    int taken = child_wait(&job->child, watch_ns < job->guard.next_ns ? watch_ns : job->guard.next_ns);
    if (signal_asks_to_end(taken))
        job->interrupted_by = taken;
    if (!job->child.has_ended)
        watch_when_due(job);
    guard_check(&job->guard, &job->measurement, &job->child);
}

/* Runs the command once and adds the run to the measurement. Returns 0, or the exit code if the command did
 * not run. */
static int run_in_group(struct job *job, struct attribute_group *group)
{
    struct child *child = &job->child;
    measurement_wait_ready(&job->measurement);
    if (!group || !child_start(child, &job->signals, group, job->settings.command)) {
        complain(job->settings.subject, "cannot create a process: %s", strerror(errno));
        return EXIT_OWN_FAILURE;
    }
    measurement_started(&job->measurement);
    if (!child->exec_errno)
        begin_record(job);
    while (!child->has_ended)
        wait_once(job);
    if (child->exec_errno)
        return complain_exec(&job->settings, child->exec_errno);
    if (has_descendants(job))
        wait_for_descendants(job);
    struct attribution share = attribute_finish(group);
    job->remaining_count = attribute_alive(group, NULL, 0);
    measurement_add(&job->measurement, child->begin_ns, child->end_ns, &share);
    return 0;
}

static int run_once(struct job *job)
{
    struct attribute_group *group = attribute_begin(host_real(), ATTRIBUTE_CGROUP);
    int code = run_in_group(job, group);
    attribute_free(group);
    return code;
}

/* Measures a process that this program did not start, until it ends, a signal arrives, or the time limit is
 * reached. */
static int run_attached(struct job *job)
{
    struct attached process;
    const struct settings *s = &job->settings;
    if (!attach_open(&process, &job->signals, (pid_t)s->pid)) {
        complain(s->subject, "cannot measure process %u: %s", s->pid, strerror(errno));
        return EXIT_OWN_FAILURE;
    }
    measurement_wait_ready(&job->measurement);
    begin_record(job);
    attribute_start(process.group);
    int64_t begin_ns = clock_now_ns();
    int64_t until_ns = s->max_s > 0 ? begin_ns + (int64_t)(s->max_s * 1e9) : INT64_MAX;
    measurement_started(&job->measurement);
    while (!process.has_ended && !job->interrupted_by && clock_now_ns() < until_ns) {
        int64_t watch_ns = measurement_watch_ns(&job->measurement);
        int taken = attach_wait(&process, watch_ns < until_ns ? watch_ns : until_ns);
        job->interrupted_by = signal_asks_to_end(taken) ? taken : 0;
        watch_when_due(job);
    }
    struct attribution share = attribute_finish(process.group);
    measurement_add(&job->measurement, begin_ns, clock_now_ns(), &share);
    attach_close(&process);
    return 0;
}

/* Runs the command as often as requested, or until a run fails or is interrupted. */
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
            complain(job->settings.subject, "run %u of %u %s; the report covers the runs up to it", i + 1,
                     runs, job->interrupted_by ? "was interrupted" : "failed");
        break;
    }
    return 0;
}

/* --- the report ----------------------------------------------------------------------------------------- */

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
    report->has_exit_status = !job->settings.pid;
    report->exit_status = exit_code_of(status);
    report->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    report->stopped_s = (double)job->stopped_ns * 1e-9;
}

static void print_text(const struct report *report, struct text *out)
{
    report_text(report, page_has_colour(STDERR_FILENO), out);
}

/* Warns about processes that still run: their energy is not in the report, for example that of a build
 * server. */
static void warn_remaining(const struct job *job)
{
    const struct settings *s = &job->settings;
    if (job->remaining_count && !job->interrupted_by && !s->wait_all && !s->quiet)
        complain(s->subject, "%zu %s no longer measured; --wait-all measures until all have ended",
                 job->remaining_count,
                 job->remaining_count == 1 ? "process of the command still runs and is"
                                           : "processes of the command still run and are");
}

/* Writes all requested reports. */
static bool report_all(struct job *job)
{
    const struct settings *s = &job->settings;
    struct report report;
    measurement_finish(&job->measurement, signals_ask_to_end);
    joule_status status = measurement_report(&job->measurement, job->program, &report);
    bool done = status == JOULE_OK;
    if (done) {
        add_ending(job, &report);
        add_labels(s, &report);
        if (job->recorder)
            recorder_report(job->recorder, &report);
        done = (!s->json || page_report(s->subject, &report, s->json, page_json_line)) && done;
        done = (!s->csv || page_report(s->subject, &report, s->csv, report_csv)) && done;
        if (!s->quiet)
            page_report(s->subject, &report, NULL, print_text);
    } else {
        complain(s->subject, "cannot create the report: %s", joule_status_name(status));
    }
    report_free(&report);
    return done;
}

/* --- the record ----------------------------------------------------------------------------------------- */

static bool start_record(struct job *job)
{
    joule_error error;
    joule_status status =
        recorder_open(job->measurement.meter, job->settings.record, job->program, &job->recorder, &error);
    if (job->pipe >= 0)
        close(job->pipe);
    if (status != JOULE_OK)
        complain(job->settings.subject, "%s", error.message);
    return status == JOULE_OK;
}

static bool end_record(struct job *job)
{
    joule_error error;
    if (job->recorder && !job->has_begun)
        recorder_discard(job->recorder, job->settings.record);
    if (!job->recorder || !job->has_begun || recorder_close(job->recorder, &error) == JOULE_OK)
        return true;
    complain(job->settings.subject, "%s", error.message);
    return false;
}

/* Without -o, --plot records to memory. Returns false after a message. */
static bool prepare_plot(struct job *job)
{
    if (!job->settings.plot)
        return true;
    if (job->pipe >= 0) {
        complain(job->settings.subject, "--plot needs a record in a file; %s is a pipe",
                 job->settings.record);
        return false;
    }
    if (job->settings.record)
        return true;
    int fd = memfd_create("joule-record", MFD_CLOEXEC);
    if (fd < 0) {
        complain(job->settings.subject, "cannot record the power for --plot: %s", strerror(errno));
        return false;
    }
    string_print(job->plot_path, sizeof job->plot_path, "/proc/self/fd/%d", fd);
    job->settings.record = job->plot_path;
    return true;
}

/* Shows the power over time. Returns false after a message. */
static bool show_plot(const struct job *job)
{
    struct record record;
    joule_error error;
    bool done = record_read(job->settings.record, &record, &error) == JOULE_OK;
    if (done)
        done = terminal_plot_whole(job->settings.subject, &record, STDERR_FILENO);
    else
        complain(job->settings.subject, "cannot plot the power: %s", error.message);
    record_free(&record);
    return done;
}

/* -------------------------------------------------------------------------------------------------------- */

static int run_job(struct job *job)
{
    joule_error error;
    job->settings.measurement.is_recorded = job->settings.record;
    job->program = program_name(&job->settings, &job->arena);
    signals_take(&job->signals);
    joule_status status =
        measurement_open(&job->measurement, &job->settings.measurement, job->settings.runs, &error);
    if (status != JOULE_OK) {
        complain(job->settings.subject, "%s", error.message);
        arena_free(&job->arena);
        return status == JOULE_INVALID ? EXIT_USAGE : EXIT_OWN_FAILURE;
    }
    if (job->settings.record && !start_record(job)) {
        measurement_leave();
        _exit(EXIT_OWN_FAILURE);
    }
    if (!job->measurement.has_session && !job->settings.quiet)
        complain(job->settings.subject, "cannot collect the command's regions: %s",
                 job->measurement.session_error.message);
    job->guard = guard_start(job->settings.measurement.budget_joules, job->settings.grace_s,
                             job->settings.quiet ? NULL : job->settings.subject);
    int code = job->settings.pid ? run_attached(job) : run_all(job);
    if (code == 0)
        warn_remaining(job);
    if (code == 0 && !report_all(job))
        code = EXIT_OWN_FAILURE;
    if (!end_record(job) && code == 0)
        code = EXIT_OWN_FAILURE;
    if (code == 0 && job->settings.plot && job->has_begun && !show_plot(job))
        code = EXIT_OWN_FAILURE;
    bool is_over = job->measurement.is_over;
    measurement_leave();
    if (code && (code != EXIT_OWN_FAILURE || job->child.status == 0))
        _exit(code);
    if (guard_has_acted(&job->guard) || (is_over && job->child.status == 0))
        _exit(EXIT_OVER_BUDGET);
    exit_with_status(job->lacks_runs ? job->interrupted_by : job->child.status);
}

static int run_subcommand(const char *subject, int argc, char **argv)
{
    int code;
    struct job job = {0};
    if (!settings_read(subject, argc, argv, &job.settings, &code))
        return code;
    if (!has_distinct_outputs(&job.settings))
        return EXIT_USAGE;
    if (!can_write_outputs(&job.settings) ||
        !idle_option_measure(subject, &job.settings.measurement, job.settings.idle_s))
        return EXIT_OWN_FAILURE;
    job.pipe = await_reader(job.settings.record);
    if (!prepare_plot(&job))
        return EXIT_OWN_FAILURE;
    return run_job(&job);
}

int run_main(int argc, char **argv)
{
    return run_subcommand("run", argc, argv);
}

int record_main(int argc, char **argv)
{
    return run_subcommand("record", argc, argv);
}
