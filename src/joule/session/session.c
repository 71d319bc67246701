/* joule/session/session.c - creates, joins and leaves a session; see session.h.
 *
 * Note: functions that joule_begin may call can run in a signal handler, so they use only system calls and
 * atomics: no malloc, no lock, no getenv. Two threads may attach at the same time. Each thread prepares a
 * mapping, and the slower thread unmaps its own.
 */
#include "joule/session/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8
#endif
#define FILE_PREFIX   "joule-session-"
#define PROC_PREFIX   "/proc/"
#define MEMORY_NAME   "joule-session"
#define MAX_PARENTS   16 /* maximum number of ancestors whose descriptors are tried */
#define MEMORY_SEALS  (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define STALE_AFTER_S 60
#define PATH_SIZE     512

struct session {
    _Atomic(struct session_map *) map;
    _Atomic(struct session_map *) shared; /* the mapping if other processes share it; otherwise NULL */
    char joined_path[PATH_SIZE];          /* value of JOULE_SESSION at program start */
    char owned_path[PATH_SIZE];           /* path of the file or descriptor that this process created */
    int64_t owned_begin_ns;               /* time at which the session at owned_path was created */
    int owned_file;                       /* descriptor whose lock shows that this process lives; 0: none */
    int inherited_file;                   /* descriptor without a lock, which children inherit; 0: none */
    bool other_namespace;                 /* the owner is in another PID namespace */
};

static struct session current; /* one per process, because regions do not name a session */
_Atomic uint32_t session_generation = 1;

/* --- mappings ------------------------------------------------------------------------------------------- */

/* Maps a session's file, or anonymous memory if `file` is -1. Returns NULL and errno on failure. */
static struct session_map *map_memory(int file)
{
    int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | MAP_NORESERVE;
    void *map = mmap(NULL, sizeof(struct session_map), PROT_READ | PROT_WRITE, flags, file, 0);
    return map == MAP_FAILED ? NULL : map;
}

