/* joule/sources/drm_fdinfo.h - parses a GPU client's usage from /proc/PID/fdinfo/N.
 *
 * The format is Linux's gpu/drm-usage-stats, which amdgpu, i915, xe and other drivers write. NVIDIA's own
 * driver does not write it. drm_processes.h finds the files.
 * Note: one client may appear under several file descriptors and in several processes. Together,
 * drm-client-id and drm-pdev identify a client. */
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
    uint64_t memory_bytes; /* use of the device's own memory, or JOULE_BYTES_UNKNOWN */
    bool is_used;          /* the client uses memory of any kind, or an engine has worked for it */
    struct drm_engine engines[DRM_MAX_ENGINES];
    size_t engine_count;
};

/* Parses one fdinfo text. Returns false if the client's id or the device's address is missing, as in files
 * that no graphics driver wrote. */
bool drm_parse(const char *fdinfo, struct drm_client *out_client);
/* Adds `bytes` to *sum. JOULE_BYTES_UNKNOWN adds nothing; a *sum of JOULE_BYTES_UNKNOWN becomes `bytes`. */
void drm_add_bytes(uint64_t *sum, uint64_t bytes);
bool drm_is_same_client(const struct drm_client *a, const struct drm_client *b);
/* Replaces `client` by `now`, which is the same client elapsed_s later. Returns the active time of the
 * client's busiest engine in seconds, at most elapsed_s. Engines run in parallel, so their times are not
 * added. If a counter has fallen, `client` keeps the old value until a new value exceeds it. */
double drm_advance(struct drm_client *client, const struct drm_client *now, double elapsed_s);

#endif
