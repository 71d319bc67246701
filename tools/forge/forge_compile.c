/* tools/forge/forge_compile.c - `forge compile`: compiles the text of a graph to a program in a file.
 *
 * Note: the program file is written completely or not at all. A program runs on every processor of its kind,
 * because kernels are chosen when the program is loaded.
 */
#include <forge/compiler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "forge_commands.h"
#include "common/options.h"
#include "common/output.h"
#include "prediction.h"
#include "files.h"
#include "precision_option.h"
#include "size_options.h"

struct request {
    const char *graph, *program, *device;
    const char *stop_after; /* pass name; NULL: compile to a program */
    const char *skip;       /* names of passes, separated by commas; NULL: all passes run */
    bool shows_passes;
    forge_minimise objective;
    forge_precision precision;
    double max_seconds, max_bytes; /* 0: no bound */
    struct sizes sizes;
};

static void print_facts(const char *path, const forge_program *program)
{
    forge_program_facts facts = {.struct_size = sizeof facts};
    char flop[BYTES_TEXT], memory[MEMORY_TEXT];
    forge_program_query(program, &facts);
    printf("%s: %zu launches, %s; %s\n", path, facts.launches, flop_text(facts.flop, flop),
           memory_text(program, memory));
    sizes_print(program);
}

/* --- passes --------------------------------------------------------------------------------------------- */

/* Prints a row for one pass. context: text before the row; "# " makes the row a comment in the text of a
 * graph. */
static void print_pass(const forge_pass_facts *facts, const forge_graph *graph, void *context)
{
    char flop[2][BYTES_TEXT], bytes[2][BYTES_TEXT], joules[2][32];
    joule_format(facts->joules_before.value, JOULE_DIMENSION_ENERGY, 3, joules[0], sizeof joules[0]);
    joule_format(facts->joules_after.value, JOULE_DIMENSION_ENERGY, 3, joules[1], sizeof joules[1]);
    (void)graph;
    printf("%s%-10s %8.3f ms %6zu -> %6zu nodes  %12s -> %12s  %12s -> %12s  %8s -> %8s\n",
           (const char *)context, facts->name, facts->seconds * 1e3, facts->nodes_before, facts->nodes_after,
           flop_text(facts->flop_before, flop[0]), flop_text(facts->flop_after, flop[1]),
           bytes_text(facts->bytes_before, bytes[0]), bytes_text(facts->bytes_after, bytes[1]), joules[0],
           joules[1]);
}

/* --- the schedule --------------------------------------------------------------------------------------- */

static const char *const objectives[] = {"none", "energy", "time", "edp"};
enum { OBJECTIVES = sizeof objectives / sizeof *objectives };

/* Returns by how much `after` is less than `before`, in percent; 0 if both are 0. */
static double gain_of(double before, double after)
{
    return before > 0 ? 100 * (1 - after / before) : 0;
}

static void print_change(const char *what, double before, double after, joule_dimension dimension)
{
    char from[32], to[32];
    joule_format(before, dimension, 3, from, sizeof from);
    joule_format(after, dimension, 3, to, sizeof to);
    printf("%s %s -> %s (%+.1f %%)", what, from, to, -gain_of(before, after));
}

static void print_gains(const forge_schedule_facts *facts)
{
    const double seconds[] = {facts->given_seconds, facts->cores_seconds, facts->chosen_seconds};
    const double joules[] = {facts->given_joules, facts->cores_joules, facts->chosen_joules};
    double score[3];
    for (int i = 0; i < 3; i++)
        score[i] = facts->objective == FORGE_MINIMISE_ENERGY ? joules[i]
                   : facts->objective == FORGE_MINIMISE_TIME ? seconds[i]
                                                             : joules[i] * seconds[i];
    double by_order = gain_of(score[1], score[2]);
    printf("  gain in %s: numbers of cores %.1f %%, order %.1f %%", objectives[facts->objective],
           gain_of(score[0], score[1]), by_order);
    printf("%s\n", by_order < 1 ? "; the order gains less than 1 %" : "");
}

