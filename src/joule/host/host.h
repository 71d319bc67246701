/* joule/host/host.h - the only door to the outside.
 *
 * Owns every way in which libjoule touches the world: files, links, folders, registers, perf events, services,
 * libraries, vendors' programs, CPUID, the environment and the clocks. Three hosts exist: the real one, a recorded machine below a folder, and a
 * scripted one in virtual time for tests.
 * Newcomers: functions return 0 or a count, or a negative errno; paths are the real machine's absolute paths.
 */
#ifndef JOULE_HOST_H
#define JOULE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include "base/arena.h"

struct joule_host;

struct host_perf_event {
    uint32_t type; /* of the PMU, from its `type` file */
    uint64_t config;
    int cpu;
};

/* What graphics drivers are asked through their device files. */
enum host_drm_question {
    HOST_I915_MEMORY, /* struct drm_i915_query_memory_regions */
    HOST_XE_MEMORY,   /* struct drm_xe_query_mem_regions */
};

struct host_ops {
    const char *name;
    bool is_virtual; /* time moves only when a test says so: no thread may wait for it */
    int64_t (*clock_ns)(struct joule_host *host, clockid_t clock);
    /* Reads at most size - 1 bytes of a small file from its start and terminates them; the length or -errno. */
    ssize_t (*read_file)(struct joule_host *host, const char *path, char *buffer, size_t size);
    /* Names in a folder, sorted, without . and ..; allocated in `arena`. The number of names or -errno. */
    ssize_t (*list)(struct joule_host *host, const char *path, struct arena *arena, char ***out_names);
    ssize_t (*read_link)(struct joule_host *host, const char *path, char *buffer, size_t size);
    /* Handles for what is read again and again. A handle is >= 0 and closed by close_handle. */
    int (*open_file)(struct joule_host *host, const char *path);
    ssize_t (*read_handle)(struct joule_host *host, int handle, char *buffer, size_t size); /* as read_file */
    int (*open_register)(struct joule_host *host, unsigned cpu);
    int (*read_register)(struct joule_host *host, int handle, uint32_t address, uint64_t *out_value);
    int (*open_perf)(struct joule_host *host, const struct host_perf_event *event);
    int (*read_perf)(struct joule_host *host, int handle, uint64_t *out_value);
    /* What the driver of the board with this file below /dev/dri ("renderD128") answers, as it writes it: the length, or
     * -errno; -ENOBUFS: it has more to say than the buffer holds. The board is woken. */
    ssize_t (*ask_drm)(struct joule_host *host, const char *device, enum host_drm_question question,
                       void *buffer, size_t size);
    /* Connections to services of this machine: "unix:/run/joule/helper.sock", "tcp:127.0.0.1:8431", "tcp:[::1]:8431".
     * None waits past deadline_ns (CLOCK_MONOTONIC): -ETIMEDOUT; one that has passed means not to wait at all. */
    int (*open_stream)(struct joule_host *host, const char *address, int64_t deadline_ns);
    /* What has come, at most `size` bytes; 0: the other side has closed. */
    ssize_t (*receive)(struct joule_host *host, int handle, void *buffer, size_t size, int64_t deadline_ns);
    /* All of it, and 0; after -errno it is not known how much. */
    int (*send)(struct joule_host *host, int handle, const void *bytes, size_t size, int64_t deadline_ns);
    void (*close_handle)(struct joule_host *host, int handle);
    /* Vendor libraries; never closed. NULL: absent, or this host has none. */
    void *(*open_library)(struct joule_host *host, const char *name);
    void *(*library_symbol)(struct joule_host *host, void *library, const char *name);
    /* Runs a vendor's program to its end and takes what it writes to its standard output: the length, or -errno; at most
     * size - 1 bytes, terminated. argv ends with NULL; its first word is looked for in the absolute folders of PATH
     * unless it holds a slash. No shell; nothing on its standard input, what it says on standard error is dropped. When
     * it ends, or timeout_ns have passed, it is killed with all that it left in its process group.
     *   -ENOENT, -EACCES ...  there is no such program, or it cannot be executed
     *   -ETIMEDOUT            it did not end in time; what it wrote until then is in the buffer all the same
     *   -ENOBUFS              it wrote more than the buffer holds; the rest is not read
     * *out_status is its exit status, 128 + N where signal N ended it; -1 where it did not end by itself.
     * The caller's thread stands still meanwhile: on slow lanes only. */
    ssize_t (*run)(struct joule_host *host, const char *const *argv, int64_t timeout_ns, char *buffer,
                   size_t size, int *out_status);
    bool (*cpuid)(struct joule_host *host, uint32_t leaf, uint32_t subleaf, uint32_t out_registers[4]);
    const char *(*env)(struct joule_host *host, const char *name);
    void (*close)(struct joule_host *host);
};

struct joule_host {
    const struct host_ops *ops;
};

/* The text of a small file, as much of it as the buffer holds, without white space around it. False, and empty, where it
 * cannot be read. */
