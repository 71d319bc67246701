/* joule/sources/accelerator/accelerator.h - finds accelerators other than GPUs on the PCI bus.
 *
 * It has the table of their PCI ids. Their numbers are the same in every source: "hpu:1" is the second Gaudi
 * by PCI address.
 * Note: one chip may be several PCI functions, which are one device here. Vendors of accelerators also make
 * network cards and disks. */
#ifndef JOULE_ACCELERATOR_H
#define JOULE_ACCELERATOR_H

#include "joule/sources/device.h"
#include "joule/sources/pci.h"

#define MAX_ACCELERATORS        64
#define ACCELERATOR_FIRST_CAUSE 128 /* of CAUSE_GPU_GAIN, for Gaudi's boards; lower ones are GPUs */

/* Where an accelerator's energy is read. */
enum accelerator_power {
    ACCELERATOR_SOURCE,  /* a source of its own, which also reports why it cannot be read */
    ACCELERATOR_HWMON,   /* its driver's hardware monitor, if there is one */
    ACCELERATOR_RAIL,    /* the same, but for a part of the accelerator only */
    ACCELERATOR_PACKAGE, /* as part of the CPU's package */
    ACCELERATOR_NONE,    /* there is no public interface */
};

struct accelerator {
    struct pci_device pci;      /* of its first function */
    const char *kind;           /* "hpu", "tpu", "neuron", "npu", "accel" */
    const char *vendor, *model; /* model may be empty */
    enum accelerator_power power;
    int32_t index; /* N of "KIND:N" */
};

/* Finds the accelerators of a kind, or of all kinds if `kind` is NULL, by address. Returns their number, at
 * most `max`. */
size_t accelerators_find(struct source *source, const char *kind, struct accelerator *out_list, size_t max);
/* Returns the number of the accelerator of a kind at a PCI address; -1: there is none. */
int32_t accelerator_index(struct source *source, const char *kind, const char *address);

/* Adds the device of an accelerator, with all that the bus reports. Returns NULL if out of memory. */
struct device *source_add_accelerator(struct source *source, const struct accelerator *accelerator);
/* Sets the channel's name, "hpu-0" or "hpu-0-what", and its device name and index. */
void accelerator_name_channel(struct channel *channel, const char *kind, int32_t index, const char *what);
/* Writes the zone of its board, "hpu0/board". */
void accelerator_zone(const char *kind, int32_t index, char out_zone[48]);

#endif
