/* port/windows/run.c - replaces joule/host/run.c: on Windows no vendor's program is run. */
#include "joule/host/run.h"

ssize_t run_program(const char *const *argv, int64_t timeout_ns, char *buffer, size_t size, int *out_status)
{
    (void)argv, (void)timeout_ns, (void)size;
    buffer[0] = '\0';
    *out_status = -1;
    return -ENOSYS;
}
