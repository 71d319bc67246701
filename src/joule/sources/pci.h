/* joule/sources/pci.h - reads ids, class and driver of devices on the PCI bus.
 *
 * Note: only sysfs is read, so no suspended device is woken. Devices without a driver, or passed through to a
 * virtual machine, are listed too. */
#ifndef JOULE_PCI_H
#define JOULE_PCI_H

#include "joule/sources/sysfs.h"

#define PCI_FOLDER "/sys/bus/pci/devices"

/* PCI base class "processing accelerators": compute devices that are not displays. */
#define PCI_CLASS_ACCELERATOR 0x12

struct pci_device {
    char address[SYSFS_PCI_SIZE]; /* such as "0000:65:00.0" */
    char driver[32];              /* empty: no driver is bound */
    uint32_t vendor, device, subsystem_device;
    uint32_t class; /* three bytes: base class, subclass, interface */
};

/* Reads the device at this address. Returns false if there is no device or if its vendor is unknown. */
bool pci_read(struct source *source, const char *address, struct pci_device *out_device);

/* Calls `visit` for each device of the machine, in the order of addresses, until `visit` returns false. */
typedef bool (*pci_visit)(const struct pci_device *device, void *context);
void pci_visit_all(struct source *source, pci_visit visit, void *context);

#endif
