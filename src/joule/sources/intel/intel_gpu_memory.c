/* joule/sources/intel/intel_gpu_memory.c - how much memory an Intel GPU has and uses, as its driver answers. See intel_gpu.h.
 *
 * Owns the two drivers' lists of memory regions (Linux: uapi/drm/i915_drm.h, xe_drm.h). A GPU inside a processor has none of
 * its own.
 * Newcomers: who may not know how much is used is told none of it by xe, and by i915 that all of it is free: both are taken
 * for "unknown", as a driver that runs uses some. To ask wakes a board, so one that tells no more is asked once.
 */
#include <string.h>
#include "base/string.h"
#include "joule/sources/intel/intel_gpu.h"

#define ANSWER_BYTES 2048
#define REGION_BYTES 88 /* in both lists */
#define OF_DEVICE    1  /* class of the board's own memory, in both */

static uint64_t number_at(const char *bytes, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, bytes, size); /* all machines with these boards are little-endian */
    return value;
}

/* Both tell the class of a region in bytes 0 and 1 and how much it has in bytes 8 to 15; then xe tells what is used, and i915
 * what is not. */
bool intel_memory_parse(const char *list, size_t length, bool is_xe, struct intel_memory *out_memory)
{
    size_t at = is_xe ? 8 : 16;
    uint64_t count = length >= at ? number_at(list, 4) : 0;
    *out_memory = (struct intel_memory){0};
    for (; count > 0 && length - at >= REGION_BYTES; count--, at += REGION_BYTES) {
        uint64_t total = number_at(list + at + 8, 8), other = number_at(list + at + 16, 8);
        if (number_at(list + at, 2) != OF_DEVICE)
            continue;
        if (total > INT64_MAX / 64 || other > total)
            return false;
        out_memory->total_bytes += total;
        out_memory->used_bytes += is_xe ? other : total - other;
    }
    return count == 0 && out_memory->total_bytes > 0;
}

/* "renderD128", the device file that programs compute with. */
static bool find_node(struct joule_host *host, const struct drm_card *card, char *out_name, size_t size)
{
    struct arena arena = {0};
    char path[64], **names;
    *out_name = '\0';
    string_print(path, sizeof path, "%s/drm", card->folder);
    ssize_t count = host->ops->list(host, path, &arena, &names);
    for (ssize_t i = 0; i < count && !*out_name; i++)
        if (string_starts(names[i], "renderD"))
            string_copy(out_name, size, names[i]);
    arena_free(&arena);
    return *out_name;
}

void intel_memory_look(struct joule_host *host, const struct drm_card *card, struct intel_memory *memory)
{
    char node[32], list[ANSWER_BYTES];
    bool is_xe = strcmp(card->driver, "xe") == 0;
    if (memory->is_done)
        return;
    ssize_t length =
        find_node(host, card, node, sizeof node)
            ? host->ops->ask_drm(host, node, is_xe ? HOST_XE_MEMORY : HOST_I915_MEMORY, list, sizeof list)
            : 0;
    struct intel_memory now;
    if (length > 0 && intel_memory_parse(list, (size_t)length, is_xe, &now))
        *memory = now;
    else
        memory->used_bytes = 0;
    memory->is_done = memory->used_bytes == 0;
}

void intel_memory_tell(const struct intel_memory *memory, struct device_facts *facts)
{
    if (memory->total_bytes)
        facts->memory_total_bytes = memory->total_bytes;
    if (memory->used_bytes == 0)
        return;
    facts->memory_used_bytes = memory->used_bytes;
    facts->memory_free_bytes = memory->total_bytes - memory->used_bytes;
}
