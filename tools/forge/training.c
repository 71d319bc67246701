/* tools/forge/training.c - see training.h. Note: an interrupt or an exceeded budget ends the training after
 * the current step. */
#include "training.h"

#include <forge/energy.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"
#include "train_checkpoint.h"
#include "common/options.h"
#include "common/output.h"
#include "common/page.h"
#include "prediction.h"
#include "files.h"
#include "energy_table.h"
#include "sample.h"
#include "step_page.h"
#include "task.h"

#define LINE_PERIOD_NS  (NS_PER_S / 10)
#define METER_PERIOD_S  0.02 /* short, because each period is a window for the attribution of joules */
#define CHECK_PERIOD_NS (NS_PER_S / 50)
#define NEAR_BUDGET     0.8 /* part of the budget after which the user is warned */
#define METER_WAIT_S    1.0 /* maximum time to wait for a last reading after the last step */

static volatile sig_atomic_t interrupted_by;

static void on_interrupt(int signal_number)
{
    interrupted_by = signal_number;
}

/* --- progress line -------------------------------------------------------------------------------------- */

static double units_of_step(const struct trainee *n)
{
    return (double)n->options.batch_size * n->units;
}

/* Cuts the line to the terminal's width, because only one row can be cleared. */
static void cut_line(char *line)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && strlen(line) >= size.ws_col)
        line[size.ws_col - 1] = '\0';
}

static void show(struct training *t, const char *end)
{
    char line[256];
    const struct trainee *n = &t->trainee;
    unsigned long long all = n->steps_per_epoch * n->options.epochs, done = n->steps - t->first_step;
    unsigned long long epoch = (n->steps ? n->steps - 1 : 0) / n->steps_per_epoch + 1;
    double seconds = clock_seconds(clock_now_ns() - t->begin_ns), of_step = done ? seconds / (double)done : 0;
    double left_s = of_step * (double)(all - n->steps);
    joule_quantity used;
    char power[32] = "? W", of_a_step[32] = "? J";
    if (done && forge_energy_now(n->instance, &used) == JOULE_OK) {
        double joules = used.value - t->begin_joules;
        joule_format(joules / seconds, JOULE_DIMENSION_POWER, 2, power, sizeof power);
        joule_format(joules / (double)done, JOULE_DIMENSION_ENERGY, 2, of_a_step, sizeof of_a_step);
    }
    snprintf(line, sizeof line,
             "epoch %llu/%u  step %llu/%llu  loss %.4f  %.2f ms/step  %.0f %s/s  %s/step  %s  %d:%02d left",
             epoch, n->options.epochs, (unsigned long long)n->steps, all, t->loss, of_step * 1e3,
             of_step > 0 ? units_of_step(n) / of_step : 0, n->model->task->unit, of_a_step, power,
             (int)left_s / 60, (int)left_s % 60);
    if (t->is_live && !*end)
        cut_line(line);
    fprintf(stderr, "%s%s%s", t->is_live ? "\r\033[K" : "", line, end);
}

static void show_if_due(struct training *t)
{
    int64_t now_ns = clock_now_ns();
    if (!t->is_live || now_ns - t->shown_ns < LINE_PERIOD_NS)
        return;
    t->shown_ns = now_ns;
    show(t, "");
}

/* --- energy and its budget ------------------------------------------------------------------------------ */

/* Returns q plus the joules of the earlier runs of this training. */
static joule_quantity of_all_runs(const struct training *t, joule_quantity q)
{
    joule_quantity before = t->energy_before;
    if (!t->has_before || before.value == 0)
        return q;
    return (joule_quantity){.value = q.value + before.value,
                            .low = q.low + before.low,
                            .high = q.high + before.high,
                            .cls = q.cls == JOULE_CLASS_NONE || before.cls == JOULE_CLASS_NONE
                                       ? JOULE_CLASS_NONE
                                   : q.cls > before.cls ? q.cls
                                                        : before.cls};
}

static joule_quantity energy_now(const struct training *t)
{
    joule_quantity q;
    forge_energy_now(t->trainee.instance, &q);
    return of_all_runs(t, q);
}

/* Returns the joules of this run up to now; NaN: unknown. */
static joule_quantity energy_of_run(const struct training *t)
{
    joule_quantity q;
    forge_energy_now(t->trainee.instance, &q);
    return q;
}

/* Returns the difference of two totals; an unknown `before` counts as 0. The error of a total is relative,
 * so the difference has the same relative error. */
