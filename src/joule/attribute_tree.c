/* joule/attribute_tree.c - see attribute_tree.h.
 *
 * Newcomers: processes come and go while /proc is read; one that cannot be read any more has ended and is left out.
 * A command's name may hold spaces and brackets, so fields count from the last ')'.
 */
#include "joule/attribute_tree.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/string.h"

/* In the place of a parent: such a process is handed on once, though process ids that were used again while they were
 * read may make parents and children a circle. */
#define IS_DONE (-1)

bool tree_parse(const char *stat, struct tree_process *out_process)
{
    const char *after = strrchr(stat, ')');
    char state;
    int pid, parent;
    unsigned long long user, system, children_user, children_system;
    if (!after || sscanf(stat, "%d", &pid) != 1 ||
        sscanf(after + 1, " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %llu %llu", &state, &parent,
               &user, &system, &children_user, &children_system) != 6)
        return false;
    double ticks = (double)user + (double)system + (double)children_user + (double)children_system;
    *out_process = (struct tree_process){.pid = pid,
                                         .parent = parent,
                                         .is_alive = state != 'Z' && state != 'X',
                                         .cpu_s = ticks / (double)sysconf(_SC_CLK_TCK)};
    return true;
}

static size_t read_all(struct joule_host *host, char **names, size_t count,
                       struct tree_process *out_processes)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t pid;
        char path[48], stat[1024];
        if (!string_to_u64(names[i], 10, &pid))
            continue;
        string_print(path, sizeof path, "/proc/%s/stat", names[i]);
        if (host->ops->read_file(host, path, stat, sizeof stat) > 0 &&
            tree_parse(stat, &out_processes[found]))
            found++;
    }
    return found;
}

bool tree_below(struct joule_host *host, pid_t root,
                void (*each)(const struct tree_process *process, void *context), void *context)
{
    struct arena arena = {0};
    char **names;
    ssize_t count = host->ops->list(host, "/proc", &arena, &names);
    struct tree_process *all = count > 0 ? arena_alloc(&arena, (size_t)count * sizeof *all) : NULL;
    pid_t *parents = count > 0 ? arena_alloc(&arena, (size_t)(count + 1) * sizeof *parents) : NULL;
    bool works = all && parents;
    size_t found = works ? read_all(host, names, (size_t)count, all) : 0;
    if (works)
        parents[0] = root;
    for (size_t head = 0, tail = 1; works && head < tail; head++) {
        for (size_t i = 0; i < found; i++) {
            if (all[i].parent != parents[head])
                continue;
            parents[tail++] = all[i].pid;
            each(&all[i], context);
            all[i].parent = IS_DONE;
        }
    }
    arena_free(&arena);
    return works;
}
