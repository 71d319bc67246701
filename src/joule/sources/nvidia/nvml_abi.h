/* joule/sources/nvidia/nvml_abi.h - the part of the binary interface of NVIDIA's management library (NVML)
 * that Joule uses.
 *
 * The file contains layouts, constants and symbol names of libnvidia-ml.so.1 on 64-bit Linux, so that the
 * build needs no header of NVIDIA. Sizes and offsets are checked at compile time. Constants have the names of
 * nvml.h; comments give the names of its types.
 * Note: symbols without a version suffix are older functions with other layouts. If a driver lacks a symbol,
 * the symbol's member of struct nvml_api is NULL. This disables one feature, not the whole source. */
#ifndef JOULE_NVML_ABI_H
#define JOULE_NVML_ABI_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct nvml_device_handle *nvml_device; /* nvmlDevice_t: opaque, never dereferenced */
typedef struct nvml_gpm_buffer *nvml_gpm_sample;
typedef struct nvml_event_queue *nvml_event_set;
typedef int nvml_return;

enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_TIMEOUT = 10,
    NVML_ERROR_LIBRARY_NOT_FOUND = 12,
    NVML_ERROR_FUNCTION_NOT_FOUND = 13,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_RESET_REQUIRED = 16,
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
    NVML_ERROR_IN_USE = 19,
    NVML_ERROR_MEMORY = 20,
    NVML_ERROR_NO_DATA = 21,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_ERROR_DEPRECATED = 26,
    NVML_ERROR_NOT_READY = 27,
    NVML_ERROR_GPU_NOT_FOUND = 28,
    NVML_ERROR_UNKNOWN = 999,
};

/* Field ids of nvmlDeviceGetFieldValues, in milliwatts and millijoules; the temperature is in degrees
 * Celsius. */
enum {
    NVML_FI_DEV_MEMORY_TEMP = 82,
    NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION = 83,
    NVML_FI_DEV_POWER_AVERAGE = 185, /* over 1 s */
    NVML_FI_DEV_POWER_INSTANT = 186,
    NVML_FI_DEV_POWER_MIN_LIMIT = 187,
    NVML_FI_DEV_POWER_MAX_LIMIT = 188,
    NVML_FI_DEV_POWER_DEFAULT_LIMIT = 189,
    NVML_FI_DEV_POWER_CURRENT_LIMIT = 190,
    NVML_FI_DEV_ENERGY = 191, /* the value of field 83, for one scope */
    NVML_FI_DEV_POWER_REQUESTED_LIMIT = 192,
    NVML_FI_DEV_PCIE_COUNT_TX_BYTES = 197, /* a count of bytes; 32-bit counts wrap within a second */
    NVML_FI_DEV_PCIE_COUNT_RX_BYTES = 198,
};

enum { NVML_PCIE_UTIL_TX_BYTES = 0, NVML_PCIE_UTIL_RX_BYTES = 1 };
enum { NVML_MEMORY_ERROR_TYPE_CORRECTED = 0, NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1 };
/* Counts since the driver was loaded, or over the board's lifetime. */
enum { NVML_VOLATILE_ECC = 0, NVML_AGGREGATE_ECC = 1 };
#define nvmlEventTypeXidCriticalError 0x8ull

/* Scopes of the fields 185, 186 and 191. */
enum { NVML_POWER_SCOPE_GPU = 0, NVML_POWER_SCOPE_MODULE = 1, NVML_POWER_SCOPE_MEMORY = 2 };

/* nvmlValueType_t: the member of union nvml_value that is set */
enum {
    NVML_VALUE_TYPE_DOUBLE = 0,
    NVML_VALUE_TYPE_UNSIGNED_INT = 1,
    NVML_VALUE_TYPE_UNSIGNED_LONG = 2,
    NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3,
    NVML_VALUE_TYPE_SIGNED_LONG_LONG = 4,
    NVML_VALUE_TYPE_SIGNED_INT = 5,
    NVML_VALUE_TYPE_UNSIGNED_SHORT = 6,
};

