/* tools/forge/run.c - `forge run`: runs a program that another process made, and says what it took.
 *
 * Owns the options, the way of inputs, outputs and states from and to files, and the table of launches. Newcomers: every
 * run goes on with the states that the one before left; inputs that are not given are zeros, and it is said so.
 */
#include <forge/energy.h>
#include <forge/serialize.h>
#include <joule/joule.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"
#include "commands.h"
#include "common/options.h"
#include "expected.h"
#include "files.h"
#include "forge/ir/program.h"
#include "forge/ir/text.h"
#include "sizes.h"

#define METER_PERIOD_S 0.02
#define COLLECT_RUNS   256
#define MOST_NAME      256
#define LONGEST_WAIT_S 1.0 /* for the meter to see the end of the last run */

struct options {
    const char *program, *device, *states, *saved_states;
    struct option_list set, get; /* NAME=FILE */
    unsigned repeat, threads;
    uint64_t seed;
    struct sizes sizes;
};

struct running {
    forge_program *program;
    forge_device *device;
    forge_states *states;
    forge_instance *instance;
    joule_meter *meter; /* NULL: joules are unknown */
    int64_t begin_ns, end_ns;
};

/* --- files in and out ----------------------------------------------------------------------------------------- */

/* The file in "NAME=FILE"; NULL: it has no such form. */
static const char *split(const char *item, char name[MOST_NAME])
{
    const char *equals = strchr(item, '=');
    size_t length = equals ? (size_t)(equals - item) : 0;
    if (length == 0 || length >= MOST_NAME || !equals[1])
        return NULL;
    memcpy(name, item, length);
    name[length] = '\0';
    return equals + 1;
}

static joule_status set_sizes(const struct running *r, const struct sizes *sizes, joule_error *error)
{
    joule_status status = JOULE_OK;
    for (size_t i = 0; status == JOULE_OK && i < sizes->count; i++)
        status = forge_instance_size(r->instance, sizes->list[i].symbol, sizes->list[i].value, error);
    return status;
}

static joule_status set_inputs(const struct running *r, const struct option_list *list, joule_error *error)
{
    joule_status status = JOULE_OK;
    for (size_t i = 0; status == JOULE_OK && i < list->count; i++) {
        char name[MOST_NAME];
        const char *path = split(list->items[i], name);
        forge_tensor tensor;
        joule_error reason = {0};
        status = forge_npy_read(path, &tensor, error);
        if (status != JOULE_OK)
            break;
        status = forge_instance_set(r->instance, name, &tensor, &reason);
        if (status != JOULE_OK)
            error_set(error, status, "--set %s: %s", list->items[i], reason.message);
        forge_buffer_release(tensor.buffer);
    }
    return status;
}

static bool is_given(const char *input, const struct option_list *list)
{
    char name[MOST_NAME];
    for (size_t i = 0; i < list->count; i++)
        if (split(list->items[i], name) && strcmp(name, input) == 0)
            return true;
    return false;
}

static void tell_missing_inputs(const forge_program *program, const struct option_list *list)
{
    char names[500];
    struct text text;
    text_init(&text, names, sizeof names);
    for (size_t i = 0; i < program->buffers.count; i++) {
        const struct program_buffer *buffer = &program_buffers(program)[i];
        const char *name = buffer->kind == BUFFER_INPUT ? program_string(program, buffer->name) : NULL;
        if (!name || is_given(name, list))
            continue;
        text_add(&text, text.length ? ", " : "");
        text_add_word(&text, name);
    }
    if (text.length)
        complain("run", "inputs that are not given are zeros: %s", names);
}

static joule_status get_outputs(const struct running *r, const struct option_list *list, bool writes,
                                joule_error *error)
{
    joule_status status = JOULE_OK;
    for (size_t i = 0; status == JOULE_OK && i < list->count; i++) {
        char name[MOST_NAME];
        const char *path = split(list->items[i], name);
        forge_tensor tensor;
        status = forge_instance_get(r->instance, name, &tensor, error);
        if (status == JOULE_OK && writes)
            status = forge_npy_write(path, &tensor, error);
    }
    return status;
}

/* --- the work ------------------------------------------------------------------------------------------------- */

static joule_status prepare(struct running *r, const struct options *options, joule_error *error)
{
    joule_status status = forge_program_read(options->program, &r->program, error);
    if (status == JOULE_OK)
        status = forge_device_open(options->device, &r->device, error);
    if (status == JOULE_OK)
        status = forge_device_set_threads(r->device, options->threads, error);
    if (status == JOULE_OK)
        status = forge_states_new(r->device, options->seed, &r->states, error);
    if (status == JOULE_OK)
        status = forge_instance_new(r->program, r->device, r->states, &r->instance, error);
    if (status == JOULE_OK && options->states)
        status = forge_states_load(r->states, options->states, FORGE_LOAD_SKIPS_UNEXPECTED, error);
    if (status == JOULE_OK)
        status = set_sizes(r, &options->sizes, error);
    if (status == JOULE_OK)
        status = set_inputs(r, &options->set, error);
    if (status == JOULE_OK)
        status = get_outputs(r, &options->get, false, error); /* a wrong name is told before the work */
    return status;
}

