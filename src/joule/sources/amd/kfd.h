/* joule/sources/amd/kfd.h - reads the nodes of AMD's compute driver (KFD), which are boards or partitions,
 * and the processes that use them.
 *
 * The data come from the files below /sys/class/kfd/kfd. drm_processes.h reads the processes of the graphics
 * driver and their busy time.
 * Note: these files contain the kernel's process ids, even for processes in containers. A process that has
 * opened the driver has a file for each node. Only nodes on which it has allocated memory count as used. */
#ifndef JOULE_KFD_H
#define JOULE_KFD_H

#include "joule/sources/device.h"
#include "joule/sources/sysfs.h"

#define KFD_MAX_NODES 128 /* 16 boards of 8 partitions */

struct kfd_node {
    char pci_address[SYSFS_PCI_SIZE]; /* PCI address of the node's board */
    uint32_t partition;               /* the partition's number on the board */
    uint32_t id;                      /* the driver's gpu_id; 0: unknown */
    uint64_t unique_id;               /* 0: none */
    uint64_t gfx_version;             /* gfx_target_version: 90402 is gfx942 */
    uint64_t memory_bytes;            /* memory of the node, or JOULE_BYTES_UNKNOWN */
};

struct kfd_use;

/* Initialise with zeros. */
struct kfd {
    bool is_read;
    uint64_t generation; /* generation_id of the nodes; the driver increments it when they change */
    struct kfd_node nodes[KFD_MAX_NODES];
    size_t node_count;
    struct kfd_use *uses;
    size_t use_count, use_capacity;
    uint64_t skip_count; /* number of queries until processes are read again */
};

/* Reads the nodes again if they have changed. Stores only nodes of GPUs that this process may open. */
void kfd_read_nodes(struct kfd *kfd, struct joule_host *host);
/* Writes the architecture of the board at this PCI address, such as "gfx942", or an empty text if it is
 * unknown. */
void kfd_architecture(const struct kfd *kfd, const char *pci_address, char *out_name, size_t size);

/* Reads the nodes if they have changed, and the processes. */
void kfd_query(struct kfd *kfd, struct joule_host *host);
/* Adds the processes that compute on the board, or updates those with the same ids. Their busy ratios become
 * unknown, because the graphics driver's ratios do not include compute. */
void kfd_add_processes(const struct kfd *kfd, const char *pci_address, struct device_facts *facts);
/* Adds the board's partitions. `mode` is their profile, such as "CPX/NPS4". */
void kfd_add_partitions(const struct kfd *kfd, const char *pci_address, const char *mode,
                        struct device_facts *facts);
void kfd_free(struct kfd *kfd);

#endif
