/* joule/sources/drm_card.h - a graphics or accelerator board as the kernel's display subsystem shows it.
 *
 * Owns what a card below /sys/class/drm is: its driver and its place. Newcomers: any driver makes cards, that of a server's
 * BMC too; what a card is tells its driver alone, never the number of its device file.
 */
#ifndef JOULE_DRM_CARD_H
#define JOULE_DRM_CARD_H

#include "joule/sources/sysfs.h"

#define DRM_FOLDER "/sys/class/drm"

struct drm_card {
    char id[16];              /* "card0" */
    char folder[48];          /* of its device's attributes */
    char driver[32];          /* "amdgpu"; empty: none is bound */
    char pci[SYSFS_PCI_SIZE]; /* "0000:03:00.0"; empty: unknown */
    uint64_t pci_device;      /* 0x74a0; 0: unknown */
    uint64_t pci_vendor;      /* 0x1002; 0: unknown */
};

/* What /sys/class/drm has under this name; false where it is no card: a connector ("card0-DP-1"), a render node. */
bool drm_card_open(struct source *source, const char *id, struct drm_card *out_card);

/* Writes the board's product name. Returns false and leaves `out_name` unchanged if no list has it
 * (pci_names.h). */
bool drm_card_find_name(struct source *source, const struct drm_card *card, char *out_name, size_t size);

#endif
