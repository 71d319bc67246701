/* tests/fuzz/file.h - passes the input to a fuzz target as a file with a path, and provides the path of an
 * output file.
 *
 * Note: the input file is in memory. All other files are in a temporary folder, which is removed at exit. */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "require.h"

/* Returns the path of a file with these bytes. The path is in static storage and is the same at each call. */
static inline const char *fuzz_file(const uint8_t *bytes, size_t size)
{
    static int fd = -1;
    static char path[40];
    if (fd < 0) {
        fd = memfd_create("input", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    require(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size);
    return path;
}

static char fuzz_folder[] = "/dev/shm/fuzz.XXXXXX", fuzz_copy_path[sizeof fuzz_folder + 2];
static char fuzz_part_paths[2][sizeof fuzz_folder + 32];

static inline void fuzz_remove_folder(void)
{
    unlink(fuzz_copy_path);
    for (int i = 0; i < 2; i++)
        unlink(fuzz_part_paths[i]);
    rmdir(fuzz_folder);
}

/* Returns the path of the output file. */
static inline const char *fuzz_copy(void)
{
    if (!*fuzz_copy_path) {
        require(mkdtemp(fuzz_folder) != NULL);
        snprintf(fuzz_copy_path, sizeof fuzz_copy_path, "%s/x", fuzz_folder);
        for (int i = 0; i < 2; i++)
            snprintf(fuzz_part_paths[i], sizeof fuzz_part_paths[i], "%s/x-%05d-of-00002.gguf", fuzz_folder,
                     i + 1);
        atexit(fuzz_remove_folder);
    }
    return fuzz_copy_path;
}

/* Writes part `number`, 0 or 1, of a model of two files. Returns its path, which is in static storage. */
static inline const char *fuzz_part(int number, const uint8_t *bytes, size_t size)
{
    fuzz_copy();
    FILE *out = fopen(fuzz_part_paths[number], "wb");
    require(out != NULL && fwrite(bytes, 1, size, out) == size);
    require(fclose(out) == 0);
    return fuzz_part_paths[number];
}

#endif
