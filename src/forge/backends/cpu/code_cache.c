/* backends/cpu/code_cache.c - see code_cache.h. */
#include "forge/backends/cpu/code_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/string.h"

#define MAX_OBJECT_BYTES (16u << 20)
#define MAGIC            UINT64_C(0x31656463656a6f75)

/* The last bytes of a file. */
struct trailer {
    uint64_t magic, size, hash; /* of all bytes before the trailer */
};

/* --- the folder ----------------------------------------------------------------------------------------- */

static joule_status fail(const char *path, int reason, joule_error *error)
{
    return error_set(error, status_of_errno(reason), "cannot use the code cache %s: %s", path,
                     file_reason(reason));
}

/* Creates a folder and all folders that contain it. Returns 0 or an errno. */
static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int reason = mkdir(path, 0700) == 0 ? 0 : errno;
        *slash = '/';
        if (reason && reason != EEXIST && reason != EACCES && reason != EROFS)
            return reason;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : errno;
}

/* Returns true if only this user, or root, can write to the folder. is_last: it must be this user's. In a
 * folder with the sticky bit, others cannot rename what is not theirs. */
static bool is_safe_folder(const char *path, bool is_last)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return false;
    bool is_ours = info.st_uid == geteuid(), is_closed = !(info.st_mode & (S_IWGRP | S_IWOTH));
    if (is_last)
        return is_ours && is_closed;
    return (is_ours || info.st_uid == 0) && (is_closed || info.st_mode & S_ISVTX);
}

/* Checks the folder and all folders that contain it. path: without symbolic links. */
static joule_status check_folders(char *path, joule_error *error)
{
    joule_status status = JOULE_OK;
    char *end = path + strlen(path);
    for (char *at = path + 1; status == JOULE_OK; at++) {
        if (*at && *at != '/')
            continue;
        char kept = *at;
        *at = '\0';
        if (!is_safe_folder(path, at == end))
            status = error_set(
                error, JOULE_DENIED,
                "cannot use the code cache: another user could write to %s; set XDG_CACHE_HOME", path);
        *at = kept;
        if (at == end)
            break;
    }
    return status;
}

joule_status code_cache_open(char out_folder[CODE_CACHE_PATH], joule_error *out_error)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char path[CODE_CACHE_PATH], real[PATH_MAX];
    if (cache && *cache == '/')
        string_print(path, sizeof path, "%s/joule/forge", cache);
    else if (home && *home == '/')
        string_print(path, sizeof path, "%s/.cache/joule/forge", home);
    else
        return error_set(out_error, JOULE_ABSENT,
                         "cannot use the code cache: neither XDG_CACHE_HOME nor HOME names a folder");
    int reason = make_folders(path);
    if (reason)
        return fail(path, reason, out_error);
    if (!realpath(path, real))
        return fail(path, errno, out_error);
    joule_status status = check_folders(real, out_error);
    if (status == JOULE_OK && !string_copy(out_folder, CODE_CACHE_PATH, real))
        status = fail(path, ENAMETOOLONG, out_error);
    return status;
}

/* --- new files ------------------------------------------------------------------------------------------ */

joule_status code_cache_begin(const char *folder, const char *name, const char *source,
                              struct code_draft *out_draft, joule_error *out_error)
{
    static atomic_uint drafts;
    unsigned number = atomic_fetch_add(&drafts, 1);
    string_print(out_draft->source, sizeof out_draft->source, "%s/%s.%ld.%u.c", folder, name, (long)getpid(),
                 number);
    string_print(out_draft->object, sizeof out_draft->object, "%s/%s.%ld.%u.o", folder, name, (long)getpid(),
                 number);
    unlink(out_draft->source); /* of a killed process with the same number */
    int fd = open(out_draft->source, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail(out_draft->source, errno, out_error);
    int reason = file_write_all(fd, source, strlen(source)) ? 0 : errno;
    if (close(fd) != 0 && !reason)
        reason = errno;
    if (!reason)
        return JOULE_OK;
    code_cache_discard(out_draft);
    return fail(out_draft->source, reason, out_error);
}

void code_cache_discard(struct code_draft *draft)
{
    unlink(draft->source);
    unlink(draft->object);
}

/* Adds the trailer to the object. Returns 0 or an errno. */
static int seal(const char *path)
{
    size_t size;
    char *bytes = file_read_whole(path, FILE_REGULAR, MAX_OBJECT_BYTES, &size);
    if (!bytes)
        return errno;
    struct trailer trailer = {MAGIC, size, hash_bytes(HASH_START, bytes, size)};
    free(bytes);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno;
    int reason = file_write_all(fd, (const char *)&trailer, sizeof trailer) ? 0 : errno;
    if (close(fd) != 0 && !reason)
        reason = errno;
    return reason;
}

joule_status code_cache_commit(struct code_draft *draft, const char *path, joule_error *out_error)
{
    int reason = seal(draft->object);
    if (!reason && rename(draft->object, path) != 0)
        reason = errno;
    code_cache_discard(draft);
    return reason ? fail(path, reason, out_error) : JOULE_OK;
}

bool code_cache_check(const char *path)
{
    size_t size;
    struct trailer trailer;
    char *bytes = file_read_whole(path, FILE_REGULAR, MAX_OBJECT_BYTES + sizeof trailer, &size);
    bool is_whole = bytes && size >= sizeof trailer;
    if (is_whole) {
        size -= sizeof trailer;
        memcpy(&trailer, bytes + size, sizeof trailer);
        is_whole = trailer.magic == MAGIC && trailer.size == size &&
                   trailer.hash == hash_bytes(HASH_START, bytes, size);
    }
    free(bytes);
    return is_whole;
}
