/* tools/forge/forge_run.c - `forge run`: runs a program from a file and prints its time and energy.
 *
 * Note: each run continues with the states of the previous one. Inputs that are not given are zeros, and a
 * message names these inputs.
 */
#include <forge/energy.h>
#include <forge/serialize.h>
#include <joule/joule.h>
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "forge_commands.h"
#include "common/options.h"
#include "common/output.h"
#include "compiled_code.h"
#include "prediction.h"
#include "files.h"
#include "forge/ir/program.h"
#include "forge/ir/text.h"
#include "measured_run.h"
#include "step_page.h"
#include "size_options.h"

#define MAX_NAME 256

struct options {
    const char *program, *device, *states, *saved_states, *html;
    struct option_list set, get; /* NAME=FILE */
    unsigned repeat, threads;
    bool is_compiled;
    uint64_t seed;
    struct sizes sizes;
};

/* --- files in and out ----------------------------------------------------------------------------------- */

/* Splits "NAME=FILE". Copies NAME to `name` and returns FILE, a part of `item`. NULL: `item` does not have
 * this form. */
static const char *split(const char *item, char name[MAX_NAME])
{
    const char *equals = strchr(item, '=');
    size_t length = equals ? (size_t)(equals - item) : 0;
    if (length == 0 || length >= MAX_NAME || !equals[1])
        return NULL;
    memcpy(name, item, length);
    name[length] = '\0';
    return equals + 1;
}

static joule_status set_sizes(const struct measured_run *r, const struct sizes *sizes, joule_error *error)
{
    joule_status status = JOULE_OK;
    for (size_t i = 0; status == JOULE_OK && i < sizes->count; i++)
        status = forge_instance_set_size(r->instance, sizes->list[i].symbol, sizes->list[i].value, error);
    return status;
}

static joule_status set_inputs(const struct measured_run *r, const struct option_list *list,
                               joule_error *error)
{
    joule_status status = JOULE_OK;
    for (size_t i = 0; status == JOULE_OK && i < list->count; i++) {
        char name[MAX_NAME];
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
    char name[MAX_NAME];
    for (size_t i = 0; i < list->count; i++)
        if (split(list->items[i], name) && strcmp(name, input) == 0)
            return true;
    return false;
}

static void print_missing_inputs(const forge_program *program, const struct option_list *list)
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

/* Gets all outputs that the list names. `writes`: also writes their files. */
static joule_status get_outputs(const struct measured_run *r, const struct option_list *list, bool writes,
                                joule_error *error)
{
    joule_status status = JOULE_OK;
    for (size_t i = 0; status == JOULE_OK && i < list->count; i++) {
        char name[MAX_NAME];
        const char *path = split(list->items[i], name);
        forge_tensor tensor;
        status = forge_instance_get(r->instance, name, &tensor, error);
        if (status == JOULE_OK && writes)
            status = forge_npy_write(path, &tensor, error);
    }
    return status;
}

/* Returns an error if an output cannot be written or would replace an input. Called before the work
 * begins. */
static joule_status check_files(const struct options *o, joule_error *error)
{
    const char *paths[2 * OPTION_LIST_MAX + 4] = {o->program, o->states};
    char name[MAX_NAME];
    size_t inputs = 2;
    for (size_t i = 0; i < o->set.count; i++)
        paths[inputs++] = split(o->set.items[i], name);
    size_t count = inputs;
    for (size_t i = 0; i < o->get.count; i++)
        paths[count++] = split(o->get.items[i], name);
    paths[count++] = o->saved_states;
    size_t files = count;
    paths[count++] = o->html;
    joule_status status = output_check_apart(paths, inputs, count, error);
    for (size_t i = inputs; status == JOULE_OK && i < count; i++)
        if (paths[i])
            status = (i < files ? output_check_file : output_check)(paths[i], error);
    return status;
}

/* --- running -------------------------------------------------------------------------------------------- */

static joule_status prepare(struct measured_run *r, const struct options *options, joule_error *error)
{
    forge_program *program = NULL;
    joule_status status = check_files(options, error);
    if (status == JOULE_OK)
        status = forge_program_read(options->program, &program, error);
    if (status == JOULE_OK)
        status = measured_run_open(r, "run", program, options->device, options->threads, options->is_compiled,
                                   options->seed, error);
    if (status == JOULE_OK && options->states)
        status = forge_states_load(r->states, options->states, FORGE_LOAD_SKIP_UNEXPECTED, error);
    if (status == JOULE_OK)
        status = set_sizes(r, &options->sizes, error);
    if (status == JOULE_OK)
        status = set_inputs(r, &options->set, error);
    if (status == JOULE_OK)
        /* reads no data yet, and reports a wrong name before the first run */
        status = get_outputs(r, &options->get, false, error);
    return status;
}

static int run(const struct options *options)
{
    struct measured_run r = {0};
    joule_error error = {0};
    joule_status status = prepare(&r, options, &error);
    if (status == JOULE_OK) {
        if (!device_is_estimate_only(r.device))
            print_missing_inputs(r.program, &options->set);
        forge_instance_set_zeros(r.instance, NULL, NULL);
        measured_run_start(&r);
        status = measured_run_repeat(&r, options->repeat, &error);
        measured_run_end(&r);
    }
    if (status == JOULE_OK)
        status = get_outputs(&r, &options->get, true, &error);
    if (status == JOULE_OK && options->saved_states)
        status = forge_states_save(r.states, options->saved_states, NULL, NULL, &error);
    if (status == JOULE_OK)
        measured_run_print(&r);
    if (status == JOULE_OK && options->html)
        status = step_page_write(options->html, r.instance, options->program, &error);
    if (status != JOULE_OK)
        complain("run", "%s", error.message);
    measured_run_close(&r);
    return status == JOULE_OK ? 0 : EXIT_OWN_FAILURE;
}

/* --- options -------------------------------------------------------------------------------------------- */

static bool are_pairs(const char *option, const struct option_list *list)
{
    char name[MAX_NAME];
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
         "device to run on (default: cpu); estimated: run nothing, print the expected time and energy"},
        {"set", 0, OPTION_LIST, &options.set, "NAME=FILE", "read an input from a .npy file; may be repeated"},
        {"get", 0, OPTION_LIST, &options.get, "NAME=FILE", "write an output to a .npy file; may be repeated"},
        {"size", 0, OPTION_LIST, &sizes, "NAME=N",
         "value of a symbol (default: from the inputs, otherwise the largest); may be repeated"},
        {"states", 0, OPTION_TEXT, &options.states, "FILE",
         "read the initial states from a safetensors or checkpoint file"},
        {"save-states", 0, OPTION_TEXT, &options.saved_states, "FILE",
         "write the final states as safetensors"},
        {"html", 0, OPTION_TEXT, &options.html, "FILE",
         "write an HTML page with the time and energy of phases, modules and launches"},
        {"seed", 's', OPTION_TEXT, &seed, "N", "seed of random initial states (default: 1)"},
        {"repeat", 'r', OPTION_COUNT, &options.repeat, "N",
         "number of runs; each continues with the states of the previous one (default: 1)"},
        {"threads", 't', OPTION_COUNT, &options.threads, "N",
         "number of threads; does not change the result (default: all CPUs allowed to the process)"},
        COMPILED_OPTION(&options.is_compiled),
        {NULL},
    };
    const struct command_text text = {
        "forge run PROGRAM [OPTIONS]",
        "Runs a program that forge compile wrote, and prints the time and energy of each launch.", NULL};
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
