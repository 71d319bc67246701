/* joule/sources/drm_card.c - see drm_card.h.
 *
 * Note: the device's file `uevent` contains all values. Some recordings lack values in `uevent`. In this
 * case, links and the files `device` and `vendor` are read. */
#include "joule/sources/drm_card.h"

#include <string.h>
#include "base/string.h"
#include "joule/sources/pci_names.h"

static bool read_link(struct source *source, const char *path, char *out_link, size_t size)
{
    return source->host->ops->read_link(source->host, path, out_link, size) > 0;
}

static void find_driver(struct source *source, const char *uevent, struct drm_card *card)
{
    char path[64], link[256];
    string_print(path, sizeof path, "%s/driver", card->folder);
    if (sysfs_find_value(uevent, "DRIVER", card->driver, sizeof card->driver) ||
        !read_link(source, path, link, sizeof link))
        return;
    const char *slash = strrchr(link, '/');
    string_copy(card->driver, sizeof card->driver, slash ? slash + 1 : link);
}

/* Finds the card's PCI address. Tries the links before `uevent`, as the source "hwmon" does. */
static void find_pci(struct source *source, const char *uevent, struct drm_card *card)
{
    const char *const ends[] = {"", "/device"};
    char path[64], link[512];
    for (size_t i = 0; i < 2 && !card->pci[0]; i++) {
        string_print(path, sizeof path, DRM_FOLDER "/%s%s", card->id, ends[i]);
        if (read_link(source, path, link, sizeof link))
            sysfs_find_pci(link, card->pci);
    }
    if (!card->pci[0] && sysfs_find_value(uevent, "PCI_SLOT_NAME", link, sizeof link))
        sysfs_find_pci(link, card->pci);
}

static uint64_t read_number(struct source *source, const struct drm_card *card, const char *file)
{
    char path[64], text[16];
    uint64_t number;
    string_print(path, sizeof path, "%s/%s", card->folder, file);
    return sysfs_read_text(source, path, text, sizeof text) && string_to_u64(text, 0, &number) ? number : 0;
}

/* Sets the card's PCI vendor and device from a line such as "PCI_ID=1002:74A0". */
static void find_pci_device(struct source *source, const char *uevent, struct drm_card *card)
{
    char text[16];
    char *colon;
    if (sysfs_find_value(uevent, "PCI_ID", text, sizeof text) && (colon = strchr(text, ':')) != NULL &&
        string_to_u64(colon + 1, 16, &card->pci_device)) {
        *colon = '\0';
        if (string_to_u64(text, 16, &card->pci_vendor))
            return;
    }
    card->pci_device = read_number(source, card, "device");
    card->pci_vendor = read_number(source, card, "vendor");
}

bool drm_card_open(struct source *source, const char *id, struct drm_card *out_card)
{
    char path[64], uevent[1024];
    unsigned number;
    *out_card = (struct drm_card){0};
    if (!sysfs_parse_numbered(id, "card", &number) || !string_copy(out_card->id, sizeof out_card->id, id))
        return false;
    string_print(out_card->folder, sizeof out_card->folder, DRM_FOLDER "/%s/device", id);
    string_print(path, sizeof path, "%s/uevent", out_card->folder);
    host_read_text(source->host, path, uevent, sizeof uevent);
    find_driver(source, uevent, out_card);
    find_pci(source, uevent, out_card);
    find_pci_device(source, uevent, out_card);
    return true;
}

bool drm_card_find_name(struct source *source, const struct drm_card *card, char *out_name, size_t size)
{
    char path[64], text[16];
    uint64_t revision;
    string_print(path, sizeof path, "%s/revision", card->folder);
    bool has_revision = sysfs_read_text(source, path, text, sizeof text) && string_to_u64(text, 0, &revision);
    return card->pci_vendor &&
           pci_find_name(source->host, (uint32_t)card->pci_vendor, (uint32_t)card->pci_device,
                         has_revision ? (int32_t)revision : -1, out_name, size);
}
