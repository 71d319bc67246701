/* joule/sources/pci.c - see pci.h.
 *
 * Note: the file `uevent` contains all values. If it is missing, as in some recordings, a separate file is
 * read for each value. */
#include "joule/sources/pci.h"

#include <string.h>
#include "base/string.h"

static uint32_t hex(const char *text)
{
    uint64_t value;
    return string_to_u64(text, 16, &value) && value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* Parses a text such as "1AE0:006F". Returns the first number and writes the second one to *out_second. */
static uint32_t hex_pair(char *text, uint32_t *out_second)
{
    char *colon = strchr(text, ':');
    if (!colon)
        return 0;
    *colon = '\0';
    *out_second = hex(colon + 1);
    return hex(text);
}

static uint32_t file_number(struct source *source, const char *address, const char *file)
{
    char path[96], text[16];
    string_print(path, sizeof path, PCI_FOLDER "/%s/%s", address, file);
    return host_read_text(source->host, path, text, sizeof text) ? hex(text) : 0;
}

static void read_files(struct source *source, struct pci_device *device)
{
    char path[96], link[256];
    device->vendor = file_number(source, device->address, "vendor");
    device->device = file_number(source, device->address, "device");
    device->subsystem_device = file_number(source, device->address, "subsystem_device");
    device->class = file_number(source, device->address, "class");
    string_print(path, sizeof path, PCI_FOLDER "/%s/driver", device->address);
    if (source->host->ops->read_link(source->host, path, link, sizeof link) <= 0)
        return;
    const char *slash = strrchr(link, '/');
    string_copy(device->driver, sizeof device->driver, slash ? slash + 1 : link);
}

bool pci_read(struct source *source, const char *address, struct pci_device *out_device)
{
    char path[96], lines[1024], text[32];
    *out_device = (struct pci_device){0};
    sysfs_find_pci(address, out_device->address);
    if (!out_device->address[0])
        return false;
    string_print(path, sizeof path, PCI_FOLDER "/%s/uevent", out_device->address);
    host_read_text(source->host, path, lines, sizeof lines);
    if (!sysfs_find_value(lines, "PCI_ID", text, sizeof text)) {
        read_files(source, out_device);
        return out_device->vendor != 0;
    }
    out_device->vendor = hex_pair(text, &out_device->device);
    if (sysfs_find_value(lines, "PCI_SUBSYS_ID", text, sizeof text))
        hex_pair(text, &out_device->subsystem_device);
    if (sysfs_find_value(lines, "PCI_CLASS", text, sizeof text))
        out_device->class = hex(text);
    sysfs_find_value(lines, "DRIVER", out_device->driver, sizeof out_device->driver);
    return out_device->vendor != 0;
}

void pci_visit_all(struct source *source, pci_visit visit, void *context)
{
    struct arena arena = {0};
    char **addresses;
    ssize_t count = source->host->ops->list(source->host, PCI_FOLDER, &arena, &addresses);
    bool is_continued = true;
    for (ssize_t i = 0; i < count && is_continued; i++) {
        struct pci_device device;
        if (pci_read(source, addresses[i], &device))
            is_continued = visit(&device, context);
    }
    arena_free(&arena);
}
