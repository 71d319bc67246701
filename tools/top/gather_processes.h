/* tools/top/gather_processes.h - fills the rows of processes in the model.
 *
 * Note: owner and command line are read once for each process, from /proc of the meter's host. The host may
 * be a recorded machine.
 */
#ifndef TOP_GATHER_PROCESSES_H
#define TOP_GATHER_PROCESSES_H

#include "gather.h"

void gather_processes(struct gathering *gathering, struct model *model);

#endif
