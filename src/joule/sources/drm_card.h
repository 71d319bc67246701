/* joule/sources/drm_card.h - a card of the kernel's display subsystem (DRM): its driver and PCI address.
 *
 * Note: any driver may create a card, also that of a server's BMC. Only the driver shows what a card is; the
 * number of its device file does not. */
#ifndef JOULE_DRM_CARD_H
#define JOULE_DRM_CARD_H

#include "joule/sources/sysfs.h"

#define DRM_FOLDER "/sys/class/drm"

struct drm_card {
    char id[16];              /* such as "card0" */
    char folder[48];          /* folder of its device's attributes */
    char driver[32];          /* such as "amdgpu"; empty: none is bound */
    char pci[SYSFS_PCI_SIZE]; /* such as "0000:03:00.0"; empty: unknown */
    uint64_t pci_device;      /* such as 0x74a0; 0: unknown */
    uint64_t pci_vendor;      /* such as 0x1002; 0: unknown */
};

/* Reads the card with this name below /sys/class/drm. Returns false for other entries: connectors
 * ("card0-DP-1") and render nodes. */
bool drm_card_open(struct source *source, const char *id, struct drm_card *out_card);

/* Writes the board's product name. Returns false and leaves `out_name` unchanged if no list has it
 * (pci_names.h). */
bool drm_card_find_name(struct source *source, const struct drm_card *card, char *out_name, size_t size);

#endif