/* Joules are worth having and no reason to fail. */
static void start_meter(struct running *r)
{
    joule_error error = {0};
    if (device_only_estimates(r->device)) {
        forge_energy_start(r->instance, NULL, JOULE_TOTAL, &error);
        return;
    }
    const joule_options options = {.struct_size = sizeof options, .period_s = METER_PERIOD_S};
    if (joule_open(&options, &r->meter, &error) != JOULE_OK ||
        forge_energy_start(r->instance, r->meter, JOULE_TOTAL, &error) != JOULE_OK)
        complain("run", "joules are unknown: %s", error.message);
}

static joule_status run_all(struct running *r, unsigned repeat, joule_error *error)
{
    joule_status status = JOULE_OK;
    r->begin_ns = clock_now_ns();
    for (unsigned i = 0; status == JOULE_OK && i < repeat; i++) {
        status = forge_instance_run(r->instance, error);
        if (i % COLLECT_RUNS == COLLECT_RUNS - 1)
            forge_energy_collect(r->instance);
    }
    r->end_ns = clock_now_ns();
    forge_energy_collect(r->instance);
    return status;
}

static void running_free(struct running *r)
{
    forge_instance_free(r->instance);
    forge_states_free(r->states);
    forge_program_free(r->program);
    forge_device_close(r->device);
    joule_close(r->meter);
}

/* --- what it took --------------------------------------------------------------------------------------------- */

static bool all_joules(const struct running *r, joule_quantity *out_joules)
{
    const struct timespec pause = {.tv_nsec = NS_PER_S / 100};
    if (!r->meter)
        return false;
    for (;;) {
        joule_sample_now(r->meter);
        joule_status status =
            joule_window_joules(r->meter, JOULE_TOTAL, r->begin_ns, r->end_ns, out_joules, NULL);
        if (status != JOULE_PENDING || clock_seconds(clock_now_ns() - r->end_ns) > LONGEST_WAIT_S)
            return status == JOULE_OK;
        nanosleep(&pause, NULL);
    }
}

static void print_expected_head(const struct running *r, unsigned repeat)
{
    joule_quantity seconds, joules;
    char time[QUANTITY_TEXT], energy[QUANTITY_TEXT];
    forge_expected_run(r->instance, &seconds, &joules);
    printf("%u run%s, %s and %s each, %s: the device %s only estimates, nothing was run\n\n", repeat,
           repeat == 1 ? "" : "s", quantity_text(seconds, JOULE_DIMENSION_TIME, time),
           quantity_text(joules, JOULE_DIMENSION_ENERGY, energy), joule_class_name(joules.cls),
           forge_device_name(r->device));
}

static void print_head(const struct running *r, unsigned repeat)
{
    if (device_only_estimates(r->device)) {
        print_expected_head(r, repeat);
        return;
    }
    double seconds = clock_seconds(r->end_ns - r->begin_ns);
    joule_quantity joules;
    char time[32], energy[32] = "unknown", low[32], high[32], each[32];
    joule_format(seconds / repeat, JOULE_DIMENSION_TIME, 3, time, sizeof time);
    if (!all_joules(r, &joules)) {
        printf("%u run%s, %s each; joules unknown\n\n", repeat, repeat == 1 ? "" : "s", time);
        return;
    }
    joule_format(joules.value, JOULE_DIMENSION_ENERGY, 3, energy, sizeof energy);
    joule_format(joules.low, JOULE_DIMENSION_ENERGY, 2, low, sizeof low);
    joule_format(joules.high, JOULE_DIMENSION_ENERGY, 2, high, sizeof high);
    joule_format(joules.value / repeat, JOULE_DIMENSION_ENERGY, 3, each, sizeof each);
    printf("%u run%s, %s and %s each; in all %s (%s to %s, %s) by the whole machine\n\n", repeat,
           repeat == 1 ? "" : "s", time, each, energy, low, high, joule_class_name(joules.cls));
}

