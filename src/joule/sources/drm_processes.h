/* joule/sources/drm_processes.h - finds the processes that use a GPU, with the data of the kernel's graphics
 * drivers.
 *
 * The functions search for open files of /dev/dri in all processes, and read their usage at each query
 * (drm_fdinfo.h).
 * Note: a client that is open in several processes counts once, for the first of them. Without privileges a
 * program sees only processes of its own user. So an empty list does not mean that no process uses the
 * GPU. */
#ifndef JOULE_DRM_PROCESSES_H
#define JOULE_DRM_PROCESSES_H

#include "joule/sources/device.h"

struct drm_file;
struct drm_process;

/* Initialise with zeros. */
struct drm_processes {
    struct drm_file *files; /* known files */
    size_t file_count, file_capacity;
    struct drm_process *list; /* all processes, sorted by pid */
    size_t count, capacity;
    int64_t queried_ns; /* 0: not queried yet */
    double elapsed_s;   /* between the last two queries */
    /* /proc shows the whole machine, not a container, so process ids are those of the kernel. */
    bool has_kernels_numbers;
    bool sees_all; /* no process is hidden, so the list of GPU users is complete */
};

/* Reads the known files again and searches for new ones. */
void drm_processes_query(struct drm_processes *processes, struct joule_host *host, int64_t now_ns);
/* Adds to `facts` the processes that used the GPU at this PCI address at the last query. */
void drm_processes_add_facts(const struct drm_processes *processes, const char *pci_address,
                             struct device_facts *facts);
void drm_processes_free(struct drm_processes *processes);

#endif
