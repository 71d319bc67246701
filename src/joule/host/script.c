/* joule/host/script.c - implements the scripted machine of tests, in virtual time.
 *
 * One table maps names to files, links, errors, registers, events, services, environment, CPUID, libraries
 * and programs. A handle is an index into the table; for registers it is REGISTERS plus the number of the
 * CPU, for connections STREAMS plus the index of the stream.
 * Note: folders are not registered. A folder exists while any path below it exists. Entries are never
 * removed, only emptied, so that handles stay valid when a file changes or disappears. Not thread-safe.
 */
#include "joule/host/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"
#include "joule/host/path.h"

#define REGISTERS     (1 << 24)
#define STREAMS       (1 << 25)
#define MAX_STREAMS   8
#define REPLY_MAX     65536
#define BEGIN_NS      INT64_C(1000000000)          /* so that a timestamp of 0 is never valid */
#define REALTIME_0_NS INT64_C(1767225600000000000) /* 2026-01-01 00:00 UTC, when the virtual machine booted */

enum entry_kind {
    ENTRY_GONE,
    ENTRY_FILE,
    ENTRY_TEXT,
    ENTRY_ERROR,
    ENTRY_LINK,
    ENTRY_VALUE,
    ENTRY_CPUID,
    ENTRY_LIBRARY,
    ENTRY_SERVICE,
    ENTRY_PROGRAM
};

/* One entry of the table. `kind` selects the valid member of the union. */
struct entry {
    const char *name;
    enum entry_kind kind;
    void *context;
    size_t count; /* number of symbols */
    union {
        script_file_fn file;
        script_value_fn value;
        script_answer_fn answer;
        script_run_fn run;
        const char *text; /* content of a file or target of a link */
        int errno_value;
        uint32_t registers[4];
        const struct script_symbol *symbols;
    };
};

struct script {
    struct joule_host host;
    struct arena arena;
    struct entry **entries;
    size_t count, capacity;
    int64_t time_ns, suspended_ns;
    struct stream {
        const struct entry *service; /* NULL: free */
        /* number of bytes of the reply that were received; length of the reply */
        size_t taken, length;
        unsigned char *reply;
    } streams[MAX_STREAMS];
};

static struct script *script_of(struct joule_host *host)
{
    return (struct script *)host;
}

/* --- the table ------------------------------------------------------------------------------------------ */

/* Returns the index of the entry with exactly this name, or -1. */
static int find(const struct script *script, const char *name)
{
    for (size_t i = 0; i < script->count; i++)
        if (strcmp(script->entries[i]->name, name) == 0 && script->entries[i]->kind != ENTRY_GONE)
            return (int)i;
    return -1;
}

/* Adds an entry with a copy of the name. Returns NULL if out of memory. */
static struct entry *append(struct script *script, const char *name)
{
    if (script->count == script->capacity) {
        size_t capacity = script->capacity ? 2 * script->capacity : 64;
        struct entry **entries = realloc(script->entries, capacity * sizeof *entries);
        if (!entries)
            return NULL;
        script->entries = entries;
        script->capacity = capacity;
    }
    struct entry *entry = arena_alloc(&script->arena, sizeof *entry);
    if (!entry || !(entry->name = arena_copy(&script->arena, name, strlen(name))))
        return NULL;
    return script->entries[script->count++] = entry;
}

/* Writes the target of a link and returns its length; -EINVAL if the path is not a link. `context`: the
 * script. */
static ssize_t link_target(void *context, const char *path, char *buffer, size_t size)
{
    const struct script *script = context;
    int i = find(script, path);
    if (i < 0 || script->entries[i]->kind != ENTRY_LINK)
        return -EINVAL;
    string_copy(buffer, size, script->entries[i]->text);
    return (ssize_t)strlen(buffer);
}

/* Sets the entry `name` to `content`. A path is resolved by the links that are registered so far. Returns
 * false if out of memory. */
static bool set_entry(struct joule_host *host, const char *name, struct entry content)
{
    struct script *script = script_of(host);
    char path[HOST_PATH_MAX];
    if (name[0] == '/' && path_resolve(name, false, link_target, script, path) == 0)
        name = path;
    struct entry *entry = NULL;
    for (size_t i = 0; i < script->count && !entry; i++)
        if (strcmp(script->entries[i]->name, name) == 0)
            entry = script->entries[i];
    if (!entry && !(entry = append(script, name)))
        return false;
    content.name = entry->name;
    *entry = content;
    return true;
}

