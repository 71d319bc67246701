/* joule/devices.h - properties and state of GPUs and accelerators, in addition to the energy of their
 * domains.
 *
 * A device is a board, or a processor that acts as one, of any vendor. Several sources may each read a part
 * of its properties: NVML or amdgpu the memory, hwmon the power, thermal the temperature. This interface
 * joins the parts. A meter reads devices only if it was opened with JOULE_OPEN_DEVICES; energy is measured
 * without this flag, too. An unknown figure is NaN, JOULE_BYTES_UNKNOWN or empty, never 0.
 */
#ifndef JOULE_DEVICES_H
#define JOULE_DEVICES_H

#include <joule/meter.h>

#ifdef __cplusplus
extern "C" {
#endif

#define JOULE_BYTES_UNKNOWN    UINT64_MAX
#define JOULE_INSTANCE_UNKNOWN UINT32_MAX

/* Why a device's clocks are reduced; bits of joule_device.clock_reasons. */
#define JOULE_CLOCKS_IDLE         1u   /* the device has no work */
#define JOULE_CLOCKS_SET          2u   /* set by a user */
#define JOULE_CLOCKS_POWER        4u   /* power limit */
#define JOULE_CLOCKS_TEMPERATURE  8u   /* too hot, reported by the driver */
#define JOULE_CLOCKS_HOT_HARDWARE 16u  /* too hot, reported by the board */
#define JOULE_CLOCKS_SLOWDOWN     32u  /* hardware slowdown */
#define JOULE_CLOCKS_POWER_BRAKE  64u  /* external signal, for example of the power supply */
#define JOULE_CLOCKS_SYNC         128u /* synchronised with other boards */
#define JOULE_CLOCKS_DISPLAY      256u
#define JOULE_CLOCKS_OTHER        512u /* a reason for which no other bit is defined */
#define JOULE_CLOCKS_UNKNOWN      UINT32_MAX

/* One device at its last reading. Strings are terminated; an unknown one is empty. */
typedef struct joule_device {
    uint32_t struct_size; /* set by the caller to sizeof(joule_device) before the call */
    int32_t index;        /* N of "gpu:N"; devices of one kind are numbered by PCI address, from 0 */
    /* OK. PENDING: not read yet. STALE: no successful reading for some time; the figures are old. DENIED: no
     * permission to open the device. FAILED: the device can no longer be read. */
    joule_status state;
    uint32_t clock_reasons;      /* JOULE_CLOCKS_..., or JOULE_CLOCKS_UNKNOWN */
    char name[16];               /* "gpu:0", "hpu:0", "tpu:0"; the same as joule_domain.device */
    char vendor[24];             /* "nvidia", "amd", "intel" */
    char model[96];              /* "NVIDIA H200" */
    char architecture[32];       /* "Hopper", "gfx942" */
    char compute_capability[16]; /* "9.0"; NVIDIA only */
    char uuid[64];               /* "GPU-..." */
    char pci_address[16];        /* "0000:65:00.0" */
    char driver[80];             /* name and, if known, version: "nvidia 580.95.05", "amdgpu" */
    uint64_t memory_total_bytes, memory_used_bytes, memory_free_bytes; /* the device's own memory */
    double busy;        /* 0 to 1: share of time in which the device had work */
    double memory_busy; /* 0 to 1: share of time in which the device's memory was read or written */
    /* Highest known temperature of the chip, and of its memory. */
    double temperature_celsius, memory_temperature_celsius;
    double clock_megahertz, memory_clock_megahertz;
    double power_limit_watts;                            /* the limit that is set */
    double power_limit_default_watts;                    /* the board's default limit */
    double power_limit_enforced_watts;                   /* the lowest of all limits that apply */
    double power_limit_min_watts, power_limit_max_watts; /* range in which the limit can be set */
    joule_quantity power_watts;                          /* current power of the domain `domain` */
    joule_quantity energy_joules;                        /* energy of the domain `domain` since joule_open */
    int32_t domain;         /* id of the energy domain that describes the whole device best; -1: none */
    uint32_t process_count; /* number of entries of joule_device_processes; 0 also if unknown */
    /* 1: the processes that use the device are known. For AMD and Intel, only processes whose files this
     * program may read are known. */
    uint32_t has_process_list;
    uint32_t partition_count; /* MIG devices or compute partitions, all included in the energy */
    double age_s;             /* seconds since the last successful reading; NaN: none yet */
    double fan_rpm;           /* speed of the fastest fan in revolutions per minute */
    double fan_ratio;         /* speed of the fastest fan relative to its specified maximum; may exceed 1 */
    double encoder_busy, decoder_busy; /* 0 to 1: share of time with video encoding and decoding */
    /* PCIe traffic that the device receives and transmits. */
    double pcie_receive_bytes_per_second, pcie_transmit_bytes_per_second;
    /* Counts; NaN: unknown. ECC errors are counted since the driver was loaded. The members with _lifetime
     * count them since the board was manufactured. */
    double pcie_replays, ecc_corrected, ecc_uncorrected, ecc_corrected_lifetime, ecc_uncorrected_lifetime;
    /* Number of NVIDIA's Xid errors since joule_open, and code of the last error; 0: none yet. */
    double xid_count, last_xid;
    char remedy[192]; /* why the energy is unknown and what to do about it; empty if known */
} joule_device;

/* A process that uses a device. */
typedef struct joule_device_process {
    /* the driver's number of the process; inside a container this may be the host's number */
    uint64_t pid;
    uint64_t memory_bytes; /* the device's memory that the process uses, or JOULE_BYTES_UNKNOWN */
    double busy;           /* 0 to 1: recent share of the device's time; NaN: unknown */
} joule_device_process;

/* A part of a device that programs use like a device: a MIG device, which is a compute instance of a GPU
 * instance. Power and energy are known for the whole board only. Strings are terminated; an unknown one is
 * empty. */
typedef struct joule_device_partition {
    char uuid[96];                       /* "MIG-..." */
    uint32_t instance, compute_instance; /* the driver's numbers, or JOULE_INSTANCE_UNKNOWN */
    char profile[32]; /* the driver's name: "1g.18gb"; "1c.2g.35gb" if the GPU instance is divided further */
    /* Memory of the GPU instance, or JOULE_BYTES_UNKNOWN. All compute instances of the GPU instance share
     * this memory. */
    uint64_t memory_total_bytes, memory_used_bytes, memory_free_bytes;
} joule_device_partition;

/* Returns the name of one bit of clock_reasons ("power limit") in static storage. Any thread. */
JOULE_API const char *joule_clock_reason_name(uint32_t bit);

/* Returns the number of devices found so far, which grows while slow sources open; 0 on an error. Any
 * thread. */
JOULE_API size_t joule_device_count(joule_meter *meter);

/* Writes the description of device `position`, 0 to joule_device_count - 1, to *out_device. The order is
 * gpu:0, gpu:1, ..., then other kinds. JOULE_INVALID: position out of range, or struct_size too small. Any
 * thread. The call may wait for a lock, but never for a vendor's library. */
JOULE_API joule_status joule_device_get(joule_meter *meter, size_t position, joule_device *out_device);

/* Returns the number of known processes (at most 64) that use the device named `name` ("gpu:0"), and writes
 * the first `size` of them. Returns 0 if none is known. Any thread. */
JOULE_API size_t joule_device_processes(joule_meter *meter, const char *name,
                                        joule_device_process *out_processes, size_t size);

/* Returns the number of partitions of the device named `name`, and writes the first `size` of them. Returns 0
 * if none is known. Any thread. */
JOULE_API size_t joule_device_partitions(joule_meter *meter, const char *name,
                                         joule_device_partition *out_partitions, size_t size);

#ifdef __cplusplus
}
#endif
#endif
