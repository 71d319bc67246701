/* joule/sources/accelerator/accelerator.h - finds accelerators other than GPUs on the PCI bus.
 *
 * accelerator.c contains the table of PCI ids. All sources use the same number for an accelerator: "hpu:1"
 * is the second Gaudi by PCI address.
 * Note: a chip with several PCI functions is one device. Vendors of accelerators also make network cards and
 * disks, so a vendor's id alone does not identify an accelerator. */
#ifndef JOULE_ACCELERATOR_H
#define JOULE_ACCELERATOR_H

#include "joule/sources/device.h"
#include "joule/sources/pci.h"

#define MAX_ACCELERATORS        64
#define ACCELERATOR_FIRST_CAUSE 128 /* first index of CAUSE_GPU_GAIN for Gaudi; GPUs use lower indices */

/* The interface through which an accelerator's energy is read. */
enum accelerator_power {
    ACCELERATOR_SOURCE,  /* a source for this kind; it also reports why the energy cannot be read */
    ACCELERATOR_HWMON,   /* its driver's hardware monitor, if there is one */
    ACCELERATOR_RAIL,    /* like ACCELERATOR_HWMON, but the monitor covers only a part of the accelerator */
    ACCELERATOR_PACKAGE, /* the CPU package's energy includes the accelerator's */
    ACCELERATOR_NONE,    /* there is no public interface */
};

struct accelerator {
    struct pci_device pci;      /* the chip's first PCI function */
    const char *kind;           /* "hpu", "tpu", "neuron", "npu", "accel" */
    const char *vendor, *model; /* model may be empty */
    enum accelerator_power power;
    int32_t index; /* N of "KIND:N" */
};

/* Finds the accelerators of `kind` (NULL: all kinds), sorted by PCI address. Returns the number written to
 * out_list, at most `max`. */
size_t accelerators_find(struct source *source, const char *kind, struct accelerator *out_list, size_t max);
/* Returns N of "KIND:N" for the accelerator of `kind` at this PCI address, or -1 if there is none. */
int32_t accelerator_index(struct source *source, const char *kind, const char *address);

/* Adds the accelerator as a device with its vendor, model, PCI address and driver. The source's arena owns
 * the device. Returns NULL if out of memory. */
struct device *source_add_accelerator(struct source *source, const struct accelerator *accelerator);
/* Sets the channel's name, "hpu-0" or, if `what` is not empty, "hpu-0-what". Also sets the channel's device
 * name and index. */
void accelerator_name_channel(struct channel *channel, const char *kind, int32_t index, const char *what);
/* Writes the zone of the accelerator's board, such as "hpu0/board". */
void accelerator_zone(const char *kind, int32_t index, char out_zone[48]);

#endif