/* Returns true if the entry is below the folder. Sets *out_child to the part of the entry's path below the
 * folder. */
static bool is_below(const struct entry *entry, const char *folder, const char **out_child)
{
    size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    if (entry->kind == ENTRY_GONE || strncmp(entry->name, folder, length) != 0 || entry->name[length] != '/')
        return false;
    *out_child = entry->name + length + 1;
    return true;
}

static bool is_folder(const struct script *script, const char *path)
{
    const char *child;
    for (size_t i = 0; i < script->count; i++)
        if (is_below(script->entries[i], path, &child))
            return true;
    return false;
}

/* Returns the index of the entry to which a path resolves, or -errno. */
static int locate(const struct script *script, const char *path)
{
    char resolved[HOST_PATH_MAX];
    int rc = path_resolve(path, true, link_target, (void *)script, resolved);
    if (rc != 0)
        return rc;
    int i = find(script, resolved);
    if (i >= 0)
        return i;
    return is_folder(script, resolved) ? -EISDIR : -ENOENT;
}

/* --- files ---------------------------------------------------------------------------------------------- */

static int64_t script_clock_ns(struct joule_host *host, clockid_t clock)
{
    const struct script *script = script_of(host);
    switch (clock) {
    case CLOCK_BOOTTIME:
        return script->time_ns + script->suspended_ns;
    case CLOCK_REALTIME:
        return REALTIME_0_NS + script->time_ns + script->suspended_ns;
    case CLOCK_THREAD_CPUTIME_ID:
    case CLOCK_PROCESS_CPUTIME_ID:
        return 0; /* work takes no virtual time */
    default:
        return script->time_ns;
    }
}

static ssize_t script_read_handle(struct joule_host *host, int handle, char *buffer, size_t size)
{
    const struct script *script = script_of(host);
    const struct entry *entry = script->entries[handle];
    buffer[0] = '\0';
    switch (entry->kind) {
    case ENTRY_ERROR:
        return -entry->errno_value;
    case ENTRY_TEXT:
        string_copy(buffer, size, entry->text);
        return (ssize_t)strlen(buffer);
    case ENTRY_FILE: {
        ssize_t length = entry->file(entry->context, script->time_ns, buffer, size);
        buffer[length < 0 ? 0 : (size_t)length < size ? (size_t)length : size - 1] = '\0';
        return length < (ssize_t)size ? length : (ssize_t)size - 1;
    }
    default:
        return -ENODEV; /* the file was removed, like that of an unplugged device */
    }
}

static int script_open_file(struct joule_host *host, const char *path)
{
    const struct script *script = script_of(host);
    int i = locate(script, path);
    if (i < 0)
        return i;
    const struct entry *entry = script->entries[i];
    if (entry->kind == ENTRY_ERROR && path_errno_is_of_open(entry->errno_value))
        return -entry->errno_value;
    return i;
}

static ssize_t script_read_file(struct joule_host *host, const char *path, char *buffer, size_t size)
{
    int handle = script_open_file(host, path);
    return handle < 0 ? handle : script_read_handle(host, handle, buffer, size);
}

static ssize_t script_read_link(struct joule_host *host, const char *path, char *buffer, size_t size)
{
    char resolved[HOST_PATH_MAX];
    int rc = path_resolve(path, false, link_target, script_of(host), resolved);
    if (rc != 0)
        return rc;
    bool exists = find(script_of(host), resolved) >= 0 || is_folder(script_of(host), resolved);
    return exists ? link_target(script_of(host), resolved, buffer, size) : -ENOENT;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static ssize_t script_list(struct joule_host *host, const char *path, struct arena *arena, char ***out_names)
{
    const struct script *script = script_of(host);
    char folder[HOST_PATH_MAX];
    int rc = path_resolve(path, true, link_target, script_of(host), folder);
    if (rc != 0)
        return rc;
    int self = find(script, folder);
    if (self >= 0 && script->entries[self]->kind == ENTRY_ERROR)
        return -script->entries[self]->errno_value;
    if (!is_folder(script, folder))
        return self >= 0 ? -ENOTDIR : -ENOENT;
    char **names = arena_alloc(arena, sizeof *names * (script->count + 1));
    size_t count = 0, unique = 0;
    const char *child;
    for (size_t i = 0; names && i < script->count; i++)
        if (is_below(script->entries[i], folder, &child) &&
            !(names[count++] = arena_copy(arena, child, strcspn(child, "/"))))
            return -ENOMEM;
    if (!names)
        return -ENOMEM;
    qsort(names, count, sizeof *names, by_bytes);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(names[i], names[unique - 1]) != 0)
            names[unique++] = names[i];
    *out_names = names;
    return (ssize_t)unique;
}

