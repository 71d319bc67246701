/* joule/sources/gaudi/hlml_abi.h - the part of the binary interface of Habana's management library that Joule
 * uses.
 *
 * This file declares layouts, constants and symbols of libhlml.so, so the build needs no header of Habana's.
 * The constants have the same names as in Habana's hlml.h.
 * Note: symbols are in snake_case, such as hlml_device_get_count. The camel-case names in public documents
 * belong to the Python wrapper, whose return codes are different. */
#ifndef JOULE_HLML_ABI_H
#define JOULE_HLML_ABI_H

#include <stddef.h>

typedef void *hlml_device; /* hlml_device_t: opaque, never dereferenced */
typedef int hlml_return;

enum {
    HLML_SUCCESS = 0,
    HLML_ERROR_UNINITIALIZED = 1,
    HLML_ERROR_INVALID_ARGUMENT = 2,
    HLML_ERROR_NOT_SUPPORTED = 3,
    HLML_ERROR_ALREADY_INITIALIZED = 5,
    HLML_ERROR_NOT_FOUND = 6,
    HLML_ERROR_INSUFFICIENT_SIZE = 7,
    HLML_ERROR_DRIVER_NOT_LOADED = 9,
    HLML_ERROR_TIMEOUT = 10,
    HLML_ERROR_AIP_IS_LOST = 15,
    HLML_ERROR_MEMORY = 20,
    HLML_ERROR_NO_DATA = 21,
    HLML_ERROR_UNKNOWN = 49,
};

enum { HLML_TEMPERATURE_ON_AIP = 0, HLML_TEMPERATURE_ON_BOARD = 1 };
enum { HLML_CLOCK_SOC = 0, HLML_CLOCK_IC = 1, HLML_CLOCK_MME = 2, HLML_CLOCK_TPC = 3 };
enum { HLML_CLOCKS_THROTTLE_REASON_POWER = 1, HLML_CLOCKS_THROTTLE_REASON_THERMAL = 2 }; /* bits */

struct hlml_memory { /* hlml_memory_t: bytes, in this order */
    unsigned long long free, total, used;
};

struct hlml_utilization { /* hlml_utilization_t: per cent, over about the last second */
    unsigned aip;
};

/* hlml_pci_info_t */
struct hlml_pci_info {
    unsigned bus;
    char bus_id[15]; /* such as "0000:65:00.0" */
    unsigned device, domain, pci_device_id;
    struct {
        char link_speed[10], link_width[10];
    } caps;
};
_Static_assert(offsetof(struct hlml_pci_info, device) == 20, "as the vendor's compiler lays it out");
_Static_assert(sizeof(struct hlml_pci_info) == 52, "as the vendor's compiler lays it out");

/* X(name, parameters): the symbol is hlml_NAME. */
#define HLML_FUNCTIONS(X)                                                                                    \
    X(init, (void))                                                                                          \
    X(shutdown, (void))                                                                                      \
    X(device_get_count, (unsigned *count))                                                                   \
    X(device_get_handle_by_index, (unsigned index, hlml_device *device))                                     \
    X(device_get_name, (hlml_device device, char *text, unsigned size))                                      \
    X(device_get_uuid, (hlml_device device, char *text, unsigned size))                                      \
    X(device_get_pci_info, (hlml_device device, struct hlml_pci_info * pci))                                 \
    X(device_get_power_usage, (hlml_device device, unsigned *milliwatts))                                    \
    X(device_get_power_management_default_limit, (hlml_device device, unsigned *milliwatts))                 \
    X(device_get_total_energy_consumption, (hlml_device device, unsigned long long *millijoules))            \
    X(device_get_temperature, (hlml_device device, int sensor, unsigned *celsius))                           \
    X(device_get_memory_info, (hlml_device device, struct hlml_memory * memory))                             \
    X(device_get_utilization_rates, (hlml_device device, struct hlml_utilization * utilization))             \
    X(device_get_clock_info, (hlml_device device, int type, unsigned *megahertz))                            \
    X(device_get_current_clocks_throttle_reasons, (hlml_device device, unsigned long long *reasons))         \
    X(get_driver_version, (char *text, unsigned size))

/* The library's functions. A member is NULL if the library lacks the symbol. */
struct hlml_api {
#define HLML_MEMBER(name, parameters) hlml_return(*name) parameters;
    HLML_FUNCTIONS(HLML_MEMBER)
#undef HLML_MEMBER
};

#endif
