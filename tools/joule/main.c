/* tools/joule/main.c - the program's front door.
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

const char tool_name[] = "joule";

static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
    const char *summary;
} subcommands[] = {
    {"run", run_main, "run a command and say how many joules it took"},
    {"record", record_main, "run a command and keep every reading in a file"},
    {"report", report_main, "print what a record holds"},
    {"devices", devices_main, "list what can be measured here, and how"},
    {"doctor", doctor_main, "say what would make the figures better here"},
};
#define SUBCOMMAND_COUNT (sizeof subcommands / sizeof subcommands[0])

static const char *subcommand_at(size_t index, const void *context)
{
    (void)context;
    return subcommands[index].name;
}

static void print_help(FILE *to)
{
    fputs("usage: joule SUBCOMMAND [OPTIONS] ...\n\n", to);
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        fprintf(to, "  %-10s %s\n", subcommands[i].name, subcommands[i].summary);
    fputs("\njoule SUBCOMMAND --help says more. joule --version prints the version.\n", to);
}

static int unknown(const char *name)
{
    const char *near = nearest_word(name, SUBCOMMAND_COUNT, subcommand_at, NULL);
    const char *kind = name[0] == '-' ? "option" : "subcommand";
    if (near)
        complain("", "unknown %s '%s'; did you mean '%s'? See joule --help", kind, name, near);
    else
        complain("", "unknown %s '%s'; see joule --help. To measure a command: joule run -- %s", kind, name,
                 name);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 || strcmp(name, "version") == 0)
        return printf("joule %s\n", joule_version()) < 0;
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
    return unknown(help[0]);
}
