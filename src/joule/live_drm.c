/* joule/live_drm.c - see live_drm.h.
 *
 * Newcomers: to look through all files of all processes would cost more than all the rest. Processes that ran since the last
 * look are looked through, and some of the others in turn.
 */
#include "joule/live_drm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <joule/devices.h>
#include "base/array.h"
#include "base/string.h"

#define FDINFO_SIZE 8192
#define MOST_LOOKS  24 /* processes looked through at a time */
#define PATH_SIZE   64

struct drm_file {
    pid_t pid;
    uint64_t start_ticks;
    unsigned number;
    bool is_read, is_known; /* at this look; ever */
    struct drm_client client;
};

/* --- the text -------------------------------------------------------------------------------------------------- */

/* The engine whose name follows `prefix` in a key; NULL: another key, or too many engines. */
static struct drm_engine *engine_of(struct drm_client *client, const char *key, const char *prefix)
{
    if (!string_starts(key, prefix))
        return NULL;
    const char *name = key + strlen(prefix);
    for (size_t i = 0; i < client->engine_count; i++)
        if (strcmp(client->engines[i].name, name) == 0)
            return &client->engines[i];
    struct drm_engine *engine = &client->engines[client->engine_count];
    if (client->engine_count == DRM_MOST_ENGINES || !string_copy(engine->name, sizeof engine->name, name))
        return NULL;
    client->engine_count++;
    return engine;
}

/* "192 KiB", "23 MiB", or bytes without a unit. */
static uint64_t bytes_of(const char *value)
{
    char *unit;
    uint64_t number = strtoull(value, &unit, 10);
    unsigned shift = string_starts(unit, " KiB") ? 10 : string_starts(unit, " MiB") ? 20 : 0;
    return number <= UINT64_MAX >> shift ? number << shift : JOULE_BYTES_UNKNOWN;
}

static void take_pair(struct drm_client *client, const char *key, const char *value, bool *has_id)
{
    struct drm_engine *engine;
    uint64_t number = value[0] >= '0' && value[0] <= '9' ? strtoull(value, NULL, 10) : 0;
    if (strcmp(key, "drm-pdev") == 0) {
        string_copy(client->pci_address, sizeof client->pci_address, value);
    } else if (strcmp(key, "drm-client-id") == 0) {
        *has_id = string_to_u64(value, 10, &client->id);
    } else if (strcmp(key, "drm-resident-vram0") == 0 || strcmp(key, "drm-resident-vram") == 0 ||
               strcmp(key, "drm-resident-local0") == 0 ||
               (strcmp(key, "drm-memory-vram") == 0 && client->memory_bytes == JOULE_BYTES_UNKNOWN)) {
        client->memory_bytes = bytes_of(value); /* drm-memory- is the older name */
    } else if ((engine = engine_of(client, key, "drm-engine-capacity-"))) {
        engine->capacity = number <= UINT32_MAX ? (uint32_t)number : 0;
    } else if (!string_starts(key, "drm-engine-capacity-") &&
               (engine = engine_of(client, key, "drm-engine-"))) {
        engine->active_ns = number;
    } else if ((engine = engine_of(client, key, "drm-cycles-"))) {
        engine->cycles = number;
    } else if ((engine = engine_of(client, key, "drm-total-cycles-"))) {
        engine->total_cycles = number;
    }
}

bool drm_parse(const char *fdinfo, struct drm_client *out_client)
{
    bool has_id = false;
    *out_client = (struct drm_client){.memory_bytes = JOULE_BYTES_UNKNOWN};
    for (const char *line = fdinfo; *line;) {
        size_t length = strcspn(line, "\n");
        char key[48], text[64];
        string_print(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text - 1), line);
        char *colon = length < sizeof text ? strchr(text, ':') : NULL;
        if (colon && string_starts(text, "drm-")) {
            *colon = '\0';
            string_copy(key, sizeof key, string_trim(text));
            take_pair(out_client, key, string_trim(colon + 1), &has_id);
        }
        line += length + (line[length] == '\n');
    }
    return has_id && out_client->pci_address[0];
}

static double engine_active_s(const struct drm_engine *before, const struct drm_engine *now, double elapsed_s)
{
    double capacity = now->capacity ? now->capacity : 1;
    if (now->total_cycles) {
        if (now->total_cycles <= before->total_cycles || now->cycles < before->cycles)
            return 0;
        return elapsed_s * (double)(now->cycles - before->cycles) /
               (double)(now->total_cycles - before->total_cycles) / capacity;
    }
    return now->active_ns > before->active_ns ? (double)(now->active_ns - before->active_ns) * 1e-9 / capacity
                                              : 0;
}