static void print_schedule(const forge_schedule_facts *facts, void *context)
{
    static const char *const levels[] = {"L2", "last-level cache", "memory"};
    char bytes[2][BYTES_TEXT];
    (void)context;
    printf("schedule for %s: %zu of %zu launches moved, %zu on fewer cores than they could use (%u to %u of "
           "%u); %zu orders compared\n",
           objectives[facts->objective], facts->moved, facts->launches, facts->limited, facts->min_cores,
           facts->max_cores, facts->device_cores, facts->trials);
    print_change("  expected, modelled:", facts->given_seconds, facts->chosen_seconds, JOULE_DIMENSION_TIME);
    print_change(",", facts->given_joules, facts->chosen_joules, JOULE_DIMENSION_ENERGY);
    printf("; %s\n", facts->is_calibrated
                         ? "with rates that joule calibrate measured"
                         : "with typical or given rates; joule calibrate measures those of this machine");
    print_gains(facts);
    for (int i = 0; i < 3; i++)
        printf("%s%s %s -> %s", i ? ", " : "  bytes by level: ", levels[i],
               bytes_text(facts->given_bytes[i], bytes[0]), bytes_text(facts->chosen_bytes[i], bytes[1]));
    printf("\n  live at once: %s -> %s", bytes_text(facts->given_peak_bytes, bytes[0]),
           bytes_text(facts->chosen_peak_bytes, bytes[1]));
    if (facts->recomputed)
        printf("; %zu launches compute values a second time to save memory", facts->recomputed);
    printf("\n");
}

static forge_compile_options options_for(const struct request *request)
{
    forge_compile_options options = {.struct_size = sizeof options,
                                     .stop_after = request->stop_after,
                                     .skip = request->skip,
                                     .objective = request->objective,
                                     .precision = request->precision,
                                     .max_seconds = request->max_seconds,
                                     .max_arena_bytes = (uint64_t)request->max_bytes,
                                     .notify_schedule = print_schedule};
    if (request->shows_passes) {
        options.notify = print_pass;
        options.notify_context = (void *)(request->stop_after ? "# " : "");
    }
    return options;
}

static joule_status print_graph(const forge_graph *graph, joule_error *error)
{
    char *text;
    joule_status status = forge_graph_print(graph, &text, error);
    if (status == JOULE_OK) {
        fputs(text, stdout);
        free(text);
    }
    return status;
}

/* --- graph or program ----------------------------------------------------------------------------------- */

static joule_status stop_early(const forge_graph *graph, forge_device *device, const struct request *request,
                               joule_error *error)
{
    forge_graph *result = NULL;
    forge_compile_options options = options_for(request);
    joule_status status = forge_passes_run(graph, device, &options, &result, error);
    if (status == JOULE_OK)
        status = print_graph(result, error);
    forge_graph_free(result);
    return status;
}

static joule_status make_program(const forge_graph *graph, forge_device *device,
                                 const struct request *request, joule_error *error)
{
    forge_program *program = NULL;
    forge_compile_options options = options_for(request);
    joule_status status = forge_compile_with(graph, device, &options, &program, error);
    if (status == JOULE_OK)
        status = forge_program_write(program, request->program, error);
    if (status == JOULE_OK)
        print_facts(request->program, program);
    if (status == JOULE_OK)
        status = expected_print(program, device, error);
    forge_program_free(program);
    return status;
}

/* Reads the graph and sets the symbols that --size names. */
static joule_status read_graph(const struct request *request, forge_graph **out_graph, joule_error *error)
{
    forge_graph *graph = NULL;
    joule_status status = graph_read(request->graph, &graph, error);
    if (status == JOULE_OK && request->sizes.count == 0) {
        *out_graph = graph;
        return status;
    }
    if (status == JOULE_OK)
        status = forge_graph_bind(graph, request->sizes.list, request->sizes.count, out_graph, error);
    forge_graph_free(graph);
    return status;
}

static joule_status compile(const struct request *request, joule_error *error)
{
    forge_graph *graph = NULL;
    forge_device *device = NULL;
    joule_status status = read_graph(request, &graph, error);
    if (status == JOULE_OK)
        status = forge_device_open(request->device, &device, error);
    if (status == JOULE_OK)
        status = (request->stop_after ? stop_early : make_program)(graph, device, request, error);
    forge_device_close(device);
    forge_graph_free(graph);
    return status;
}