static void print_launch(forge_instance *instance, size_t i, const forge_launch_facts *f, double all_s)
{
    char scope[MOST_NAME] = "-", rate[32] = "", time[32], energy[32] = "";
    struct text text;
    joule_quantity joules;
    if (*f->scope) {
        text_init(&text, scope, sizeof scope);
        text_add_path(&text, f->scope);
    }
    if (f->flop > 0 && f->seconds > 0)
        snprintf(rate, sizeof rate, "%.2f", f->flop * (double)f->runs / f->seconds * 1e-9);
    joule_format(f->seconds / (double)f->runs, JOULE_DIMENSION_TIME, 3, time, sizeof time);
    if (forge_launch_energy(instance, i, &joules) == JOULE_OK)
        joule_format(joules.value / (double)f->runs, JOULE_DIMENSION_ENERGY, 3, energy, sizeof energy);
    printf("%5zu  %-20s %-9s %-10s %-20s %10s %6.1f %% %9s %12s\n", i, scope, forge_phase_name(f->phase),
           f->op, f->kernel, time, all_s > 0 ? f->seconds / all_s * 100 : 0, rate, energy);
}

static void print_launches(forge_instance *instance)
{
    forge_launch_facts facts = {.struct_size = sizeof facts};
    double all_s = 0;
    for (size_t i = 0; forge_instance_launch(instance, i, &facts) == JOULE_OK; i++)
        all_s += facts.seconds;
    printf("%5s  %-20s %-9s %-10s %-20s %10s %8s %9s %12s\n", "", "layer", "phase", "operation", "kernel",
           "time", "share", "GFLOP/s", "energy");
    for (size_t i = 0; forge_instance_launch(instance, i, &facts) == JOULE_OK; i++)
        print_launch(instance, i, &facts, all_s);
}

static int run(const struct options *options)
{
    struct running r = {0};
    joule_error error = {0};
    joule_status status = prepare(&r, options, &error);
    if (status == JOULE_OK) {
        if (!device_only_estimates(r.device))
            tell_missing_inputs(r.program, &options->set);
        start_meter(&r);
        status = run_all(&r, options->repeat, &error);
    }
    if (status == JOULE_OK)
        status = get_outputs(&r, &options->get, true, &error);
    if (status == JOULE_OK && options->saved_states)
        status = forge_states_save(r.states, options->saved_states, NULL, NULL, &error);
    if (status == JOULE_OK) {
        print_head(&r, options->repeat);
        print_launches(r.instance);
    } else {
        complain("run", "%s", error.message);
    }
    running_free(&r);
    return status == JOULE_OK ? end_output("run", 0) : EXIT_OWN_FAILURE;
}

/* --- options -------------------------------------------------------------------------------------------------- */

static bool are_pairs(const char *option, const struct option_list *list)
{
    char name[MOST_NAME];
    for (size_t i = 0; i < list->count; i++)
        if (!split(list->items[i], name)) {
            complain("run", "--%s takes NAME=FILE, not '%s'", option, list->items[i]);
            return false;
        }
    return true;
}

int run_main(int argc, char **argv)
{
    struct options options = {.device = "cpu", .repeat = 1};
    const char *seed = "1";
    struct option_list sizes = {0};
    const struct option table[] = {
        {"device", 'd', OPTION_TEXT, &options.device, "NAME",
         "what it runs on (cpu); estimated: nothing is run, and it is said what it would take"},
        {"set", 0, OPTION_LIST, &options.set, "NAME=FILE", "an input, from a .npy file; may be given again"},
        {"get", 0, OPTION_LIST, &options.get, "NAME=FILE", "an output, into a .npy file; may be given again"},
        {"size", 0, OPTION_LIST, &sizes, "NAME=N",
         "a size that the program leaves open; without it the inputs say it, or the largest is taken"},
        {"states", 0, OPTION_TEXT, &options.states, "FILE", "safetensors or checkpoint, to begin with"},
        {"save-states", 0, OPTION_TEXT, &options.saved_states, "FILE",
         "the states at the end, as safetensors"},
        {"seed", 's', OPTION_TEXT, &seed, "N", "of states that begin at random (1)"},
        {"repeat", 'r', OPTION_COUNT, &options.repeat, "N", "runs, each on the states of the last (1)"},
        {"threads", 't', OPTION_COUNT, &options.threads, "N",
         "all CPUs allowed to us; the result does not depend on it"},
        {NULL},
    };
    const struct command_text text = {
        "forge run PROGRAM [OPTIONS]",
        "Runs a program made by forge compile, and says what each launch took in time and joules.", NULL};
    int read = options_read_operand(table, &text, "PROGRAM", argc, argv, &options.program);
    if (read <= OPTIONS_HELP)
        return read == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (!are_pairs("set", &options.set) || !are_pairs("get", &options.get) ||
        !sizes_read(&options.sizes, "run", &sizes))
        return EXIT_USAGE;
    if (!string_to_u64(seed, 10, &options.seed)) {
        complain("run", "--seed takes a whole number, not '%s'", seed);
        return EXIT_USAGE;
    }
    return run(&options);
}
