/* base/error.h - fills in a caller's joule_error.
 *
 * error_set returns the status, so that failing takes one line:
 *     return error_set(error, JOULE_DENIED, "cannot read %s: %s; try ...", path, reason);
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <joule/base.h>

/* Sets status and message (what failed, on which object, what to do), and returns the status. `error` may be
 * NULL. Long messages are truncated. This is a macro, so that compilers and analysers know the returned
 * status. */
#define error_set(error, status, ...) (error_write(error, status, __VA_ARGS__), error_status(status))

/* Sets status and message of `error` (may be NULL); used by error_set. */
void error_write(joule_error *error, joule_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns its argument; used by error_set. */
static inline joule_status error_status(joule_status status)
{
    return status;
}

/* Returns the status for an errno of a file, perf or register call. ENOENT, ENODEV, ENXIO, ENOTDIR: ABSENT.
 * EACCES, EPERM: DENIED. EOPNOTSUPP, EINVAL, ENODATA, ENOSYS: UNSUPPORTED. ENOMEM: NO_MEMORY. Others:
 * FAILED. */
joule_status status_of_errno(int errno_value);

#endif
