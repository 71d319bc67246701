/* joule/live_drm.h - which process keeps which GPU active, as the kernel's graphics drivers tell.
 *
 * Owns finding files of /dev/dri that processes hold open, and reading their fdinfo (Linux: gpu/drm-usage-stats), which
 * amdgpu, i915, xe and others fill. NVIDIA's own driver does not: its processes come from joule_device_processes.
 * Newcomers: one client may be open in several processes and under several numbers; it counts once, for the first of them.
 */
#ifndef JOULE_LIVE_DRM_H
#define JOULE_LIVE_DRM_H

#include "joule/host/host.h"
#include "joule/live_processes.h"

#define DRM_MOST_ENGINES 12

/* The text of an fdinfo, taken apart. */
struct drm_engine {
    char name[16];
    uint64_t active_ns;            /* while anything of this client ran on it */
    uint64_t cycles, total_cycles; /* instead of active_ns, of drivers that count so: busy ones, and all */
    uint32_t capacity;             /* engines of this name; 0: not told, one */
};
struct drm_client {
    char pci_address[16];
    uint64_t id;
    uint64_t memory_bytes; /* of the device's own memory; JOULE_BYTES_UNKNOWN */
    struct drm_engine engines[DRM_MOST_ENGINES];
    size_t engine_count;
};
/* False: not of a graphics driver, or without the id or the address of its device. */
bool drm_parse(const char *fdinfo, struct drm_client *out_client);
/* Seconds in which the busiest of its engines was active since `before`, at most elapsed_s: engines run side by side. */
double drm_active_s(const struct drm_client *before, const struct drm_client *now, double elapsed_s);

struct drm_file;
struct live_drm {
    struct drm_file *files;
    size_t count, capacity;
    pid_t turns[2]; /* who was looked through last, of those that do not run and of those that do */
};

typedef void (*drm_visit_fn)(const struct live_process *process, const struct drm_client *client,
                             double active_s, void *context);
/* Reads the known files again, looks for others, and shows each client with how long it was active since the last time. False
 * when memory is used up; what was shown counts. */
bool live_drm_look(struct live_drm *drm, struct joule_host *host, struct live_table *table, double elapsed_s,
                   drm_visit_fn visit, void *context);
void live_drm_free(struct live_drm *drm);

#endif