/* --- registers and events ------------------------------------------------------------------------------- */

static void register_name(unsigned cpu, uint32_t address, char out_name[HOST_PATH_MAX])
{
    snprintf(out_name, HOST_PATH_MAX, "/dev/cpu/%u/msr/%" PRIx32, cpu, address);
}

/* Registers of a CPU are entries below the CPU's path, so this path looks like a folder. If an error is
 * registered for the path, returns the error. */
static int script_open_register(struct joule_host *host, unsigned cpu)
{
    char path[HOST_PATH_MAX];
    path_of_registers(cpu, path);
    int i = script_open_file(host, path);
    return i == -EISDIR ? REGISTERS + (int)cpu : i >= 0 ? -EINVAL : i;
}

static int read_value(const struct script *script, int index, uint64_t *out_value)
{
    const struct entry *entry = index >= 0 ? script->entries[index] : NULL;
    if (!entry || entry->kind != ENTRY_VALUE)
        return -EIO;
    return entry->value(entry->context, script->time_ns, out_value);
}

static int script_read_register(struct joule_host *host, int handle, uint32_t address, uint64_t *out_value)
{
    char name[HOST_PATH_MAX];
    register_name((unsigned)(handle - REGISTERS), address, name);
    return read_value(script_of(host), find(script_of(host), name), out_value);
}

static int script_open_perf(struct joule_host *host, const struct host_perf_event *event)
{
    char path[HOST_PATH_MAX];
    path_of_perf(event, path);
    int i = find(script_of(host), path);
    if (i < 0)
        return -ENOENT;
    const struct entry *entry = script_of(host)->entries[i];
    return entry->kind == ENTRY_ERROR ? -entry->errno_value : i;
}

static int script_read_perf(struct joule_host *host, int handle, uint64_t *out_value)
{
    return read_value(script_of(host), handle, out_value);
}

static ssize_t script_query_drm(struct joule_host *host, const char *device, enum host_drm_query query,
                                void *buffer, size_t size)
{
    char path[HOST_PATH_MAX];
    string_print(path, sizeof path, "/drm/%s/%d", device, (int)query);
    return script_read_file(host, path, buffer, size);
}

/* --- services ------------------------------------------------------------------------------------------- */

/* Passes a request to the service and appends the service's reply to the stream. Returns 0, or -errno if the
 * connection breaks. */
static int ask_service(struct stream *stream, const void *request, size_t length)
{
    const struct entry *service = stream->service;
    if (service->kind != ENTRY_SERVICE)
        return -ECONNRESET;
    memmove(stream->reply, stream->reply + stream->taken, stream->length -= stream->taken);
    stream->taken = 0;
    ssize_t count = service->answer(service->context, request, length, stream->reply + stream->length,
                                    REPLY_MAX - stream->length);
    stream->length += count > 0 ? (size_t)count : 0;
    return count < 0 ? (int)count : 0;
}

static int script_open_stream(struct joule_host *host, const char *address, int64_t deadline_ns)
{
    (void)deadline_ns;
    struct script *script = script_of(host);
    int i = find(script, address), n = 0;
    if (i < 0)
        return string_starts(address, "unix:") ? -ENOENT : -ECONNREFUSED;
    if (script->entries[i]->kind == ENTRY_ERROR)
        return -script->entries[i]->errno_value;
    while (n < MAX_STREAMS && script->streams[n].service)
        n++;
    struct stream *stream = &script->streams[n];
    if (n == MAX_STREAMS || !(stream->reply = malloc(REPLY_MAX)))
        return n == MAX_STREAMS ? -EMFILE : -ENOMEM;
    stream->service = script->entries[i];
    stream->taken = stream->length = 0;
    int rc = ask_service(stream, NULL, 0);
    if (rc == 0)
        return STREAMS + n;
    host->ops->close_handle(host, STREAMS + n);
    return rc;
}

