/* joule/sources/accelerator/accelerator.h - accelerators that are no GPUs: which there are, by what stands on the PCI bus.
 *
 * Owns the table of ids by which they are known and their numbers, which are the same in every source: "hpu:1" is the
 * second Gaudi by PCI address, whoever speaks of it. Newcomers: one chip may be several PCI functions, which are one
 * device here; and vendors of accelerators make network cards and disks, too.
 */
#ifndef JOULE_ACCELERATOR_H
#define JOULE_ACCELERATOR_H

#include "joule/sources/device.h"
#include "joule/sources/pci.h"

#define ACCELERATOR_MOST        64
#define ACCELERATOR_FIRST_CAUSE 128 /* of CAUSE_GPU_GAIN, for Gaudi's boards; below are GPUs */

/* Who tells its joules. */
enum accelerator_power {
    ACCELERATOR_SOURCE,  /* a source of its own, which also says why not */
    ACCELERATOR_HWMON,   /* its driver's hardware monitor, where there is one */
    ACCELERATOR_RAIL,    /* the same, of a part of it alone */
    ACCELERATOR_PACKAGE, /* it is a part of the CPU's package, and measured with that */
    ACCELERATOR_NOBODY,  /* nothing public */
};

struct accelerator {
    struct pci_device pci;      /* of its first function */
    const char *kind;           /* "hpu", "tpu", "neuron", "npu", "accel" */
    const char *vendor, *model; /* model may be empty */
    enum accelerator_power power;
    int32_t index; /* N of "KIND:N" */
};

/* The accelerators of a kind, or with NULL of all kinds, by address; at most `most`. */
size_t accelerators_find(struct source *source, const char *kind, struct accelerator *out_list, size_t most);
/* The number of the accelerator of a kind at a PCI address; -1: there is none. */
int32_t accelerator_index(struct source *source, const char *kind, const char *address);

/* The device of an accelerator, with all that is known from the bus. NULL when memory is used up. */
struct device *source_add_accelerator(struct source *source, const struct accelerator *accelerator);
/* The name of its channel, "hpu-0" or "hpu-0-what", and what it says of its device. */
void accelerator_name_channel(struct channel *channel, const char *kind, int32_t index, const char *what);
/* The zone of its board, "hpu0/board". */
void accelerator_zone(const char *kind, int32_t index, char out_zone[48]);

#endif
