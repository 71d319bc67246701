/* fakes/faults/faults.c - makes the n-th call of one kind fail in the programs into which it is preloaded.
 *
 * JOULE_FAULT           KIND:N, the failing call, counted from 1; with a '+' after N all later calls fail too
 * JOULE_FAULT_PROGRAMS  names of the programs in which calls fail, separated by commas
 * JOULE_FAULT_STATE     a file of 16 bytes, mapped by all of these processes: two u64, calls and faults
 *
 * Note: calls by LLVM and the C++ library do not fail, because LLVM and the C++ library end the process at
 * the first failure of a call. Calls inside getpwnam do not fail either: glibc 2.36 crashes there if an
 * allocation fails (nss_database.c).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_RANGES 64

enum kind { ALLOC, OPEN, READ, WRITE, FSYNC, RENAME, MMAP, THREAD, KINDS };
static const char *const kind_names[KINDS] = {"alloc", "open",   "read", "write",
                                              "fsync", "rename", "mmap", "thread"};
static const int kind_errors[KINDS] = {ENOMEM, EMFILE, EIO, ENOSPC, EIO, EIO, ENOMEM, EAGAIN};

static struct state {
    _Atomic uint64_t calls, faults;
} * state;
static enum kind chosen = KINDS;
static uint64_t first;
static bool fails_later;
static struct range {
    uintptr_t begin, end;
} excluded[MAX_RANGES];
static size_t range_count;
static _Thread_local bool is_in_getpwnam;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

/* --- failing calls -------------------------------------------------------------------------------------- */

static int note_object(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)size, (void)context;
    if (!strstr(object->dlpi_name, "libLLVM") && !strstr(object->dlpi_name, "libstdc++"))
        return 0;
    for (int i = 0; i < object->dlpi_phnum && range_count < MAX_RANGES; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && part->p_flags & PF_X)
            excluded[range_count++] = (struct range){begin, begin + part->p_memsz};
    }
    return 0;
}

/* Returns true if this program is in JOULE_FAULT_PROGRAMS. */
static bool is_concerned(void)
{
    char path[4096];
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path - 1);
    const char *list = getenv("JOULE_FAULT_PROGRAMS");
    if (length <= 0 || !list)
        return false;
    path[length] = '\0';
    const char *name = strrchr(path, '/') + 1;
    for (const char *at = list; (at = strstr(at, name)) != NULL; at++) {
        char after = at[strlen(name)];
        if ((at == list || at[-1] == ',') && (!after || after == ','))
            return true;
    }
    return false;
}

