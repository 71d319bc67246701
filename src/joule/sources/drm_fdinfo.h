/* joule/sources/drm_fdinfo.h - what the kernel's graphics drivers tell of one open file of /dev/dri.
 *
 * Owns the text of /proc/PID/fdinfo/N (Linux: gpu/drm-usage-stats), which amdgpu, i915, xe and others fill, and what happened
 * between two of them. NVIDIA's own driver fills none. Who holds which file open is drm_processes.h's.
 * Newcomers: a client may be open under several numbers and in several processes; its id and its board tell.
 */
#ifndef JOULE_DRM_FDINFO_H
#define JOULE_DRM_FDINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DRM_MOST_ENGINES 12

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
    bool is_used;          /* it holds memory of any kind, or an engine has worked for it */
    struct drm_engine engines[DRM_MOST_ENGINES];
    size_t engine_count;
};

/* False: not of a graphics driver, or without the id or the address of its device. */
bool drm_parse(const char *fdinfo, struct drm_client *out_client);
/* Adds to a sum, either of which may be JOULE_BYTES_UNKNOWN: what is known counts. */
void drm_add_bytes(uint64_t *sum, uint64_t bytes);
bool drm_is_same_client(const struct drm_client *a, const struct drm_client *b);
/* Takes over what the same client is now, elapsed_s later: seconds in which the busiest of its engines was active, at most
 * elapsed_s, as engines run side by side. Times that fall stay where they were until they have caught up. */
double drm_advance(struct drm_client *client, const struct drm_client *now, double elapsed_s);

#endif