static joule_quantity energy_since(joule_quantity before, joule_quantity now)
{
    double joules = now.value - (isnan(before.value) ? 0 : before.value), part = joules / now.value;
    return (joule_quantity){joules, now.low * part, now.high * part, now.cls, 0};
}

static void print_budget(struct training *t, double used_joules, const char *what)
{
    char used[32], budget[32];
    joule_format(used_joules, JOULE_DIMENSION_ENERGY, 3, used, sizeof used);
    joule_format(t->options.budget_joules, JOULE_DIMENSION_ENERGY, 3, budget, sizeof budget);
    if (t->is_live)
        fputs("\r\033[K", stderr);
    complain("train", "the training has used %s, more than %s of %s", used, what, budget);
}

/* Compares the best estimate with the budget. Note: if it waited until the energy is certain, every budget
 * would be exceeded. */
static void check_budget(struct training *t)
{
    int64_t now_ns = clock_now_ns();
    if (!(t->options.budget_joules > 0) || now_ns - t->checked_ns < CHECK_PERIOD_NS)
        return;
    t->checked_ns = now_ns;
    double used = energy_now(t).value; /* NaN before the meter's second reading */
    if (used >= t->options.budget_joules) {
        print_budget(t, used, "the budget");
        t->end = TRAINING_OVER_BUDGET;
    } else if (used >= NEAR_BUDGET * t->options.budget_joules && !t->is_warned) {
        print_budget(t, used, "80 % of the budget");
        t->is_warned = true;
    }
}

/* Writes the joules that the training has used so far to the file beside the checkpoint. A failed write does
 * not end the training, because the next one may succeed. */
static void update_spent(struct training *t)
{
    joule_error error = {0};
    joule_status status =
        t->options.checkpoint ? spent_energy_update(&t->spent, energy_now(t), &error) : JOULE_OK;
    if (status == JOULE_OK || t->has_complained)
        return;
    t->has_complained = true;
    complain("train", "%s; if this run is killed, its joules since the last checkpoint will not be counted",
             error.message);
}

/* --- training ------------------------------------------------------------------------------------------- */

static bool is_continuing(struct training *t)
{
    if (interrupted_by && t->end == TRAINING_DONE)
        t->end = TRAINING_INTERRUPTED;
    return t->end == TRAINING_DONE;
}

static joule_status train_step(struct training *t, joule_error *error)
{
    double loss;
    nan_trace_keep(&t->nan_trace, &t->trainee);
    joule_status status = trainee_step(&t->trainee, &loss, error);
    if (status != JOULE_OK)
        return status;
    if (!isfinite(loss)) {
        error_set(error, JOULE_FAILED,
                  "the loss of step %llu is %g; a lower --learning-rate, --warmup or --clip may help",
                  (unsigned long long)t->trainee.steps, loss);
        nan_trace_find(&t->nan_trace, &t->trainee);
        return JOULE_FAILED;
    }
    t->loss = isnan(t->loss) ? loss : t->loss + (loss - t->loss) / 50;
    forge_energy_collect(t->trainee.instance);
    check_budget(t);
    update_spent(t);
    show_if_due(t);
    return JOULE_OK;
}

static joule_status train_steps(struct training *t, uint64_t end, joule_error *error)
{
    joule_status status = JOULE_OK;
    while (status == JOULE_OK && t->trainee.steps < end && is_continuing(t))
        status = train_step(t, error);
    show(t, "\n");
    return status;
}

static joule_status test(struct training *t, struct epoch *epoch, joule_error *error)
{
    uint64_t units;
    joule_status status = trainee_test(&t->trainee, &epoch->score, &units, error);
    if (status == JOULE_OK)
        t->trainee.model->task->print_score(epoch->score, units, stderr);
    return status;
}

static joule_status save(struct training *t, joule_error *error)
{
    if (!t->options.checkpoint)
        return JOULE_OK;
    joule_sample_now(t->meter);
    joule_status status = trainee_check(&t->trainee, error);
    if (status != JOULE_OK) {
        nan_trace_find(&t->nan_trace, &t->trainee);
        return status;
    }
    joule_quantity energy = energy_now(t);
    status = checkpoint_save(t->options.checkpoint, &t->trainee, t->loss, t->spent.id, energy, error);
    if (status != JOULE_OK)
        return status;
    t->spent.has_checkpoint = true;
    return spent_energy_write(&t->spent, energy, error);
}

