/* joule/host/tree.c - implements a machine that is recorded in a folder.
 *
 * Paths of the machine are mapped into the folder. Text files there contain registers, perf events, CPUID,
 * programs, environment and errors (format: host_tree_open). A handle is a descriptor of the recorded file,
 * or ERROR_HANDLE plus the errno that a read returns.
 * Note: no path leaves the root, whatever links were recorded (path.h).
 */
#include "joule/host/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/string.h"
#include "joule/host/path.h"
#include "joule/host/stream.h"

#define ERROR_HANDLE (1 << 24)
#define TEXT_MAX     65536
#define COMMAND_MAX  4096

struct tree {
    struct joule_host host;
    struct arena arena;
    const char *root;
    /* contents of the files with these names; empty if a file is absent */
    char *errors, *env, *cpuid, *commands;
    size_t env_size; /* bytes of env, in which each line is a terminated string */
};

static struct tree *tree_of(struct joule_host *host)
{
    return (struct tree *)host;
}

/* --- paths ---------------------------------------------------------------------------------------------- */

/* Writes the path on this machine for a path of the recorded machine. Returns false if it does not fit. */
static bool below_root(const struct tree *tree, const char *path, char out[HOST_PATH_MAX])
{
    return (size_t)snprintf(out, HOST_PATH_MAX, "%s%s", tree->root, path) < HOST_PATH_MAX;
}

static ssize_t link_below_root(void *context, const char *path, char *buffer, size_t size)
{
    char local[HOST_PATH_MAX];
    if (!below_root(context, path, local))
        return -ENAMETOOLONG;
    return host_real()->ops->read_link(host_real(), local, buffer, size);
}

static int resolve(struct tree *tree, const char *path, bool follow_last, char out_path[HOST_PATH_MAX])
{
    return path_resolve(path, follow_last, link_below_root, tree, out_path);
}

/* Returns the errno value of a name such as "EACCES"; EIO for an unknown name. */
static int errno_of_name(const char *name)
{
    static const struct {
        const char *name;
        int value;
    } known[] = {{"EACCES", EACCES},       {"EPERM", EPERM},    {"EIO", EIO},       {"ENODATA", ENODATA},
                 {"ENXIO", ENXIO},         {"EINVAL", EINVAL},  {"ENOENT", ENOENT}, {"ENODEV", ENODEV},
                 {"ETIMEDOUT", ETIMEDOUT}, {"ENOBUFS", ENOBUFS}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].value;
    return EIO;
}

/* Copies the next line of *text, without its newline, and moves *text behind it. Returns false at the end. */
static bool next_line(const char **text, char *line, size_t size)
{
    if (!**text)
        return false;
    size_t length = strcspn(*text, "\n");
    snprintf(line, size, "%.*s", (int)length, *text);
    *text += length + ((*text)[length] == '\n');
    return true;
}

/* Returns the errno value recorded for a path, which is positive, or 0 if there is none. */
static int recorded_errno(struct tree *tree, const char *path)
{
    const char *errors = tree->errors;
    char line[HOST_PATH_MAX + 32];
    while (next_line(&errors, line, sizeof line)) {
        char *name = strrchr(line, ' ');
        if (!name)
            continue;
        *name++ = '\0';
        if (strcmp(string_trim(line), path) == 0)
            return errno_of_name(string_trim(name));
    }
    return 0;
}

/* Writes the path on this machine for `path` to out_local. Returns 0 or -errno. *out_errno: the recorded
 * error; 0: none. */
static int locate(struct tree *tree, const char *path, bool follow_last, char out_local[HOST_PATH_MAX],
                  int *out_errno)
{
    char resolved[HOST_PATH_MAX];
    int rc = resolve(tree, path, follow_last, resolved);
    if (rc != 0)
        return rc;
    *out_errno = recorded_errno(tree, path);
    if (!*out_errno)
        *out_errno = recorded_errno(tree, resolved);
    return below_root(tree, resolved, out_local) ? 0 : -ENAMETOOLONG;
}

/* --- files ---------------------------------------------------------------------------------------------- */

static int64_t tree_clock_ns(struct joule_host *host, clockid_t clock)
{
    (void)host;
    return host_real()->ops->clock_ns(host_real(), clock);
}

static ssize_t tree_read_file(struct joule_host *host, const char *path, char *buffer, size_t size)
{
    char local[HOST_PATH_MAX];
    int error, rc = locate(tree_of(host), path, true, local, &error);
    if (rc != 0)
        return rc;
    return error ? -error : host_real()->ops->read_file(host_real(), local, buffer, size);
}

static ssize_t tree_list(struct joule_host *host, const char *path, struct arena *arena, char ***out_names)
{
    char local[HOST_PATH_MAX];
    int error, rc = locate(tree_of(host), path, true, local, &error);
    if (rc != 0)
        return rc;
    return error ? -error : host_real()->ops->list(host_real(), local, arena, out_names);
}

