/* joule/sources/visible.h - GPUs that environment variables hide from programs.
 *
 * Applies CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and ZE_AFFINITY_MASK. A board is
 * marked as hidden only if it is certain which boards the variable's list selects. Numbers in a list need not
 * follow the order of the PCI bus.
 * Note: other variables are ignored. Container runtimes apply NVIDIA_VISIBLE_DEVICES and
 * HABANA_VISIBLE_DEVICES before a program starts; numbers in these lists are those of the host. TPU_NAME,
 * NEURON_RT_NUM_CORES, NEURON_RT_VISIBLE_CORES and GROQ_DEVICE_ID do not identify a board. */
#ifndef JOULE_VISIBLE_H
#define JOULE_VISIBLE_H

#include "joule/host/host.h"

#define MAX_VISIBLE_BOARDS 64

struct visible_board {
    const char *vendor, *model, *uuid, *pci_address; /* see struct device; empty: unknown */
    const char *hidden_by;                           /* the variable's name; NULL: the board is visible */
};

/* Sets hidden_by of each GPU. A list hides the boards that it omits. An invalid entry and the entries after
 * it select nothing. An empty list hides all boards, except that an empty ZE_AFFINITY_MASK hides none.
 * `boards` must not contain boards that this process is known to be unable to open, because runtimes do not
 * count them. */
void visible_mark(struct joule_host *host, struct visible_board *boards, size_t count);

#endif
