/* joule/base.h - visibility, status codes and error messages. Every other public header includes it.
 *
 * Functions never print, exit or abort. They return a status and write a message for a person to the caller's
 * joule_error.
 *
 * Rules for all functions of all headers:
 * - A pointer to an output must not be NULL, unless the function's comment allows it. If such a pointer is
 *   NULL, the function returns JOULE_INVALID.
 * - A joule_meter pointer may be NULL and then means the default meter. If the default meter cannot be
 *   opened, the function returns JOULE_FAILED.
 * - After fork, functions return JOULE_STALE in the child for the parent's meters and budgets. The child may
 *   close these meters and end these budgets, but no memory is freed. To measure, the child opens a meter.
 * - "Any thread" means that any thread may call the function, also while other threads call it.
 * - In a signal handler, call only functions whose comment allows it, such as joule_begin and joule_end.
 * - A later version may add members at the end of a structure that begins with struct_size. The program may
 *   be compiled for an older or a newer version. Set the structure to zero, then set struct_size.
 *   - Input: members beyond struct_size count as 0. If a member or flag that this library does not know is
 *     not 0, the function returns JOULE_UNSUPPORTED.
 *   - Output: on return, struct_size is the number of bytes that the function filled in.
 * - Structures without struct_size (joule_error, joule_quantity, joule_region) never change.
 * - Enumerations are 32 bits wide and may gain values. For an unknown value, a function that returns names
 *   returns "unknown".
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

/* The result of a call, or the state of a source or domain. Values never change between versions.
 * Note: a sensor that cannot be read has a status other than JOULE_OK; it never reports 0 J instead. */
typedef enum joule_status {
    JOULE_OK = 0,          /* the call succeeded, or the sensor can be read */
    JOULE_ABSENT = 1,      /* no such file, library, symbol or device on this machine */
    JOULE_DENIED = 2,      /* the object exists, but this process has no permission to read it */
    JOULE_UNSUPPORTED = 3, /* the driver, the device or this library does not support it */
    JOULE_FAILED = 4,      /* unexpected failure: I/O error, lost device, time-out */
    JOULE_STALE = 5,       /* the last reading is too old, or the meter was opened before fork */
    JOULE_PENDING = 6,     /* the result is not known yet; call again after the next reading */
    JOULE_INVALID = 7,     /* an argument is out of its documented range */
    JOULE_NO_MEMORY = 8,   /* memory or another limited resource is exhausted */
} joule_status;

/* A message for a person: what failed, on which object, and what to do about it. The caller owns the
 * structure. Functions accept NULL instead of a pointer to it. They do not change it if they return
 * JOULE_OK. */
typedef struct joule_error {
    joule_status status; /* the returned status */
    char message[508];   /* always terminated by '\0' */
} joule_error;

#if defined(__cplusplus) && __cplusplus >= 201103L
static_assert(sizeof(joule_status) == 4, "libjoule's enumerations have 32 bits: no -fshort-enums");
#elif !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(joule_status) == 4, "libjoule's enumerations have 32 bits: no -fshort-enums");
#endif

/* Returns the lower-case name of a status ("denied"), or "unknown" for an unknown value. The name is in
 * static storage. Any thread. */
JOULE_API const char *joule_status_name(joule_status status);

/* Returns the version of the library that runs, "MAJOR.MINOR.PATCH", in static storage. Any thread. */
JOULE_API const char *joule_version(void);

#ifdef __cplusplus
}
#endif
#endif
