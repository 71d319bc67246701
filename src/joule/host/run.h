/* joule/host/run.h - runs a vendor's program to its end, for host_ops.run of the real host.
 *
 * Note: run_program may be called in any thread of any program. It leaves that program's signal handlers,
 * signal masks, descriptors and children unchanged.
 */
#ifndef JOULE_HOST_RUN_H
#define JOULE_HOST_RUN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Has the arguments and results of host_ops.run. */
ssize_t run_program(const char *const *argv, int64_t timeout_ns, char *buffer, size_t size, int *out_status);

#endif
