/* base/error.c - see error.h.
 *
 * Note: the message is formatted in a separate buffer, so that an argument may be the present message:
 *     error_set(error, status, "cannot open the meter: %s", error->message);
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void error_write(joule_error *error, joule_status status, const char *format, ...)
{
    if (!error)
        return;
    char message[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (length < 0) /* an argument cannot be converted; use the format itself */
        snprintf(message, sizeof message, "%s", format);
    error->status = status;
    memcpy(error->message, message, strlen(message) + 1);
}

joule_status status_of_errno(int errno_value)
{
    switch (errno_value) {
    case 0:
        return JOULE_OK;
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ENOTDIR:
        return JOULE_ABSENT;
    case EACCES:
    case EPERM:
        return JOULE_DENIED;
    case EOPNOTSUPP:
    case EINVAL:
    case ENODATA:
    case ENOSYS:
        return JOULE_UNSUPPORTED;
    case ENOMEM:
        return JOULE_NO_MEMORY;
    default:
        return JOULE_FAILED;
    }
}
