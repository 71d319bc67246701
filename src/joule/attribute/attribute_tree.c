/* joule/attribute/attribute_tree.c - see attribute_tree.h.
 *
 * Note: processes start and end while /proc is read. A process that cannot be read has ended and is omitted.
 * A command's name may contain spaces and parentheses, so fields are counted from the last ')'.
 */
#include "joule/attribute/attribute_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/string.h"

/* Replaces the parent of a process for which each() was called. Otherwise a cycle of parents and children,
 * which reused process ids can form, would never end. */
#define IS_DONE (-1)

/* Copies NAME from "PID (NAME) STATE PARENT ...", truncated. `after`: the closing parenthesis. */
static void take_name(const char *stat, const char *after, char out_name[TREE_NAME])
{
    const char *begin = strchr(stat, '(');
    size_t length = begin && begin < after ? (size_t)(after - begin) - 1 : 0;
    string_print(out_name, TREE_NAME, "%.*s", (int)length, length ? begin + 1 : "");
}

bool tree_parse(const char *stat, struct tree_process *out_process)
{
    const char *after = strrchr(stat, ')');
    char state;
    int pid, parent;
    unsigned long long user, system, children_user, children_system, start = 0;
    if (!after || sscanf(stat, "%d", &pid) != 1 ||
        sscanf(after + 1,
               " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %llu %llu %*s %*s %*s %*s %llu", &state,
               &parent, &user, &system, &children_user, &children_system, &start) < 6)
        return false;
    double per_s = (double)sysconf(_SC_CLK_TCK);
    double own_s = ((double)user + (double)system) / per_s;
    double children_s = ((double)children_user + (double)children_system) / per_s;
    *out_process = (struct tree_process){.pid = pid,
                                         .parent = parent,
                                         .is_alive = state != 'Z' && state != 'X',
                                         .cpu_s = own_s + children_s,
                                         .children_s = children_s,
                                         .start_ticks = start};
    take_name(stat, after, out_process->name);
    return true;
}

/* Reads the processes with these names in /proc; skips names that are not numbers. Returns the number
 * read. */
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

/* Compares names that are numbers by their value. */
static int by_number(const void *a, const void *b)
{
    const char *left = *(char *const *)a, *right = *(char *const *)b;
    size_t m = strlen(left), n = strlen(right);
    return m != n ? (m < n ? -1 : 1) : strcmp(left, right);
}

ssize_t tree_read(struct joule_host *host, struct arena *arena, struct tree_process **out_processes)
{
    char **names;
    ssize_t count = host->ops->list(host, "/proc", arena, &names);
    if (count < 0)
        return count;
    if (count)
        qsort(names, (size_t)count, sizeof *names, by_number);
    *out_processes = arena_alloc(arena, ((size_t)count + 1) * sizeof **out_processes);
    return *out_processes ? (ssize_t)read_all(host, names, (size_t)count, *out_processes) : -ENOMEM;
}

bool tree_below(struct joule_host *host, pid_t root,
                void (*each)(const struct tree_process *process, void *context), void *context)
{
    struct arena arena = {0};
    struct tree_process *all;
    ssize_t found = tree_read(host, &arena, &all);
    pid_t *parents = found >= 0 ? arena_alloc(&arena, ((size_t)found + 1) * sizeof *parents) : NULL;
    if (parents)
        parents[0] = root;
    for (size_t head = 0, tail = 1; parents && head < tail; head++) {
        for (ssize_t i = 0; i < found; i++) {
            if (all[i].parent != parents[head])
                continue;
            parents[tail++] = all[i].pid;
            each(&all[i], context);
            all[i].parent = IS_DONE;
        }
    }
    arena_free(&arena);
    return parents != NULL;
}
