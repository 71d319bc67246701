/* tools/helper/confine.h - drops the helper's user, capabilities and system calls once everything is open.
 *
 * Note: afterwards nothing can be opened, created or removed: the kernel kills a process that tries.
 */
#ifndef HELPER_CONFINE_H
#define HELPER_CONFINE_H

#include <joule/base.h>
#include <stdbool.h>
#include <stdint.h>

/* Keeps only the capabilities in `keep` (bit n: capability n). Root also keeps the capabilities that it needs
 * to become another user. */
joule_status confine_capabilities(uint64_t keep, joule_error *out_error);
/* Drops user and capabilities permanently. */
joule_status confine_rights(joule_error *out_error);
/* Like confine_rights, and forbids all system calls except those of the loop. FAILED: a right could not be
 * dropped, and the helper must exit. */
joule_status confine(joule_error *out_error);
/* Returns true if confine restricts system calls. System calls are restricted on x86-64 and aarch64, except
 * in builds with a sanitizer, which needs many other calls. */
bool confine_forbids_calls(void);

#endif
