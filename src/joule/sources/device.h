/* joule/sources/device.h - the devices that a source knows: what they are, and how they do beside their joules.
 *
 * Owns the record of one device as one source sees it, the numbers of GPUs across vendors, and the names that follow
 * from them. The meter puts together what several sources say of the same device (<joule/devices.h>).
 * Newcomers: identity is filled in when the source opens; facts are looked at once a second, and only where somebody
 * asked for devices. Energy, power, temperature, clocks and busy shares are channels, not facts.
 */
#ifndef JOULE_SOURCES_DEVICE_H
#define JOULE_SOURCES_DEVICE_H

#include <joule/devices.h>
#include "joule/sources/source.h"

#define DEVICE_MOST_PROCESSES  64
#define DEVICE_MOST_PARTITIONS 16

/* What changes while a device works. Unknown: NaN, JOULE_BYTES_UNKNOWN, JOULE_CLOCKS_UNKNOWN. */
struct device_facts {
    uint64_t memory_total_bytes, memory_used_bytes, memory_free_bytes;
    double limit_watts, default_limit_watts, enforced_limit_watts, least_limit_watts, most_limit_watts;
    uint32_t clock_reasons;
    /* As in joule_device. */
    double fan_rpm, fan_ratio, encoder_busy, decoder_busy, pcie_receive_bytes_per_second,
        pcie_transmit_bytes_per_second;
    double pcie_replays, ecc_corrected, ecc_uncorrected, ecc_corrected_lifetime, ecc_uncorrected_lifetime;
    double xid_count, last_xid;
    bool knows_processes;
    size_t process_count, partition_count;
    joule_device_process processes[DEVICE_MOST_PROCESSES];
    joule_device_partition partitions[DEVICE_MOST_PARTITIONS];
};

struct device {
    /* Identity: the source's, filled in while it opens. */
    int32_t index;
    char name[16]; /* "gpu:0" */
    char vendor[24], model[96], architecture[32], compute_capability[16], uuid[64], pci_address[16],
        driver[80];
    char remedy[192]; /* why its joules are unknown, unless another source knows them; may be empty */
    /* Under the lane's lock. */
    joule_status state; /* of the last look; a source may set DENIED ... while it opens */
    int64_t looked_ns;  /* when it last answered; 0: never */
    struct device_facts facts;
};

/* A device of `kind` with this number: "hpu" and 0 make "hpu:0". All is unknown. NULL when memory is used up. */
struct device *source_add_device(struct source *source, const char *kind, int32_t index);
/* The GPU at this PCI address, with the number that gpu_index gives. */
struct device *source_add_gpu(struct source *source, const char *pci_address);

/* N of "gpu:N" for a GPU that is not NVIDIA's driver's, the same in every source. NVIDIA's come first and keep the numbers
 * that their driver gives them; then come AMD's, Intel's and the others that a driver is bound to, each by PCI
 * address, integrated ones (on the root bus) last. An address that no driver shows, or another word for a GPU that
 * is on no PCI bus, comes behind them, in the order of asking. -1: too many. */
int32_t gpu_index(struct source *source, const char *address);

/* The name of a GPU's channel, "gpu-0" or "gpu-0-what", and what it says of its device. */
void gpu_name_channel(struct channel *channel, int32_t index, const char *what);
/* A gauge of the GPU in a chip, by a source that tells of the chip: "gpu-0-what". NULL: there is no such GPU, or no memory. */
struct channel *gpu_add_gauge(struct source *source, const struct device *gpu, enum gauge_role role,
                              const char *what);
/* The zone of a board, "gpu0/board"; of one with CPU cores in it "gpu0/module". The same in every source. */
void gpu_zone(int32_t index, bool has_cpu, char out_zone[48]);

/* What holds the numbers of a lane's sources; each lane finds the same. */
#define GPU_MOST 64
struct gpu_list {
    char addresses[GPU_MOST][32];
    size_t count;
    int32_t first; /* how many NVIDIA has */
    bool is_read;
};

/* Facts, and a partition, that say nothing. */
struct device_facts device_facts_unknown(void);
joule_device_partition device_partition_unknown(void);
/* The process with this id among those that use the device, added where it is not there yet, with all unknown: the facts know
 * processes from then on. NULL: there are too many. */
joule_device_process *device_facts_process(struct device_facts *facts, uint64_t pid);
/* For look: the device answered with these facts; or it did not, and is `status`. */
void sink_facts(struct sink *sink, struct device *device, const struct device_facts *facts);
void sink_device_fail(struct sink *sink, struct device *device, joule_status status);

#endif
