/* joule/sources/amd/amd_smi_abi.h - the part of the binary interface of AMD's system management library that
 * Joule uses.
 *
 * This file declares constants, layouts and symbols of libamd_smi on 64-bit Linux, so the build needs no
 * header of AMD's. The declarations are from amdsmi.h in ROCm 5.5 to 6.3. Later releases use the same layout
 * of power.
 * Note: ROCm 5.5 uses other names for the same functions, so each function is searched by both names. The
 * size of a structure differs between releases. The library therefore gets a buffer of AMD_ANSWER_BYTES,
 * which is larger than any release needs. */
#ifndef JOULE_AMD_SMI_ABI_H
#define JOULE_AMD_SMI_ABI_H

#include <stdint.h>

typedef int amd_code;
typedef void *amd_handle; /* amdsmi_socket_handle or amdsmi_processor_handle: opaque */

enum {
    AMDSMI_STATUS_SUCCESS = 0,
    AMDSMI_STATUS_INVAL = 1,
    AMDSMI_STATUS_NOT_SUPPORTED = 2,
    AMDSMI_STATUS_NOT_YET_IMPLEMENTED = 3,
    AMDSMI_STATUS_TIMEOUT = 8,
    AMDSMI_STATUS_RETRY = 9,
    AMDSMI_STATUS_NO_PERM = 10,
    AMDSMI_STATUS_INTERRUPT = 11,
    AMDSMI_STATUS_INIT_ERROR = 18,
    AMDSMI_STATUS_BUSY = 30,
    AMDSMI_STATUS_NOT_FOUND = 31, /* also for a handle that is invalid since the library was shut down */
    AMDSMI_STATUS_NOT_INIT = 32,
    AMDSMI_STATUS_DRIVER_NOT_LOADED = 34,
    AMDSMI_STATUS_NO_DATA = 40,
};

#define AMDSMI_INIT_AMD_GPUS 2u

enum { AMDSMI_PROCESSOR_TYPE_AMD_GPU = 1 };
enum { AMDSMI_MEM_TYPE_VRAM = 0 };
enum { AMDSMI_TEMP_CURRENT = 0 };

#define AMD_ANSWER_BYTES 2048

/* X(member, name after "amdsmi_", name after "amdsmi_" in ROCm 5.5, parameters) */
#define AMD_FUNCTIONS(X)                                                                                     \
    X(init, "init", "init", (uint64_t flags))                                                                \
    X(sockets, "get_socket_handles", "get_socket_handles", (uint32_t * count, amd_handle * sockets))         \
    X(processors, "get_processor_handles", "get_device_handles",                                             \
      (amd_handle socket, uint32_t * count, amd_handle * processors))                                        \
    X(processor_type, "get_processor_type", "get_device_type", (amd_handle processor, int *type))            \
    X(bdf, "get_gpu_device_bdf", "get_device_bdf", (amd_handle processor, uint64_t * bdf))                   \
    X(energy, "get_energy_count", "dev_get_energy_count",                                                    \
      (amd_handle processor, uint64_t * counter, float *microjoules, uint64_t *time_ns))                     \
    X(power, "get_power_info", "get_power_measure", (amd_handle processor, void *answer))                    \
    X(temperature, "get_temp_metric", "dev_get_temp_metric",                                                 \
      (amd_handle processor, int place, int metric, int64_t *degrees))                                       \
    X(activity, "get_gpu_activity", "get_gpu_activity", (amd_handle processor, void *answer))                \
    X(memory_total, "get_gpu_memory_total", "dev_get_memory_total",                                          \
      (amd_handle processor, int kind, uint64_t *bytes))                                                     \
    X(memory_usage, "get_gpu_memory_usage", "dev_get_memory_usage",                                          \
      (amd_handle processor, int kind, uint64_t *bytes))                                                     \
    X(power_cap, "get_power_cap_info", "get_power_cap_info",                                                 \
      (amd_handle processor, uint32_t sensor, void *answer))                                                 \
    X(asic, "get_gpu_asic_info", "get_asic_info", (amd_handle processor, void *answer))                      \
    X(uuid, "get_gpu_device_uuid", "get_device_uuid", (amd_handle processor, unsigned *length, char *uuid))

/* The library's functions. A member is NULL if the library lacks the symbol. */
struct amd_api {
#define AMD_MEMBER(member, name, old_name, parameters) amd_code(*member) parameters;
    AMD_FUNCTIONS(AMD_MEMBER)
#undef AMD_MEMBER
    unsigned major; /* major number in the file's name, such as 24 in "libamd_smi.so.24"; 0: unknown */
};

/* amdsmi_bdf_t: bits 63 to 16 are the PCI domain, 15 to 8 the bus, 7 to 3 the slot. Bits 2 to 0 are the
 * function, which may number a partition. */
#define AMD_DOMAIN(bdf) ((unsigned)((bdf) >> 16))
#define AMD_BUS(bdf)    ((unsigned)((bdf) >> 8 & 0xff))
#define AMD_SLOT(bdf)   ((unsigned)((bdf) >> 3 & 0x1f))

/* The beginning of amdsmi_power_info_t, in watts, if the file's major number is 24. */
struct amd_power_24 {
    uint32_t current_watts, average_watts; /* 0xffff or all ones: not reported */
};
/* The beginning of amdsmi_power_info_t, in watts, if the file's major number is 25 or higher. socket_watts
 * equals one of the other two values; otherwise the layout is unknown. */
struct amd_power_25 {
    uint64_t socket_watts;
    uint32_t current_watts, average_watts;
};

/* The beginning of amdsmi_engine_usage_t, in per cent of the time. */
struct amd_activity {
    uint32_t graphics, memory, media;
};

/* amdsmi_power_cap_info_t. Values are in microwatts; in some releases, some values are in watts. */
struct amd_power_cap {
    uint64_t cap, default_cap, dpm_megahertz, min, max;
};

#endif
