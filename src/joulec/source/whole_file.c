/* joulec/source/whole_file.c - see whole_file.h. */
#include "joulec/source/whole_file.h"

#include <string.h>
#include <unistd.h>
#include "base/file.h"

#define MAX_SIZE ((size_t)512 << 20)

static char *read_to_nul(const char *path, unsigned kinds, size_t *out_size)
{
    char *text = file_read_whole(path, kinds, MAX_SIZE, out_size);
    char *nul = text ? memchr(text, '\0', *out_size) : NULL;
    if (nul) {
        *out_size = (size_t)(nul + 1 - text);
        text[*out_size] = '\0';
    }
    return text;
}

char *whole_file(const char *path, size_t *out_size)
{
    return read_to_nul(path, FILE_REGULAR | FILE_DEVICE | FILE_PIPE, out_size);
}

char *whole_source_file(const char *path, size_t *out_size)
{
    return read_to_nul(path, FILE_REGULAR, out_size);
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
