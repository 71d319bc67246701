/* joule/attribute_tree.h - the processes below this one, as /proc shows them.
 *
 * Owns reading /proc/PID/stat and following parents upwards. Used where no cgroup can be had.
 * Newcomers: reading all of /proc costs about 10 us for each process of the machine, so nobody asks without need.
 */
#ifndef JOULE_ATTRIBUTE_TREE_H
#define JOULE_ATTRIBUTE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "joule/host/host.h"

struct tree_process {
    pid_t pid, parent;
    bool is_alive; /* false: ended, and not waited for yet */
    double cpu_s;  /* its own, and of the children that it waited for */
};

/* Takes apart the text of /proc/PID/stat; false for anything else. */
bool tree_parse(const char *stat, struct tree_process *out_process);

/* Calls each() for every process below `root`, root itself not included. False: /proc cannot be read. */
bool tree_below(struct joule_host *host, pid_t root,
                void (*each)(const struct tree_process *process, void *context), void *context);

#endif
