/* tools/joule/companion.c - see companion.h. Nothing was opened or started before: the program takes this one's place. */
#include "companion.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "base/string.h"
#include "common/options.h"

/* The folder of this program, without the '/' behind it; empty where that is not to be had. */
static void find_own_folder(char out_folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", out_folder, PATH_MAX - 1);
    out_folder[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(out_folder, '/');
    if (slash)
        *slash = '\0';
}

void companion_become(const char *subcommand, const char *name, char **argv)
{
    char folder[PATH_MAX], path[PATH_MAX + 256];
    find_own_folder(folder);
    string_print(path, sizeof path, "%s/%s/%s", folder, COMPANION_FOLDER, name);
    execv(path, argv);
    if (errno == ENOENT)
        complain(subcommand, "there is no %s: this build was made without a library that %s needs", path,
                 name);
    else
        complain(subcommand, "cannot start %s: %s", path, strerror(errno));
}

int companion_main(int argc, char **argv)
{
    (void)argc;
    char name[64];
    const char *subcommand = argv[0];
    string_print(name, sizeof name, "joule-%s", subcommand);
    argv[0] = name; /* as ps shows it */
    companion_become(subcommand, name, argv);
    return EXIT_OWN_FAILURE;
}
