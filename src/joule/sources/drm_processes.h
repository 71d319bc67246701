/* joule/sources/drm_processes.h - which processes use a GPU, as the kernel's graphics drivers tell.
 *
 * Owns finding the files of /dev/dri that processes hold open, and reading them from look to look (drm_fdinfo.h).
 * Newcomers: one client may be open in several processes; it counts once, for the first of them. A program without rights
 * sees its own user's processes alone: that it finds none says nothing then.
 */
#ifndef JOULE_DRM_PROCESSES_H
#define JOULE_DRM_PROCESSES_H

#include "joule/sources/device.h"

struct drm_file;
struct drm_process;

/* Begins as zeros. */
struct drm_processes {
    struct drm_file *files; /* that are known */
    size_t file_count, file_capacity;
    struct drm_process *list; /* all processes there are, by pid */
    size_t count, capacity;
    int64_t looked_ns;        /* 0: not yet */
    double elapsed_s;         /* between the last two looks */
    bool has_kernels_numbers; /* of processes: /proc is the whole machine's, no container's */
    bool sees_all;            /* nobody can use a GPU unseen */
};

/* Reads the known files again and looks for others. */
void drm_processes_look(struct drm_processes *processes, struct joule_host *host, int64_t now_ns);
/* Adds the processes that used the GPU at this PCI address at the last look. */
void drm_processes_tell(const struct drm_processes *processes, const char *pci_address,
                        struct device_facts *facts);
void drm_processes_free(struct drm_processes *processes);

#endif
