/* joulec/source/whole_file.c - see whole_file.h. */
#include "joulec/source/whole_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *whole_file(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    if (!file)
        return NULL;
    ssize_t size = getdelim(&text, &room, '\0', file);
    bool is_empty = size < 0 && feof(file) && text;
    fclose(file);
    *out_size = size >= 0 ? (size_t)size : 0;
    if (is_empty)
        text[0] = '\0'; /* getdelim leaves it as it was */
    if (size >= 0 || is_empty)
        return text;
    free(text);
    return NULL;
}

char *whole_fd(struct arena *arena, int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char *text = size >= 0 ? arena_alloc(arena, (size_t)size + 1) : NULL;
    for (off_t at = 0; text && at < size;) {
        ssize_t got = pread(fd, text + at, (size_t)(size - at), at);
        if (got <= 0)
            return NULL;
        at += got;
    }
    return text;
}