bool session_populate(void *start, size_t size)
{
    uintptr_t from = (uintptr_t)start & ~(uintptr_t)(SESSION_PAGE - 1);
    uintptr_t to = ((uintptr_t)start + size + SESSION_PAGE - 1) & ~(uintptr_t)(SESSION_PAGE - 1);
    int saved = errno;
    bool has_memory = madvise((void *)from, to - from, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
    errno = saved;
    return has_memory;
}

/* Returns the inode of this process's PID namespace, or 0 if unknown. */
static uint64_t pid_namespace(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

/* Returns true if the owner of the session's file lives. The owner holds a lock on the file until it ends. */
static bool owner_is_alive(int file)
{
    return flock(file, LOCK_SH | LOCK_NB) != 0;
}

/* Returns true for a regular file with the size of a session that only this user may access. */
static bool is_session_file(int file)
{
    struct stat st;
    return fstat(file, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 077) == 0 && st.st_size == (off_t)sizeof(struct session_map);
}

/* Returns true if the path names a descriptor (/proc/PID/fd/N) and not a file. */
static bool is_descriptor(const char *path)
{
    return strncmp(path, PROC_PREFIX, strlen(PROC_PREFIX)) == 0;
}

/* Returns true if no process can remove the memory behind a mapping of the file. */
static bool is_sealed(int file)
{
#ifdef __linux__
    int seals = fcntl(file, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
#else
    return file < 0;
#endif
}

/* Returns true if the path leads to a session's memory. Note: the check does not open the file, because
 * opening another kind of file may have effects. */
static bool is_session_memory(const char *path)
{
    char target[64] = "";
    return readlink(path, target, sizeof target - 1) > 0 &&
           strncmp(target, "/memfd:" MEMORY_NAME, strlen("/memfd:" MEMORY_NAME)) == 0;
}

/* Maps a session's file. is_sealed_kind: the file must be sealed memory. Returns NULL if the file is not a
 * session, if its layout is that of another version, or if its owner has ended. */
static struct session_map *join_file(int file, bool is_sealed_kind)
{
    struct session_map *map = NULL;
    if (is_session_file(file) && (!is_sealed_kind || is_sealed(file)) && owner_is_alive(file))
        map = map_memory(file);
    struct session_shape shape = session_shape();
    if (map && memcmp(&map->shape, &shape, sizeof shape) != 0) {
        munmap(map, sizeof *map);
        map = NULL;
    }
    return map;
}

/* Opens and maps the session at a path. Returns NULL on failure. */
static struct session_map *join_at(const char *path)
{
    bool is_sealed_kind = is_descriptor(path); /* /proc/PID/fd/N is a link, so open it without O_NOFOLLOW */
    if (is_sealed_kind && !is_session_memory(path))
        return NULL;
    int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (is_sealed_kind ? 0 : O_NOFOLLOW));
    if (file < 0)
        return NULL;
    struct session_map *map = join_file(file, is_sealed_kind);
    close(file);
    return map;
}

/* Returns the process id of a process's parent, or 0 if unknown. */
static long parent_of(long process)
{
    char path[64], text[256];
    snprintf(path, sizeof path, PROC_PREFIX "%ld/stat", process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = '\0';
    /* the name before the last parenthesis may contain any character */
    const char *state = strrchr(text, ')');
    return state && strlen(state) > 4 ? strtol(state + 4, NULL, 10) : 0;
}

/* Maps the session named by `path`. Returns NULL on failure. `path` cannot be opened if the owner has
 * capabilities or is in another PID namespace. The next attempt is the descriptor with the same number in
 * this process, because it may have been inherited, and using it needs no /proc. The last attempts are the
 * ancestors' descriptors, because this process may have been started without the descriptor. */
static struct session_map *join(const char *path)
{
    struct session_map *map = path[0] ? join_at(path) : NULL;
    const char *number = strrchr(path, '/');
    char inherited[64];
    if (map || !number || !is_descriptor(path) || strlen(number) > 16)
        return map;
    map = join_file((int)strtol(number + 1, NULL, 10), true);
    long process = parent_of(getpid());
    for (int i = 0; i < MAX_PARENTS && process > 0 && !map; i++, process = parent_of(process)) {
        snprintf(inherited, sizeof inherited, PROC_PREFIX "%ld/fd%s", process, number);
        map = join_at(inherited);
    }
    return map;
}

/* Sets *place to `map`. If another thread was faster, unmaps `map` instead. Returns the mapping in *place. */
static struct session_map *settle(_Atomic(struct session_map *) *place, struct session_map *map)
{
    struct session_map *winner = NULL;
    if (!map || atomic_compare_exchange_strong(place, &winner, map))
        return map;
    if (map != winner)
        munmap(map, sizeof *map);
    return winner;
}

/* Sets current.map to the session named by JOULE_SESSION, or to a new private session. It stays NULL if out
 * of memory. */
static void attach(void)
{
    int saved = errno;
    struct session_map *map = settle(&current.shared, join(current.joined_path));
    if (map) {
        current.other_namespace = map->pid_namespace != pid_namespace();
    } else {
        map = map_memory(-1);
        if (map)
            atomic_store(&map->tag_count, TAG_OTHER + 1);
    }
    map = settle(&current.map, map);
    if (map && map == atomic_load(&current.shared))
        atomic_fetch_add(&map->clients, 1);
    errno = saved;
}

struct session *session_current(void)
{
    if (!atomic_load_explicit(&current.map, memory_order_acquire))
        attach();
    return &current;
}

struct session_map *session_map(struct session *session)
{
    return atomic_load_explicit(&session->map, memory_order_acquire);
}

/* Returns true if the current mapping is shared with other processes. */
static bool is_shared(struct session *session)
{
    struct session_map *map = session_map(session);
    return map && map == atomic_load_explicit(&session->shared, memory_order_acquire);
}

int64_t session_begin_ns(struct session *session)
{
    return is_shared(session) ? session->owned_begin_ns : 0;
}

bool session_is_client(struct session *session)
{
    if (!is_shared(session))
        return false;
    int32_t owner = session_map(session)->owner_pid;
    if (session->other_namespace)
        return true;
    return owner > 0 && owner != getpid() && (kill(owner, 0) == 0 || errno != ESRCH);
}

bool session_has_clients(struct session *session)
{
    return is_shared(session) && session_map(session)->owner_pid == getpid() &&
           atomic_load_explicit(&session_map(session)->clients, memory_order_relaxed) > 0;
}

uint32_t session_process(struct session *session)
{
    return session->other_namespace ? 0 : (uint32_t)getpid();
}

/* --- creating a session --------------------------------------------------------------------------------- */

/* Removes a session file of this user if its owner has ended and the file is older than STALE_AFTER_S. */
static void remove_if_stale(int folder, const char *name)
{
    struct stat st;
    if (!string_starts(name, FILE_PREFIX) || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        st.st_uid != geteuid() || time(NULL) - st.st_mtime < STALE_AFTER_S)
        return;
    int file = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return;
    if (!owner_is_alive(file))
        unlinkat(folder, name, 0);
    close(file);
}

static void remove_stale(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));)
        remove_if_stale(dirfd(folder), entry->d_name);
    closedir(folder);
}

