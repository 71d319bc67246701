/* tools/joule/main.c - where the program begins. Which subcommands it has, subcommands.c says. */
#include "commands.h"
#include "common/options.h"

const char tool_name[] = "joule";

int main(int argc, char **argv)
{
    return front_door(subcommands, subcommand_hint, argc, argv);
}
