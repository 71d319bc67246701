/* tools/joule/main.c - entry point of `joule`; subcommands.c lists its subcommands. */
#include "joule_commands.h"
#include "common/options.h"

const char tool_name[] = "joule";

int main(int argc, char **argv)
{
    return subcommand_run(subcommands, subcommand_hint, argc, argv);
}