static ssize_t tree_read_link(struct joule_host *host, const char *path, char *buffer, size_t size)
{
    char local[HOST_PATH_MAX];
    int error, rc = locate(tree_of(host), path, false, local, &error);
    return rc != 0 ? rc : host_real()->ops->read_link(host_real(), local, buffer, size);
}

static int tree_open_file(struct joule_host *host, const char *path)
{
    char local[HOST_PATH_MAX];
    int error, rc = locate(tree_of(host), path, true, local, &error);
    if (rc != 0)
        return rc;
    if (error)
        return path_errno_is_of_open(error) ? -error : ERROR_HANDLE + error;
    return host_real()->ops->open_file(host_real(), local);
}

static ssize_t tree_read_handle(struct joule_host *host, int handle, char *buffer, size_t size)
{
    (void)host;
    if (handle >= ERROR_HANDLE)
        return ERROR_HANDLE - handle;
    return host_real()->ops->read_handle(host_real(), handle, buffer, size);
}

static int tree_open_stream(struct joule_host *host, const char *address, int64_t deadline_ns)
{
    static const char scheme[] = "unix:";
    char local[sizeof scheme + HOST_PATH_MAX] = "unix:";
    int error;
    if (!string_starts(address, scheme))
        return -ECONNREFUSED;
    int rc = locate(tree_of(host), address + strlen(scheme), true, local + strlen(scheme), &error);
    if (rc != 0 || error)
        return rc ? rc : -error;
    return host_stream_open(local, deadline_ns);
}

static ssize_t tree_receive(struct joule_host *host, int handle, void *buffer, size_t size,
                            int64_t deadline_ns)
{
    (void)host;
    return host_stream_receive(handle, buffer, size, deadline_ns);
}

static int tree_send(struct joule_host *host, int handle, const void *bytes, size_t size, int64_t deadline_ns)
{
    (void)host;
    return host_stream_send(handle, bytes, size, deadline_ns);
}

static void tree_close_handle(struct joule_host *host, int handle)
{
    (void)host;
    if (handle < ERROR_HANDLE)
        close(handle);
}

/* --- registers, events, CPUID, environment: text -------------------------------------------------------- */

static int tree_open_register(struct joule_host *host, unsigned cpu)
{
    char path[HOST_PATH_MAX];
    path_of_registers(cpu, path);
    return tree_open_file(host, path);
}

static int tree_read_register(struct joule_host *host, int handle, uint32_t address, uint64_t *out_value)
{
    char text[TEXT_MAX], line[128];
    ssize_t length = tree_read_handle(host, handle, text, sizeof text);
    if (length < 0)
        return (int)length;
    const char *rest = text;
    while (next_line(&rest, line, sizeof line)) {
        uint32_t number;
        uint64_t value;
        if (sscanf(line, "%" SCNx32 " %" SCNx64, &number, &value) == 2 && number == address) {
            *out_value = value;
            return 0;
        }
    }
    return -EIO; /* the same error as for a CPU without this register */
}

static int tree_open_perf(struct joule_host *host, const struct host_perf_event *event)
{
    char path[HOST_PATH_MAX];
    path_of_perf(event, path);
    int error = recorded_errno(tree_of(host), path);
    return error ? -error : tree_open_file(host, path);
}

static ssize_t tree_query_drm(struct joule_host *host, const char *device, enum host_drm_query query,
                              void *buffer, size_t size)
{
    char path[HOST_PATH_MAX];
    string_print(path, sizeof path, "/drm/%s/%d", device, (int)query);
    return tree_read_file(host, path, buffer, size);
}

static int tree_read_perf(struct joule_host *host, int handle, uint64_t *out_value)
{
    char text[64];
    ssize_t length = tree_read_handle(host, handle, text, sizeof text);
    if (length < 0)
        return (int)length;
    return string_to_u64(text, 10, out_value) ? 0 : -EIO;
}

static bool tree_cpuid(struct joule_host *host, uint32_t leaf, uint32_t subleaf, uint32_t out_registers[4])
{
    const char *rest = tree_of(host)->cpuid;
    char line[128];
    while (next_line(&rest, line, sizeof line)) {
        uint32_t n[6];
        int count = sscanf(line, "%" SCNx32 " %" SCNx32 " %" SCNx32 " %" SCNx32 " %" SCNx32 " %" SCNx32,
                           &n[0], &n[1], &n[2], &n[3], &n[4], &n[5]);
        if (count == 6 && n[0] == leaf && n[1] == subleaf) {
            memcpy(out_registers, n + 2, 4 * sizeof *n);
            return true;
        }
    }
    return false;
}

static const char *tree_env(struct joule_host *host, const char *name)
{
    const struct tree *tree = tree_of(host);
    size_t length = strlen(name);
    for (const char *line = tree->env; line < tree->env + tree->env_size; line += strlen(line) + 1)
        if (strncmp(line, name, length) == 0 && line[length] == '=')
            return line + length + 1;
    return NULL;
}

