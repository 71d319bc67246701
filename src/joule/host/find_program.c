/* joule/host/find_program.c - see find_program.h. */
#include "joule/host/find_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/string.h"

/* Returns 0 if the path is a program that this process may execute, otherwise an errno value. */
static int check_program(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return errno;
    return S_ISREG(info.st_mode) ? access(path, X_OK) == 0 ? 0 : errno : EACCES;
}

int find_program(const char *name, const char *usual_path, char out_path[HOST_PATH_MAX])
{
    if (strchr(name, '/'))
        return string_copy(out_path, HOST_PATH_MAX, name) ? check_program(name) : ENAMETOOLONG;
    const char *path = secure_getenv("PATH");
    int error = ENOENT;
    for (path = path ? path : usual_path; *path;) {
        size_t length = strcspn(path, ":");
        struct text candidate;
        text_init(&candidate, out_path, HOST_PATH_MAX);
        text_add_bytes(&candidate, path, length);
        text_printf(&candidate, "/%s", name);
        int problem = *path == '/' && candidate.length < HOST_PATH_MAX ? check_program(out_path) : ENOENT;
        if (problem == 0)
            return 0;
        if (problem == EACCES)
            error = EACCES;
        path += length + (path[length] == ':');
    }
    return error;
}