static joule_status train_epoch(struct training *t, joule_error *error)
{
    uint64_t per_epoch = t->trainee.steps_per_epoch, done = t->trainee.steps;
    uint64_t end = (done / per_epoch + 1) * per_epoch;
    if (!ARRAY_ROOM(t->epochs, t->epoch_capacity, t->epoch_count))
        return error_set(error, JOULE_NO_MEMORY, "cannot begin epoch %zu: out of memory", t->epoch_count + 1);
    struct epoch *epoch = &t->epochs[t->epoch_count++];
    *epoch = (struct epoch){.number = done / per_epoch + 1,
                            .score = NAN,
                            .begin_ns = clock_now_ns(),
                            .energy_before = energy_of_run(t)};
    joule_status status = train_steps(t, end, error);
    epoch->steps = t->trainee.steps - done;
    epoch->loss = t->loss;
    if (status == JOULE_OK && t->trainee.steps == end && t->end != TRAINING_OVER_BUDGET)
        status = test(t, epoch, error);
    epoch->end_ns = clock_now_ns();
    epoch->energy = energy_since(epoch->energy_before, energy_of_run(t));
    return status == JOULE_OK ? save(t, error) : status;
}

static joule_status train(struct training *t, joule_error *error)
{
    uint64_t all = t->trainee.steps_per_epoch * t->options.trainee.epochs;
    joule_status status = JOULE_OK;
    if (t->trainee.steps >= all)
        complain("train", "%s: all %u epochs are done; use a larger --epochs to continue",
                 t->options.checkpoint, t->options.trainee.epochs);
    t->begin_ns = clock_now_ns();
    double used = energy_of_run(t).value;
    t->begin_joules = isnan(used) ? 0 : used;
    check_budget(t);
    while (status == JOULE_OK && t->trainee.steps < all && is_continuing(t))
        status = train_epoch(t, error);
    return status;
}

/* --- devices that only estimate ------------------------------------------------------------------------- */

/* Simulates every step on a device that only estimates. Each simulated step has its expected time and
 * energy. */
static joule_status expect(struct training *t, joule_error *error)
{
    struct trainee *n = &t->trainee;
    uint64_t all = n->steps_per_epoch * n->options.epochs;
    joule_status status = forge_energy_start(n->instance, NULL, JOULE_TOTAL, error);
    for (; status == JOULE_OK && n->steps < all && is_continuing(t); n->steps++)
        status = forge_instance_run(n->instance, error);
    forge_energy_collect(n->instance);
    t->end = is_continuing(t) ? TRAINING_ESTIMATED : t->end;
    return status;
}

static joule_status predict(struct training *t, joule_error *error)
{
    const struct training_options *o = &t->options;
    const char *meaningless = o->resumes ? "--resume" : o->checkpoint ? "--checkpoint" : NULL;
    if (o->budget_joules > 0)
        meaningless = "--budget";
    if (meaningless)
        return error_set(error, JOULE_UNSUPPORTED, "cannot use %s: the device %s only estimates", meaningless,
                         o->trainee.device);
    return expect(t, error);
}

/* --- start and report ----------------------------------------------------------------------------------- */

/* Sets the joules of earlier runs: those up to the checkpoint, from *resumed, and those after it, from
 * CHECKPOINT.joules. */
static joule_status read_spent(struct training *t, const struct resumed *resumed, joule_error *error)
{
    joule_quantity saved = resumed->energy;
    struct spent_energy *spent = &t->spent;
    joule_status status = spent_energy_read(spent, error);
    if (status != JOULE_OK && status != JOULE_ABSENT)
        return status;
    bool is_ours =
        status == JOULE_OK && (t->is_resumed ? strcmp(spent->id, resumed->id) == 0 : !spent->has_checkpoint);
    if (is_ours) {
        t->has_before = true;
        bool has_more = isnan(saved.value) || spent->joules.value > saved.value;
        t->after_checkpoint_joules =
            t->is_resumed ? fmax(spent->joules.value - saved.value, 0) : spent->joules.value;
        t->energy_before = has_more ? spent->joules : saved;
        return JOULE_OK;
    }
    if (status == JOULE_OK)
        complain("train", "%s belongs to another training and is replaced", spent->path);
    else if (*resumed->id)
        complain("train", "cannot read %s: no such file; joules since the last checkpoint are not counted",
                 spent->path);
    spent_energy_end(spent);
    status = spent_energy_begin(spent, t->options.checkpoint, error);
    if (*resumed->id)
        string_copy(spent->id, sizeof spent->id, resumed->id);
    spent->has_checkpoint = t->is_resumed;
    return status;
}

