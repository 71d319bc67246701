/* tools/common/program_folder.h - finds files relative to the folder of the running program; only for Linux.
 *
 * Note: a program and files that are found in this way can be moved together.
 */
#ifndef COMMON_PROGRAM_FOLDER_H
#define COMMON_PROGRAM_FOLDER_H

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/string.h"

/* Writes the folder of the running program without a trailing '/', or "" if it is unknown. */
static inline void find_program_folder(char out_folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", out_folder, PATH_MAX - 1);
    out_folder[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(out_folder, '/');
    if (slash)
        *slash = '\0';
}

/* Writes the absolute path of `path`, such as "../lib", relative to the program's folder. Writes "" if no
 * such file exists. */
static inline void find_from_program(const char *path, char out_path[PATH_MAX])
{
    char own[PATH_MAX], wanted[2 * PATH_MAX];
    find_program_folder(own);
    string_print(wanted, sizeof wanted, "%s/%s", own, path);
    if (!realpath(wanted, out_path))
        out_path[0] = '\0';
}

#endif