double drm_active_s(const struct drm_client *before, const struct drm_client *now, double elapsed_s)
{
    double most_s = 0;
    for (size_t i = 0; i < now->engine_count; i++) {
        const struct drm_engine *engine = &now->engines[i];
        for (size_t k = 0; k < before->engine_count; k++)
            if (strcmp(before->engines[k].name, engine->name) == 0)
                most_s = fmax(most_s, engine_active_s(&before->engines[k], engine, elapsed_s));
    }
    return fmin(most_s, elapsed_s);
}

/* --- finding files --------------------------------------------------------------------------------------------- */

static bool is_known_file(const struct live_drm *drm, const struct live_process *process, unsigned number)
{
    for (size_t i = 0; i < drm->count; i++)
        if (drm->files[i].pid == process->pid && drm->files[i].number == number)
            return true;
    return false;
}

/* Adds the files of /dev/dri that a process holds open. */
static bool look_through(struct live_drm *drm, struct joule_host *host, const struct live_process *process)
{
    struct arena arena = {0};
    char path[PATH_SIZE], target[PATH_SIZE], **names;
    bool has_room = true;
    string_print(path, sizeof path, "/proc/%d/fd", (int)process->pid);
    ssize_t count = host->ops->list(host, path, &arena, &names);
    for (ssize_t i = 0; i < count; i++) {
        uint64_t number;
        string_print(path, sizeof path, "/proc/%d/fd/%s", (int)process->pid, names[i]);
        if (!string_to_u64(names[i], 10, &number) || number > UINT32_MAX ||
            host->ops->read_link(host, path, target, sizeof target) <= 0 ||
            !string_starts(target, "/dev/dri/") || is_known_file(drm, process, (unsigned)number))
            continue;
        has_room = ARRAY_ROOM(drm->files, drm->capacity, drm->count);
        if (!has_room)
            break;
        drm->files[drm->count++] = (struct drm_file){
            .pid = process->pid, .start_ticks = process->start_ticks, .number = (unsigned)number};
    }
    arena_free(&arena);
    return has_room;
}

/* Of the processes that ran since the last look, or of the others, those after the one that was looked through last. */
static bool look_at_some(struct live_drm *drm, struct joule_host *host, const struct live_table *table,
                         bool ran, unsigned *looks)
{
    bool has_room = true;
    pid_t *turn = &drm->turns[ran];
    for (size_t i = 0; i<table->count && * looks> 0; i++) {
        const struct live_process *process = &table->items[i];
        if (process->is_outside || process->pid <= *turn || (process->cpu_share > 0) != ran)
            continue;
        *turn = process->pid;
        --*looks;
        has_room = look_through(drm, host, process) && has_room;
    }
    if (*looks > 0)
        *turn = 0; /* all were there */
    return has_room;
}

static bool find_files(struct live_drm *drm, struct joule_host *host, const struct live_table *table)
{
    unsigned looks = MOST_LOOKS;
    bool has_room = look_at_some(drm, host, table, true, &looks);
    return look_at_some(drm, host, table, false, &looks) && has_room;
}

/* --- reading them ---------------------------------------------------------------------------------------------- */

/* False: it is gone, is another process's now, or is no file of a graphics driver that tells anything. */
static bool read_file(struct joule_host *host, struct live_table *table, const struct drm_file *file,
                      struct drm_client *out_client)
{
    char path[PATH_SIZE], text[FDINFO_SIZE];
    const struct live_process *process = live_table_find(table, file->pid);
    string_print(path, sizeof path, "/proc/%d/fdinfo/%u", (int)file->pid, file->number);
    return process && process->start_ticks == file->start_ticks &&
           host->ops->read_file(host, path, text, sizeof text) > 0 && drm_parse(text, out_client);
}

static bool is_same_client(const struct drm_client *a, const struct drm_client *b)
{
    return a->id == b->id && strcmp(a->pci_address, b->pci_address) == 0;
}

/* The client is open before, in this process or another. */
static bool is_repeated(const struct live_drm *drm, size_t count, const struct drm_client *client)
{
    for (size_t i = 0; i < count; i++)
        if (is_same_client(&drm->files[i].client, client))
            return true;
    return false;
}

bool live_drm_look(struct live_drm *drm, struct joule_host *host, struct live_table *table, double elapsed_s,
                   drm_visit_fn visit, void *context)
{
    bool has_room = find_files(drm, host, table);
    size_t kept = 0;
    for (size_t i = 0; i < drm->count; i++) {
        struct drm_file file = drm->files[i];
        struct drm_client client;
        if (!read_file(host, table, &file, &client))
            continue;
        bool goes_on = file.is_known && is_same_client(&file.client, &client);
        if (!is_repeated(drm, kept, &client))
            visit(live_table_find(table, file.pid), &client,
                  goes_on ? drm_active_s(&file.client, &client, elapsed_s) : 0, context);
        file.client = client;
        file.is_known = true;
        drm->files[kept++] = file;
    }
    drm->count = kept;
    return has_room;
}

void live_drm_free(struct live_drm *drm)
{
    free(drm->files);
    *drm = (struct live_drm){0};
}
