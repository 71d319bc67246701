/* joule/base.h - visibility, status codes and error messages, which every other public header needs.
 *
 * Functions never print, exit or abort. They return a status; the text for a person is in a joule_error.
 *
 * Rules for all functions of all headers:
 * - A pointer to an output must not be NULL, unless the function's comment allows it. Otherwise the function
 *   returns JOULE_INVALID.
 * - A joule_meter pointer may be NULL and then means the default meter. If the default meter cannot be
 *   opened, the function returns JOULE_FAILED.
 * - After fork, meters and budgets of the parent are JOULE_STALE in the child. The child may close or end
 *   them, which frees nothing. The child opens a meter of its own.
 * - Only joule_begin and joule_end may be called in a signal handler.
 * - A structure that begins with struct_size may grow at its end. Program and library may each be the older
 *   one. Set the structure to zero, then set struct_size.
 *   - Input: missing members count as 0. If a member or flag that this library does not know is not 0, the
 *     function returns JOULE_UNSUPPORTED.
 *   - Output: on return, struct_size is the number of bytes that were filled in.
 * - Structures without struct_size (joule_error, joule_quantity, joule_region) never change.
 * - Enumerations are 32 bits wide and may gain values. An unknown value has the name "unknown".
 */
#ifndef JOULE_BASE_H
#define JOULE_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define JOULE_API __attribute__((visibility("default")))
#else
#define JOULE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define JOULE_VERSION_MAJOR 0
#define JOULE_VERSION_MINOR 1
#define JOULE_VERSION_PATCH 0

/* The outcome of a call, and the state of a source or domain. Values never change between versions.
 * Note: a sensor that cannot be read has a status other than JOULE_OK; it never reports 0 J instead. */
typedef enum joule_status {
    JOULE_OK = 0,          /* done; or: the sensor answers */
    JOULE_ABSENT = 1,      /* no such file, library, symbol or device on this machine */
    JOULE_DENIED = 2,      /* it exists, but this process has no permission to read it */
    JOULE_UNSUPPORTED = 3, /* the driver, the device or this library does not support it */
    JOULE_FAILED = 4,      /* unexpected failure: I/O error, lost device, time-out */
    JOULE_STALE = 5,       /* the last good reading is too old; or: the handle was opened before fork */
    JOULE_PENDING = 6,     /* not known yet; ask again after the next reading */
    JOULE_INVALID = 7,     /* an argument is out of its documented range */
    JOULE_NO_MEMORY = 8,   /* memory or another limited resource is exhausted */
} joule_status;

/* A message for a person: what failed, on which object, and what to do about it. The caller owns it.
 * Functions accept NULL instead of a joule_error. On JOULE_OK it is not changed. */
typedef struct joule_error {
    joule_status status; /* the returned status */
    char message[508];   /* always terminated */
} joule_error;

#if defined(__cplusplus) && __cplusplus >= 201103L
static_assert(sizeof(joule_status) == 4, "libjoule's enumerations have 32 bits: no -fshort-enums");
#elif !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(joule_status) == 4, "libjoule's enumerations have 32 bits: no -fshort-enums");
#endif

/* Returns the lower-case name of a status ("denied") in static storage, "unknown" for other values. Any
 * thread. */
JOULE_API const char *joule_status_name(joule_status status);

/* Returns the library's version at run time, "MAJOR.MINOR.PATCH", in static storage. Any thread. */
JOULE_API const char *joule_version(void);

#ifdef __cplusplus
}
#endif
#endif
