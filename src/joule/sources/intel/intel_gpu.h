/* joule/sources/intel/intel_gpu.h - Intel's GPUs as the drivers i915 and xe show them: what hwmon does not have of them.
 *
 * Owns what the parts of the intel_gpu source share. intel_gpu.c is the source and reads clocks, intel_gpu_pmu.c reads how
 * busy the engines are, intel_gpu_memory.c how full the memory is, intel_gpu_describe.c says what a board is and which limits it has.
 * Newcomers: joules and temperatures are hwmon's and thermal's. A GPU inside a processor is a device, too; its joules are
 * the processor's.
 */
#ifndef JOULE_INTEL_GPU_H
#define JOULE_INTEL_GPU_H

#include "joule/sources/device.h"
#include "joule/sources/drm_card.h"

/* --- engines -------------------------------------------------------------------------------------------------- */

#define INTEL_MOST_ENGINES 32

struct intel_engine {
    int active, total; /* handles; total < 0: active counts nanoseconds of the clock */
    uint64_t last_active, last_total;
};

struct intel_pmu {
    char folder[96]; /* "/sys/bus/event_source/devices/xe_0000_03_00.0"; empty: the driver has none */
    struct intel_engine engines[INTEL_MOST_ENGINES];
    size_t count;
    bool is_primed;
};

/* Where the driver's events of this card lie; nothing is opened. */
void intel_pmu_find(struct source *source, const struct drm_card *card, struct intel_pmu *out_pmu);
/* Opens the events of its engines: OK with one at least, DENIED, ABSENT ... */
joule_status intel_pmu_open(struct source *source, struct intel_pmu *pmu);
/* The share of time since the last call in which the busiest engine worked; NaN at the first. */
joule_status intel_pmu_read(struct joule_host *host, struct intel_pmu *pmu, int64_t now_ns,
                            double *out_share);
void intel_pmu_close(struct joule_host *host, struct intel_pmu *pmu);

/* --- memory ---------------------------------------------------------------------------------------------------- */

/* Begins as zeros. */
struct intel_memory {
    uint64_t total_bytes, used_bytes; /* 0: unknown */
    bool is_done;                     /* it will not tell more */
};

/* Takes a driver's list of regions apart; false: it is none, or none of them is the board's own. */
bool intel_memory_parse(const char *list, size_t length, bool is_xe, struct intel_memory *out_memory);
/* Asks the driver of a board that is awake. */
void intel_memory_look(struct joule_host *host, const struct drm_card *card, struct intel_memory *memory);
void intel_memory_tell(const struct intel_memory *memory, struct device_facts *facts);

/* --- what a board is ------------------------------------------------------------------------------------------ */

/* Fills in the device of a card: model, architecture, driver. */
void intel_gpu_introduce(struct source *source, const struct drm_card *card, struct device *device);
/* The folder of its sensors; empty: it has none. */
void intel_gpu_find_hwmon(struct source *source, const struct drm_card *card, char *out_folder, size_t size);
/* Its memory, power limits and what holds its clock down. */
struct device_facts intel_gpu_facts(struct joule_host *host, const struct drm_card *card, const char *hwmon);

#endif
