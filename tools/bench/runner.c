/* bench/runner.c - see runner.h. */
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <joule/devices.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"

#define STATE_PERIOD_NS (100 * 1000000LL)

joule_status runner_open(struct runner *runner, const struct runner_options *options, size_t max_runs,
                         joule_error *out_error)
{
    *runner = (struct runner){.options = *options};
    runner->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (runner->null_fd < 0)
        return error_set(out_error, JOULE_FAILED, "cannot open /dev/null: %s", strerror(errno));
    signals_take(&runner->signals);
    runner->options.measurement.reads_state = true;
    joule_status status =
        measurement_open(&runner->measurement, &runner->options.measurement, max_runs, out_error);
    if (status != JOULE_OK)
        return status;
    measurement_wait_ready(&runner->measurement);
    measurement_watch(&runner->measurement); /* so that temperatures are read between runs, too */
    return JOULE_OK;
}

void runner_close(struct runner *runner)
{
    (void)runner;
    measurement_leave();
}

/* --- state of the machine ------------------------------------------------------------------------------- */

/* Samples of devices during a run. */
struct state {
    double gpu_busy_sum;
    size_t gpu_count;
    int throttled;
    int64_t next_ns;
};

static void sample_devices(joule_meter *meter, struct state *state)
{
    state->next_ns = clock_now_ns() + STATE_PERIOD_NS;
    size_t count = joule_device_count(meter);
    for (size_t i = 0; i < count; i++) {
        joule_device device = {.struct_size = sizeof device};
        if (joule_device_get(meter, i, &device) != JOULE_OK || device.state != JOULE_OK)
            continue;
        if (!isnan(device.busy)) {
            state->gpu_busy_sum += device.busy;
            state->gpu_count++;
        }
        if (device.clock_reasons != JOULE_CLOCKS_UNKNOWN)
            state->throttled =
                (state->throttled < 0 ? 0 : state->throttled) | (int)(device.clock_reasons & RUN_THROTTLED);
    }
}

double runner_temperature(struct runner *runner)
{
    double highest = NAN;
    joule_meter *meter = runner->measurement.meter;
    size_t count = joule_domain_count(meter);
    for (size_t i = 0; i < count; i++) {
        double celsius;
        joule_domain domain = {.struct_size = sizeof domain};
        if (joule_domain_get(meter, i, &domain) == JOULE_OK && domain.reading == JOULE_READING_TEMPERATURE &&
            (string_starts(domain.device, "cpu:") || string_starts(domain.device, "gpu:")) &&
            joule_gauge(meter, domain.id, &celsius) == JOULE_OK && !(celsius <= highest))
            highest = celsius;
    }
    return highest;
}

void runner_describe(struct runner *runner, char *out_sources, size_t sources_size, char *out_machine,
                     size_t machine_size)
{
    joule_meter *meter = runner->measurement.meter;
    size_t count = joule_domain_count(meter);
    struct text sources;
    text_init(&sources, out_sources, sources_size);
    text_add(&sources, "");
    out_machine[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        joule_domain domain = {.struct_size = sizeof domain};
        if (joule_domain_get(meter, i, &domain) != JOULE_OK)
            continue;
        if (domain.in_total)
            text_printf(&sources, "%s%s:%s", sources.length ? " + " : "", domain.measurement, domain.name);
        if (!out_machine[0] && string_starts(domain.device, "cpu:"))
            string_copy(out_machine, machine_size, domain.model);
    }
}

/* --- output of commands --------------------------------------------------------------------------------- */

/* Returns the descriptor for the command's standard output; -1: that of this process. With a work line,
 * *out_captured is a file in memory, which the caller closes. */
static int output_fd(const struct runner *runner, int *out_captured)
{
    *out_captured = runner->options.work_line ? memfd_create("joule-bench-output", MFD_CLOEXEC) : -1;
    if (*out_captured >= 0)
        return *out_captured;
    return runner->options.shows_output ? -1 : runner->null_fd;
}

/* Returns the number of the last line that the expression matches; NaN: no line has one. Passes the text on.
 */
static double read_work(const struct runner *runner, int captured)
{
    double work = NAN, value;
    char *line = NULL;
    size_t size = 0;
    FILE *file = lseek(captured, 0, SEEK_SET) == 0 ? fdopen(captured, "r") : NULL;
    while (file && getline(&line, &size, file) > 0) {
        regmatch_t found[2];
        line[strcspn(line, "\n")] = '\0';
        if (regexec(runner->options.work_line, line, 2, found, 0) == 0 && found[1].rm_so >= 0 &&
            string_scan_double(line + found[1].rm_so, &value) && value > 0)
            work = value;
        if (runner->options.shows_output)
            printf("%s\n", line);
    }
    free(line);
    if (file)
        fclose(file);
    else
        close(captured);
    return work;
}

/* --- one run -------------------------------------------------------------------------------------------- */

static void note_signal(struct runner *runner, int taken)
{
    if (signal_asks_to_end(taken))
        runner->interrupted_by = taken;
}

static void wait_for_end(struct runner *runner, struct child *child, struct state *state)
{
    while (!child->has_ended) {
        note_signal(runner, child_wait(child, state ? state->next_ns : INT64_MAX));
        if (state && clock_now_ns() >= state->next_ns)
            sample_devices(runner->measurement.meter, state);
    }
}

