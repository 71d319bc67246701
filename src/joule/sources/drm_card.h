/* joule/sources/drm_card.h - a card of the kernel's display subsystem (DRM): its driver and PCI address.
 *
 * Note: many drivers create cards, for example the driver of a server's management controller (BMC). So check
 * the card's driver. The number in "card0" does not identify a device. */
#ifndef JOULE_DRM_CARD_H
#define JOULE_DRM_CARD_H

#include "joule/sources/sysfs.h"

#define DRM_FOLDER "/sys/class/drm"

struct drm_card {
    char id[16];              /* such as "card0" */
    char folder[48];          /* path of the attributes of the card's device */
    char driver[32];          /* such as "amdgpu"; empty: no driver is bound */
    char pci[SYSFS_PCI_SIZE]; /* such as "0000:03:00.0"; empty: unknown */
    uint64_t pci_device;      /* such as 0x74a0; 0: unknown */
    uint64_t pci_vendor;      /* such as 0x1002; 0: unknown */
};

/* Reads the card with this name below /sys/class/drm. Returns false for other entries: connectors
 * ("card0-DP-1") and render nodes. */
bool drm_card_open(struct source *source, const char *id, struct drm_card *out_card);

/* Writes the board's product name. Returns false and leaves `out_name` unchanged if no list of pci_names.h
 * contains the board. */
bool drm_card_find_name(struct source *source, const struct drm_card *card, char *out_name, size_t size);

#endif
