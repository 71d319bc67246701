/* joule/sources/amd/amd_boards.h - AMD's boards, read with AMD's libraries and programs.
 *
 * The sources amd_smi, rocm_smi, amd_smi_program and rocm_smi_program share these functions: they decide
 * whether the source is opened, add the channels of each board, and read them. Each source fills a struct
 * amd_interface and adds its devices.
 * Note: libraries and programs read the same files as the sources "amdgpu" and "hwmon". A source is therefore
 * opened only if these files report neither energy nor power of a board, or if the source is requested by
 * name (--sources rocm_smi). */
#ifndef JOULE_AMD_BOARDS_H
#define JOULE_AMD_BOARDS_H

#include "joule/sources/device.h"

#define AMD_MAX_BOARDS 64
/* Folder that lists AMD's boards. It is absent if the driver is not loaded. */
#define AMD_DRIVER "/sys/bus/pci/drivers/amdgpu"

/* A library's identifier of a device: an index or a handle. */
typedef uintptr_t amd_device;

/* The place at which a temperature is measured. The values equal RSMI_TEMP_TYPE_... and
 * AMDSMI_TEMPERATURE_TYPE_.... */
enum amd_place { AMD_EDGE, AMD_JUNCTION, AMD_MEMORY };

/* The functions of one library or program. Each returns OK and writes its value, PENDING if the same call may
 * succeed a moment later, or another status. `context` is the argument of amd_boards_create. */
struct amd_interface {
    const char *name; /* the interface's name, such as "librocm_smi64" */
    uint32_t rank;    /* rank of energy counters; for power, RANK_INTEGRATED - RANK_DRIVER is added */
    /* Time between two runs of a program; 0: a library, which is called at each reading. */
    double period_s;
    joule_status (*energy)(void *context, amd_device device, uint64_t *out_counts); /* in units of 2^-16 J */
    joule_status (*power)(void *context, amd_device device, double *out_watts);
    joule_status (*celsius)(void *context, amd_device device, enum amd_place place, double *out_celsius);
    joule_status (*busy)(void *context, amd_device device, double *out_share); /* 0 to 1 */
    /* Sets the model and uuid of `device` if they are known. */
    void (*set_identity)(void *context, amd_device handle, struct device *device);
    /* Sets memory and limits in `facts`, which is device_facts_unknown at first. */
    joule_status (*facts)(void *context, amd_device device, struct device_facts *facts);
};

struct amd_board {
    struct device *device;
    amd_device handle; /* the library's identifier of the board */
    char zone[48];
    bool has_cpu;
    struct channel *energy, *power, *busy, *temperature, *memory_temperature; /* NULL: not reported */
    enum amd_place warmest;   /* sensor of `temperature`: AMD_JUNCTION, or AMD_EDGE if there is none */
    struct standstill still;  /* detects an energy counter that does not move */
    int64_t failing_since_ns; /* time of the first PENDING call since the last success; 0: none */
};

struct amd_boards {
    struct source *source;
    const struct amd_interface *interface;
    void *context;
    struct amd_board list[AMD_MAX_BOARDS];
    size_t count;
    bool is_denied;    /* a call returned JOULE_DENIED */
    int64_t gauges_ns; /* time of the last reading of gauges */
};

/* Returns true if the source should be opened. Otherwise sets the source's state and remedy. own: the library
 * or program that the user's environment names; NULL or empty: none. */
bool amd_boards_are_needed(struct source *source, const char *own);

/* Opens the library `own`. If `own` is NULL or empty, opens the first of `names` (ended by NULL) that can be
 * opened. Sets *out_name to the name of the opened library. Returns NULL, and sets *out_name to NULL, if no
 * library can be opened. */
void *amd_open_library(struct joule_host *host, const char *own, const char *const *names,
                       const char **out_name);

/* File names of each library in all its releases, ended by NULL. */
extern const char *const amd_smi_libraries[], *const rocm_smi_libraries[];
/* Returns true if any of these libraries can be opened. */
bool amd_has_library(struct joule_host *host);

/* Allocates an empty list of boards in the source's arena and sets source->data to it. Returns NULL if out of
 * memory. */
struct amd_boards *amd_boards_create(struct source *source, const struct amd_interface *interface,
                                     void *context);

/* Adds the device at this PCI address with its channels. Ignores other partitions of a known board, because
 * they repeat the board's energy and power. */
void amd_boards_add(struct amd_boards *boards, unsigned domain, unsigned bus, unsigned slot,
                    amd_device handle);
/* Replaces the library's identifier of the board at this PCI address. Returns true if the identifier changed,
 * false if it is unchanged or the board is unknown. */
bool amd_boards_replace(struct amd_boards *boards, unsigned domain, unsigned bus, unsigned slot,
                        amd_device handle);
/* Sets and returns the source's state after all devices are added. */
joule_status amd_boards_set_state(struct amd_boards *boards);
/* read and query of source_ops, for all four sources. */
void amd_boards_read(struct source *source, struct sink *sink);
void amd_boards_query(struct source *source, struct sink *sink);

#endif
