/* joule/host/host.h - all access of libjoule to the outside world.
 *
 * A host gives access to files, links, folders, registers, perf events, services, libraries, vendors'
 * programs, CPUID, the environment and the clocks. There are three hosts: the real machine, a machine
 * recorded in a folder, and a scripted machine in virtual time for tests.
 * Note: unless stated otherwise, functions that return an integer return 0, a count or a handle, or a
 * negative errno. Paths are the absolute paths of the real machine.
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
    uint32_t type; /* number of the PMU, from its `type` file */
    uint64_t config;
    int cpu;
};

/* Queries to graphics drivers through their device files. */
enum host_drm_query {
    HOST_I915_MEMORY, /* struct drm_i915_query_memory_regions */
    HOST_XE_MEMORY,   /* struct drm_xe_query_mem_regions */
};

struct host_ops {
    const char *name;
    bool is_virtual; /* time advances only when a test sets it, so no thread may wait for a time */
    int64_t (*clock_ns)(struct joule_host *host, clockid_t clock);
    /* Reads at most size - 1 bytes of a small file from its start and adds a terminator. Returns the length
     * or -errno. */
    ssize_t (*read_file)(struct joule_host *host, const char *path, char *buffer, size_t size);
    /* Lists the names in a folder, sorted, without . and .., in memory of `arena`. Returns their number or
     * -errno. */
    ssize_t (*list)(struct joule_host *host, const char *path, struct arena *arena, char ***out_names);
    ssize_t (*read_link)(struct joule_host *host, const char *path, char *buffer, size_t size);
    /* Opens a file, a register file or an event for repeated reads. Returns a handle, which is >= 0 and must
     * be closed with close_handle, or -errno. */
    int (*open_file)(struct joule_host *host, const char *path);
    /* like read_file, but from a handle */
    ssize_t (*read_handle)(struct joule_host *host, int handle, char *buffer, size_t size);
    int (*open_register)(struct joule_host *host, unsigned cpu);
    int (*read_register)(struct joule_host *host, int handle, uint32_t address, uint64_t *out_value);
    int (*open_perf)(struct joule_host *host, const struct host_perf_event *event);
    int (*read_perf)(struct joule_host *host, int handle, uint64_t *out_value);
    /* Queries the driver of the board whose device file below /dev/dri is `device` ("renderD128"). The answer
     * has the driver's format. Returns its length or -errno; -ENOBUFS: the buffer is too small. The query
     * wakes the board. */
    ssize_t (*query_drm)(struct joule_host *host, const char *device, enum host_drm_query query, void *buffer,
                         size_t size);
    /* Connects to a service of this machine and returns a handle. The address is
     * "unix:/run/joule/helper.sock", "tcp:127.0.0.1:8431" or "tcp:[::1]:8431". open_stream, receive and send
     * return -ETIMEDOUT at deadline_ns (CLOCK_MONOTONIC). If the deadline is in the past, they do not
     * wait. */
    int (*open_stream)(struct joule_host *host, const char *address, int64_t deadline_ns);
    /* Receives at most `size` available bytes and returns their number; 0: the other side has closed. */
    ssize_t (*receive)(struct joule_host *host, int handle, void *buffer, size_t size, int64_t deadline_ns);
    /* Sends all bytes and returns 0. After -errno, the number of bytes sent is unknown. */
    int (*send)(struct joule_host *host, int handle, const void *bytes, size_t size, int64_t deadline_ns);
    void (*close_handle)(struct joule_host *host, int handle);
    /* Opens a vendor's library, which is never closed. Returns NULL if it is not found, or if this host has
     * no libraries. */
    void *(*open_library)(struct joule_host *host, const char *name);
    void *(*library_symbol)(struct joule_host *host, void *library, const char *name);
    /* Runs a vendor's program until it ends, and writes its terminated standard output, at most size - 1
     * bytes, to `buffer`. Returns the output's length or -errno. argv ends with NULL. A first word without a
     * slash is searched for in the absolute folders of PATH. No shell is used; standard input is empty,
     * standard error is discarded. When the program ends, or after timeout_ns, all processes in its process
     * group are killed.
     *   -ENOENT, -EACCES ...  the program does not exist or cannot be executed
     *   -ETIMEDOUT            it did not end in time; the buffer contains its output until then
     *   -ENOBUFS              its output is larger than the buffer; the rest is not read
     * *out_status: the program's exit status, or 128 + N if signal N ended it. -1: it did not end by itself.
     * Note: the calling thread is blocked meanwhile, so call it on slow lanes only. */
    ssize_t (*run)(struct joule_host *host, const char *const *argv, int64_t timeout_ns, char *buffer,
                   size_t size, int *out_status);
    bool (*cpuid)(struct joule_host *host, uint32_t leaf, uint32_t subleaf, uint32_t out_registers[4]);
    const char *(*env)(struct joule_host *host, const char *name);
    void (*close)(struct joule_host *host);
};

struct joule_host {
    const struct host_ops *ops;
};

/* Reads a small file, at most size - 1 bytes, and removes surrounding white space. Returns false and an empty
 * text if the file cannot be read. */
bool host_read_text(struct joule_host *host, const char *path, char *buffer, size_t size);
/* Reads a file that contains one decimal number. Returns false if the file cannot be read or contains
 * anything else. */
bool host_read_u64(struct joule_host *host, const char *path, uint64_t *out_value);
/* Returns true if this process sees the same process ids as the kernel's drivers. Returns false in a
 * container with its own PID namespace, or if unknown. */
