/* joule/sources/drm_fdinfo.h - parses a GPU client's usage from /proc/PID/fdinfo/N.
 *
 * The format is Linux's gpu/drm-usage-stats, which amdgpu, i915, xe and others write. NVIDIA's own driver
 * writes none. drm_processes.h finds the files.
 * Note: a client may be open under several file descriptors and in several processes; drm-client-id and
 * drm-pdev identify it. */
#ifndef JOULE_DRM_FDINFO_H
#define JOULE_DRM_FDINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DRM_MAX_ENGINES 12

struct drm_engine {
    char name[16];
    uint64_t active_ns; /* drm-engine-NAME: time in which the engine worked for this client */
    /* drm-cycles-NAME and drm-total-cycles-NAME: busy cycles and all cycles. Some drivers report these
     * instead of active_ns. */
    uint64_t cycles, total_cycles;
    /* drm-engine-capacity-NAME: number of engines of this name; 0: not reported, which means one */
    uint32_t capacity;
};

struct drm_client {
    char pci_address[16];
    uint64_t id;
    uint64_t memory_bytes; /* the device's own memory in use; JOULE_BYTES_UNKNOWN */
    bool is_used;          /* it holds memory of any kind, or an engine has worked for it */
    struct drm_engine engines[DRM_MAX_ENGINES];
    size_t engine_count;
};

/* Parses one fdinfo text. Returns false if a graphics driver did not write it, or the device's id or address
 * is missing. */
bool drm_parse(const char *fdinfo, struct drm_client *out_client);
/* Adds `bytes` to *sum. JOULE_BYTES_UNKNOWN adds nothing; a *sum of JOULE_BYTES_UNKNOWN becomes `bytes`. */
void drm_add_bytes(uint64_t *sum, uint64_t bytes);
bool drm_is_same_client(const struct drm_client *a, const struct drm_client *b);
/* Replaces `client` by `now`, the same client elapsed_s later. Returns the seconds in which its busiest
 * engine was active, at most elapsed_s, because engines run in parallel. A counter that falls keeps its old
 * value until the new one exceeds it. */
double drm_advance(struct drm_client *client, const struct drm_client *now, double elapsed_s);

#endif
