/* tools/forge/main.c - the table of the subcommands of `forge`.
 *
 * Note: each subcommand reads its own options in a file of its own; a new one is a row of the table.
 */
#include <stddef.h>
#include "commands.h"
#include "common/front_door.h"
#include "common/options.h"

const char tool_name[] = "forge";

static const struct subcommand subcommands[] = {
    {"bench", bench_main, "measure this machine's limits, and how near to them TensorForge comes"},
    {"check", check_main, "check or time every operation on a device"},
    {"compile", compile_main, "make a program from a graph's text"},
    {"devices", devices_main, "list what programs can run on"},
    {"inspect", inspect_main, "show what is in a graph, program, checkpoint or file of tensors"},
    {"run", run_main, "run a program, and say what its launches took"},
    {"train", train_main, "train a network, and say what its operations cost in joules"},
    {NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
    return front_door(subcommands, NULL, argc, argv);
}
