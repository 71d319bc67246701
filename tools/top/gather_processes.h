/* tools/top/gather_processes.h - the model's rows of processes.
 *
 * Owns who a process belongs to and what it was called with, which are read once for each. Newcomers: both come from /proc of
 * the meter's host, which may be a recorded machine.
 */
#ifndef TOP_GATHER_PROCESSES_H
#define TOP_GATHER_PROCESSES_H

#include "gather.h"

void gather_processes(struct gathering *gathering, struct model *model);

#endif