static joule_status resume(struct training *t, joule_error *error)
{
    const char *path = t->options.checkpoint;
    struct resumed resumed = {.loss = NAN, .energy.value = NAN};
    joule_status status = checkpoint_resume(path, &t->trainee, &resumed, error);
    if (status != JOULE_OK && status != JOULE_ABSENT)
        return status;
    t->is_resumed = t->has_before = status == JOULE_OK;
    t->loss = resumed.loss;
    t->energy_before = resumed.energy;
    t->first_step = t->trainee.steps;
    status = read_spent(t, &resumed, error);
    if (status == JOULE_OK && t->has_before && t->options.budget_joules > 0 && isnan(t->energy_before.value))
        return error_set(error, JOULE_INVALID,
                         "cannot keep --budget: %s does not record the joules that were used before", path);
    return status;
}

static joule_status start(struct training *t, joule_error *error)
{
    joule_options how = {.struct_size = sizeof how, .period_s = METER_PERIOD_S};
    joule_status status = JOULE_OK;
    if (t->options.checkpoint)
        status = spent_energy_begin(&t->spent, t->options.checkpoint, error);
    if (status == JOULE_OK && t->options.resumes)
        status = resume(t, error);
    if (status == JOULE_OK)
        status = joule_open(&how, &t->meter, error);
    if (status == JOULE_OK)
        status = forge_energy_start(t->trainee.instance, t->meter, JOULE_TOTAL, error);
    joule_quantity nothing = {.cls = JOULE_CLASS_NONE};
    return status == JOULE_OK
               ? spent_energy_write(&t->spent, t->has_before ? t->energy_before : nothing, error)
               : status;
}

static bool write_json(const struct training *t, joule_error *error)
{
    size_t length;
    char *page = page_make("train", training_json, t, &length);
    joule_status status = page ? output_write(t->options.json, page, length, error)
                               : error_set(error, JOULE_NO_MEMORY, "cannot write the report: out of memory");
    free(page);
    return status == JOULE_OK;
}

static bool write_html(const struct training *t, joule_error *error)
{
    return step_page_write(t->options.html, t->trainee.instance, t->options.trainee.model, error) == JOULE_OK;
}

/* Writes the JSON and HTML files. Called before anything is printed: if the reader of standard output exits
 * early, SIGPIPE ends the program. */
static bool write_files(const struct training *t)
{
    joule_error error = {0};
    bool has_json = !t->options.json || write_json(t, &error);
    if (!has_json)
        complain("train", "%s", error.message);
    bool has_html = !t->options.html || write_html(t, &error);
    if (!has_html)
        complain("train", "%s", error.message);
    return has_json && has_html;
}

/* Prints the memory of the program of a step. */
static void print_memory(const struct trainee *n)
{
    char memory[MEMORY_TEXT];
    printf("\nMemory of a step: %s\n", memory_text(n->program, memory));
}

static void print_loss_scale(const struct trainee *n)
{
    double scale;
    uint64_t skipped;
    if (trainee_loss_scale(n, &scale, &skipped))
        printf("Loss scale: %g, %llu of %llu steps skipped because a gradient was not finite\n", scale,
               (unsigned long long)skipped, (unsigned long long)n->steps);
}

/* Writes the joules of all runs to CHECKPOINT.joules, including those that this run used after its last
 * checkpoint. */
static void write_spent(struct training *t)
{
    joule_error error = {0};
    if (spent_energy_write(&t->spent, t->energy, &error) != JOULE_OK)
        complain("train", "%s", error.message);
}

static void print_all_runs(const struct training *t)
{
    char energy[QUANTITY_TEXT];
    printf("\n%s including the earlier runs", quantity_text(t->energy, JOULE_DIMENSION_ENERGY, energy));
    if (t->after_checkpoint_joules > 0) {
        joule_format(t->after_checkpoint_joules, JOULE_DIMENSION_ENERGY, 3, energy, sizeof energy);
        printf(", of which %s after the checkpoint that this run began with", energy);
    }
    puts(".");
}

