/* joule/sources/amd/rocm_smi_abi.h - the part of the binary interface of AMD's ROCm SMI library that Joule
 * uses.
 *
 * This file declares constants and symbols of librocm_smi64 on 64-bit Linux, so the build needs no header of
 * AMD's. The declarations are the same in rocm_smi.h of ROCm 4.2 to 6.2.
 * Note: rsmi_dev_gpu_metrics_info_get is not called. Its structure grows with each release, so any buffer may
 * be too small for the next release. */
#ifndef JOULE_ROCM_SMI_ABI_H
#define JOULE_ROCM_SMI_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int rocm_code;

enum {
    RSMI_STATUS_SUCCESS = 0,
    RSMI_STATUS_INVALID_ARGS = 1,
    RSMI_STATUS_NOT_SUPPORTED = 2,
    RSMI_STATUS_FILE_ERROR = 3,
    RSMI_STATUS_PERMISSION = 4,
    RSMI_STATUS_OUT_OF_RESOURCES = 5,
    RSMI_STATUS_INIT_ERROR = 8,
    RSMI_STATUS_NOT_YET_IMPLEMENTED = 9,
    RSMI_STATUS_NOT_FOUND = 10,
    RSMI_STATUS_INTERRUPT = 12,
    RSMI_STATUS_NO_DATA = 14,
    RSMI_STATUS_BUSY = 16, /* another process holds the lock */
};

/* Flag of rsmi_init: the library locks only between threads of this process. By default its lock is a file
 * below /dev/shm, which another user's process, or a dead process, may hold for minutes. Releases that do not
 * know the flag ignore it. */
#define RSMI_INIT_FLAG_THRAD_ONLY_MUTEX UINT64_C(0x400000000000000)

enum { RSMI_MEM_TYPE_VRAM = 0 };
enum { RSMI_TEMP_CURRENT = 0 };
enum { RSMI_AVERAGE_POWER = 0, RSMI_CURRENT_POWER = 1 };

/* Powers are in microwatts, temperatures in thousandths of a degree Celsius. */
#define ROCM_FUNCTIONS(X)                                                                                    \
    X(init, (uint64_t flags))                                                                                \
    X(shut_down, (void))                                                                                     \
    X(num_monitor_devices, (uint32_t * count))                                                               \
    X(dev_pci_id_get, (uint32_t device, uint64_t * bdfid))                                                   \
    X(dev_energy_count_get, (uint32_t device, uint64_t * counter, float *microjoules, uint64_t *time_ns))    \
    X(dev_power_ave_get, (uint32_t device, uint32_t sensor, uint64_t * microwatts))                          \
    X(dev_power_get, (uint32_t device, uint64_t * microwatts, uint32_t * kind)) /* from ROCm 6.0 on */       \
    X(dev_power_cap_get, (uint32_t device, uint32_t sensor, uint64_t * microwatts))                          \
    X(dev_power_cap_default_get, (uint32_t device, uint64_t * microwatts))                                   \
    X(dev_power_cap_range_get, (uint32_t device, uint32_t sensor, uint64_t * max, uint64_t * min))           \
    X(dev_temp_metric_get, (uint32_t device, uint32_t place, int metric, int64_t *millidegrees))             \
    X(dev_memory_total_get, (uint32_t device, int kind, uint64_t *bytes))                                    \
    X(dev_memory_usage_get, (uint32_t device, int kind, uint64_t *bytes))                                    \
    X(dev_busy_percent_get, (uint32_t device, uint32_t * percent))                                           \
    X(dev_name_get, (uint32_t device, char *name, size_t size))                                              \
    X(dev_unique_id_get, (uint32_t device, uint64_t * id))

/* The library's functions. A member is NULL if the library lacks the symbol. */
struct rocm_api {
#define ROCM_MEMBER(name, parameters) rocm_code(*name) parameters;
    ROCM_FUNCTIONS(ROCM_MEMBER)
#undef ROCM_MEMBER
};

/* bdfid: bits 63 to 32 are the PCI domain, 15 to 8 the bus, 7 to 3 the slot. Bits 31 to 28 and 2 to 0 may
 * number a partition. */
#define ROCM_DOMAIN(bdfid) ((unsigned)((bdfid) >> 32))
#define ROCM_BUS(bdfid)    ((unsigned)((bdfid) >> 8 & 0xff))
#define ROCM_SLOT(bdfid)   ((unsigned)((bdfid) >> 3 & 0x1f))

#endif