static double common_sd(const struct estimate *e)
{
    double sum = 0;
    for (size_t i = 0; i < ESTIMATE_CAUSES && e->common[i].cause != CAUSE_NONE; i++)
        sum += e->common[i].sd * e->common[i].sd;
    return isnan(e->value) ? NAN : sqrt(sum);
}

/* Fills the energy of the run that the measurement closed last. */
static void set_energy(const struct measurement *m, struct run *run)
{
    const struct measured_run *last = &m->runs[m->run_count - 1];
    const struct estimate *decisive = last->is_modelled ? &last->command : &last->total;
    run->machine_joules = last->total.value;
    run->command_joules = last->command.value;
    run->net_joules = last->total.value - m->idle.total_watts.value * run->seconds;
    run->own_sd = isnan(decisive->value) ? NAN : sqrt(decisive->variance);
    run->common_sd = common_sd(decisive);
    run->coverage = last->coverage;
    run->is_modelled = last->is_modelled;
    run->cls = isnan(decisive->value) ? JOULE_CLASS_NONE : decisive->cls;
}

static void set_use(const struct attribution *share, struct run *run)
{
    run->cpu_busy = fmin(1, share->machine_busy_cpu_s / share->machine_cpu_s);
    run->other_busy = fmax(0, (share->machine_busy_cpu_s - share->command_cpu_s) / share->machine_cpu_s);
    if (isnan(share->machine_busy_cpu_s) || !(share->machine_cpu_s > 0))
        run->cpu_busy = run->other_busy = NAN;
}

static joule_status run_in_group(struct runner *runner, char **argv, struct attribute_group *group,
                                 const int streams[3], struct run *out_run, joule_error *out_error)
{
    struct measurement *m = &runner->measurement;
    struct child child;
    struct state state = {.throttled = -1, .next_ns = clock_now_ns() + STATE_PERIOD_NS / 2};
    if (!group || !child_start_streams(&child, &runner->signals, group, argv, streams))
        return error_set(out_error, JOULE_FAILED, "cannot create a process: %s", strerror(errno));
    measurement_started(m);
    wait_for_end(runner, &child, &state);
    runner->exec_errno = child.exec_errno;
    if (child.exec_errno)
        return error_set(
            out_error, JOULE_FAILED, "cannot run '%s': %s%s", argv[0], strerror(child.exec_errno),
            child.exec_errno == ENOENT && strchr(argv[0], ' ') ? " (program and arguments are separate words)"
                                                               : "");
    struct attribution share = attribute_finish(group);
    out_run->remaining_count = attribute_alive(group, NULL, 0);
    measurement_add(m, child.begin_ns, child.end_ns, &share);
    out_run->temperature_celsius = runner_temperature(runner);
    out_run->seconds = clock_seconds(child.end_ns - child.begin_ns);
    out_run->exit_code = exit_code_of(child.status);
    out_run->gpu_busy = state.gpu_count ? state.gpu_busy_sum / (double)state.gpu_count : NAN;
    out_run->throttled = state.throttled;
    set_use(&share, out_run);
    measurement_finish(m, signals_ask_to_end);
    set_energy(m, out_run);
    if (child.stopped_ns > 0)
        out_run->rejected = "stopped";
    return JOULE_OK;
}

joule_status runner_run(struct runner *runner, char **argv, struct run *out_run, joule_error *out_error)
{
    int captured, output = output_fd(runner, &captured);
    const int streams[3] = {runner->null_fd, output, -1};
    *out_run = (struct run){.work = NAN};
    struct attribute_group *group = attribute_begin(host_real(), ATTRIBUTE_CGROUP);
    joule_status status = run_in_group(runner, argv, group, streams, out_run, out_error);
    attribute_free(group);
    if (captured >= 0)
        out_run->work = read_work(runner, captured);
    if (runner->interrupted_by)
        out_run->rejected = "interrupted";
    return status;
}

int runner_do(struct runner *runner, const char *text)
{
    char shell[] = "sh", option[] = "-c", *words = strdup(text);
    char *argv[] = {shell, option, words, NULL};
    const int streams[3] = {runner->null_fd, runner->options.shows_output ? -1 : runner->null_fd, -1};
    struct attribute_group *group = attribute_begin(host_real(), ATTRIBUTE_WAIT4);
    struct child child;
    int code = -1;
    if (words && group && child_start_streams(&child, &runner->signals, group, argv, streams)) {
        wait_for_end(runner, &child, NULL);
        errno = child.exec_errno;
        code = child.exec_errno ? -1 : exit_code_of(child.status);
    }
    attribute_free(group);
    free(words);
    return code;
}

int64_t runner_now_ns(void)
{
    return clock_now_ns();
}

void runner_pause(struct runner *runner, double seconds)
{
    int64_t until_ns = clock_now_ns() + (int64_t)(seconds * 1e9);
    for (int64_t left_ns; (left_ns = until_ns - clock_now_ns()) > 0 && !runner->interrupted_by;) {
        struct timespec left = clock_timespec(left_ns);
        int taken = sigtimedwait(&runner->signals.taken, NULL, &left);
        if (taken > 0) {
            note_signal(runner, taken);
            stop_with_terminal(taken);
        }
    }
}
