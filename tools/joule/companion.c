/* tools/joule/companion.c - see companion.h. */
#include "companion.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "base/string.h"
#include "common/options.h"
#include "common/program_folder.h"

void companion_become(const char *subcommand, const char *name, char **argv)
{
    char folder[PATH_MAX], path[PATH_MAX + 256];
    find_program_folder(folder);
    string_print(path, sizeof path, "%s/%s/%s", folder, COMPANION_FOLDER, name);
    execv(path, argv);
    if (errno == ENOENT)
        complain(subcommand, "cannot start %s: it does not exist; this build lacks a library that %s needs",
                 path, name);
    else
        complain(subcommand, "cannot start %s: %s", path, strerror(errno));
}

int companion_main(int argc, char **argv)
{
    (void)argc;
    char name[64];
    const char *subcommand = argv[0];
    string_print(name, sizeof name, "joule-%s", subcommand);
    argv[0] = name; /* the name that ps shows */
    bool is_of_bench = strcmp(subcommand, "compare") == 0 || strcmp(subcommand, "history") == 0;
    companion_become(subcommand, is_of_bench ? "joule-bench" : name, argv);
    return EXIT_OWN_FAILURE;
}