static ssize_t script_receive(struct joule_host *host, int handle, void *buffer, size_t size,
                              int64_t deadline_ns)
{
    (void)deadline_ns;
    struct stream *stream = &script_of(host)->streams[handle - STREAMS];
    int rc = stream->length == stream->taken ? ask_service(stream, "", 0) : 0;
    size_t left = stream->length - stream->taken;
    if (rc != 0 || left == 0)
        return rc == -ECONNRESET ? 0 : rc ? rc : -ETIMEDOUT;
    size = size < left ? size : left;
    memcpy(buffer, stream->reply + stream->taken, size);
    stream->taken += size;
    return (ssize_t)size;
}

static int script_send(struct joule_host *host, int handle, const void *bytes, size_t size,
                       int64_t deadline_ns)
{
    (void)deadline_ns;
    return ask_service(&script_of(host)->streams[handle - STREAMS], bytes, size);
}

static void script_close_handle(struct joule_host *host, int handle)
{
    if (handle < STREAMS)
        return;
    struct stream *stream = &script_of(host)->streams[handle - STREAMS];
    free(stream->reply);
    *stream = (struct stream){0};
}

/* --- libraries, programs, CPUID, environment: names without a leading slash ----------------------------- */

/* Returns the entry "kind/name", or NULL if there is none. */
static const struct entry *look_up(struct joule_host *host, const char *kind, const char *name)
{
    char key[HOST_PATH_MAX];
    snprintf(key, sizeof key, "%s/%s", kind, name);
    int i = find(script_of(host), key);
    return i >= 0 ? script_of(host)->entries[i] : NULL;
}

static void *script_open_library(struct joule_host *host, const char *name)
{
    return (void *)look_up(host, "library", name);
}

static void *script_library_symbol(struct joule_host *host, void *library, const char *name)
{
    (void)host;
    const struct entry *entry = library;
    for (size_t i = 0; i < entry->count; i++)
        if (strcmp(entry->symbols[i].name, name) == 0)
            return entry->symbols[i].address;
    return NULL;
}

static ssize_t script_run(struct joule_host *host, const char *const *argv, int64_t timeout_ns, char *buffer,
                          size_t size, int *out_status)
{
    (void)timeout_ns;
    const struct entry *entry = look_up(host, "program", argv[0]);
    int status = 0;
    buffer[0] = '\0';
    *out_status = -1;
    if (!entry)
        return -ENOENT;
    ssize_t length = entry->run(entry->context, script_of(host)->time_ns, argv, buffer, size, &status);
    if (length == -ETIMEDOUT) /* the buffer contains the output until then, terminated */
        return length;
    buffer[length < 0 ? 0 : (size_t)length < size ? (size_t)length : size - 1] = '\0';
    if (length >= (ssize_t)size)
        return -ENOBUFS;
    if (length >= 0)
        *out_status = status;
    return length;
}

static const char *script_env(struct joule_host *host, const char *name)
{
    const struct entry *entry = look_up(host, "env", name);
    return entry ? entry->text : NULL;
}

static void cpuid_name(uint32_t leaf, uint32_t subleaf, char out_name[32])
{
    snprintf(out_name, 32, "%" PRIx32 ".%" PRIx32, leaf, subleaf);
}

static bool script_cpuid(struct joule_host *host, uint32_t leaf, uint32_t subleaf, uint32_t out_registers[4])
{
    char name[32];
    cpuid_name(leaf, subleaf, name);
    const struct entry *entry = look_up(host, "cpuid", name);
    if (entry)
        memcpy(out_registers, entry->registers, sizeof entry->registers);
    return entry != NULL;
}

/* --- open and close ------------------------------------------------------------------------------------- */

static void script_close(struct joule_host *host)
{
    for (size_t i = 0; i < MAX_STREAMS; i++)
        free(script_of(host)->streams[i].reply);
    free(script_of(host)->entries);
    arena_free(&script_of(host)->arena);
    free(host);
}

static const struct host_ops script_ops = {
    .name = "script",
    .is_virtual = true,
    .clock_ns = script_clock_ns,
    .read_file = script_read_file,
    .list = script_list,
    .read_link = script_read_link,
    .open_file = script_open_file,
    .read_handle = script_read_handle,
    .open_register = script_open_register,
    .read_register = script_read_register,
    .open_perf = script_open_perf,
    .read_perf = script_read_perf,
    .query_drm = script_query_drm,
    .open_stream = script_open_stream,
    .receive = script_receive,
    .send = script_send,
    .close_handle = script_close_handle,
    .open_library = script_open_library,
    .library_symbol = script_library_symbol,
    .run = script_run,
    .cpuid = script_cpuid,
    .env = script_env,
    .close = script_close,
};

