/* joule/sources/accelerator/neuron_list.h - parses the output of AWS's `neuron-ls -j`, for the size of each
 * device's memory. */
#ifndef JOULE_NEURON_LIST_H
#define JOULE_NEURON_LIST_H

#include <stddef.h>
#include <stdint.h>

struct neuron_listed {
    uint64_t number; /* N of /dev/neuronN */
    uint64_t memory_bytes;
};

/* Parses `text`, which is modified. Returns the number of devices with known memory, at most `max`; 0 for
 * other text. */
size_t neuron_list_parse(char *text, size_t length, struct neuron_listed *out_devices, size_t max);

#endif
