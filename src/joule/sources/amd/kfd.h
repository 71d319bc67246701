/* joule/sources/amd/kfd.h - AMD's compute driver (KFD): its nodes, which are boards or partitions of them, and who computes there.
 *
 * Owns the files below /sys/class/kfd/kfd. Whom the graphics driver knows, and how busy he keeps a board, is
 * drm_processes.h's.
 * Newcomers: processes have the kernel's numbers there, whatever container they are in. A process has a file for each node as
 * soon as it opens the driver; it uses those where it holds memory.
 */
#ifndef JOULE_KFD_H
#define JOULE_KFD_H

#include "joule/sources/device.h"
#include "joule/sources/sysfs.h"

#define KFD_MOST_NODES 128 /* 16 boards of 8 partitions */

struct kfd_node {
    char pci_address[SYSFS_PCI_SIZE]; /* of its board */
    uint32_t partition;               /* its number on the board */
    uint32_t id;                      /* the driver's, gpu_id; 0: unknown */
    uint64_t unique_id;               /* 0: it has none */
    uint64_t gfx_version;             /* 90402 is gfx942 */
    uint64_t memory_bytes;            /* of its own; JOULE_BYTES_UNKNOWN */
};

struct kfd_use;

/* Begins as zeros. */
struct kfd {
    bool is_read;
    uint64_t generation; /* of the nodes; the driver raises it when they change */
    struct kfd_node nodes[KFD_MOST_NODES];
    size_t node_count;
    struct kfd_use *uses;
    size_t use_count, use_capacity;
    uint64_t rest; /* looks until processes are asked again */
};

/* Reads the nodes with a GPU that this process may open, where they have changed. */
void kfd_read_nodes(struct kfd *kfd, struct joule_host *host);
/* "gfx942", of the board at this place; empty where no node is there. */
void kfd_architecture(const struct kfd *kfd, const char *pci_address, char *out_name, size_t size);

/* Reads nodes and processes again. */
void kfd_look(struct kfd *kfd, struct joule_host *host);
/* Adds who computes on the board to those who are there by the same numbers; their busy shares, which the graphics driver
 * tells without what they compute, are unknown then. */
void kfd_tell_processes(const struct kfd *kfd, const char *pci_address, struct device_facts *facts);
/* Adds the board's partitions, where it has several. `mode` is their profile: "CPX/NPS4". */
void kfd_tell_partitions(const struct kfd *kfd, const char *pci_address, const char *mode,
                         struct device_facts *facts);
void kfd_free(struct kfd *kfd);

#endif