static void fill(struct session_map *map)
{
    atomic_store(&map->tag_count, TAG_OTHER + 1);
    map->owner_pid = getpid();
    map->pid_namespace = pid_namespace();
    map->shape = session_shape();
}

/* Locks, sizes, maps and fills a new file. Returns the mapping, or NULL and errno on failure; the caller
 * closes the file. */
static struct session_map *prepare(int file)
{
    struct session_map *map = NULL;
    if (flock(file, LOCK_EX | LOCK_NB) == 0 && ftruncate(file, sizeof(struct session_map)) == 0)
        map = map_memory(file);
    /* Reserving the blocks in the file system is enough here, and half as expensive as allocating pages.
     * Users of names, board and slots allocate their own pages. */
    int full = map ? posix_fallocate(file, 0, (off_t)offsetof(struct session_map, tag_names)) : errno;
    if (map && full == 0) {
        fill(map);
        return map;
    }
    if (map)
        munmap(map, sizeof *map);
    errno = full;
    return NULL;
}

/* Creates a session file in `folder`. Writes its name to `path` and its descriptor to *out_file, which the
 * caller closes. Returns the mapping, or NULL and errno on failure. */
static struct session_map *create_in(const char *folder, char path[PATH_SIZE], int *out_file)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int length = snprintf(path, PATH_SIZE, "%s/" FILE_PREFIX "%d-%llx%08lx", folder, getpid(),
                          (unsigned long long)now.tv_sec, (unsigned long)now.tv_nsec);
    if (length >= PATH_SIZE) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return NULL;
    struct session_map *map = prepare(file);
    *out_file = file;
    if (map)
        return map;
    int saved = errno;
    unlink(path);
    close(file);
    errno = saved;
    return NULL;
}

#ifdef __linux__