bool host_read_text(struct joule_host *host, const char *path, char *buffer, size_t size);
/* The number that is all a file holds; false, and *out_value left alone, for anything else. */
bool host_read_u64(struct joule_host *host, const char *path, uint64_t *out_value);
/* Whether processes have the numbers that the kernel's drivers know them by: not in a container with its own. False also where
 * it cannot be told. */
bool host_is_in_first_pid_space(struct joule_host *host);
/* Returns true if any of these folders, separated by colons, has an entry. "/dev/neuron*": if any file has
 * such a path. */
bool host_has_any(struct joule_host *host, const char *folders);
/* Puts the symbol of this name into a pointer to a function or an object, which out_pointer points to; NULL, and false, where
 * the library has none. */
bool host_find_symbol(struct joule_host *host, void *library, const char *name, void *out_pointer);
/* Closes a handle; a negative one is none. */
void host_close_handle(struct joule_host *host, int handle);

/* The machine this runs on; one static object, never closed. */
struct joule_host *host_real(void);

/* A recorded machine: files are read below `root` (so /sys/class is root/sys/class). Beside sys and proc it may hold
 *   dev/cpu/N/msr       lines "address value" (both 0x hex): the registers of CPU N
 *   perf/TYPE/CONFIG/CPU  the count of a perf event (TYPE and CPU decimal, CONFIG 0x hex)
 *   drm/DEVICE/QUESTION what the driver of that board answers, QUESTION being the number of host_drm_question
 *   run/commands        lines "FILE STATUS COMMAND": what a program wrote, in run/FILE, its exit status (decimal), and its
 *                       words with single spaces between them; "- ERRNAME COMMAND": it fails so (ENOENT, ETIMEDOUT ...)
 *   cpuid               lines "leaf subleaf eax ebx ecx edx" (hex)
 *   env                 lines "NAME=value"
 *   errors              lines "path ERRNAME": that path answers so (EACCES, EPERM, EIO, ENODATA, ENXIO, EINVAL ...);
 *                       events and registers are meant by /perf/TYPE/CONFIG/CPU and /dev/cpu/N/msr
 * A Unix socket below the folder is a service of that machine; it has no others.
 * Clocks are the real ones. NULL when root is no folder. Closed by ops->close. */
struct joule_host *host_tree_open(const char *root);

/* --- a scripted machine in virtual time, for tests ---------------------------------------------------------- */

/* Writes a file's content (or a register's or event's value) at virtual time_ns; returns length, 0, or -errno. */
typedef ssize_t (*script_file_fn)(void *context, int64_t time_ns, char *buffer, size_t size);
typedef int (*script_value_fn)(void *context, int64_t time_ns, uint64_t *out_value);
/* A program that is run at virtual time_ns, by its words: as host_ops.run, in no time. *out_status is 0 if left alone.
 * Where it gives -ETIMEDOUT, a terminated text in the buffer is what the program wrote until then. */
typedef ssize_t (*script_run_fn)(void *context, int64_t time_ns, const char *const *argv, char *buffer,
                                 size_t size, int *out_status);

/* Virtual time begins at 1 s. Folders are there while a path lies below them; an error answers open where a kernel's
 * would (EACCES, ENXIO ...) and read otherwise (EIO, ENODATA, EINVAL). */
struct joule_host *host_script_open(void);
void host_script_set_time(struct joule_host *host, int64_t monotonic_ns); /* never back */
void host_script_suspend(struct joule_host *host, int64_t duration_ns); /* BOOTTIME and REALTIME jump ahead */
bool host_script_file(struct joule_host *host, const char *path, script_file_fn read, void *context);
/* An answer to ask_drm is the file /drm/DEVICE/QUESTION, as in a recorded machine. */
bool host_script_text(struct joule_host *host, const char *path,
                      const char *text); /* constant; NULL removes */
bool host_script_error(struct joule_host *host, const char *path, int errno_value);
bool host_script_link(struct joule_host *host, const char *path, const char *target);
bool host_script_register(struct joule_host *host, unsigned cpu, uint32_t address, script_value_fn read,
                          void *context);
bool host_script_perf(struct joule_host *host, const struct host_perf_event *event, script_value_fn read,
                      void *context);
bool host_script_env(struct joule_host *host, const char *name, const char *value);
bool host_script_cpuid(struct joule_host *host, uint32_t leaf, uint32_t subleaf, const uint32_t registers[4]);
/* A service: each send is handed to `answer`, which writes what can then be received and gives its length, or -errno, with
 * which the connection breaks. A connection begins with the request NULL; one of 0 bytes asks for what comes late, when there
 * is nothing to receive. answer NULL: there is no such service any more. */
typedef ssize_t (*script_answer_fn)(void *context, const void *request, size_t length, void *reply,
                                    size_t size);
bool host_script_service(struct joule_host *host, const char *address, script_answer_fn answer,
                         void *context);
/* The program that is run by this first word; a length of `size` and more is -ENOBUFS. */
bool host_script_program(struct joule_host *host, const char *name, script_run_fn run, void *context);
/* A library is a table of symbols; the array must outlive the host. */
struct script_symbol {
    const char *name;
    void *address;
};
bool host_script_library(struct joule_host *host, const char *name, const struct script_symbol *symbols,
                         size_t count);

#endif
