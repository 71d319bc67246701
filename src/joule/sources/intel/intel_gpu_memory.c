/* joule/sources/intel/intel_gpu_memory.c - reads an Intel GPU's memory size and use from its driver. See
 * intel_gpu.h.
 *
 * This file parses the lists of memory regions of both drivers (Linux: uapi/drm/i915_drm.h, xe_drm.h). A GPU
 * inside a processor has no separate memory region.
 * Note: without sufficient privileges, xe reports 0 bytes as used and i915 reports all memory as free. Both
 * values mean that the use is unknown, because a running driver uses some memory. A query wakes the board, so
 * it is not repeated after such an answer. */
#include <string.h>
#include "base/string.h"
#include "joule/sources/intel/intel_gpu.h"

#define ANSWER_BYTES 2048
#define REGION_BYTES 88 /* in both lists */
/* Class of a region in the board's own memory (DRM_XE_MEM_REGION_CLASS_VRAM, I915_MEMORY_CLASS_DEVICE). */
#define OF_DEVICE 1

static uint64_t number_at(const char *bytes, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, bytes, size); /* all machines with these boards are little-endian */
    return value;
}

/* Note: in both lists, bytes 0 and 1 of a region are its class, and bytes 8 to 15 are its size. Bytes 16 to
 * 23 are the used bytes in xe, and the free bytes in i915. */
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

/* Finds the board's render node, such as "renderD128". Returns false if there is none. */
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

void intel_memory_query(struct joule_host *host, const struct drm_card *card, struct intel_memory *memory)
{
    char node[32], list[ANSWER_BYTES];
    bool is_xe = strcmp(card->driver, "xe") == 0;
    if (memory->is_done)
        return;
    ssize_t length =
        find_node(host, card, node, sizeof node)
            ? host->ops->query_drm(host, node, is_xe ? HOST_XE_MEMORY : HOST_I915_MEMORY, list, sizeof list)
            : 0;
    struct intel_memory now;
    if (length > 0 && intel_memory_parse(list, (size_t)length, is_xe, &now))
        *memory = now;
    else
        memory->used_bytes = 0;
    memory->is_done = memory->used_bytes == 0;
}

void intel_memory_add_facts(const struct intel_memory *memory, struct device_facts *facts)
{
    if (memory->total_bytes)
        facts->memory_total_bytes = memory->total_bytes;
    if (memory->used_bytes == 0)
        return;
    facts->memory_used_bytes = memory->used_bytes;
    facts->memory_free_bytes = memory->total_bytes - memory->used_bytes;
}
