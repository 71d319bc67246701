/* tools/common/own_folder.h - where the program that runs lies.
 *
 * Owns asking for it. Newcomers: what is found from there can be moved along with the program; it is of Linux alone, so what is
 * built elsewhere must not include it.
 */
#ifndef COMMON_OWN_FOLDER_H
#define COMMON_OWN_FOLDER_H

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/string.h"

/* Without the '/' behind it; empty where it is not to be had. */
static inline void find_own_folder(char out_folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", out_folder, PATH_MAX - 1);
    out_folder[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(out_folder, '/');
    if (slash)
        *slash = '\0';
}

/* What lies at `way` from there, as ../lib; empty: nothing does. */
static inline void find_beside(const char *way, char out_path[PATH_MAX])
{
    char own[PATH_MAX], wanted[2 * PATH_MAX];
    find_own_folder(own);
    string_print(wanted, sizeof wanted, "%s/%s", own, way);
    if (!realpath(wanted, out_path))
        out_path[0] = '\0';
}

#endif
