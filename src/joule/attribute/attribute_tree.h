/* joule/attribute/attribute_tree.h - reads the processes below a process from /proc/PID/stat.
 *
 * Note: reading all of /proc costs about 10 us per process of the machine, so callers read
 * it only when needed.
 */
#ifndef JOULE_ATTRIBUTE_TREE_H
#define JOULE_ATTRIBUTE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "joule/host/host.h"

#define TREE_NAME 64 /* the kernel's names are shorter */

/* A process as /proc/PID/stat shows it. */
struct tree_process {
    pid_t pid, parent;
    bool is_alive;        /* false: ended, but not waited for yet */
    double cpu_s;         /* CPU seconds of the process and of the children that it waited for */
    double children_s;    /* CPU seconds of the children that the process waited for */
    uint64_t start_ticks; /* clock ticks after boot; 0: unknown */
    char name[TREE_NAME];
};

/* Parses the text of /proc/PID/stat. Returns false for any other text. */
bool tree_parse(const char *stat, struct tree_process *out_process);

/* Reads every process that /proc shows into `arena`, sorted by id, so that most parents precede their
 * children. Returns their number, or -errno. The arena owns *out_processes. */
ssize_t tree_read(struct joule_host *host, struct arena *arena, struct tree_process **out_processes);

/* Calls each() for every descendant of `root`, parents before their children. Returns false if /proc cannot
 * be read. */
bool tree_below(struct joule_host *host, pid_t root,
                void (*each)(const struct tree_process *process, void *context), void *context);

#endif
