/* joule/sources/cpu/cpu_caches.c - see cpu_caches.h.
 *
 * Note: sysfs and CPUID list caches by an index. The index differs from the level, because the first level
 * has a data cache and an instruction cache. */
#include "joule/sources/cpu/cpu_caches.h"

#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/cpu/cpu_map.h"

#define MAX_CACHES 8 /* maximum number of caches of one CPU; 4 or 5 are usual */

static bool read_index(struct joule_host *host, unsigned index, const char *what, char text[32])
{
    char path[96];
    string_print(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/%s", index, what);
    return host_read_text(host, path, text, 32);
}

/* Reads a size, which is written as "48K", "32M" or a number of bytes. Returns false for any other text. */
static bool read_bytes(struct joule_host *host, unsigned index, const char *what, double *out_bytes)
{
    char text[32];
    uint64_t count;
    if (!read_index(host, index, what, text) || !*text)
        return false;
    char *last = text + strlen(text) - 1;
    double unit = *last == 'K' ? 1024 : *last == 'M' ? 1024 * 1024 : 1;
    if (unit > 1)
        *last = '\0';
    if (!string_to_u64(text, 10, &count) || count == 0)
        return false;
    *out_bytes = (double)count * unit;
    return true;
}

static void add(struct cpu_caches *caches, uint64_t level, double bytes, double line_bytes, unsigned sharing)
{
    if (level < 1 || level > COST_DRAM)
        return;
    caches->bytes[level - 1] = bytes;
    caches->line_bytes = line_bytes;
    if (level == COST_L3 + 1)
        caches->sharing = sharing;
}

static void count_cpu(unsigned cpu, void *context)
{
    (void)cpu;
    ++*(unsigned *)context;
}

/* Returns the number of CPUs that share the cache, or 0 if the file is missing. */
static unsigned read_sharing(struct joule_host *host, unsigned index)
{
    char path[96], text[4096];
    unsigned count = 0;
    string_print(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/shared_cpu_list", index);
    if (host_read_text(host, path, text, sizeof text))
        string_each_cpu(text, count_cpu, &count);
    return count;
}

static void read_files(struct joule_host *host, struct cpu_caches *caches)
{
    char type[32], level[32];
    for (unsigned i = 0; i < MAX_CACHES && read_index(host, i, "type", type); i++) {
        uint64_t number;
        double bytes, line_bytes = caches->line_bytes;
        if (strcmp(type, "Instruction") == 0 || !read_index(host, i, "level", level) ||
            !string_to_u64(level, 10, &number) || !read_bytes(host, i, "size", &bytes))
            continue;
        read_bytes(host, i, "coherency_line_size", &line_bytes);
        add(caches, number, bytes, line_bytes, read_sharing(host, i));
    }
}

/* Reads the caches from a CPUID leaf. Intel's leaf 4 and AMD's leaf 0x8000001d have the same layout (Intel
 * SDM, volume 2, CPUID; AMD APM, volume 3, E.4.15). */
static void read_leaf(struct joule_host *host, uint32_t leaf, struct cpu_caches *caches)
{
    enum { NO_CACHE = 0, INSTRUCTIONS = 2 };
    uint32_t r[4];
    for (uint32_t i = 0; i < MAX_CACHES && host->ops->cpuid(host, leaf, i, r); i++) {
        uint32_t type = r[0] & 0x1f, level = r[0] >> 5 & 7;
        if (type == NO_CACHE)
            return;
        double line_bytes = (r[1] & 0xfff) + 1, partitions = (r[1] >> 12 & 0x3ff) + 1,
               ways = (r[1] >> 22) + 1;
        if (type != INSTRUCTIONS)
            add(caches, level, line_bytes * partitions * ways * ((double)r[2] + 1), line_bytes,
                (r[0] >> 14 & 0xfff) + 1);
    }
}

bool cpu_caches_read(struct joule_host *host, struct cpu_caches *out_caches)
{
    *out_caches = (struct cpu_caches){.line_bytes = 64};
    read_files(host, out_caches);
    static const uint32_t leaves[] = {4, 0x8000001d};
    for (size_t i = 0; i < 2 && host->ops->cpuid && !(out_caches->bytes[COST_L1] > 0); i++)
        read_leaf(host, leaves[i], out_caches);
    return out_caches->bytes[COST_L1] > 0;
}

/* In a virtual machine, reduces the size of the last-level cache to the guest's share. The result is at least
 * the size of the L2 cache, which the guest does not share. */
static void share_last(const struct cost_cpu *cpu, struct cpu_caches *caches)
{
    bool is_shared_by_some = caches->sharing > 0 && caches->sharing < cpu->cores;
    double own = is_shared_by_some ? caches->sharing : cpu->cores;
    double part = own / cost_cpu_type(cpu).cache_cores;
    if (cpu->is_virtual && part < 1)
        caches->bytes[COST_L3] =
            fmin(caches->bytes[COST_L3], fmax(caches->bytes[COST_L3] * part, caches->bytes[COST_L2]));
}

bool cpu_core_read(struct joule_host *host, struct cost_cpu *out_cpu, struct cost_core *out_core)
{
    struct arena arena = {0};
    struct cpu_info info;
    struct cpu_map map;
    struct cpu_caches caches;
    cpu_info_read(host, &info);
    bool done = cpu_map_read(host, &info, &arena, &map);
    if (done) {
        *out_cpu = map.cpu;
        /* A guest sees the base frequency or none; the typical frequency of the CPU model is more
         * accurate. */
        cost_core_describe(&map.cpu, map.cpu.is_virtual ? NAN : map.reference_hz, out_core);
        if (cpu_caches_read(host, &caches)) {
            share_last(&map.cpu, &caches);
            memcpy(out_core->cache_bytes, caches.bytes, sizeof caches.bytes);
            out_core->line_bytes = caches.line_bytes;
        }
    }
    arena_free(&arena);
    return done;
}
