/* base/error.h - filling in a caller's joule_error.
 *
 * Owns the one way in which a message for a person is made; statuses themselves are public (<joule/base.h>).
 * Newcomers: error_set returns the status it was given, so that a failing function is one line:
 *     return error_set(error, JOULE_DENIED, "cannot read %s: %s; try ...", path, reason);
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <joule/base.h>

/* Sets status and message (what failed, on what, what to do), and gives the status back. `error` may be NULL. Cuts long
 * messages. A macro, so that compilers and analysers see which status comes back. */
#define error_set(error, status, ...) (error_write(error, status, __VA_ARGS__), error_status(status))

void error_write(joule_error *error, joule_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline joule_status error_status(joule_status status)
{
    return status;
}

/* The status that an errno of a file, perf or register call stands for: ENOENT, ENODEV, ENXIO, ENOTDIR: ABSENT;
 * EACCES, EPERM: DENIED; EOPNOTSUPP, EINVAL, ENODATA, ENOSYS: UNSUPPORTED; ENOMEM: NO_MEMORY; else FAILED. */
joule_status status_of_errno(int errno_value);

#endif
