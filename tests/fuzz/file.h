/* tests/fuzz/file.h - passes the input to a fuzz target as a file with a path, and provides the path of an
 * output file.
 *
 * Note: the input file is in memory. The output file is in a temporary folder, which is removed at exit. */
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

static inline void fuzz_remove_copy(void)
{
    unlink(fuzz_copy_path);
    rmdir(fuzz_folder);
}

static inline const char *fuzz_copy(void)
{
    if (!*fuzz_copy_path) {
        require(mkdtemp(fuzz_folder) != NULL);
        snprintf(fuzz_copy_path, sizeof fuzz_copy_path, "%s/x", fuzz_folder);
        atexit(fuzz_remove_copy);
    }
    return fuzz_copy_path;
}

#endif