enum { NVML_TOTAL_POWER_SAMPLES = 0, NVML_MODULE_POWER_SAMPLES = 7 };
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
enum {
    NVML_DEVICE_ARCH_KEPLER = 2,
    NVML_DEVICE_ARCH_MAXWELL = 3,
    NVML_DEVICE_ARCH_PASCAL = 4,
    NVML_DEVICE_ARCH_VOLTA = 5,
    NVML_DEVICE_ARCH_TURING = 6,
    NVML_DEVICE_ARCH_AMPERE = 7,
    NVML_DEVICE_ARCH_ADA = 8,
    NVML_DEVICE_ARCH_HOPPER = 9,
    NVML_DEVICE_ARCH_BLACKWELL = 10,
};
/* Metrics of GPM, in per cent of the time between two samples. */
enum {
    NVML_GPM_METRIC_GRAPHICS_UTIL = 1,
    NVML_GPM_METRIC_SM_UTIL = 2,
    NVML_GPM_METRIC_ANY_TENSOR_UTIL = 5,
    NVML_GPM_METRIC_DRAM_BW_UTIL = 10,
    NVML_GPM_METRIC_FP32_UTIL = 12
};

/* Bits of nvmlDeviceGetCurrentClocksEventReasons: why clocks are not higher. */
enum {
    nvmlClocksEventReasonGpuIdle = 0x1,
    nvmlClocksEventReasonApplicationsClocksSetting = 0x2,
    nvmlClocksEventReasonSwPowerCap = 0x4,
    nvmlClocksEventReasonHwSlowdown = 0x8,
    nvmlClocksEventReasonSyncBoost = 0x10,
    nvmlClocksEventReasonSwThermalSlowdown = 0x20,
    nvmlClocksEventReasonHwThermalSlowdown = 0x40,
    nvmlClocksEventReasonHwPowerBrakeSlowdown = 0x80,
    nvmlClocksEventReasonDisplayClockSetting = 0x100,
};

/* nvmlValue_t */
union nvml_value {
    double d;
    uint32_t u32;
    uint64_t u64;
    int64_t i64;
    int32_t i32;
    uint16_t u16;
};

/* nvmlFieldValue_t */
struct nvml_field {
    uint32_t id;
    uint32_t scope;
    int64_t time_us; /* CLOCK_REALTIME of the driver's reading */
    int64_t latency_us;
    uint32_t value_type;
    nvml_return status; /* status of this field; the call succeeds even if all fields fail */
    union nvml_value value;
};

/* nvmlSample_t */
struct nvml_sample {
    uint64_t time_us;
    union nvml_value value;
};

/* nvmlUtilization_t */
struct nvml_utilization {
    uint32_t gpu_percent; /* percentage of the time in which a kernel ran */
    uint32_t memory_percent;
};

/* nvmlMemory_t */
struct nvml_memory {
    uint64_t total, free, used; /* bytes; used includes memory reserved by the driver */
};

/* nvmlMemory_v2_t */
struct nvml_memory_v2 {
    uint32_t version; /* NVML_MEMORY_V2 */
    uint64_t total, reserved, free, used;
};

/* nvmlPciInfo_t */
struct nvml_pci {
    char bus_id_legacy[16];
    uint32_t domain, bus, device;
    uint32_t device_id, subsystem_id;
    char bus_id[32]; /* such as "00000000:65:00.0" */
};

/* nvmlTemperature_v1_t */
struct nvml_temperature {
    uint32_t version; /* NVML_TEMPERATURE_V1 */
    int32_t sensor;   /* NVML_TEMPERATURE_GPU: 0 */
    int32_t celsius;
};

/* nvmlFanSpeedInfo_t */
struct nvml_fan {
    uint32_t version; /* NVML_FAN_V1 */
    uint32_t fan;     /* from 0 */
    uint32_t rpm;
};

/* nvmlEventData_t */
struct nvml_event {
    nvml_device device;
    uint64_t type;
    uint64_t data; /* for nvmlEventTypeXidCriticalError: the number of the error */
    uint32_t gpu_instance, compute_instance;
};

