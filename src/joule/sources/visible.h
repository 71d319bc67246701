/* joule/sources/visible.h - which boards the environment hides from programs.
 *
 * Owns the rules of CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and ZE_AFFINITY_MASK. It hides a board only
 * where it is certain which one is meant: numbers follow an order that need not be the bus's.
 * Newcomers: variables of container runtimes (NVIDIA_VISIBLE_DEVICES, HABANA_VISIBLE_DEVICES) have done their work before a program
 * starts, and count the host's boards; TPU_NAME, NEURON_RT_NUM_CORES, NEURON_RT_VISIBLE_CORES and GROQ_DEVICE_ID name no board
 * that is known here. None of these hides anything.
 */
#ifndef JOULE_VISIBLE_H
#define JOULE_VISIBLE_H

#include "joule/host/host.h"

#define VISIBLE_MOST 64

struct visible_board {
    const char *vendor, *model, *uuid, *pci_address; /* as of struct device; unknown: empty */
    const char *hidden_by;                           /* the variable; NULL: programs see it */
};

/* Sets hidden_by of each GPU. A board is hidden by a list that leaves it out, is cut before it, or is empty. Those that this
 * process may not open are not to be among `boards`, as far as known: no runtime counts them. */
void visible_mark(struct joule_host *host, struct visible_board *boards, size_t count);

#endif
