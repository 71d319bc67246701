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

/* Writes the devices whose memory size is known to out_devices, at most `max`. Returns their number, which is
 * 0 if `text` is not JSON output of neuron-ls. Modifies `text`. */
size_t neuron_list_parse(char *text, size_t length, struct neuron_listed *out_devices, size_t max);

#endif
