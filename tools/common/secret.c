/* tools/common/secret.c - see secret.h. */
#include "common/secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "common/options.h"

#define MAX_BYTES (1 << 20)

/* Returns the reason to refuse a file with a secret, in static storage; NULL: the file is acceptable. */
static const char *find_fault(const struct stat *info, bool is_public)
{
    if (!S_ISREG(info->st_mode))
        return "not a regular file";
    if (info->st_uid != 0 && info->st_uid != geteuid())
        return "the file belongs to another user";
    if (info->st_mode & (S_IWGRP | S_IWOTH))
        return "other users can write to the file";
    if (!is_public && info->st_mode & S_IROTH)
        return "every user on this machine can read the file";
    return info->st_size > MAX_BYTES ? "the file is longer than 1 MiB" : NULL;
}

/* Returns the chmod command that makes the file acceptable; NULL: none does. */
static const char *hint_for(const struct stat *info, bool is_public)
{
    if (!S_ISREG(info->st_mode))
        return NULL;
    if (info->st_mode & (S_IWGRP | S_IWOTH))
        return is_public ? "chmod go-w" : "chmod g-w,o=";
    return !is_public && info->st_mode & S_IROTH ? "chmod o=" : NULL;
}

static char *read_all(int fd)
{
    char *text = malloc(MAX_BYTES + 1);
    size_t length = 0;
    ssize_t got = text ? 1 : -1;
    while (got > 0 && length < MAX_BYTES)
        if ((got = read(fd, text + length, MAX_BYTES - length)) > 0)
            length += (size_t)got;
    if (got < 0) {
        free(text);
        return NULL;
    }
    text[length] = '\0';
    return text;
}

char *secret_read(const char *subcommand, const char *path, const char *what, bool is_public)
{
    struct stat info;
    char *text = NULL;
    int fd = file_open_kind(path, FILE_REGULAR);
    const char *fault = fd < 0 ? file_reason(-fd) : NULL, *hint = NULL;
    if (!fault && fstat(fd, &info) != 0)
        fault = strerror(errno);
    if (!fault && (fault = find_fault(&info, is_public)))
        hint = hint_for(&info, is_public);
    if (!fault && !(text = read_all(fd)))
        fault = strerror(errno);
    if (fd >= 0)
        close(fd);
    if (fault)
        complain(subcommand, "cannot read %s in %s: %s", what, path, fault);
    if (hint)
        complain(subcommand, "hint: %s %s", hint, path);
    return text;
}

void secret_free(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

bool secret_is_equal(const char *secret, const char *given)
{
    size_t length = strlen(secret), given_length = strlen(given);
    unsigned different = length != given_length;
    for (size_t i = 0; i < given_length; i++)
        different |= (unsigned char)(given[i] ^ secret[length ? i % length : 0]);
    return !different;
}