static int open_memory(void)
{
    int file = memfd_create(MEMORY_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (file < 0 && errno == EINVAL) /* before Linux 6.3 */
        file = memfd_create(MEMORY_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return file;
}

/* Returns true if the path leads to the open file. */
static bool is_reachable(const char *path, int file)
{
    struct stat a, b;
    return stat(path, &a) == 0 && fstat(file, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Opens the memory a second time, at a descriptor number that programs rarely use, so that children inherit
 * it. Returns the descriptor, or -1 on failure. This descriptor does not share the owner's lock, which must
 * end with the owner. */
static int open_inherited(const char *path)
{
    static const int numbers[] = {873, 173, 23};
    int file = open(path, O_RDWR | O_CLOEXEC), inherited = -1;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && file >= 0 && inherited < 0; i++)
        inherited = fcntl(file, F_DUPFD, numbers[i]);
    if (file >= 0)
        close(file);
    return inherited;
}

static void name_descriptor(char path[PATH_SIZE], int file)
{
    snprintf(path, PATH_SIZE, PROC_PREFIX "%d/fd/%d", getpid(), file);
}

/* Creates a session in memory without a file system. Other processes open the memory through this process's
 * descriptor. They cannot truncate it, so no mapping can cause SIGBUS, and a full /dev/shm does not matter.
 * Children inherit the descriptor, because children with fewer capabilities or in another PID namespace
 * cannot open it. Returns the mapping, or NULL if not supported or out of memory. */
static struct session_map *create_sealed(char path[PATH_SIZE], int *out_file, int *out_inherited)
{
    int file = open_memory(), inherited = -1;
    if (file < 0)
        return NULL;
    name_descriptor(path, file);
    struct session_map *map = NULL;
    if (is_reachable(path, file) && fchmod(file, 0600) == 0)
        map = prepare(file);
    if (map && fcntl(file, F_ADD_SEALS, MEMORY_SEALS) == 0)
        inherited = open_inherited(path);
    *out_file = file;
    *out_inherited = inherited;
    if (inherited >= 0) {
        name_descriptor(path, inherited);
        return map;
    }
    if (map)
        munmap(map, sizeof *map);
    close(file);
    return NULL;
}

#else

static struct session_map *create_sealed(char path[PATH_SIZE], int *out_file, int *out_inherited)
{
    (void)path, (void)out_file, (void)out_inherited;
    return NULL;
}

#endif

/* Creates a session in sealed memory. If that fails, creates a file in /dev/shm, $TMPDIR or /tmp. Returns
 * NULL and errno on failure. */
static struct session_map *create_anywhere(char path[PATH_SIZE], int *out_file, int *out_inherited)
{
    const char *folders[] = {"/dev/shm", secure_getenv("TMPDIR"), "/tmp"};
    struct session_map *sealed = create_sealed(path, out_file, out_inherited);
    if (sealed)
        return sealed;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (!folders[i] || !folders[i][0])
            continue;
        struct session_map *map = create_in(folders[i], path, out_file);
        if (map)
            return map;
        remove_stale(folders[i]); /* the folder may be full of stale files */
        map = create_in(folders[i], path, out_file);
        if (map)
            return map;
    }
    return NULL;
}

joule_status session_create_shared(char *out_path, size_t size, joule_error *out_error)
{
    session_remove_shared();
    char path[PATH_SIZE];
    int file, inherited = 0;
    struct session_map *map = create_anywhere(path, &file, &inherited);
    if (!map)
        return error_set(out_error, status_of_errno(errno),
                         "cannot create a session for regions in memory, /dev/shm, $TMPDIR or /tmp: %s",
                         strerror(errno));
    string_copy(current.owned_path, sizeof current.owned_path, path);
    current.owned_file = file;
    current.inherited_file = inherited;
    current.owned_begin_ns = clock_now_ns();
    current.other_namespace = false;
    atomic_store(&current.shared, map);
    atomic_store(&current.map, map);
    atomic_fetch_add(&session_generation, 1);
    if (string_copy(out_path, size, path))
        return JOULE_OK;
    session_remove_shared();
    return error_set(out_error, JOULE_INVALID, "cannot return the session's path: longer than %zu bytes",
                     size);
}

void session_remove_leftovers(void)
{
    char folder[PATH_SIZE];
    string_copy(folder, sizeof folder, current.owned_path);
    char *name = strrchr(folder, '/');
    if (!name || is_descriptor(folder))
        return;
    *name = '\0';
    remove_stale(folder);
}

void session_remove_shared(void)
{
    if (!current.owned_path[0])
        return;
    struct session_map *map = atomic_load(&current.shared);
    if (map && map->owner_pid == getpid() && !is_descriptor(current.owned_path))
        unlink(current.owned_path);
    close(current.owned_file);
    if (current.inherited_file > 0)
        close(current.inherited_file);
    current.owned_file = current.inherited_file = 0;
    current.owned_path[0] = '\0';
}

/* --- loading and forking -------------------------------------------------------------------------------- */

/* Runs in a child after fork. If the session is private, the child continues with its copy, from which all
 * regions are removed. A shared session is not changed: its slots belong to the parent, and the child takes
 * other slots. The PID namespace is checked again, because the child may be the first process of a new
 * one. */
static void after_fork(void)
{
    atomic_fetch_add(&session_generation, 1);
    struct session_map *map = session_map(&current);
    if (!map)
        return;
    if (is_shared(&current)) {
        int saved = errno;
        current.other_namespace = map->pid_namespace != pid_namespace();
        errno = saved;
        atomic_fetch_add(&map->clients, 1);
        return;
    }
    atomic_store(&map->unstored, 0);
    atomic_store(&map->unnamed_tags, 0);
    folds_clear(&map->slotless_mark, map->slotless_folds);
    uint32_t used = atomic_load(&map->slots_used);
    for (uint32_t i = 0; i < used && i < SESSION_SLOTS; i++) {
        slot_clear_open(&map->slots[i]);
        folds_clear(&map->slots[i].fold_mark, map->slots[i].folds);
        atomic_store(&map->slots[i].tail, atomic_load(&map->slots[i].head));
        atomic_store(&map->owners[i], 0);
    }
}

/* Note: at_load must run before other constructors. The report at exit opens a meter when the library is
 * loaded, and that meter must find the session. */
__attribute__((constructor(101))) static void at_load(void)
{
    const char *path = secure_getenv("JOULE_SESSION");
    if (path && !string_copy(current.joined_path, sizeof current.joined_path, path))
        current.joined_path[0] = '\0';
    pthread_atfork(NULL, NULL, after_fork);
}
