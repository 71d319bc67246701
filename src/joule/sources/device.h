/* joule/sources/device.h - the devices that a source describes: their identity and facts other than energy.
 *
 * A struct device describes one device as one source reports it. GPU numbers and names are the same in all
 * sources. If several sources report one device, the meter merges their descriptions (<joule/devices.h>).
 * Note: the source sets the identity when it opens. Facts are read once a second, and only if devices are
 * queried. Energy, power, temperature, clocks and busy ratios are channels, not facts. */
#ifndef JOULE_SOURCES_DEVICE_H
#define JOULE_SOURCES_DEVICE_H

#include <joule/devices.h>
#include "joule/sources/source.h"

#define DEVICE_MAX_PROCESSES  64
#define DEVICE_MAX_PARTITIONS 16

/* Values that change while a device works. Unknown values are NaN, JOULE_BYTES_UNKNOWN or
 * JOULE_CLOCKS_UNKNOWN. */
struct device_facts {
    uint64_t memory_total_bytes, memory_used_bytes, memory_free_bytes;
    double limit_watts, default_limit_watts, enforced_limit_watts, min_limit_watts, max_limit_watts;
    uint32_t clock_reasons;
    /* Meanings and units are those of the members of joule_device. */
    double fan_rpm, fan_ratio, encoder_busy, decoder_busy, pcie_receive_bytes_per_second,
        pcie_transmit_bytes_per_second;
    double pcie_replays, ecc_corrected, ecc_uncorrected, ecc_corrected_lifetime, ecc_uncorrected_lifetime;
    double xid_count, last_xid;
    bool has_process_list;
    size_t process_count, partition_count;
    joule_device_process processes[DEVICE_MAX_PROCESSES];
    joule_device_partition partitions[DEVICE_MAX_PARTITIONS];
};

struct device {
    /* Identity, set by the source while it opens. */
    int32_t index;
    char name[16]; /* such as "gpu:0" */
    char vendor[24], model[96], architecture[32], compute_capability[16], uuid[64], pci_address[16],
        driver[80];
    char remedy[192]; /* why the energy is unknown if no other source reads it; may be empty */
    /* Protected by the lane's lock. */
    /* status of the last query; a source may set DENIED or another status while it opens */
    joule_status state;
    int64_t queried_ns; /* time of the last answer; 0: none yet */
    struct device_facts facts;
};

/* Adds the device "KIND:INDEX", such as "hpu:0", with all facts unknown. The source's arena owns the device.
 * Returns NULL if out of memory. */
struct device *source_add_device(struct source *source, const char *kind, int32_t index);
/* Adds the GPU at this PCI address, with the number from gpu_index. The source's arena owns the device.
 * Returns NULL if there are too many GPUs or if out of memory. */
struct device *source_add_gpu(struct source *source, const char *pci_address);

/* Returns N of "gpu:N" for a GPU that NVIDIA's driver does not drive. N is the same in every source. NVIDIA's
 * GPUs come first and keep their driver's numbers. Then come the GPUs of AMD, Intel and others, by driver and
 * then by PCI address. GPUs inside a processor (on the root bus) come last. `address` may also be the name of
 * a GPU outside the PCI bus. Unknown addresses and names get the next free number. Returns -1 if there are
 * more than MAX_GPUS. */
int32_t gpu_index(struct source *source, const char *address);

/* Sets the channel's name, "gpu-0" or "gpu-0-what", and its device name and index. */
void gpu_name_channel(struct channel *channel, int32_t index, const char *what);
/* Adds the gauge "gpu-0-what" for a GPU inside a chip, for a source that reads the chip's sensors. Returns
 * NULL if `gpu` is NULL or if out of memory. */
struct channel *gpu_add_gauge(struct source *source, const struct device *gpu, enum gauge_role role,
                              const char *what);
/* Writes the zone of a board: "gpu0/module" if the board contains CPU cores, otherwise "gpu0/board". All
 * sources use the same zone for a board. */
void gpu_zone(int32_t index, bool has_cpu, char out_zone[48]);

/* The list from which gpu_index numbers GPUs. The sources of a lane share one list. The lists of all lanes
 * start with the same GPUs. */
#define MAX_GPUS 64
struct gpu_list {
    char addresses[MAX_GPUS][32];
    size_t count;
    int32_t first; /* number of NVIDIA's GPUs, which is the index of the GPU at addresses[0] */
    bool is_read;
};

/* Return facts or a partition in which all values are unknown. */
struct device_facts device_facts_unknown(void);
joule_device_partition device_partition_unknown(void);
/* Returns the process with this id in the facts. Adds the process, with all values unknown, if it is missing.
 * Sets has_process_list. Returns NULL if there are already DEVICE_MAX_PROCESSES others. */
joule_device_process *device_facts_process(struct device_facts *facts, uint64_t pid);
#endif
