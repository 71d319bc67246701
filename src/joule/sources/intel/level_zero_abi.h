/* joule/sources/intel/level_zero_abi.h - the binary interface of Intel's Level Zero system management, as far
 * as Joule uses it.
 *
 * This file contains the layouts, constants and symbol names of libze_loader.so.1 on 64-bit Linux, so that no
 * vendor's header is needed to build. The layouts and constants are taken from oneapi-src/level-zero
 * (ze_api.h and zes_api.h), specifications 1.3 to 1.17. Constants have the names of these headers. The
 * comment above a structure is its name in these headers.
 * Note: before a call, a structure that begins with an lz_head must be zero except for its type (stype).
 * Structures of counters have no lz_head. A symbol that is missing in a loader is NULL in struct lz_api.
 * Usually this disables one feature, not the whole source. */
#ifndef JOULE_LEVEL_ZERO_ABI_H
#define JOULE_LEVEL_ZERO_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef void *lz_handle; /* zes_device_handle_t and others: opaque pointers of the loader */
typedef uint32_t lz_code;

enum {
    ZE_RESULT_SUCCESS = 0,
    ZE_RESULT_NOT_READY = 1,
    ZE_RESULT_ERROR_DEVICE_LOST = 0x70000001,
    ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY = 0x70000002,
    ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY = 0x70000003,
    ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE = 0x70000007, /* the device is suspended */
    ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS = 0x70010000,
    ZE_RESULT_ERROR_NOT_AVAILABLE = 0x70010001,
    ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE = 0x70020000, /* a part of the kernel driver is missing */
    ZE_RESULT_ERROR_UNINITIALIZED = 0x78000001,          /* no driver, or not initialised in this mode */
    ZE_RESULT_ERROR_UNSUPPORTED_VERSION = 0x78000002,
    ZE_RESULT_ERROR_UNSUPPORTED_FEATURE = 0x78000003,
    ZE_RESULT_ERROR_INVALID_ARGUMENT = 0x78000004,
    ZE_RESULT_ERROR_UNKNOWN = 0x7ffffffe,
};

/* Values of stype, the first member of a structure. */
enum {
    /* for ze_device_properties_t; the ZE values are separate from the ZES values below */
    ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES = 0x3,
    ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES = 0x1,
    ZES_STRUCTURE_TYPE_PCI_PROPERTIES = 0x2,
    ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES = 0x5,
    ZES_STRUCTURE_TYPE_MEM_PROPERTIES = 0xb,
    ZES_STRUCTURE_TYPE_POWER_PROPERTIES = 0xd,
    ZES_STRUCTURE_TYPE_TEMP_PROPERTIES = 0x14,
    ZES_STRUCTURE_TYPE_MEM_STATE = 0x1e,
    ZES_STRUCTURE_TYPE_POWER_LIMIT_EXT_DESC = 0x27,
    ZES_STRUCTURE_TYPE_POWER_EXT_PROPERTIES = 0x28,
};

enum { ZE_DEVICE_TYPE_GPU = 1, ZE_DEVICE_TYPE_VPU = 5 };
enum { ZE_DEVICE_PROPERTY_FLAG_INTEGRATED = 1 }; /* in lz_core_properties.flags */
enum {
    ZES_POWER_DOMAIN_UNKNOWN = 0, /* also for drivers that do not report the kind of domain */
    ZES_POWER_DOMAIN_CARD = 1,
    ZES_POWER_DOMAIN_PACKAGE = 2,
    ZES_POWER_DOMAIN_STACK = 3,
    ZES_POWER_DOMAIN_MEMORY = 4,
    ZES_POWER_DOMAIN_GPU = 5,
};
/* Each sensor reports the highest temperature of its part. */
enum { ZES_TEMP_SENSORS_GLOBAL = 0, ZES_TEMP_SENSORS_GPU = 1, ZES_TEMP_SENSORS_MEMORY = 2 };
enum { ZES_ENGINE_GROUP_ALL = 0 };
enum { ZES_MEM_LOC_SYSTEM = 0, ZES_MEM_LOC_DEVICE = 1 };
enum { ZES_POWER_LEVEL_SUSTAINED = 1 };
enum { ZES_LIMIT_UNIT_POWER = 2 };

