/* tools/forge/compile.c - `forge compile`: a graph's text becomes a program in a file.
 *
 * Owns the options and the line that says what came out. Newcomers: a program is written whole or not at all, and is for
 * every processor of its kind: which instructions its kernels use is decided where it runs.
 */
#include <forge/program.h>
#include <stdio.h>
#include "commands.h"
#include "common/options.h"
#include "files.h"

static void print_facts(const char *path, const forge_program *program)
{
    forge_program_facts facts = {.struct_size = sizeof facts};
    char flop[BYTES_TEXT], arena[BYTES_TEXT], bound[BYTES_TEXT], state[BYTES_TEXT], constant[BYTES_TEXT];
    forge_program_look(program, &facts);
    printf("%s: %zu launches, %s; arena %s (at least %s), state %s, constants %s\n", path, facts.launches,
           flop_text(facts.flop, flop), bytes_text((double)facts.arena_bytes, arena),
           bytes_text((double)facts.arena_bound_bytes, bound), bytes_text((double)facts.state_bytes, state),
           bytes_text((double)facts.constant_bytes, constant));
}

static joule_status compile(const char *graph_path, const char *device_name, const char *program_path,
                            joule_error *error)
{
    forge_graph *graph = NULL;
    forge_device *device = NULL;
    forge_program *program = NULL;
    joule_status status = graph_read(graph_path, &graph, error);
    if (status == JOULE_OK)
        status = forge_device_open(device_name, &device, error);
    if (status == JOULE_OK)
        status = forge_compile(graph, device, &program, error);
    if (status == JOULE_OK)
        status = forge_program_write(program, program_path, error);
    if (status == JOULE_OK)
        print_facts(program_path, program);
    forge_program_free(program);
    forge_device_close(device);
    forge_graph_free(graph);
    return status;
}

int compile_main(int argc, char **argv)
{
    const char *graph, *program = NULL, *device = "cpu";
    const struct option table[] = {
        {"output", 'o', OPTION_TEXT, &program, "FILE", "the program; what was there is replaced as a whole"},
        {"device", 'd', OPTION_TEXT, &device, "NAME", "what it is to run on (cpu)"},
        {NULL},
    };
    const struct command_text text = {"forge compile GRAPH -o FILE",
                                      "Makes a program from the text of a graph, for forge run.", NULL};
    int read = options_read_operand(table, &text, "GRAPH", argc, argv, &graph);
    if (read <= OPTIONS_HELP)
        return read == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (!program) {
        complain("compile", "--output FILE is missing; see forge compile --help");
        return EXIT_USAGE;
    }
    joule_error error = {0};
    if (compile(graph, device, program, &error) == JOULE_OK)
        return end_output("compile", 0);
    complain("compile", "%s", error.message);
    return EXIT_OWN_FAILURE;
}
