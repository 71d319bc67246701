/* joule/sources/drm_processes.c - see drm_processes.h.
 *
 * Note: searching all open files of all processes each second would cost too much. A new process is searched
 * at once, because programs open a GPU early, and then at doubling intervals. Known files are read at each
 * query. The first query searches all processes that exist. Each later query searches only a part of them. */
#include "joule/sources/drm_processes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/string.h"
#include "joule/sources/drm_fdinfo.h"

#define FDINFO_SIZE         8192
#define PATH_SIZE           64
#define MAX_SEARCH_INTERVAL 32 /* longest interval between two searches of a process, in queries */
/* maximum number of searches in a query, in addition to a fraction of all processes */
#define MAX_SEARCHES 256

struct drm_file {
    pid_t pid;
    unsigned number;
    bool is_known;    /* `client` is set */
    bool is_repeated; /* an earlier file has the same client */
    double active_s;  /* active time between the last two queries; NaN: the client is new */
    struct drm_client client;
};

struct drm_process {
    pid_t pid;
    uint32_t wait, left; /* queries between two searches; queries until the next search */
    bool is_hidden;      /* its files are not readable, or have not been read yet */
};

/* --- finding files -------------------------------------------------------------------------------------- */

static bool is_known_file(const struct drm_processes *processes, pid_t pid, unsigned number)
{
    for (size_t i = 0; i < processes->file_count; i++)
        if (processes->files[i].pid == pid && processes->files[i].number == number)
            return true;
    return false;
}

static void add_file(struct drm_processes *processes, pid_t pid, unsigned number)
{
    if (!is_known_file(processes, pid, number) &&
        ARRAY_ROOM(processes->files, processes->file_capacity, processes->file_count))
        processes->files[processes->file_count++] = (struct drm_file){.pid = pid, .number = number};
}

/* Adds the files of /dev/dri that a process holds open. */
static void search_process(struct drm_processes *processes, struct joule_host *host,
                           struct drm_process *process)
{
    struct arena arena = {0};
    char path[PATH_SIZE], target[PATH_SIZE], **names;
    string_print(path, sizeof path, "/proc/%d/fd", (int)process->pid);
    ssize_t count = host->ops->list(host, path, &arena, &names);
    process->is_hidden = count == -EACCES || count == -EPERM;
    for (ssize_t i = 0; i < count; i++) {
        uint64_t number;
        string_print(path, sizeof path, "/proc/%d/fd/%s", (int)process->pid, names[i]);
        if (string_to_u64(names[i], 10, &number) && number <= UINT32_MAX &&
            host->ops->read_link(host, path, target, sizeof target) > 0 && string_starts(target, "/dev/dri/"))
            add_file(processes, process->pid, (unsigned)number);
    }
    arena_free(&arena);
}

static void find_files(struct drm_processes *processes, struct joule_host *host, bool is_first)
{
    size_t searches_left = MAX_SEARCHES + processes->count / (MAX_SEARCH_INTERVAL / 2);
    for (size_t i = 0; i < processes->count; i++) {
        struct drm_process *process = &processes->list[i];
        if (process->left > 0) {
            process->left--;
        } else if (searches_left > 0) {
            searches_left--;
            search_process(processes, host, process);
            if (is_first) { /* spread later searches over the queries */
                process->wait = MAX_SEARCH_INTERVAL;
                process->left = (uint32_t)process->pid % MAX_SEARCH_INTERVAL;
                continue;
            }
            process->left = process->wait;
            process->wait = process->wait ? process->wait * 2 : 1;
            if (process->wait > MAX_SEARCH_INTERVAL)
                process->wait = MAX_SEARCH_INTERVAL;
        }
    }
}

/* --- processes ------------------------------------------------------------------------------------------ */

static int by_pid(const void *a, const void *b)
{
    pid_t left = ((const struct drm_process *)a)->pid, right = ((const struct drm_process *)b)->pid;
    return (left > right) - (left < right);
}

/* Copies the search state of processes that are also in the old list. Both lists are sorted. */
static void carry_over(const struct drm_processes *old, struct drm_process *next, size_t count)
{
    for (size_t i = 0, k = 0; i < count; i++) {
        while (k < old->count && old->list[k].pid < next[i].pid)
            k++;
        if (k < old->count && old->list[k].pid == next[i].pid)
            next[i] = old->list[k];
    }
}

/* Replaces the list of processes. Returns false, with the list unchanged, if /proc is missing or if out of
 * memory. */