bool host_is_in_root_pid_namespace(struct joule_host *host);
/* Returns true if one of the folders in a list, separated by colons, has an entry. A path such as
 * "/dev/neuron*" matches files with this prefix. */
bool host_has_any(struct joule_host *host, const char *folders);
/* Writes the symbol's address to *out_pointer, a pointer to a function or an object. Returns false and writes
 * NULL if the library does not contain the symbol. */
bool host_find_symbol(struct joule_host *host, void *library, const char *name, void *out_pointer);
/* Closes a handle; ignores a negative handle. */
void host_close_handle(struct joule_host *host, int handle);

/* Returns the host of this machine: one static object, never closed. */
struct joule_host *host_real(void);

/* Opens a recorded machine: files are read below `root`, so /sys/class is root/sys/class. `root` may also
 * contain
 *   dev/cpu/N/msr         lines "address value" (both 0x hex): the registers of CPU N
 *   perf/TYPE/CONFIG/CPU  the count of a perf event (TYPE and CPU decimal, CONFIG 0x hex)
 *   drm/DEVICE/QUERY      the answer of the board's driver; QUERY is the number of host_drm_query
 *   run/commands          lines "FILE STATUS COMMAND": run/FILE contains the program's output, STATUS is its
 *                         exit status (decimal), COMMAND has single spaces between its words;
 *                         "- ERRNAME COMMAND": the program fails (ENOENT, ETIMEDOUT ...)
 *   cpuid                 lines "leaf subleaf eax ebx ecx edx" (hex)
 *   env                   lines "NAME=value"
 *   errors                lines "path ERRNAME": access to this path fails (EACCES, EPERM, EIO, ENODATA,
 *                         ENXIO, EINVAL ...); events and registers have the paths /perf/TYPE/CONFIG/CPU and
 *                         /dev/cpu/N/msr
 * A Unix socket below the folder is a service of that machine. The machine has no other services. Its clocks
 * are those of the real machine. Returns NULL if root is not a folder, or if out of memory. Close the host
 * with ops->close. */
struct joule_host *host_tree_open(const char *root);

/* --- a scripted machine in virtual time, for tests ------------------------------------------------------ */

/* script_file_fn writes the content of a file at virtual time time_ns and returns its length. script_value_fn
 * writes the value of a register or event and returns 0. Both return -errno on failure. */
typedef ssize_t (*script_file_fn)(void *context, int64_t time_ns, char *buffer, size_t size);
typedef int (*script_value_fn)(void *context, int64_t time_ns, uint64_t *out_value);
/* Runs a program at virtual time time_ns, like host_ops.run, but takes no virtual time. *out_status is
 * initially 0. After -ETIMEDOUT, the terminated text in the buffer is the program's output until then. */
typedef ssize_t (*script_run_fn)(void *context, int64_t time_ns, const char *const *argv, char *buffer,
                                 size_t size, int *out_status);

/* Opens an empty scripted machine; NULL if out of memory. Close it with ops->close. The functions below
 * return false if out of memory. Virtual time begins at 1 s. A folder exists while a path below it exists. A
 * scripted error is returned by open if a kernel would do so (EACCES, ENXIO ...), otherwise by read (EIO,
 * ENODATA, EINVAL). */
struct joule_host *host_script_open(void);
void host_script_set_time(struct joule_host *host, int64_t monotonic_ns); /* earlier times are ignored */
/* Advances CLOCK_BOOTTIME and CLOCK_REALTIME by duration_ns; CLOCK_MONOTONIC stands still. */
void host_script_suspend(struct joule_host *host, int64_t duration_ns);
bool host_script_file(struct joule_host *host, const char *path, script_file_fn read, void *context);
/* The answer to query_drm is the file /drm/DEVICE/QUERY, as in a recorded machine. */
bool host_script_text(struct joule_host *host, const char *path,
                      const char *text); /* text is copied; NULL removes the file */
bool host_script_error(struct joule_host *host, const char *path, int errno_value);
bool host_script_link(struct joule_host *host, const char *path, const char *target);
bool host_script_register(struct joule_host *host, unsigned cpu, uint32_t address, script_value_fn read,
                          void *context);
bool host_script_perf(struct joule_host *host, const struct host_perf_event *event, script_value_fn read,
                      void *context);
bool host_script_env(struct joule_host *host, const char *name, const char *value);
bool host_script_cpuid(struct joule_host *host, uint32_t leaf, uint32_t subleaf, const uint32_t registers[4]);
/* Adds a service. The host passes each request to `answer`, which writes the reply and returns its length, or
 * -errno to break the connection. When a connection opens, `request` is NULL. If a receive call finds no
 * data, the host calls `answer` with a request of 0 bytes, and `answer` may send a late reply. answer NULL
 * removes the service. */
typedef ssize_t (*script_answer_fn)(void *context, const void *request, size_t length, void *reply,
                                    size_t size);
bool host_script_service(struct joule_host *host, const char *address, script_answer_fn answer,
                         void *context);
/* Adds a program: host_ops.run calls `run` if argv[0] equals `name`. If `run` returns a length of `size` or
 * more, host_ops.run returns -ENOBUFS. */
bool host_script_program(struct joule_host *host, const char *name, script_run_fn run, void *context);
/* Adds a library as a table of `count` symbols. The host stores the pointer, so the table must outlive the
 * host. */
struct script_symbol {
    const char *name;
    void *address;
};
bool host_script_library(struct joule_host *host, const char *name, const struct script_symbol *symbols,
                         size_t count);

#endif
