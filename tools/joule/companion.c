/* tools/joule/companion.c - see companion.h. */
#include "companion.h"

#include <errno.h>
#include <limits.h>
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

/* Replaces this process by `program`, or by joule-NAME if it is NULL, where NAME is argv[0]. */
static int become(const char *program, char **argv)
{
    char name[64];
    const char *subcommand = argv[0];
    string_print(name, sizeof name, "joule-%s", subcommand);
    argv[0] = name; /* the name that ps shows */
    companion_become(subcommand, program ? program : name, argv);
    return EXIT_OWN_FAILURE;
}

int companion_main(int argc, char **argv)
{
    (void)argc;
    return become(NULL, argv);
}

int companion_bench_main(int argc, char **argv)
{
    (void)argc;
    return become("joule-bench", argv);
}
