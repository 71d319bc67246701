/* joule/sources/amd/kfd.c - see kfd.h.
 *
 * Note: all nodes of a board have the same PCI address. The partition's number is bits 28 to 31 of
 * location_id. In the first kernels with partitions, the number is instead the PCI function, bits 0 to 2. For
 * each process only vram_GPUID is read. sdma_GPUID is not read, because the kernel starts a thread to compute
 * it. */
#include "joule/sources/amd/kfd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/string.h"

#define FOLDER    "/sys/class/kfd/kfd"
#define NODES     FOLDER "/topology/nodes"
#define PATH_SIZE 128
#define MAX_BYTES (UINT64_MAX / KFD_MAX_NODES)
#define MAX_READS 512 /* mean number of files read at a query; see read_processes */

/* Memory of a process on one board. */
struct kfd_use {
    uint64_t pid, bytes;
    char pci_address[SYSFS_PCI_SIZE];
};

/* --- nodes ---------------------------------------------------------------------------------------------- */

/* Returns the value of a property, such as 90402 for the line "gfx_target_version 90402", or 0 if no line
 * contains the property. */
static uint64_t property(const char *lines, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = lines; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char number[24];
        uint64_t value;
        if (!string_starts(line, name) || line[length] != ' ')
            continue;
        size_t digits = strcspn(line + length + 1, "\n");
        string_print(number, sizeof number, "%.*s", (int)(digits < sizeof number ? digits : 0),
                     line + length + 1);
        return string_to_u64(number, 10, &value) ? value : 0;
    }
    return 0;
}