/* nvmlProcessInfo_t */
struct nvml_process {
    uint32_t pid;
    uint64_t used_bytes; /* all ones: not available */
    uint32_t gpu_instance, compute_instance;
};

/* The layout that drivers 530 to early 535 use instead of nvmlProcessInfo_t. */
struct nvml_process_32 {
    struct nvml_process process;
    uint64_t protected_bytes;
};

/* nvmlProcessUtilizationSample_t: a process's use since its previous sample. */
struct nvml_process_sample {
    uint32_t pid;
    uint64_t time_us;
    uint32_t sm_percent, memory_percent, encoder_percent, decoder_percent;
};

/* nvmlGpmSupport_t */
struct nvml_gpm_support {
    uint32_t version; /* 1 */
    uint32_t is_supported;
};

/* nvmlGpmMetric_t */
struct nvml_gpm_metric {
    uint32_t id;
    nvml_return status;
    double value;
    const char *short_name, *long_name, *unit;
};

#define NVML_GPM_METRIC_MAX 333 /* value of the newest nvml.h, because a library may clear the whole array */
/* nvmlGpmMetricsGet_t */
struct nvml_gpm_metrics {
    uint32_t version; /* 1 */
    uint32_t count;
    nvml_gpm_sample before, after;
    struct nvml_gpm_metric metrics[NVML_GPM_METRIC_MAX];
};

#define NVML_VERSIONED(type, version) ((uint32_t)(sizeof(type) | (version) << 24))
#define NVML_MEMORY_V2                NVML_VERSIONED(struct nvml_memory_v2, 2u)
#define NVML_TEMPERATURE_V1           NVML_VERSIONED(struct nvml_temperature, 1u)
#define NVML_FAN_V1                   NVML_VERSIONED(struct nvml_fan, 1u)
#define NVML_NAME_SIZE                96

