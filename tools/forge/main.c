/* tools/forge/main.c - the program's front door.
 *
 * Owns the choice of a subcommand, --help and --version; each subcommand lives in a file of its own and reads its own
 * options. Newcomers: a new subcommand is one line in the table below.
 */
#include <joule/base.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "commands.h"
#include "common/options.h"

const char tool_name[] = "forge";

static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
    const char *summary;
} subcommands[] = {
    {"compile", compile_main, "make a program from a graph's text"},
    {"run", run_main, "run a program, and say what its launches took"},
    {"train", train_main, "train a network, and say what its operations cost in joules"},
};
#define SUBCOMMAND_COUNT (sizeof subcommands / sizeof subcommands[0])

static const char *subcommand_at(size_t index, const void *context)
{
    (void)context;
    return subcommands[index].name;
}

static void print_help(FILE *to)
{
    fputs("usage: forge SUBCOMMAND [OPTIONS] ...\n\n", to);
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        fprintf(to, "  %-10s %s\n", subcommands[i].name, subcommands[i].summary);
    fputs("\nforge SUBCOMMAND --help says more. forge --version prints the version.\n", to);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        return printf("forge %s\n", joule_version()) < 0;
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (strcmp(name, "help") == 0 && argc == 2)) {
        print_help(stdout);
        return 0;
    }
    bool wants_help = strcmp(name, "help") == 0;
    char flag[] = "--help";
    char *help[] = {argv[wants_help ? 2 : 1], flag, NULL};
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        if (strcmp(subcommands[i].name, help[0]) == 0)
            return wants_help ? subcommands[i].main(2, help) : subcommands[i].main(argc - 1, argv + 1);
    const char *near = nearest_word(help[0], SUBCOMMAND_COUNT, subcommand_at, NULL);
    if (near)
        complain("", "unknown subcommand '%s'; did you mean '%s'? See forge --help", help[0], near);
    else
        complain("", "unknown subcommand '%s'; see forge --help", help[0]);
    return EXIT_USAGE;
}
