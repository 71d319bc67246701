/* tools/common/subcommand.c - see subcommand.h. */
#include "common/subcommand.h"

#include <joule/base.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/nearest.h"
#include "common/options.h"
#include "common/output.h"

static const char *subcommand_at(size_t index, const void *context)
{
    return ((const struct subcommand *)context)[index].name;
}

static void print_help(const struct subcommand *table, FILE *to)
{
    fprintf(to, "usage: %s SUBCOMMAND [OPTIONS] ...\n\n", tool_name);
    for (; table->name; table++)
        fprintf(to, "  %-10s %s\n", table->name, table->summary);
    fprintf(to, "\nRun `%s SUBCOMMAND --help` for its options, `%s --version` for the version.\n", tool_name,
            tool_name);
}

static int unknown(const struct subcommand *table, const char *hint, const char *name)
{
    size_t count = 0;
    while (table[count].name)
        count++;
    const char *near = nearest_word(name, count, subcommand_at, table);
    const char *kind = name[0] == '-' ? "option" : "subcommand";
    if (near)
        complain("", "unknown %s '%s'; did you mean '%s'? See %s --help", kind, name, near, tool_name);
    else if (hint)
        complain("", "unknown %s '%s'; see %s --help. %s %s", kind, name, tool_name, hint, name);
    else
        complain("", "unknown %s '%s'; see %s --help", kind, name, tool_name);
    return EXIT_USAGE;
}

static int enter(const struct subcommand *table, const char *hint, int argc, char **argv)
{
    if (argc < 2) {
        print_help(table, stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 || strcmp(name, "version") == 0) {
        printf("%s %s\n", tool_name, joule_version());
        return 0;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (strcmp(name, "help") == 0 && argc == 2)) {
        print_help(table, stdout);
        return 0;
    }
    bool wants_help = strcmp(name, "help") == 0;
    char flag[] = "--help";
    char *help[] = {argv[wants_help ? 2 : 1], flag, NULL};
    for (const struct subcommand *command = table; command->name; command++)
        if (strcmp(command->name, help[0]) == 0)
            return wants_help ? command->main(2, help) : command->main(argc - 1, argv + 1);
    return unknown(table, hint, help[0]);
}

int subcommand_run(const struct subcommand *table, const char *hint, int argc, char **argv)
{
    output_guard_streams();
    int code = enter(table, hint, argc, argv);
    bool is_known = argc > 1 && argv[1][0] != '-';
    return output_end(is_known ? argv[1] : "", code);
}