/* Sets the objective from its name. Returns false, after a message, if the name is unknown, or if other
 * options do not fit. */
static bool read_objective(struct request *request, const char *name)
{
    int i = 0;
    while (name && i < OBJECTIVES && strcmp(objectives[i], name) != 0)
        i++;
    request->objective = (forge_minimise)i;
    if (i == OBJECTIVES)
        complain("compile", "--objective must be energy, time, edp or none, not '%s'", name);
    else if (i == 0 && (request->max_seconds > 0 || request->max_bytes > 0))
        complain("compile", "--time-bound and --memory need --objective");
    else if (request->max_bytes > 1e15)
        complain("compile", "--memory must be at most 1e15");
    else if (i > 0 && request->stop_after)
        complain("compile", "--objective schedules a program: use --output, not --stop-after");
    else
        return true;
    return false;
}

static int read_request(struct request *request, int argc, char **argv)
{
    struct option_list sizes = {0};
    const char *objective = NULL, *precision = NULL;
    const struct option table[] = {
        {"output", 'o', OPTION_TEXT, &request->program, "FILE",
         "file of the program; an existing file is replaced atomically"},
        {"device", 'd', OPTION_TEXT, &request->device, "NAME", "device to compile for (default: cpu)"},
        {"size", 0, OPTION_LIST, &sizes, "NAME=N", "value of a symbol; may be repeated"},
        {"objective", 0, OPTION_TEXT, &objective, "NAME",
         "choose order and cores for energy, time or edp (energy x time)"},
        {"time-bound", 0, OPTION_TIME, &request->max_seconds, "TIME", "longest expected time of a run: 5ms"},
        {"memory", 0, OPTION_NUMBER, &request->max_bytes, "BYTES", "most bytes of intermediate values"},
        {"precision", 0, OPTION_TEXT, &precision, "NAME", PRECISION_HELP},
        {"passes", 'p', OPTION_FLAG, &request->shows_passes, NULL, "print what each pass changes"},
        {"stop-after", 0, OPTION_TEXT, &request->stop_after, "PASS",
         "print the graph after this pass instead of writing a program"},
        {"skip", 0, OPTION_TEXT, &request->skip, "PASSES", "passes that do not run, separated by commas"},
        {NULL},
    };
    const struct command_text text = {"forge compile GRAPH -o FILE [OPTIONS]",
                                      "Compiles the text of a graph to a program for forge run.", NULL};
    int read = options_read_operand(table, &text, "GRAPH", argc, argv, &request->graph);
    if (read > OPTIONS_HELP && !request->program == !request->stop_after) {
        complain("compile", request->program ? "use either --output or --stop-after, not both"
                                             : "--output FILE is missing; see forge compile --help");
        return OPTIONS_WRONG;
    }
    if (read > OPTIONS_HELP &&
        (!read_objective(request, objective) || !precision_read(&request->precision, "compile", precision)))
        return OPTIONS_WRONG;
    return read > OPTIONS_HELP && !sizes_read(&request->sizes, "compile", &sizes) ? OPTIONS_WRONG : read;
}

/* Returns an error if the output would replace the input or cannot be written. Called before the work
 * begins. */
static joule_status check_files(const struct request *request, joule_error *error)
{
    const char *const paths[] = {request->graph, request->program};
    joule_status status = output_check_apart(paths, 1, 2, error);
    return status == JOULE_OK && request->program ? output_check_file(request->program, error) : status;
}

int compile_main(int argc, char **argv)
{
    struct request request = {.device = "cpu"};
    int read = read_request(&request, argc, argv);
    if (read <= OPTIONS_HELP)
        return read == OPTIONS_HELP ? 0 : EXIT_USAGE;
    joule_error error = {0};
    if (check_files(&request, &error) == JOULE_OK && compile(&request, &error) == JOULE_OK)
        return 0;
    complain("compile", "%s", error.message);
    return EXIT_OWN_FAILURE;
}
