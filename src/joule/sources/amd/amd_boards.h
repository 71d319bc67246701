/* joule/sources/amd/amd_boards.h - AMD's boards as AMD's own libraries and programs tell of them.
 *
 * Owns what those ways share: whether they are asked at all, which of their devices are boards, the channels of a board and
 * the order of readings. Each way fills struct amd_interface and adds its devices.
 * Newcomers: libraries and programs read the files that the sources "amdgpu" and "hwmon" read without them, so that they are
 * asked only about boards of which those files tell neither energy nor power, or by name (--sources rocm_smi).
 */
#ifndef JOULE_AMD_BOARDS_H
#define JOULE_AMD_BOARDS_H

#include "joule/sources/device.h"

#define AMD_MOST_BOARDS 64
#define AMD_DRIVER      "/sys/bus/pci/drivers/amdgpu" /* lists its boards; absent where the driver is not loaded */

/* A library's own name of a device: an index or a pointer. */
typedef uintptr_t amd_device;

enum amd_place { AMD_EDGE, AMD_JUNCTION, AMD_MEMORY }; /* as both libraries number them */

/* How one of the ways asks. Each function answers OK with its value, PENDING where the same question may well be answered a
 * moment later, or why not. `context` is what amd_boards_create was given. */
struct amd_interface {
    const char *tells; /* "librocm_smi64" */
    uint32_t rank;     /* of its counters; its power comes RANK_INTEGRATED - RANK_DRIVER later */
    double
        period_s; /* between two rounds; 0: a library's, each of whose answers is asked for when it is read */
    joule_status (*energy)(void *context, amd_device device, uint64_t *out_counts); /* of 2^-16 J */
    joule_status (*power)(void *context, amd_device device, double *out_watts);
    joule_status (*celsius)(void *context, amd_device device, enum amd_place place, double *out_celsius);
    joule_status (*busy)(void *context, amd_device device, double *out_share);
    /* Model and identity: leaves alone what is not known. */
    void (*introduce)(void *context, amd_device name, struct device *device);
    /* Memory and limits: begins with device_facts_unknown. */
    joule_status (*facts)(void *context, amd_device device, struct device_facts *facts);
};

struct amd_board {
    struct device *device;
    amd_device name; /* the library's */
    char zone[48];
    bool has_cpu;
    struct channel *energy, *power, *busy, *temperature, *memory_temperature; /* NULL: it does not tell */
    enum amd_place warmest;
    struct standstill still; /* of the counter */
    int64_t trouble_ns;      /* since when it puts one off; 0: all is well */
};

struct amd_boards {
    struct source *source;
    const struct amd_interface *interface;
    void *context;
    struct amd_board list[AMD_MOST_BOARDS];
    size_t count;
    bool is_denied;    /* a question was refused */
    int64_t gauges_ns; /* when gauges were last read */
};

/* Whether to ask at all. `own`: the person's own library or program, NULL or empty: none. When not, the source says why. */
bool amd_boards_are_wanted(struct source *source, const char *own);

/* The first library that opens: `own` alone, or where that is NULL or empty the names, ended by NULL, in turn.
 * *out_name: which; NULL, and *out_name too, without one. */
void *amd_open_library(struct joule_host *host, const char *own, const char *const *names,
                       const char **out_name);

/* The names under which releases have them, ended by NULL, and whether any of them opens. */
extern const char *const amd_smi_libraries[], *const rocm_smi_libraries[];
bool amd_has_library(struct joule_host *host);

/* In the source's arena, and from then on the source's data; NULL when memory is used up. */
struct amd_boards *amd_boards_create(struct source *source, const struct amd_interface *interface,
                                     void *context);

/* Adds the device at this place with what it tells. Partitions of a board that is there already are left out: they repeat
 * its energy and its power. */
void amd_boards_add(struct amd_boards *boards, unsigned domain, unsigned bus, unsigned slot, amd_device name);
/* The device has this name from now on; false where it had it already. */
bool amd_boards_replace(struct amd_boards *boards, unsigned domain, unsigned bus, unsigned slot,
                        amd_device name);
/* What open answers once all devices are added. */
joule_status amd_boards_opened(struct amd_boards *boards);
/* As in source_ops. */
void amd_boards_read(struct source *source, struct sink *sink);
void amd_boards_look(struct source *source, struct sink *sink);

#endif