__attribute__((constructor)) static void set_up(void)
{
    const char *fault = getenv("JOULE_FAULT"), *file = getenv("JOULE_FAULT_STATE");
    const char *colon = fault ? strchr(fault, ':') : NULL;
    if (!colon || !file || !is_concerned())
        return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
    void *map =
        fd < 0 ? MAP_FAILED
               : (void *)syscall(SYS_mmap, NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        syscall(SYS_close, fd);
    if (map == MAP_FAILED)
        return;
    dl_iterate_phdr(note_object, NULL);
    char *end;
    first = strtoull(colon + 1, &end, 10);
    fails_later = *end == '+';
    for (int kind = 0; kind < KINDS; kind++)
        if (strlen(kind_names[kind]) == (size_t)(colon - fault) &&
            strncmp(fault, kind_names[kind], (size_t)(colon - fault)) == 0)
            chosen = kind;
    state = map;
}

/* Returns true and sets errno if this call must fail. */
static bool fails(enum kind kind, const void *caller)
{
    if (kind != chosen || !state || is_in_getpwnam)
        return false;
    for (size_t i = 0; i < range_count; i++)
        if ((uintptr_t)caller >= excluded[i].begin && (uintptr_t)caller < excluded[i].end)
            return false;
    uint64_t number = atomic_fetch_add(&state->calls, 1) + 1;
    if (number != first && !(fails_later && number > first))
        return false;
    atomic_fetch_add(&state->faults, 1);
    errno = kind_errors[kind];
    return true;
}

#define FAILS(kind) fails(kind, __builtin_return_address(0))
/* Sets `real` to the function of this name in the next library. */
#define REAL(name)                                                                                           \
    static __typeof__(name) *real;                                                                           \
    if (!real)                                                                                               \
    real = (__typeof__(name) *)(uintptr_t)dlsym(RTLD_NEXT, #name)

/* --- calls that do not fail ----------------------------------------------------------------------------- */

struct passwd *getpwnam(const char *name)
{
    REAL(getpwnam);
    is_in_getpwnam = true;
    struct passwd *user = real(name);
    is_in_getpwnam = false;
    return user;
}

/* --- memory --------------------------------------------------------------------------------------------- */

void *malloc(size_t size)
{
    return FAILS(ALLOC) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return FAILS(ALLOC) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return FAILS(ALLOC) ? NULL : __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return FAILS(ALLOC) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out_block, size_t alignment, size_t size)
{
    if (FAILS(ALLOC))
        return ENOMEM;
    *out_block = __libc_memalign(alignment, size);
    return *out_block ? 0 : ENOMEM;
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    if (FAILS(MMAP))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

void *mmap64(void *, size_t, int, int, int, off64_t) __attribute__((alias("mmap")));

/* --- files ---------------------------------------------------------------------------------------------- */

#define MODE_OF(flags)                                                                                       \
    mode_t mode = 0;                                                                                         \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                                     \
        va_list words;                                                                                       \
        va_start(words, flags);                                                                              \
        mode = va_arg(words, mode_t);                                                                        \
        va_end(words);                                                                                       \
    }

int open(const char *path, int flags, ...)
{
    MODE_OF(flags)
    return FAILS(OPEN) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *, int, ...) __attribute__((alias("open")));

int openat(int folder, const char *path, int flags, ...)
{
    MODE_OF(flags)
    return FAILS(OPEN) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

int openat64(int, const char *, int, ...) __attribute__((alias("openat")));

FILE *fopen(const char *path, const char *mode)
{
    REAL(fopen);
    return FAILS(OPEN) ? NULL : real(path, mode);
}

FILE *fopen64(const char *, const char *) __attribute__((alias("fopen")));

int memfd_create(const char *name, unsigned flags)
{
    return FAILS(OPEN) ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

ssize_t read(int fd, void *bytes, size_t size)
{
    REAL(read);
    return FAILS(READ) ? -1 : real(fd, bytes, size);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
    REAL(pread);
    return FAILS(READ) ? -1 : real(fd, bytes, size, offset);
}

ssize_t pread64(int, void *, size_t, off64_t) __attribute__((alias("pread")));

ssize_t write(int fd, const void *bytes, size_t size)
{
    REAL(write);
    return fd != STDERR_FILENO && FAILS(WRITE) ? -1 : real(fd, bytes, size); /* messages must not fail */
}

int ftruncate(int fd, off_t length)
{
    return FAILS(WRITE) ? -1 : (int)syscall(SYS_ftruncate, fd, length);
}

int ftruncate64(int, off64_t) __attribute__((alias("ftruncate")));

int posix_fallocate(int fd, off_t offset, off_t length)
{
    REAL(posix_fallocate);
    return FAILS(WRITE) ? ENOSPC : real(fd, offset, length);
}

int posix_fallocate64(int, off64_t, off64_t) __attribute__((alias("posix_fallocate")));

int fsync(int fd)
{
    return FAILS(FSYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    REAL(rename);
    return FAILS(RENAME) ? -1 : real(from, to);
}

/* --- threads -------------------------------------------------------------------------------------------- */

int pthread_create(pthread_t *out_thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    REAL(pthread_create);
    return FAILS(THREAD) ? EAGAIN : real(out_thread, attributes, run, argument);
}