/* Prints and writes the report. Returns false after a message on failure. */
static bool report(struct training *t)
{
    forge_energy_finish(t->trainee.instance, METER_WAIT_S);
    forge_energy_total(t->trainee.instance, &t->sum);
    t->energy = of_all_runs(t, t->sum.all_joules);
    write_spent(t);
    for (size_t i = 0; t->sum.basis == FORGE_ENERGY_OF_MACHINE && i < t->epoch_count; i++)
        joule_window_joules(t->meter, JOULE_TOTAL, t->epochs[i].begin_ns, t->epochs[i].end_ns,
                            &t->epochs[i].energy, NULL);
    bool is_written = write_files(t);
    if (t->options.json && strcmp(t->options.json, "-") == 0)
        return is_written;
    if (t->epoch_count)
        energy_table_print(t->trainee.instance, units_of_step(&t->trainee), t->trainee.model->task->unit,
                           stdout);
    if (t->has_before)
        print_all_runs(t);
    print_memory(&t->trainee);
    print_loss_scale(&t->trainee);
    if (t->sample)
        printf("\n%s\n", t->sample);
    return is_written;
}

/* Prints and writes the report of a device that only estimates. Returns false after a message on failure. */
static bool report_estimate(struct training *t)
{
    const struct trainee *n = &t->trainee;
    joule_quantity seconds, joules;
    char time[QUANTITY_TEXT], energy[QUANTITY_TEXT];
    forge_energy_total(n->instance, &t->sum);
    t->energy = t->sum.all_joules;
    bool is_written = write_files(t);
    if (t->options.json && strcmp(t->options.json, "-") == 0)
        return is_written;
    forge_expected_run(n->instance, &seconds, &joules);
    printf("Nothing was trained: the device %s only estimates.\n"
           "It expects %s/step and %s/step (%s), %llu steps, tests not included.\n",
           n->options.device, quantity_text(seconds, JOULE_DIMENSION_TIME, time),
           quantity_text(joules, JOULE_DIMENSION_ENERGY, energy), joule_class_name(joules.cls),
           (unsigned long long)n->steps);
    energy_table_print(n->instance, units_of_step(n), n->model->task->unit, stdout);
    print_memory(n);
    return is_written;
}

static void write_spent_after_failure(struct training *t)
{
    forge_energy_finish(t->trainee.instance, 0);
    t->energy = energy_now(t);
    write_spent(t);
}

static void print_training_failure(const struct training *t, const joule_error *error)
{
    complain("train", "%s", error->message);
    if (*t->nan_trace.reason)
        complain("train", "%s", t->nan_trace.reason);
    if (t->options.checkpoint && t->epoch_count && access(t->options.checkpoint, F_OK) == 0)
        complain("train", "%s still contains the previous checkpoint", t->options.checkpoint);
}

static int exit_code(const struct training *t)
{
    switch (t->end) {
    case TRAINING_DONE:
    case TRAINING_ESTIMATED:
        return 0;
    case TRAINING_INTERRUPTED:
        return 128 + interrupted_by;
    case TRAINING_OVER_BUDGET:
        return EXIT_OVER_BUDGET;
    }
    return EXIT_OWN_FAILURE;
}

/* Makes SIGINT and SIGTERM end the training after the current step. Before this call the signals end the
 * program at once, even during a long compilation, because there is nothing to save yet. */
static void handle_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Returns true if a sample is requested, and neither a budget nor an interrupt has ended the training. */
static bool writes_sample(const struct training *t)
{
    return t->options.sample && t->end == TRAINING_DONE;
}

int training_run(const struct training_options *options)
{
    struct training t = {
        .options = *options, .sum.struct_size = sizeof t.sum, .loss = NAN, .is_live = isatty(STDERR_FILENO)};
    joule_error error = {0};
    joule_status status = trainee_open(&t.trainee, &options->trainee, &error);
    handle_interrupts();
    bool is_estimate_only = status == JOULE_OK && device_is_estimate_only(t.trainee.device);
    if (status == JOULE_OK && !is_estimate_only)
        status = start(&t, &error);
    if (status == JOULE_OK)
        status = is_estimate_only ? predict(&t, &error) : train(&t, &error);
    if (status == JOULE_OK && !is_estimate_only && writes_sample(&t))
        status = sample_text(&t.trainee, t.options.sample, t.options.temperature, &t.sample, &error);
    if (status != JOULE_OK && t.sum.basis == FORGE_ENERGY_UNKNOWN && t.begin_ns)
        write_spent_after_failure(&t);
    if (status != JOULE_OK)
        print_training_failure(&t, &error);
    bool is_reported = status == JOULE_OK && (is_estimate_only ? report_estimate(&t) : report(&t));
    int code = is_reported ? exit_code(&t) : EXIT_OWN_FAILURE;
    trainee_close(&t.trainee);
    joule_close(t.meter);
    spent_energy_end(&t.spent);
    free(t.epochs);
    free(t.sample);
    return code;
}