/* The first members of most structures: stype and pNext. */
struct lz_head {
    uint32_t type;
    void *next; /* pNext: a requested extension, or NULL */
};

/* ze_device_properties_t */
struct lz_core_properties {
    struct lz_head head;
    uint32_t type, vendor_id, device_id, flags;
    uint8_t not_read[64];
    uint8_t uuid[16];
    char name[256];
};

/* zes_device_properties_t */
struct lz_device_properties {
    struct lz_head head;
    struct lz_core_properties core;
    uint32_t subdevice_count;
    char serial[64], board[64], brand[64], model[64], vendor[64], driver_version[64];
};

/* zes_pci_properties_t */
struct lz_pci_properties {
    struct lz_head head;
    uint32_t domain, bus, device, function;
    struct {
        int32_t generation, width;
        int64_t bytes_per_s;
    } speed;
    uint8_t has_bandwidth, has_packets, has_replays;
};

/* zes_power_properties_t */
struct lz_power_properties {
    struct lz_head head;
    uint8_t on_subdevice;
    uint32_t subdevice;
    uint8_t can_control, has_threshold;
    int32_t default_milliwatts, min_milliwatts, max_milliwatts; /* negative: unknown */
};

/* zes_power_limit_ext_desc_t */
struct lz_power_limit {
    struct lz_head head;
    uint32_t level, source, unit;
    uint8_t state_is_locked, is_enabled, interval_is_locked;
    int32_t interval_ms;
    uint8_t limit_is_locked;
    int32_t limit;
};

/* zes_power_ext_properties_t */
struct lz_power_ext_properties {
    struct lz_head head;
    uint32_t domain;
    struct lz_power_limit *default_limit; /* NULL: not requested */
};

/* zes_power_sustained_limit_t */
struct lz_sustained_limit {
    uint8_t is_enabled;
    int32_t milliwatts, interval_ms;
};

/* zes_power_energy_counter_t */
struct lz_energy_counter {
    uint64_t microjoules, time_us; /* time_us: on the driver's clock */
};

/* zes_temp_properties_t */
struct lz_temperature_properties {
    struct lz_head head;
    uint32_t type;
    uint8_t on_subdevice;
    uint32_t subdevice;
    double max_celsius;
    uint8_t has_critical, has_threshold1, has_threshold2;
};

/* zes_mem_properties_t */
struct lz_memory_properties {
    struct lz_head head;
    uint32_t type;
    uint8_t on_subdevice;
    uint32_t subdevice, location;
    uint64_t physical_bytes; /* 0: unknown */
    int32_t bus_width, channels;
};

/* zes_mem_state_t */
struct lz_memory_state {
    struct lz_head head;
    uint32_t health;
    uint64_t free_bytes, total_bytes;
};

/* zes_engine_properties_t */
struct lz_engine_properties {
    struct lz_head head;
    uint32_t type;
    uint8_t on_subdevice;
    uint32_t subdevice;
};

/* zes_engine_stats_t */
struct lz_engine_stats {
    uint64_t active_us, time_us;
};

