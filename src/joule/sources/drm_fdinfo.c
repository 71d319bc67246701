/* joule/sources/drm_fdinfo.c - see drm_fdinfo.h.
 *
 * Note: a driver reports memory for each region. The board's own memory is "vram" in amdgpu and "local0" in
 * i915; in xe it is "vram0" and "vram1", one for each tile. The value of "drm-resident-REGION" is the memory
 * in use in a region. "drm-memory-REGION" is an older name of this key; amdgpu writes both. */
#include "joule/sources/drm_fdinfo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <joule/devices.h>
#include "base/string.h"

/* --- the text ------------------------------------------------------------------------------------------- */

struct reading {
    struct drm_client *client;
    bool has_id;
    /* use of the device's memory, from the current and the older keys */
    uint64_t resident_bytes, older_bytes;
};

/* Returns the engine whose name follows `prefix` in a key; adds a new engine. Returns NULL for a key without
 * the prefix, or if there are too many engines. */
static struct drm_engine *engine_of(struct drm_client *client, const char *key, const char *prefix)
{
    if (!string_starts(key, prefix))
        return NULL;
    const char *name = key + strlen(prefix);
    for (size_t i = 0; i < client->engine_count; i++)
        if (strcmp(client->engines[i].name, name) == 0)
            return &client->engines[i];
    struct drm_engine *engine = &client->engines[client->engine_count];
    if (client->engine_count == DRM_MAX_ENGINES || !string_copy(engine->name, sizeof engine->name, name))
        return NULL;
    client->engine_count++;
    return engine;
}

/* Returns the number of bytes in a text such as "192 KiB", "23 MiB", or "1024" (bytes), or
 * JOULE_BYTES_UNKNOWN if it exceeds 64 bits. */
static uint64_t bytes_of(const char *value)
{
    char *unit;
    uint64_t number = strtoull(value, &unit, 10);
    unsigned shift = string_starts(unit, " KiB") ? 10 : string_starts(unit, " MiB") ? 20 : 0;
    return number <= UINT64_MAX >> shift ? number << shift : JOULE_BYTES_UNKNOWN;
}

/* Returns true if `region` names the board's own memory, of any tile. */
static bool is_own(const char *region)
{
    size_t word = string_starts(region, "vram") ? 4 : string_starts(region, "local") ? 5 : 0;
    return word && region[word + strspn(region + word, "0123456789")] == '\0';
}

void drm_add_bytes(uint64_t *sum, uint64_t bytes)
{
    if (*sum == JOULE_BYTES_UNKNOWN)
        *sum = bytes;
    else if (bytes != JOULE_BYTES_UNKNOWN)
        *sum = bytes < UINT64_MAX - *sum ? *sum + bytes : UINT64_MAX - 1;
}

static void parse_memory(struct reading *r, const char *region, const char *value, uint64_t *sum)
{
    uint64_t bytes = bytes_of(value);
    if (bytes == JOULE_BYTES_UNKNOWN)
        return;
    r->client->is_used = r->client->is_used || bytes;
    if (is_own(region))
        drm_add_bytes(sum, bytes);
}

static void parse_engine(struct drm_client *client, const char *key, const char *value)
{
    struct drm_engine *engine;
    uint64_t number = value[0] >= '0' && value[0] <= '9' ? strtoull(value, NULL, 10) : 0;
    if ((engine = engine_of(client, key, "drm-engine-capacity-")))
        engine->capacity = number <= UINT32_MAX ? (uint32_t)number : 0;
    else if (!string_starts(key, "drm-engine-capacity-") && (engine = engine_of(client, key, "drm-engine-")))
        engine->active_ns = number;
    else if ((engine = engine_of(client, key, "drm-cycles-")))
        engine->cycles = number;
    else if ((engine = engine_of(client, key, "drm-total-cycles-")))
        engine->total_cycles = number;
    client->is_used = client->is_used || (engine && (engine->active_ns || engine->cycles));
}

static void parse_pair(struct reading *r, const char *key, const char *value)
{
    static const char resident[] = "drm-resident-", older[] = "drm-memory-";
    if (strcmp(key, "drm-pdev") == 0)
        string_copy(r->client->pci_address, sizeof r->client->pci_address, value);
    else if (strcmp(key, "drm-client-id") == 0)
        r->has_id = string_to_u64(value, 10, &r->client->id);
    else if (string_starts(key, resident))
        parse_memory(r, key + strlen(resident), value, &r->resident_bytes);
    else if (string_starts(key, older))
        parse_memory(r, key + strlen(older), value, &r->older_bytes);
    else
        parse_engine(r->client, key, value);
}

bool drm_parse(const char *fdinfo, struct drm_client *out_client)
{
    struct reading r = {out_client, false, JOULE_BYTES_UNKNOWN, JOULE_BYTES_UNKNOWN};
    *out_client = (struct drm_client){.memory_bytes = JOULE_BYTES_UNKNOWN};
    for (const char *line = fdinfo; *line;) {
        size_t length = strcspn(line, "\n");
        char key[48], text[64];
        string_print(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text - 1), line);
        char *colon = length < sizeof text ? strchr(text, ':') : NULL;
        if (colon && string_starts(text, "drm-")) {
            *colon = '\0';
            string_copy(key, sizeof key, string_trim(text));
            parse_pair(&r, key, string_trim(colon + 1));
        }
        line += length + (line[length] == '\n');
    }
    out_client->memory_bytes = r.resident_bytes != JOULE_BYTES_UNKNOWN ? r.resident_bytes : r.older_bytes;
    return r.has_id && out_client->pci_address[0];
}

bool drm_is_same_client(const struct drm_client *a, const struct drm_client *b)
{
    return a->id == b->id && strcmp(a->pci_address, b->pci_address) == 0;
}

/* --- differences between two readings ------------------------------------------------------------------- */

/* Returns the seconds for which the engine was active between two readings. Values in *now that fell are set
 * to those in *before, so that no time counts twice. */
static double engine_active_s(const struct drm_engine *before, struct drm_engine *now, double elapsed_s)
{
    double capacity = now->capacity ? now->capacity : 1;
    if (now->active_ns < before->active_ns)
        now->active_ns = before->active_ns;
    if (!now->total_cycles)
        return (double)(now->active_ns - before->active_ns) * 1e-9 / capacity;
    if (now->total_cycles <= before->total_cycles) /* the board's clock restarted */
        return 0;
    if (now->cycles < before->cycles)
        now->cycles = before->cycles;
    return elapsed_s * (double)(now->cycles - before->cycles) /
           (double)(now->total_cycles - before->total_cycles) / capacity;
}

double drm_advance(struct drm_client *client, const struct drm_client *now, double elapsed_s)
{
    const struct drm_client before = *client;
    double max_s = 0;
    *client = *now;
    for (size_t i = 0; i < client->engine_count; i++) {
        struct drm_engine *engine = &client->engines[i];
        for (size_t k = 0; k < before.engine_count; k++)
            if (strcmp(before.engines[k].name, engine->name) == 0)
                max_s = fmax(max_s, engine_active_s(&before.engines[k], engine, elapsed_s));
    }
    return fmin(max_s, elapsed_s);
}
