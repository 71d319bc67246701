/* joule/sources/accelerator/neuron_list.h - what AWS's program neuron-ls says of the devices, beside what their driver's files do.
 *
 * Owns the text of `neuron-ls -j`. Newcomers: of the memory the files tell how much is in use and not how much there is.
 */
#ifndef JOULE_NEURON_LIST_H
#define JOULE_NEURON_LIST_H

#include <stddef.h>
#include <stdint.h>

struct neuron_listed {
    uint64_t number; /* N of /dev/neuronN */
    uint64_t memory_bytes;
};

/* Takes `text` apart, which is changed: the number of devices of which it tells the memory, at most `most`; 0 for text of
 * another form. */
size_t neuron_list_parse(char *text, size_t length, struct neuron_listed *out_devices, size_t most);

#endif
