/* joule/sources/pci.h - what stands on the PCI bus.
 *
 * Owns the reading of a device's ids, class and driver. Newcomers: nothing is asked of the device itself, so none is woken;
 * a device that was handed to a virtual machine, or has no driver, is here all the same.
 */
#ifndef JOULE_PCI_H
#define JOULE_PCI_H

#include "joule/sources/sysfs.h"

#define PCI_FOLDER "/sys/bus/pci/devices"

/* The base class of what is made to compute and is no display: "processing accelerators". */
#define PCI_CLASS_ACCELERATOR 0x12

struct pci_device {
    char address[SYSFS_PCI_SIZE]; /* "0000:65:00.0" */
    char driver[32];              /* empty: none is bound */
    uint32_t vendor, device, subsystem_device;
    uint32_t class; /* three bytes: base class, subclass, interface */
};

/* False where there is no such device, or it says no vendor. */
bool pci_read(struct source *source, const char *address, struct pci_device *out_device);

/* Calls visit for each device of the machine, by address, until it says false. */
typedef bool (*pci_visit)(const struct pci_device *device, void *context);
void pci_each(struct source *source, pci_visit visit, void *context);

#endif
