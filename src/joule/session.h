/* joule/session.h - the shared memory in which regions are written.
 *
 * Owns one mapping with a versioned layout of offsets only: a header, the table of tag names, and a slot for each
 * thread with its ring of finished spans, its stack of open ones and its per-tag aggregates. `joule run` makes the
 * mapping as a file and names it in JOULE_SESSION; any libjoule below it writes there. Without one, a process has
 * an anonymous mapping of the same layout.
 * Newcomers: writers never wait and never allocate; the only reader is the collector of the process that measures.
 */
#ifndef JOULE_SESSION_H
#define JOULE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <joule/region.h>

struct session;

/* The session of this process: the one named by JOULE_SESSION, else a private one; made on first use, made anew
 * after fork. Never NULL: when no memory can be had, a tiny static one that only counts. */
struct session *session_current(void);
/* True when a parent measures: this process opens no sensors. */
bool session_is_client(const struct session *session);
/* Makes a session file for child processes (mode 0600) and returns its path in out_path, for JOULE_SESSION. It becomes
 * the current session of this process. Removes files of sessions whose owner is dead. */
joule_status session_create_shared(char *out_path, size_t size, joule_error *out_error);
/* Removes the file; the mapping stays until the process ends. */
void session_remove_shared(void);

/* The measuring parent publishes its total here at each reading, so that clients can answer joule_region_result. */
void session_publish(struct session *session, int64_t time_ns, const joule_quantity *total,
                     const joule_quantity *cpu, const joule_quantity *gpu);

#endif