/* Returns NULL, because a recorded machine contains no code. */
static void *tree_open_library(struct joule_host *host, const char *name)
{
    (void)host, (void)name;
    return NULL;
}

static void *tree_library_symbol(struct joule_host *host, void *library, const char *name)
{
    (void)host, (void)library, (void)name;
    return NULL;
}

/* --- programs ------------------------------------------------------------------------------------------- */

/* Returns true if argv, joined with single spaces, is this command. */
static bool is_command(const char *const *argv, const char *command)
{
    for (; *argv; argv++) {
        size_t length = strlen(*argv);
        if (strncmp(command, *argv, length) != 0 || command[length] != (argv[1] ? ' ' : '\0'))
            return false;
        command += length + 1;
    }
    return true;
}

/* Reads run/FILE, the program's output, into the buffer. Returns the output's length, with *out_status set to
 * the number in `word`. If `word` is the name of an error, or the output does not fit, returns -errno. */
static ssize_t replay(struct joule_host *host, const char *file, const char *word, char *buffer, size_t size,
                      int *out_status)
{
    char path[HOST_PATH_MAX], local[HOST_PATH_MAX];
    uint64_t status;
    if (!string_to_u64(word, 10, &status) || status > 255)
        return -errno_of_name(word);
    string_print(path, sizeof path, "/run/%s", file);
    ssize_t length = tree_read_file(host, path, buffer, size);
    if (length < 0)
        return length;
    int error;
    struct stat info;
    if (locate(tree_of(host), path, true, local, &error) == 0 && stat(local, &info) == 0 &&
        info.st_size > (off_t)length)
        return -ENOBUFS;
    *out_status = (int)status;
    return length;
}

static ssize_t tree_run(struct joule_host *host, const char *const *argv, int64_t timeout_ns, char *buffer,
                        size_t size, int *out_status)
{
    (void)timeout_ns;
    const char *rest = tree_of(host)->commands;
    char line[COMMAND_MAX];
    buffer[0] = '\0';
    *out_status = -1;
    while (next_line(&rest, line, sizeof line)) {
        char *position, *file = strtok_r(line, " ", &position), *word = strtok_r(NULL, " ", &position);
        if (word && is_command(argv, string_trim(position)))
            return replay(host, file, word, buffer, size, out_status);
    }
    return -ENOENT;
}

/* --- open and close ------------------------------------------------------------------------------------- */

/* Returns the content of an auxiliary file of the recording, in the arena; "" if the file is absent. Returns
 * NULL if out of memory. */
static char *side_file(struct tree *tree, const char *path)
{
    char local[HOST_PATH_MAX], text[TEXT_MAX];
    if (!below_root(tree, path, local) ||
        host_real()->ops->read_file(host_real(), local, text, sizeof text) < 0)
        text[0] = '\0';
    return arena_copy(&tree->arena, text, sizeof text);
}

static void tree_close(struct joule_host *host)
{
    arena_free(&tree_of(host)->arena);
    free(host);
}

static const struct host_ops tree_ops = {
    .name = "tree",
    .clock_ns = tree_clock_ns,
    .read_file = tree_read_file,
    .list = tree_list,
    .read_link = tree_read_link,
    .open_file = tree_open_file,
    .read_handle = tree_read_handle,
    .open_register = tree_open_register,
    .read_register = tree_read_register,
    .open_perf = tree_open_perf,
    .read_perf = tree_read_perf,
    .query_drm = tree_query_drm,
    .open_stream = tree_open_stream,
    .receive = tree_receive,
    .send = tree_send,
    .close_handle = tree_close_handle,
    .open_library = tree_open_library,
    .library_symbol = tree_library_symbol,
    .run = tree_run,
    .cpuid = tree_cpuid,
    .env = tree_env,
    .close = tree_close,
};

struct joule_host *host_tree_open(const char *root)
{
    struct stat status;
    if (stat(root, &status) != 0 || !S_ISDIR(status.st_mode))
        return NULL;
    struct tree *tree = calloc(1, sizeof *tree);
    if (!tree)
        return NULL;
    tree->host.ops = &tree_ops;
    tree->root = arena_copy(&tree->arena, root, strlen(root));
    if (tree->root) {
        tree->errors = side_file(tree, "/errors");
        tree->env = side_file(tree, "/env");
        tree->cpuid = side_file(tree, "/cpuid");
        tree->commands = side_file(tree, "/run/commands");
    }
    if (!tree->root || !tree->errors || !tree->env || !tree->cpuid || !tree->commands) {
        tree_close(&tree->host);
        return NULL;
    }
    tree->env_size = strlen(tree->env);
    for (size_t i = 0; i < tree->env_size; i++)
        if (tree->env[i] == '\n')
            tree->env[i] = '\0';
    return &tree->host;
}
