/* support/test_data.c - see test_data.h. */
#include "support/test_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *test_data(const char *relative)
{
    static char path[4096];
    const char *root = getenv("JOULE_TEST_DATA");
    if (root && *root)
        snprintf(path, sizeof path, "%s/%s", root, relative);
    else
        snprintf(path, sizeof path, "%s/../../shared/data/%s", TEST_SOURCE_DIR, relative);
    if (access(path, R_OK) == 0)
        return path;
    printf("SKIP: %s is absent; set JOULE_TEST_DATA to the folder of recordings\n", path);
    return NULL;
}

char *test_read_file(const char *path, size_t *out_length)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    size_t size = 1 << 16, length = 0;
    char *bytes = malloc(size);
    while (bytes) {
        length += fread(bytes + length, 1, size - 1 - length, file);
        if (length < size - 1)
            break;
        char *more = realloc(bytes, size *= 2);
        if (!more)
            free(bytes);
        bytes = more;
    }
    fclose(file);
    if (bytes)
        bytes[length] = '\0';
    if (out_length)
        *out_length = length;
    return bytes;
}
