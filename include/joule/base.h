/* joule/base.h - what every other public header needs: visibility, status codes and error messages.
 *
 * Owns the vocabulary in which libjoule says that something went wrong. A status is also the state of a
 * sensor: a source that may not be read is DENIED, one that is not there is ABSENT, and neither is ever 0 J.
 * Newcomers: functions never print, exit or abort; the text for a person is in joule_error.
 *
 * What holds for every function of every header:
 * - A pointer to write to may not be NULL unless its function says so: JOULE_INVALID. A joule_meter may be NULL and then
 *   means the default meter; JOULE_FAILED: that could not be opened.
 * - After fork the parent's meters and budgets are JOULE_STALE in the child; closing or ending them there is allowed and
 *   frees nothing. The child opens its own. Nothing but joule_begin and joule_end belongs into a signal handler.
 * - A structure that begins with struct_size grows at its end, and program and library may each be the older one. Zero
 *   it, then set struct_size. In what a program gives, members that it does not have count as 0; a newer program that
 *   sets members or flags this library does not know gets JOULE_UNSUPPORTED. In what it gets, struct_size comes back as
 *   the size that was filled in. Structures without it (joule_error, joule_quantity, joule_region) never change.
 * - Enumerations gain values; an unknown one has the name "unknown". They are 32 bits wide.
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

/* The outcome of a call, and the state of a source or domain. Values never change between versions. */
typedef enum joule_status {
    JOULE_OK = 0,          /* done; or: the sensor answers */
    JOULE_ABSENT = 1,      /* no such file, library, symbol or device on this machine */
    JOULE_DENIED = 2,      /* it exists, and this process may not read it */
    JOULE_UNSUPPORTED = 3, /* the driver or device says that it cannot do this */
    JOULE_FAILED = 4,      /* it should have worked: I/O error, lost device, time-out */
    JOULE_STALE = 5,   /* the last good reading is too old to speak for now; or: a handle from before fork */
    JOULE_PENDING = 6, /* not known yet; ask again after the next reading */
    JOULE_INVALID = 7, /* an argument is out of its documented range */
    JOULE_NO_MEMORY = 8, /* memory or another fixed resource is used up */
} joule_status;

/* A message for a person: what failed, on what, and what to do about it. Owned by the caller; functions
 * that take one accept NULL. Untouched on JOULE_OK. */
typedef struct joule_error {
    joule_status status; /* as returned */
    char message[508];   /* always terminated */
} joule_error;

#if defined(__cplusplus) && __cplusplus >= 201103L
static_assert(sizeof(joule_status) == 4, "libjoule's enumerations have 32 bits: no -fshort-enums");
#elif !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(joule_status) == 4, "libjoule's enumerations have 32 bits: no -fshort-enums");
#endif

/* The lower-case name of a status ("denied"), in static storage; "unknown" for other values. Any thread. */
JOULE_API const char *joule_status_name(joule_status status);

/* The library's version at run time, "MAJOR.MINOR.PATCH", in static storage. Any thread. */
JOULE_API const char *joule_version(void);

#ifdef __cplusplus
}
#endif
#endif