/* All functions as X(name without "nvml", parameters). All return nvmlReturn_t. */
#define NVML_FUNCTIONS(X)                                                                                    \
    X(Init_v2, (void))                                                                                       \
    X(Shutdown, (void))                                                                                      \
    X(SystemGetDriverVersion, (char *text, unsigned size))                                                   \
    X(SystemGetNVMLVersion, (char *text, unsigned size))                                                     \
    X(SystemGetCudaDriverVersion_v2, (int *version))                                                         \
    X(DeviceGetCount_v2, (unsigned *count))                                                                  \
    X(DeviceGetHandleByIndex_v2, (unsigned index, nvml_device *device))                                      \
    X(DeviceGetName, (nvml_device device, char *text, unsigned size))                                        \
    X(DeviceGetUUID, (nvml_device device, char *text, unsigned size))                                        \
    X(DeviceGetPciInfo_v3, (nvml_device device, struct nvml_pci * pci))                                      \
    X(DeviceGetCudaComputeCapability, (nvml_device device, int *major, int *minor))                          \
    X(DeviceGetArchitecture, (nvml_device device, unsigned *architecture))                                   \
    X(DeviceGetTotalEnergyConsumption, (nvml_device device, unsigned long long *millijoules))                \
    X(DeviceGetPowerUsage, (nvml_device device, unsigned *milliwatts))                                       \
    X(DeviceGetFieldValues, (nvml_device device, int count, struct nvml_field *fields))                      \
    X(DeviceGetSamples, (nvml_device device, int type, unsigned long long last_seen_us, int *value_type,     \
                         unsigned *count, struct nvml_sample *samples))                                      \
    X(DeviceGetUtilizationRates, (nvml_device device, struct nvml_utilization * utilization))                \
    X(DeviceGetMemoryInfo, (nvml_device device, struct nvml_memory * memory))                                \
    X(DeviceGetMemoryInfo_v2, (nvml_device device, struct nvml_memory_v2 * memory))                          \
    X(DeviceGetTemperature, (nvml_device device, int sensor, unsigned *celsius))                             \
    X(DeviceGetTemperatureV, (nvml_device device, struct nvml_temperature * temperature))                    \
    X(DeviceGetClockInfo, (nvml_device device, int clock, unsigned *megahertz))                              \
    X(DeviceGetPowerManagementLimit, (nvml_device device, unsigned *milliwatts))                             \
    X(DeviceGetPowerManagementDefaultLimit, (nvml_device device, unsigned *milliwatts))                      \
    X(DeviceGetPowerManagementLimitConstraints, (nvml_device device, unsigned *min, unsigned *max))          \
    X(DeviceGetEnforcedPowerLimit, (nvml_device device, unsigned *milliwatts))                               \
    X(DeviceGetCurrentClocksEventReasons, (nvml_device device, unsigned long long *reasons))                 \
    X(DeviceGetCurrentClocksThrottleReasons, (nvml_device device, unsigned long long *reasons))              \
    X(DeviceGetComputeRunningProcesses_v3, (nvml_device device, unsigned *count, void *processes))           \
    X(DeviceGetProcessUtilization, (nvml_device device, struct nvml_process_sample * samples,                \
                                    unsigned *count, unsigned long long last_seen_us))                       \
    X(DeviceGetConfComputeMemSizeInfo, (nvml_device device, void *unused))                                   \
    X(DeviceGetRunningProcessDetailList, (nvml_device device, void *unused))                                 \
    X(DeviceGetMigMode, (nvml_device device, unsigned *current, unsigned *pending))                          \
    X(DeviceGetMaxMigDeviceCount, (nvml_device device, unsigned *count))                                     \
    X(DeviceGetMigDeviceHandleByIndex, (nvml_device device, unsigned index, nvml_device *instance))          \
    X(DeviceGetGpuInstanceId, (nvml_device instance, unsigned *id))                                          \
    X(DeviceGetComputeInstanceId, (nvml_device instance, unsigned *id))                                      \
    X(DeviceGetEncoderUtilization, (nvml_device device, unsigned *percent, unsigned *period_us))             \
    X(DeviceGetDecoderUtilization, (nvml_device device, unsigned *percent, unsigned *period_us))             \
    X(DeviceGetNumFans, (nvml_device device, unsigned *count))                                               \
    X(DeviceGetFanSpeed, (nvml_device device, unsigned *percent))                                            \
    X(DeviceGetFanSpeed_v2, (nvml_device device, unsigned fan, unsigned *percent))                           \
    X(DeviceGetFanSpeedRPM, (nvml_device device, struct nvml_fan * fan))                                     \
    X(DeviceGetPcieThroughput, (nvml_device device, int direction, unsigned *kilobytes_per_second))          \
    X(DeviceGetPcieReplayCounter, (nvml_device device, unsigned *count))                                     \
    X(DeviceGetTotalEccErrors, (nvml_device device, int kind, int period, unsigned long long *count))        \
    X(DeviceGetSupportedEventTypes, (nvml_device device, unsigned long long *types))                         \
    X(DeviceRegisterEvents, (nvml_device device, unsigned long long types, nvml_event_set set))              \
    X(EventSetCreate, (nvml_event_set * set))                                                                \
    X(EventSetWait_v2, (nvml_event_set set, struct nvml_event * event, unsigned timeout_ms))                 \
    X(EventSetFree, (nvml_event_set set))                                                                    \
    X(GpmQueryDeviceSupport, (nvml_device device, struct nvml_gpm_support * support))                        \
    X(GpmSampleAlloc, (nvml_gpm_sample * sample))                                                            \
    X(GpmSampleFree, (nvml_gpm_sample sample))                                                               \
    X(GpmSampleGet, (nvml_device device, nvml_gpm_sample sample))                                            \
    X(GpmMetricsGet, (struct nvml_gpm_metrics * metrics))

/* The library's functions; NULL: the library lacks the symbol. */
struct nvml_api {
#define NVML_MEMBER(name, parameters) nvml_return(*name) parameters;
    NVML_FUNCTIONS(NVML_MEMBER)
#undef NVML_MEMBER
};