static bool is_on_bus(struct joule_host *host, const char *pci_address)
{
    char path[PATH_SIZE], text[16];
    string_print(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", pci_address);
    return host_read_text(host, path, text, sizeof text);
}

static void find_place(struct joule_host *host, const char *properties, struct kfd_node *node)
{
    uint64_t domain = property(properties, "domain"), location = property(properties, "location_id");
    unsigned bus = location >> 8 & 0xff, slot = location >> 3 & 0x1f, function = location & 7;
    char *address = node->pci_address;
    node->partition = location >> 28 & 0xf;
    string_print(address, SYSFS_PCI_SIZE, "%04x:%02x:%02x.%x", (unsigned)domain & 0xffff, bus, slot,
                 function);
    if (function && !is_on_bus(host, address)) {
        node->partition = function;
        address[strlen(address) - 1] = '0';
    }
}

/* Returns the size of the node's memory on the board: heap types 1 (visible to the host) and 2 (not
 * visible). */
static uint64_t memory_of(struct joule_host *host, const char *node)
{
    struct arena arena = {0};
    char path[PATH_SIZE], lines[512], **banks;
    uint64_t sum = 0;
    string_print(path, sizeof path, NODES "/%s/mem_banks", node);
    ssize_t count = host->ops->list(host, path, &arena, &banks);
    for (ssize_t i = 0; i < count; i++) {
        string_print(path, sizeof path, NODES "/%s/mem_banks/%s/properties", node, banks[i]);
        uint64_t heap = host_read_text(host, path, lines, sizeof lines) ? property(lines, "heap_type") : 0;
        uint64_t bytes = property(lines, "size_in_bytes");
        if ((heap == 1 || heap == 2) && bytes < JOULE_BYTES_UNKNOWN - sum)
            sum += bytes;
    }
    arena_free(&arena);
    return sum ? sum : JOULE_BYTES_UNKNOWN;
}

/* Reads a node that has SIMD units. Returns false for nodes of CPUs, and for nodes that cannot be read
 * because this process may not use the board. */
static bool read_node(struct joule_host *host, const char *name, struct kfd_node *out_node)
{
    char path[PATH_SIZE], properties[4096];
    uint64_t id = 0;
    string_print(path, sizeof path, NODES "/%s/properties", name);
    if (!host_read_text(host, path, properties, sizeof properties) || !property(properties, "simd_count"))
        return false;
    string_print(path, sizeof path, NODES "/%s/gpu_id", name);
    host_read_u64(host, path, &id);
    *out_node = (struct kfd_node){.id = id <= UINT32_MAX ? (uint32_t)id : 0,
                                  .unique_id = property(properties, "unique_id"),
                                  .gfx_version = property(properties, "gfx_target_version"),
                                  .memory_bytes = memory_of(host, name)};
    find_place(host, properties, out_node);
    return true;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct kfd_node *left = a, *right = b;
    int order = strcmp(left->pci_address, right->pci_address);
    return order ? order : (left->partition > right->partition) - (left->partition < right->partition);
}

void kfd_read_nodes(struct kfd *kfd, struct joule_host *host)
{
    struct arena arena = {0};
    char **names;
    uint64_t generation = 0;
    host_read_u64(host, FOLDER "/topology/generation_id", &generation);
    if (kfd->is_read && generation == kfd->generation)
        return;
    kfd->is_read = true;
    kfd->generation = generation;
    kfd->node_count = 0;
    ssize_t count = host->ops->list(host, NODES, &arena, &names);
    for (ssize_t i = 0; i < count && kfd->node_count < KFD_MAX_NODES; i++)
        kfd->node_count += read_node(host, names[i], &kfd->nodes[kfd->node_count]);
    qsort(kfd->nodes, kfd->node_count, sizeof *kfd->nodes, compare_nodes);
    arena_free(&arena);
}

void kfd_architecture(const struct kfd *kfd, const char *pci_address, char *out_name, size_t size)
{
    *out_name = '\0';
    for (size_t i = 0; i < kfd->node_count && !*out_name; i++) {
        uint64_t version = kfd->nodes[i].gfx_version;
        if (version && strcmp(kfd->nodes[i].pci_address, pci_address) == 0)
            string_print(out_name, size, "gfx%u%u%x", (unsigned)(version / 10000),
                         (unsigned)(version / 100 % 100), (unsigned)(version % 100));
    }
}

/* --- processes ------------------------------------------------------------------------------------------ */

/* Adds the bytes to the process's memory on the board. The entries of one process are adjacent. */
static void add_use(struct kfd *kfd, uint64_t pid, const struct kfd_node *node, uint64_t bytes)
{
    for (size_t i = kfd->use_count; i-- > 0 && kfd->uses[i].pid == pid;)
        if (strcmp(kfd->uses[i].pci_address, node->pci_address) == 0) {
            kfd->uses[i].bytes += bytes; /* the process uses another partition of the board, too */
            return;
        }
    if (!ARRAY_ROOM(kfd->uses, kfd->use_capacity, kfd->use_count))
        return;
    struct kfd_use *use = &kfd->uses[kfd->use_count++];
    *use = (struct kfd_use){.pid = pid, .bytes = bytes};
    string_copy(use->pci_address, sizeof use->pci_address, node->pci_address);
}

static void read_process(struct kfd *kfd, struct joule_host *host, const char *name, uint64_t pid)
{
    for (size_t i = 0; i < kfd->node_count; i++) {
        char path[PATH_SIZE];
        uint64_t bytes;
        string_print(path, sizeof path, FOLDER "/proc/%s/vram_%u", name, (unsigned)kfd->nodes[i].id);
        if (host_read_u64(host, path, &bytes) && bytes && bytes <= MAX_BYTES)
            add_use(kfd, pid, &kfd->nodes[i], bytes);
    }
}

/* Reads the memory of all processes, which is in one file for each process and partition. Skips queries so
 * that the mean number of files read at a query is at most MAX_READS. */
static void read_processes(struct kfd *kfd, struct joule_host *host)
{
    struct arena arena = {0};
    char **names;
    uint64_t pid;
    if (kfd->skip_count > 0) {
        kfd->skip_count--;
        return;
    }
    kfd->use_count = 0;
    ssize_t count = host->ops->list(host, FOLDER "/proc", &arena, &names);
    for (ssize_t i = 0; i < count; i++)
        if (string_to_u64(names[i], 10, &pid))
            read_process(kfd, host, names[i], pid);
    kfd->skip_count = count > 0 ? (uint64_t)count * kfd->node_count / MAX_READS : 0;
    arena_free(&arena);
}

void kfd_query(struct kfd *kfd, struct joule_host *host)
{
    kfd_read_nodes(kfd, host);
    if (kfd->node_count)
        read_processes(kfd, host);
}

void kfd_add_processes(const struct kfd *kfd, const char *pci_address, struct device_facts *facts)
{
    for (size_t i = 0; i < kfd->use_count; i++) {
        const struct kfd_use *use = &kfd->uses[i];
        joule_device_process *process =
            strcmp(use->pci_address, pci_address) == 0 ? device_facts_process(facts, use->pid) : NULL;
        if (!process)
            continue;
        /* The graphics driver's number includes this memory, so the larger number is used, not the sum. */
        if (process->memory_bytes == JOULE_BYTES_UNKNOWN || process->memory_bytes < use->bytes)
            process->memory_bytes = use->bytes;
        process->busy = NAN;
    }
}

/* --- partitions ----------------------------------------------------------------------------------------- */

void kfd_add_partitions(const struct kfd *kfd, const char *pci_address, const char *mode,
                        struct device_facts *facts)
{
    for (size_t i = 0; i < kfd->node_count && facts->partition_count < DEVICE_MAX_PARTITIONS; i++) {
        const struct kfd_node *node = &kfd->nodes[i];
        if (strcmp(node->pci_address, pci_address) != 0)
            continue;
        joule_device_partition *partition = &facts->partitions[facts->partition_count++];
        *partition = device_partition_unknown();
        partition->instance = node->partition;
        partition->memory_total_bytes = node->memory_bytes;
        string_copy(partition->profile, sizeof partition->profile, mode);
        if (node->unique_id)
            string_print(partition->uuid, sizeof partition->uuid, "GPU-%016llx",
                         (unsigned long long)node->unique_id);
    }
}

void kfd_free(struct kfd *kfd)
{
    free(kfd->uses);
    *kfd = (struct kfd){0};
}
