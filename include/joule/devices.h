/* joule/devices.h - what GPUs and accelerators are, and how they do, beside the joules of their domains.
 *
 * A device is a board, or a processor that acts as one, of any vendor. Several sources may know parts of it: NVML or
 * amdgpu its memory, hwmon its power, thermal its temperature. Here they are put together, whoever they come from.
 * Newcomers: a meter looks at devices only when it was opened with JOULE_OPEN_DEVICES; measuring alone needs none of
 * it. What no source knows is NaN, JOULE_BYTES_UNKNOWN or empty, and never 0.
 */
#ifndef JOULE_DEVICES_H
#define JOULE_DEVICES_H

#include <joule/meter.h>

#ifdef __cplusplus
extern "C" {
#endif

#define JOULE_BYTES_UNKNOWN    UINT64_MAX
#define JOULE_INSTANCE_UNKNOWN UINT32_MAX

/* What holds a device's clocks down; bits of joule_device.clock_reasons. */
#define JOULE_CLOCKS_IDLE         1u   /* nothing to do */
#define JOULE_CLOCKS_SET          2u   /* a user set them */
#define JOULE_CLOCKS_POWER        4u   /* the power limit */
#define JOULE_CLOCKS_TEMPERATURE  8u   /* too warm, says the driver */
#define JOULE_CLOCKS_HOT_HARDWARE 16u  /* too warm, says the board */
#define JOULE_CLOCKS_SLOWDOWN     32u  /* the board slows itself down */
#define JOULE_CLOCKS_POWER_BRAKE  64u  /* a signal from outside, such as of the power supply */
#define JOULE_CLOCKS_SYNC         128u /* in step with other boards */
#define JOULE_CLOCKS_DISPLAY      256u
#define JOULE_CLOCKS_OTHER        512u /* a reason without a name here */
#define JOULE_CLOCKS_UNKNOWN      UINT32_MAX

/* One device, as last seen. Strings are terminated; an unknown one is empty. */
typedef struct joule_device {
    uint32_t struct_size; /* set by the caller to sizeof(joule_device) before the call */
    int32_t index;        /* N of "gpu:N": among the devices of its kind, by PCI address */
    /* OK; PENDING: not looked at yet; STALE: it has not answered for a while, and what is said is old; DENIED: it is
     * there and may not be opened; FAILED: it stopped answering. */
    joule_status state;
    uint32_t clock_reasons;      /* JOULE_CLOCKS_..., or JOULE_CLOCKS_UNKNOWN */
    char name[16];               /* "gpu:0", "hpu:0", "tpu:0"; the same as joule_domain.device */
    char vendor[24];             /* "nvidia", "amd", "intel" */
    char model[96];              /* "NVIDIA H200" */
    char architecture[32];       /* "Hopper", "gfx942" */
    char compute_capability[16]; /* "9.0"; of NVIDIA's alone */
    char uuid[64];               /* "GPU-..." */
    char pci_address[16];        /* "0000:65:00.0" */
    char driver[80];             /* name and version, as far as known: "nvidia 580.95.05", "amdgpu" */
    uint64_t memory_total_bytes, memory_used_bytes, memory_free_bytes; /* of the device's own memory */
    double busy;        /* 0 to 1: share of time in which anything ran on it */
    double memory_busy; /* 0 to 1: share of time in which its memory was read or written */
    double temperature_celsius,
        memory_temperature_celsius; /* of the chip: where it is hottest, as far as told */
    double clock_megahertz, memory_clock_megahertz;
    double power_limit_watts;                               /* that is set */
    double power_limit_default_watts;                       /* that the board comes with */
    double power_limit_enforced_watts;                      /* the least of all that apply */
    double power_limit_least_watts, power_limit_most_watts; /* between which it can be set */
    joule_quantity power_watts;                             /* now, of the domain in `domain` */
    joule_quantity energy_joules;                           /* since the meter was opened, of that domain */
    int32_t domain;         /* whose joules the device's are: the best of its domains; -1: none */
    uint32_t process_count; /* that joule_device_processes would give; 0 also where it is unknown */
    /* 1: it is known which processes use it; of AMD's and Intel's, those whose files this program may see. */
    uint32_t knows_processes;
    uint32_t partition_count; /* MIG instances, compute partitions; its energy is that of all together */
    double age_s;             /* since it last answered; NaN: never */
    double fan_rpm;           /* of its fastest fan */
    double fan_ratio;         /* speed of its fastest fan divided by the highest speed; may exceed 1 */
    double encoder_busy, decoder_busy; /* 0 to 1: share of time in which video was encoded, decoded */
    /* Traffic of its PCIe link, from the device's side. */
    double pcie_receive_bytes_per_second, pcie_transmit_bytes_per_second;
    /* Counts; NaN: unknown. ECC errors: since the driver was loaded, and since the board was made. */
    double pcie_replays, ecc_corrected, ecc_uncorrected, ecc_corrected_lifetime, ecc_uncorrected_lifetime;
    /* NVIDIA's Xid errors since the meter was opened, and the number of the last one; 0: none yet. */
    double xid_count, last_xid;
    char remedy[192]; /* why its joules are unknown, and what helps; empty where they are known */
} joule_device;

/* A process that uses a device. */
typedef struct joule_device_process {
    uint64_t pid;          /* as the driver numbers it: in a container that may be the host's number */
    uint64_t memory_bytes; /* of the device's memory, or JOULE_BYTES_UNKNOWN */
    double busy;           /* 0 to 1: its part of the device's time lately; NaN: unknown */
} joule_device_process;

/* A part of a device that programs see as one of its own: a MIG device, which is a compute instance of a GPU instance. Power and
 * energy are the board's: no driver tells them for a part. Strings are terminated; an unknown one is empty. */
typedef struct joule_device_partition {
    char uuid[96];                       /* "MIG-..." */
    uint32_t instance, compute_instance; /* the driver's numbers, or JOULE_INSTANCE_UNKNOWN */
    char profile[32]; /* the driver's word: "1g.18gb"; of one of several in a GPU instance "1c.2g.35gb" */
    /* Of the GPU instance, whose compute instances share it; or JOULE_BYTES_UNKNOWN. */
    uint64_t memory_total_bytes, memory_used_bytes, memory_free_bytes;
} joule_device_partition;

/* Words in static storage for one bit of clock_reasons: "power limit". Any thread. */
JOULE_API const char *joule_clock_reason_name(uint32_t bit);

/* Number of devices found so far; more may come while slow sources open. Any thread. */
JOULE_API size_t joule_device_count(joule_meter *meter);

/* Describes device `position` (0 to count - 1, in the order gpu:0, gpu:1, ... then other kinds). INVALID for another
 * position or a struct_size of no release. Any thread; may take the time of a few locks, never that of a vendor's call. */
JOULE_API joule_status joule_device_get(joule_meter *meter, size_t position, joule_device *out_device);

/* Fills at most `size` entries with the processes that use the device named `name` ("gpu:0"); the number of entries that
 * there are, which may be more. Of one device no more than 64 are kept. 0 where none is known. Any thread. */
JOULE_API size_t joule_device_processes(joule_meter *meter, const char *name,
                                        joule_device_process *out_processes, size_t size);

/* The same for its partitions. */
JOULE_API size_t joule_device_partitions(joule_meter *meter, const char *name,
                                         joule_device_partition *out_partitions, size_t size);

#ifdef __cplusplus
}
#endif
#endif