#define LZ_SIZE(name, size) _Static_assert(sizeof(struct name) == (size), #name)
#define LZ_OFFSET(name, member, byte)                                                                        \
    _Static_assert(offsetof(struct name, member) == (byte), #name "." #member)
LZ_SIZE(lz_core_properties, 368);
LZ_OFFSET(lz_core_properties, uuid, 96);
LZ_OFFSET(lz_core_properties, name, 112);
LZ_SIZE(lz_device_properties, 776);
LZ_OFFSET(lz_device_properties, subdevice_count, 384);
LZ_OFFSET(lz_device_properties, serial, 388);
LZ_OFFSET(lz_device_properties, driver_version, 708);
LZ_SIZE(lz_pci_properties, 56);
LZ_OFFSET(lz_pci_properties, speed, 32);
LZ_SIZE(lz_power_properties, 40);
LZ_OFFSET(lz_power_properties, can_control, 24);
LZ_OFFSET(lz_power_properties, default_milliwatts, 28);
LZ_SIZE(lz_power_limit, 48);
LZ_OFFSET(lz_power_limit, interval_ms, 32);
LZ_OFFSET(lz_power_limit, limit, 40);
LZ_SIZE(lz_power_ext_properties, 32);
LZ_OFFSET(lz_power_ext_properties, default_limit, 24);
LZ_SIZE(lz_sustained_limit, 12);
LZ_SIZE(lz_energy_counter, 16);
LZ_SIZE(lz_temperature_properties, 48);
LZ_OFFSET(lz_temperature_properties, max_celsius, 32);
LZ_SIZE(lz_memory_properties, 48);
LZ_OFFSET(lz_memory_properties, location, 28);
LZ_OFFSET(lz_memory_properties, physical_bytes, 32);
LZ_SIZE(lz_memory_state, 40);
LZ_OFFSET(lz_memory_state, free_bytes, 24);
LZ_SIZE(lz_engine_properties, 32);
LZ_OFFSET(lz_engine_properties, on_subdevice, 20);
LZ_SIZE(lz_engine_stats, 16);
#undef LZ_SIZE
#undef LZ_OFFSET

/* *count is the capacity of `list` before the call, and the number of handles after it. If *count is 0 before
 * the call, the function only counts. */
#define LZ_LIST (lz_handle owner, uint32_t * count, lz_handle * list)

/* All functions as X(symbol, parameters). The first three are used only with ZES_ENABLE_SYSMAN=1. */
#define LZ_FUNCTIONS(X)                                                                                      \
    X(zeInit, (uint32_t flags))                                                                              \
    X(zeDriverGet, (uint32_t * count, lz_handle * drivers))                                                  \
    X(zeDeviceGet, LZ_LIST)                                                                                  \
    X(zesInit, (uint32_t flags))                                                                             \
    X(zesDriverGet, (uint32_t * count, lz_handle * drivers))                                                 \
    X(zesDeviceGet, LZ_LIST)                                                                                 \
    X(zesDeviceGetProperties, (lz_handle device, struct lz_device_properties * properties))                  \
    X(zesDevicePciGetProperties, (lz_handle device, struct lz_pci_properties * properties))                  \
    X(zesDeviceEnumPowerDomains, LZ_LIST)                                                                    \
    X(zesDeviceGetCardPowerDomain, (lz_handle device, lz_handle * power))                                    \
    X(zesPowerGetProperties, (lz_handle power, struct lz_power_properties * properties))                     \
    X(zesPowerGetEnergyCounter, (lz_handle power, struct lz_energy_counter * counter))                       \
    X(zesPowerGetLimits, (lz_handle power, struct lz_sustained_limit * sustained, void *burst, void *peak))  \
    X(zesPowerGetLimitsExt, (lz_handle power, uint32_t * count, struct lz_power_limit * limits))             \
    X(zesDeviceEnumTemperatureSensors, LZ_LIST)                                                              \
    X(zesTemperatureGetProperties, (lz_handle sensor, struct lz_temperature_properties * properties))        \
    X(zesTemperatureGetState, (lz_handle sensor, double *celsius))                                           \
    X(zesDeviceEnumMemoryModules, LZ_LIST)                                                                   \
    X(zesMemoryGetProperties, (lz_handle memory, struct lz_memory_properties * properties))                  \
    X(zesMemoryGetState, (lz_handle memory, struct lz_memory_state * state))                                 \
    X(zesDeviceEnumEngineGroups, LZ_LIST)                                                                    \
    X(zesEngineGetProperties, (lz_handle engine, struct lz_engine_properties * properties))                  \
    X(zesEngineGetActivity, (lz_handle engine, struct lz_engine_stats * stats))

#define LZ_MEMBER(name, parameters) lz_code(*name) parameters;
struct lz_api {
    LZ_FUNCTIONS(LZ_MEMBER)
};
#undef LZ_MEMBER

#endif
