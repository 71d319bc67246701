/* joule/host/run.h - a vendor's program, run to its end on the machine this runs on.
 *
 * Owns the processes, the pipe and the deadline behind host_ops.run of the real host; which program, and what its output
 * means, is a source's. Newcomers: it may be called in any thread of any program, so nothing of that program is touched:
 * no signal handler, no mask that stays, no descriptor, no child that it could see.
 */
#ifndef JOULE_HOST_RUN_H
#define JOULE_HOST_RUN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* As host_ops.run. */
ssize_t run_program(const char *const *argv, int64_t timeout_ns, char *buffer, size_t size, int *out_status);

#endif
