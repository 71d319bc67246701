/* forge/base.h - what every other header of TensorForge needs.
 *
 * Owns visibility. Statuses, messages and quantities are libjoule's: <joule/base.h>, <joule/quantity.h>, and what they
 * say of NULL pointers, struct_size and enumerations holds here too.
 * Newcomers: nothing prints, exits or aborts; a function that can fail returns a status and fills a joule_error.
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
