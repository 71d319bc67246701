/* joule/host/real.c - implements the host of this machine by system calls.
 *
 * Every handle is a file descriptor; the host has no other state.
 * Note: the kernel generates files of sysfs and procfs when they are read from offset 0. So a handle is read
 * by one pread, and a short read is the end of the file.
 */
#include "joule/host/host.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#include "base/file.h"
#include "base/string.h"
#include "joule/host/drm.h"
#include "joule/host/path.h"
#include "joule/host/perf.h"
#include "joule/host/run.h"
#include "joule/host/stream.h"

static int64_t real_clock_ns(struct joule_host *host, clockid_t clock)
{
    (void)host;
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        return 0;
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int real_open_file(struct joule_host *host, const char *path)
{
    (void)host;
    return file_open_kind(path, FILE_REGULAR | FILE_DEVICE);
}

/* Reads at an offset, and repeats the call if a signal interrupts. Returns the number of bytes or -errno. */
static ssize_t read_at(int fd, char *buffer, size_t size, off_t offset)
{
    ssize_t count;
    do
        count = pread(fd, buffer, size, offset);
    while (count < 0 && errno == EINTR);
    return count >= 0 ? count : -errno;
}

static ssize_t real_read_handle(struct joule_host *host, int handle, char *buffer, size_t size)
{
    (void)host;
    ssize_t count = read_at(handle, buffer, size - 1, 0);
    if (count >= 0)
        buffer[count] = '\0';
    return count;
}

static void real_close_handle(struct joule_host *host, int handle)
{
    (void)host;
    close(handle);
}

/* Reads a whole file. A file of sysfs needs one read. A file with many records, such as cgroup.procs, returns
 * only a page at each read. */
static ssize_t real_read_file(struct joule_host *host, const char *path, char *buffer, size_t size)
{
    int fd = real_open_file(host, path);
    if (fd < 0)
        return fd;
    size_t length = 0;
    ssize_t count;
    bool is_whole = string_starts(path, "/sys/") && !string_starts(path, "/sys/fs/");
    while ((count = read_at(fd, buffer + length, size - 1 - length, (off_t)length)) > 0) {
        length += (size_t)count;
        if (is_whole)
            break;
    }
    close(fd);
    buffer[length] = '\0';
    return count < 0 ? count : (ssize_t)length;
}

static int is_real_name(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static ssize_t real_list(struct joule_host *host, const char *path, struct arena *arena, char ***out_names)
{
    (void)host;
    struct dirent **entries;
    int count = scandir(path, &entries, is_real_name, by_bytes);
    if (count < 0)
        return -errno;
    char **names = arena_alloc(arena, sizeof *names * ((size_t)count + 1));
    bool ok = names != NULL;
    for (int i = 0; i < count; i++) {
        ok = ok && (names[i] = arena_copy(arena, entries[i]->d_name, sizeof entries[i]->d_name)) != NULL;
        free(entries[i]);
    }
    free(entries);
    *out_names = names;
    return ok ? count : -ENOMEM;
}

static ssize_t real_read_link(struct joule_host *host, const char *path, char *buffer, size_t size)
{
    (void)host;
    ssize_t length = readlink(path, buffer, size - 1);
    if (length < 0)
        return -errno;
    buffer[length] = '\0';
    return length;
}

static int real_open_register(struct joule_host *host, unsigned cpu)
{
    char path[HOST_PATH_MAX];
    path_of_registers(cpu, path);
    return real_open_file(host, path);
}

static int real_read_register(struct joule_host *host, int handle, uint32_t address, uint64_t *out_value)
{
    (void)host;
    ssize_t count = read_at(handle, (char *)out_value, sizeof *out_value, (off_t)address);
    if (count < 0)
        return (int)count;
    return count == (ssize_t)sizeof *out_value ? 0 : -EIO;
}

static int real_open_perf(struct joule_host *host, const struct host_perf_event *event)
{
    (void)host;
    return perf_open(event);
}

static int real_read_perf(struct joule_host *host, int handle, uint64_t *out_value)
{
    (void)host;
    return perf_read(handle, out_value);
}

static ssize_t real_query_drm(struct joule_host *host, const char *device, enum host_drm_query query,
                              void *buffer, size_t size)
{
    (void)host;
    return drm_query(device, query, buffer, size);
}

static int real_open_stream(struct joule_host *host, const char *address, int64_t deadline_ns)
{
    (void)host;
    return host_stream_open(address, deadline_ns);
}

static ssize_t real_receive(struct joule_host *host, int handle, void *buffer, size_t size,
                            int64_t deadline_ns)
{
    (void)host;
    return host_stream_receive(handle, buffer, size, deadline_ns);
}

static int real_send(struct joule_host *host, int handle, const void *bytes, size_t size, int64_t deadline_ns)
{
    (void)host;
    return host_stream_send(handle, bytes, size, deadline_ns);
}

/* Frees the calling thread's error if nothing was found. The first dlerror() returns the message, and the
 * second one frees it. Note: the C library frees it too late for leak checkers if the thread ends together
 * with the process. */
static void *without_error(void *found)
{
    if (!found) {
        dlerror();
        dlerror();
    }
    return found;
}

static void *real_open_library(struct joule_host *host, const char *name)
{
    (void)host;
    return without_error(dlopen(name, RTLD_NOW | RTLD_LOCAL));
}

static void *real_library_symbol(struct joule_host *host, void *library, const char *name)
{
    (void)host;
    return without_error(dlsym(library, name));
}

static ssize_t real_run(struct joule_host *host, const char *const *argv, int64_t timeout_ns, char *buffer,
                        size_t size, int *out_status)
{
    (void)host;
    return run_program(argv, timeout_ns, buffer, size, out_status);
}

static bool real_cpuid(struct joule_host *host, uint32_t leaf, uint32_t subleaf, uint32_t out_registers[4])
{
    (void)host;
#if defined(__x86_64__) || defined(__i386__)
    return __get_cpuid_count(leaf, subleaf, &out_registers[0], &out_registers[1], &out_registers[2],
                             &out_registers[3]) != 0;
#else
    (void)leaf, (void)subleaf, (void)out_registers;
    return false;
#endif
}

static const char *real_env(struct joule_host *host, const char *name)
{
    (void)host;
    return secure_getenv(name);
}

static void real_close(struct joule_host *host)
{
    (void)host;
}

struct joule_host *host_real(void)
{
    static const struct host_ops ops = {
        .name = "real",
        .clock_ns = real_clock_ns,
        .read_file = real_read_file,
        .list = real_list,
        .read_link = real_read_link,
        .open_file = real_open_file,
        .read_handle = real_read_handle,
        .open_register = real_open_register,
        .read_register = real_read_register,
        .open_perf = real_open_perf,
        .read_perf = real_read_perf,
        .query_drm = real_query_drm,
        .open_stream = real_open_stream,
        .receive = real_receive,
        .send = real_send,
        .close_handle = real_close_handle,
        .open_library = real_open_library,
        .library_symbol = real_library_symbol,
        .run = real_run,
        .cpuid = real_cpuid,
        .env = real_env,
        .close = real_close,
    };
    static struct joule_host host = {&ops};
    return &host;
}
