/* ir/program_file.c - programs in files: see <forge/program.h>.
 *
 * Owns writing, all or nothing, and reading. What is read is judged by program_check.c. Newcomers: a file is copied and not
 * mapped, as whoever can write it could change it after it was checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/ir/program.h"

static joule_status failed(joule_error *error, const char *what, const char *path)
{
    int reason = errno;
    return error_set(error, status_of_errno(reason), "cannot %s %s: %s", what, path, strerror(reason));
}

/* --- writing ------------------------------------------------------------------------------------------------ */

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        }
    }
    return fsync(fd) == 0;
}

/* So that the new name is on the disk, too. Where a folder cannot be synchronised, nothing more can be done. */
static void sync_folder(const char *path)
{
    char copy[PATH_MAX];
    string_copy(copy, sizeof copy, path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

joule_status forge_program_write(const forge_program *program, const char *path, joule_error *out_error)
{
    static atomic_uint files;
    char temporary[PATH_MAX];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%ld-%u.new", path, (long)getpid(),
                         atomic_fetch_add(&files, 1)) >= sizeof temporary)
        return error_set(out_error, JOULE_INVALID, "the path %.100s... is too long", path);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return failed(out_error, "make", temporary);
    bool done = write_all(fd, (const char *)program, program->size_bytes);
    int reason = errno;
    if (close(fd) != 0 && done) {
        reason = errno;
        done = false;
    }
    if (done && rename(temporary, path) != 0) {
        reason = errno;
        done = false;
    }
    if (done) {
        sync_folder(path);
        return JOULE_OK;
    }
    unlink(temporary);
    errno = reason;
    return failed(out_error, "write", path);
}

/* --- reading ------------------------------------------------------------------------------------------------ */

static bool read_all(int fd, char *bytes, size_t size)
{
    while (size) {
        ssize_t got = read(fd, bytes, size);
        if (got == 0)
            errno = EIO; /* it became shorter */
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        if (got > 0) {
            bytes += got;
            size -= (size_t)got;
        }
    }
    return true;
}

static joule_status read_program(int fd, const char *path, forge_program **out_program, joule_error *error)
{
    struct stat file;
    if (fstat(fd, &file) != 0)
        return failed(error, "look at", path);
    if (!S_ISREG(file.st_mode) || file.st_size < (off_t)sizeof(forge_program) ||
        file.st_size % PROGRAM_ALIGNMENT != 0)
        return error_set(error, JOULE_INVALID, "%s is no program, or not all of one", path);
    forge_program *program = aligned_alloc(PROGRAM_ALIGNMENT, (size_t)file.st_size);
    if (!program)
        return error_set(error, JOULE_NO_MEMORY, "%lld bytes for %s cannot be had", (long long)file.st_size,
                         path);
    joule_error reason;
    joule_status status = JOULE_OK;
    if (!read_all(fd, (char *)program, (size_t)file.st_size))
        status = failed(error, "read", path);
    else if ((status = program_check(program, (size_t)file.st_size, &reason)) != JOULE_OK)
        error_set(error, status, "%s: %s", path, reason.message);
    if (status == JOULE_OK)
        *out_program = program;
    else
        free(program);
    return status;
}

joule_status forge_program_read(const char *path, forge_program **out_program, joule_error *out_error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return failed(out_error, "open", path);
    joule_status status = read_program(fd, path, out_program, out_error);
    close(fd);
    return status;
}