struct joule_host *host_script_open(void)
{
    struct script *script = calloc(1, sizeof *script);
    if (!script)
        return NULL;
    script->host.ops = &script_ops;
    script->time_ns = BEGIN_NS;
    return &script->host;
}

void host_script_set_time(struct joule_host *host, int64_t monotonic_ns)
{
    if (monotonic_ns > script_of(host)->time_ns)
        script_of(host)->time_ns = monotonic_ns;
}

void host_script_suspend(struct joule_host *host, int64_t duration_ns)
{
    script_of(host)->suspended_ns += duration_ns;
}

bool host_script_file(struct joule_host *host, const char *path, script_file_fn read, void *context)
{
    return set_entry(host, path, (struct entry){.kind = ENTRY_FILE, .context = context, .file = read});
}

/* Sets an entry to a copy of `text`. If `text` is NULL, removes the entry. Returns false if out of memory. */
static bool set_text(struct joule_host *host, const char *name, enum entry_kind kind, const char *text)
{
    struct entry entry = {.kind = text ? kind : ENTRY_GONE};
    if (text && !(entry.text = arena_copy(&script_of(host)->arena, text, strlen(text))))
        return false;
    return set_entry(host, name, entry);
}

bool host_script_text(struct joule_host *host, const char *path, const char *text)
{
    return set_text(host, path, ENTRY_TEXT, text);
}

bool host_script_link(struct joule_host *host, const char *path, const char *target)
{
    return set_text(host, path, ENTRY_LINK, target);
}

bool host_script_error(struct joule_host *host, const char *path, int errno_value)
{
    return set_entry(host, path, (struct entry){.kind = ENTRY_ERROR, .errno_value = errno_value});
}

bool host_script_register(struct joule_host *host, unsigned cpu, uint32_t address, script_value_fn read,
                          void *context)
{
    char name[HOST_PATH_MAX];
    register_name(cpu, address, name);
    return set_entry(host, name, (struct entry){.kind = ENTRY_VALUE, .context = context, .value = read});
}

bool host_script_perf(struct joule_host *host, const struct host_perf_event *event, script_value_fn read,
                      void *context)
{
    char name[HOST_PATH_MAX];
    path_of_perf(event, name);
    return set_entry(host, name, (struct entry){.kind = ENTRY_VALUE, .context = context, .value = read});
}

bool host_script_env(struct joule_host *host, const char *name, const char *value)
{
    char key[HOST_PATH_MAX];
    snprintf(key, sizeof key, "env/%s", name);
    return set_text(host, key, ENTRY_TEXT, value);
}

bool host_script_cpuid(struct joule_host *host, uint32_t leaf, uint32_t subleaf, const uint32_t registers[4])
{
    char name[32], key[HOST_PATH_MAX];
    cpuid_name(leaf, subleaf, name);
    snprintf(key, sizeof key, "cpuid/%s", name);
    struct entry entry = {.kind = ENTRY_CPUID};
    memcpy(entry.registers, registers, sizeof entry.registers);
    return set_entry(host, key, entry);
}

bool host_script_service(struct joule_host *host, const char *address, script_answer_fn answer, void *context)
{
    return set_entry(
        host, address,
        (struct entry){.kind = answer ? ENTRY_SERVICE : ENTRY_GONE, .context = context, .answer = answer});
}

bool host_script_program(struct joule_host *host, const char *name, script_run_fn run, void *context)
{
    char key[HOST_PATH_MAX];
    snprintf(key, sizeof key, "program/%s", name);
    return set_entry(host, key, (struct entry){.kind = ENTRY_PROGRAM, .context = context, .run = run});
}

bool host_script_library(struct joule_host *host, const char *name, const struct script_symbol *symbols,
                         size_t count)
{
    char key[HOST_PATH_MAX];
    snprintf(key, sizeof key, "library/%s", name);
    return set_entry(host, key, (struct entry){.kind = ENTRY_LIBRARY, .count = count, .symbols = symbols});
}
