/* joule/host/spawn.h - a process that is about to become another program.
 *
 * Owns making one in its caller's memory, as vfork does, so that nothing is copied that exec would throw away; at will in
 * a cgroup, where it is born.
 * Newcomers: until the child has executed a program or ended, the calling thread stands still, and what the child writes
 * its parent finds written.
 */
#ifndef JOULE_HOST_SPAWN_H
#define JOULE_HOST_SPAWN_H

#include <sys/types.h>

/* Calls execve or spawn_end in the end; before that async-signal-safe functions alone. */
typedef void (*spawn_fn)(void *context);
/* Ends the child. As _exit, which a sanitizer fills with work of its own, here on the parent's memory. */
_Noreturn void spawn_end(int code);

/* Makes a child that calls be(context). `cgroup` is the open folder of the one to be born in, -1: the caller's own. The
 * child's process id; -1 with errno, ENOSYS where the kernel or this processor's code cannot choose a cgroup. */
pid_t spawn(int cgroup, spawn_fn be, void *context);

/* The same in the caller's own cgroup, for a child that executes no program: while it lives and when it ends, neither
 * SIGCHLD nor wait() tells the rest of the caller's program. To be waited for with waitpid(pid, ..., __WALL). */
pid_t spawn_unseen(spawn_fn be, void *context);

#endif
