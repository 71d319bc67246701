/* forge/base.h - macro for exported functions, and rules that all other headers of TensorForge share.
 *
 * Statuses, error messages and quantities come from <joule/base.h> and <joule/quantity.h>. The rules of those
 * headers for NULL pointers, struct_size and enumerations apply to TensorForge too. No function prints, exits
 * or aborts. A function that can fail returns a status and fills a joule_error.
 *
 * Rules for all functions of all headers, unless a function's comment says otherwise:
 * - Threads: only one thread at a time may use an object. Several threads may use different objects.
 *   Functions without an object, and functions that only read an immutable object, may be called from any
 *   thread.
 * - Ownership: the caller owns a returned object and frees it with the function *_free, *_close or *_release
 *   of the object's type, which accepts NULL. A returned string lives as long as the object that returned it.
 *   A function does not use its arguments after it returns.
 * - Errors: a function that creates or grows an object may return JOULE_NO_MEMORY. A function that fails
 *   creates no object, and the values of its outputs are undefined.
 */
#ifndef FORGE_BASE_H
#define FORGE_BASE_H

#include <stdbool.h>
#include <joule/base.h>
#include <joule/quantity.h>

#if defined(__GNUC__)
#define FORGE_API __attribute__((visibility("default")))
#else
#define FORGE_API
#endif

#endif