#define NVML_LAYOUT(type, member, offset)                                                                    \
    _Static_assert(offsetof(type, member) == (offset), #type "." #member)
#define NVML_SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)
NVML_SIZE(struct nvml_field, 40);
NVML_LAYOUT(struct nvml_field, scope, 4);
NVML_LAYOUT(struct nvml_field, time_us, 8);
NVML_LAYOUT(struct nvml_field, latency_us, 16);
NVML_LAYOUT(struct nvml_field, value_type, 24);
NVML_LAYOUT(struct nvml_field, status, 28);
NVML_LAYOUT(struct nvml_field, value, 32);
NVML_SIZE(struct nvml_sample, 16);
NVML_LAYOUT(struct nvml_sample, value, 8);
NVML_SIZE(struct nvml_utilization, 8);
NVML_SIZE(struct nvml_memory, 24);
NVML_LAYOUT(struct nvml_memory, used, 16);
NVML_SIZE(struct nvml_memory_v2, 40);
NVML_LAYOUT(struct nvml_memory_v2, total, 8);
NVML_LAYOUT(struct nvml_memory_v2, used, 32);
NVML_SIZE(struct nvml_pci, 68);
NVML_LAYOUT(struct nvml_pci, domain, 16);
NVML_LAYOUT(struct nvml_pci, device_id, 28);
NVML_LAYOUT(struct nvml_pci, bus_id, 36);
NVML_SIZE(struct nvml_temperature, 12);
NVML_LAYOUT(struct nvml_temperature, celsius, 8);
NVML_SIZE(struct nvml_process, 24);
NVML_LAYOUT(struct nvml_process, used_bytes, 8);
NVML_LAYOUT(struct nvml_process, gpu_instance, 16);
NVML_SIZE(struct nvml_process_32, 32);
NVML_SIZE(struct nvml_process_sample, 32);
NVML_LAYOUT(struct nvml_process_sample, time_us, 8);
NVML_LAYOUT(struct nvml_process_sample, sm_percent, 16);
NVML_SIZE(struct nvml_fan, 12);
NVML_LAYOUT(struct nvml_fan, rpm, 8);
NVML_SIZE(struct nvml_event, 32);
NVML_LAYOUT(struct nvml_event, type, 8);
NVML_LAYOUT(struct nvml_event, data, 16);
NVML_LAYOUT(struct nvml_event, gpu_instance, 24);
NVML_SIZE(struct nvml_gpm_support, 8);
NVML_SIZE(struct nvml_gpm_metric, 40);
NVML_LAYOUT(struct nvml_gpm_metric, value, 8);
NVML_LAYOUT(struct nvml_gpm_metrics, before, 8);
NVML_LAYOUT(struct nvml_gpm_metrics, metrics, 24);
NVML_SIZE(struct nvml_gpm_metrics, 13344);
_Static_assert(NVML_MEMORY_V2 == 0x02000028, "version of nvml_memory_v2");
_Static_assert(NVML_TEMPERATURE_V1 == 0x0100000C, "version of nvml_temperature");
_Static_assert(NVML_FAN_V1 == 0x0100000C, "version of nvml_fan");
#undef NVML_LAYOUT
#undef NVML_SIZE

/* Returns the value as a double. type: NVML_VALUE_TYPE_...; an unknown type returns NaN. */
static inline double nvml_value_double(uint32_t type, union nvml_value value)
{
    switch (type) {
    case NVML_VALUE_TYPE_DOUBLE:
        return value.d;
    case NVML_VALUE_TYPE_UNSIGNED_INT:
        return value.u32;
    case NVML_VALUE_TYPE_UNSIGNED_LONG:
    case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
        return (double)value.u64;
    case NVML_VALUE_TYPE_SIGNED_LONG_LONG:
        return (double)value.i64;
    case NVML_VALUE_TYPE_SIGNED_INT:
        return value.i32;
    case NVML_VALUE_TYPE_UNSIGNED_SHORT:
        return value.u16;
    default:
        return NAN;
    }
}

#endif
