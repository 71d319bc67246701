/* joule/sources/intel/intel_gpu.h - the source "intel_gpu": what the drivers i915 and xe report about Intel's
 * GPUs besides hwmon.
 *
 * intel_gpu.c opens the boards and reads clocks, intel_gpu_pmu.c reads how busy the engines are.
 * intel_gpu_memory.c reads memory in use, intel_gpu_describe.c finds the model and reads limits.
 * Note: the sources "hwmon" and "thermal" read energy and temperatures. A GPU inside a processor is listed as
 * a device too; its energy is included in the processor's energy. */
#ifndef JOULE_INTEL_GPU_H
#define JOULE_INTEL_GPU_H

#include "joule/sources/device.h"
#include "joule/sources/drm_card.h"

/* --- engines -------------------------------------------------------------------------------------------- */

#define INTEL_MAX_ENGINES 32

struct intel_engine {
    int active, total; /* handles of events; total < 0: there is none, because `active` counts nanoseconds */
    uint64_t last_active, last_total;
};

struct intel_pmu {
    char folder[96]; /* "/sys/bus/event_source/devices/xe_0000_03_00.0"; empty: the driver has none */
    struct intel_engine engines[INTEL_MAX_ENGINES];
    size_t count;
    bool is_primed; /* the engines' last_ members are set */
};

/* Finds the folder of the driver's performance events for this card. Does not open any event. */
void intel_pmu_find(struct source *source, const struct drm_card *card, struct intel_pmu *out_pmu);
/* Opens the events of the engines. Returns OK if at least one engine can be read, else DENIED, ABSENT or
 * another status. */
joule_status intel_pmu_open(struct source *source, struct intel_pmu *pmu);
/* Writes how busy the busiest engine was since the last call, as a fraction of the time; NaN at the first
 * call. Returns the status of an event that cannot be read. */
joule_status intel_pmu_read(struct joule_host *host, struct intel_pmu *pmu, int64_t now_ns,
                            double *out_share);
void intel_pmu_close(struct joule_host *host, struct intel_pmu *pmu);

/* --- memory --------------------------------------------------------------------------------------------- */

/* Initialise with zeros. */
struct intel_memory {
    uint64_t total_bytes, used_bytes; /* 0: unknown */
    bool is_done;                     /* the driver does not report used memory; do not query again */
};

/* Parses a driver's list of memory regions. Returns false if the list is invalid, or contains no memory of
 * the board. */
bool intel_memory_parse(const char *list, size_t length, bool is_xe, struct intel_memory *out_memory);
/* Queries the driver for the board's memory. Call it only while the board is awake, because a query would
 * wake the board. */
void intel_memory_query(struct joule_host *host, const struct drm_card *card, struct intel_memory *memory);
void intel_memory_add_facts(const struct intel_memory *memory, struct device_facts *facts);

/* --- identity and facts --------------------------------------------------------------------------------- */

/* Sets model, architecture and driver of the device. */
void intel_gpu_set_identity(struct source *source, const struct drm_card *card, struct device *device);
/* Writes the folder of the card's hardware monitor, or an empty text if it has none. */
void intel_gpu_find_hwmon(struct source *source, const struct drm_card *card, char *out_folder, size_t size);
/* Returns the board's memory size, power limits, fan speed, and reasons for low clocks. `hwmon`: folder from
 * intel_gpu_find_hwmon. */
struct device_facts intel_gpu_facts(struct joule_host *host, const struct drm_card *card, const char *hwmon);

#endif
