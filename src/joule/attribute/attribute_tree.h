/* joule/attribute/attribute_tree.h - the processes below this one, as /proc shows them.
 *
 * Owns reading /proc/PID/stat and following parents upwards.
 * Newcomers: reading all of /proc costs about 10 us for each process of the machine, so nobody asks without need.
 */
#ifndef JOULE_ATTRIBUTE_TREE_H
#define JOULE_ATTRIBUTE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "joule/host/host.h"

#define TREE_NAME 64 /* the kernel's are shorter */

struct tree_process {
    pid_t pid, parent;
    bool is_alive;        /* false: ended, and not waited for yet */
    double cpu_s;         /* its own, and of the children that it waited for */
    double children_s;    /* the latter */
    uint64_t start_ticks; /* after boot; 0: unknown */
    char name[TREE_NAME];
};

/* Takes apart the text of /proc/PID/stat; false for anything else. */
bool tree_parse(const char *stat, struct tree_process *out_process);

/* Every process that /proc shows, in `arena`, read in the order of their ids, so mostly a parent before its children. Their
 * number, or -errno. */
ssize_t tree_read(struct joule_host *host, struct arena *arena, struct tree_process **out_processes);

/* Calls each() for every process below `root`, root itself not included. False: /proc cannot be read. */
bool tree_below(struct joule_host *host, pid_t root,
                void (*each)(const struct tree_process *process, void *context), void *context);

#endif
