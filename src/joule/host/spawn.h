/* joule/host/spawn.h - starts a process that shares its caller's memory until it executes a program.
 *
 * Like vfork, spawn copies no memory. The process may begin in a given cgroup.
 * Note: the calling thread is blocked until the child has executed a program or ended. The parent sees all
 * that the child wrote to memory.
 */
#ifndef JOULE_HOST_SPAWN_H
#define JOULE_HOST_SPAWN_H

#include <sys/types.h>

/* Runs in the child. Must end in execve or spawn_end, and may call only async-signal-safe functions. */
typedef void (*spawn_fn)(void *context);
/* Ends the child. Note: _exit would run a sanitizer's code on the parent's memory. */
_Noreturn void spawn_end(int code);

/* Starts a child that calls be(context). cgroup: descriptor of the folder of the cgroup in which the child
 * begins; -1: the caller's cgroup. Returns the process id, or -1 and errno. ENOSYS: the kernel, or this
 * file's code for the processor, cannot choose a cgroup. */
pid_t spawn(int cgroup, spawn_fn be, void *context);

/* Like spawn in the caller's cgroup, for a child that executes no program. Neither SIGCHLD nor wait() reports
 * the child to the rest of the program. Wait for the child with waitpid(pid, ..., __WALL). */
pid_t spawn_unseen(spawn_fn be, void *context);

#endif
