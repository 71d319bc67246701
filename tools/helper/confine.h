/* tools/helper/confine.h - what the helper gives up once everything is open.
 *
 * Owns the end of its rights: user, capabilities, and all system calls but those of the loop.
 * Newcomers: it comes after the last thing that needs a right, and nothing that opens, makes or removes anything may come
 * after it: the kernel ends the process that tries.
 */
#ifndef HELPER_CONFINE_H
#define HELPER_CONFINE_H

#include <joule/base.h>
#include <stdbool.h>
#include <stdint.h>

/* Of capabilities only those in `keep`, bits by their numbers; for root also those by which it can become nobody. */
joule_status confine_capabilities(uint64_t keep, joule_error *out_error);
/* Gives up user and capabilities, with no way back. */
joule_status confine_rights(joule_error *out_error);
/* The same, and all system calls but those of the loop. FAILED: a right could not be given up, and the helper must not go on. */
joule_status confine(joule_error *out_error);
/* Whether confine ends system calls: on x86-64 and aarch64, not in a build with a sanitizer, whose own calls are many. */
bool confine_forbids_calls(void);

#endif