static bool list_processes(struct drm_processes *processes, struct joule_host *host)
{
    struct arena arena = {0};
    struct drm_process *next = NULL;
    char **names;
    size_t count = 0, capacity = 0;
    uint64_t pid;
    ssize_t entries = host->ops->list(host, "/proc", &arena, &names);
    bool is_listed = entries > 0 && array_reserve((void **)&next, &capacity, (size_t)entries, sizeof *next);
    for (ssize_t i = 0; is_listed && i < entries; i++)
        if (string_to_u64(names[i], 10, &pid) && pid > 0 && pid <= INT32_MAX)
            next[count++] = (struct drm_process){.pid = (pid_t)pid, .is_hidden = true};
    arena_free(&arena);
    if (!is_listed)
        return false;
    qsort(next, count, sizeof *next, by_pid);
    carry_over(processes, next, count);
    free(processes->list);
    processes->list = next;
    processes->count = count;
    processes->capacity = capacity;
    return true;
}

static bool has_hidden(const struct drm_processes *processes)
{
    for (size_t i = 0; i < processes->count; i++)
        if (processes->list[i].is_hidden)
            return true;
    /* Process 1 is not listed if the mount option hidepid of /proc hides processes of other users. */
    return processes->count == 0 || processes->list[0].pid != 1;
}

/* --- reading files -------------------------------------------------------------------------------------- */

/* Returns true if one of the first `count` files has the same client. */
static bool is_repeated(const struct drm_processes *processes, size_t count, const struct drm_client *client)
{
    for (size_t i = 0; i < count; i++)
        if (drm_is_same_client(&processes->files[i].client, client))
            return true;
    return false;
}

/* Reads the client's usage again. Returns false if the file is gone or has no usage data of a graphics
 * driver. */
static bool read_file(struct drm_file *file, struct joule_host *host, double elapsed_s)
{
    char path[PATH_SIZE], text[FDINFO_SIZE];
    struct drm_client client;
    string_print(path, sizeof path, "/proc/%d/fdinfo/%u", (int)file->pid, file->number);
    if (host->ops->read_file(host, path, text, sizeof text) <= 0 || !drm_parse(text, &client))
        return false;
    if (file->is_known && drm_is_same_client(&file->client, &client)) {
        file->active_s = drm_advance(&file->client, &client, elapsed_s);
    } else { /* the file is new, or its number belongs to another file now */
        file->client = client;
        file->active_s = NAN;
    }
    file->is_known = true;
    return true;
}

static void read_files(struct drm_processes *processes, struct joule_host *host)
{
    size_t kept = 0;
    for (size_t i = 0; i < processes->file_count; i++) {
        struct drm_file file = processes->files[i];
        if (!read_file(&file, host, processes->elapsed_s))
            continue;
        file.is_repeated = is_repeated(processes, kept, &file.client);
        processes->files[kept++] = file;
    }
    processes->file_count = kept;
}

void drm_processes_query(struct drm_processes *processes, struct joule_host *host, int64_t now_ns)
{
    bool is_first = processes->queried_ns == 0;
    processes->elapsed_s = is_first ? 0 : (double)(now_ns - processes->queried_ns) * 1e-9;
    processes->queried_ns = now_ns;
    if (list_processes(processes, host))
        find_files(processes, host, is_first);
    read_files(processes, host);
    processes->has_kernels_numbers = host_is_in_root_pid_namespace(host);
    processes->sees_all = processes->has_kernels_numbers && !has_hidden(processes);
}

/* --- results -------------------------------------------------------------------------------------------- */

static void add_client(joule_device_process *process, const struct drm_file *file, double elapsed_s)
{
    drm_add_bytes(&process->memory_bytes, file->client.memory_bytes);
    if (!isnan(file->active_s) && elapsed_s > 0)
        process->busy = fmin(1, (isnan(process->busy) ? 0 : process->busy) + file->active_s / elapsed_s);
}

void drm_processes_add_facts(const struct drm_processes *processes, const char *pci_address,
                             struct device_facts *facts)
{
    facts->has_process_list = facts->has_process_list || processes->sees_all;
    for (size_t i = 0; i < processes->file_count; i++) {
        const struct drm_file *file = &processes->files[i];
        if (file->is_repeated || !file->client.is_used || strcmp(file->client.pci_address, pci_address) != 0)
            continue;
        joule_device_process *process = device_facts_process(facts, (uint64_t)file->pid);
        if (process)
            add_client(process, file, processes->elapsed_s);
    }
}

void drm_processes_free(struct drm_processes *processes)
{
    free(processes->files);
    free(processes->list);
    *processes = (struct drm_processes){0};
}
