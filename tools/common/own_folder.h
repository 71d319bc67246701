/* tools/common/own_folder.h - where the program that runs lies.
 *
 * Owns asking for it. Newcomers: what is found from there can be moved along with the program; it is of Linux alone, so what is
 * built elsewhere must not include it.
 */
#ifndef COMMON_OWN_FOLDER_H
#define COMMON_OWN_FOLDER_H

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Without the '/' behind it; empty where it is not to be had. */
static inline void find_own_folder(char out_folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", out_folder, PATH_MAX - 1);
    out_folder[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(out_folder, '/');
    if (slash)
        *slash = '\0';
}

#endif
