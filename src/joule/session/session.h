/* joule/session/session.h - the shared memory into which regions are written.
 *
 * The functions create or join one mapping (session_layout.h). They manage the names of tags, the owners of
 * slots, and the board on which the measuring process publishes its totals. `joule run` creates the mapping
 * from sealed memory (memfd) and passes its path, /proc/PID/fd/N, in JOULE_SESSION. If sealed memory cannot
 * be used, it creates a file and passes the path of the file. libjoule in any child process writes regions
 * into this mapping. Without JOULE_SESSION a process has an anonymous mapping of the same layout.
 * Note: writers never wait and never allocate memory. The only reader is the process that measures
 * (reader.h).
 */
#ifndef JOULE_SESSION_H
#define JOULE_SESSION_H

#include <joule/region.h>
#include "joule/curve/curve.h"
#include "joule/session/session_layout.h"

struct session;

/* Returns the session of this process: the session named by JOULE_SESSION, otherwise a private session,
 * created at first use. fork copies a private session: the child's copy has the same tags and no regions.
 * Never NULL. Async-signal-safe. */
struct session *session_current(void);
/* Returns the mapping. Returns NULL if out of memory; regions are then timed, but not stored. */
struct session_map *session_map(struct session *session);
/* Returns the time before which no region of the session can have begun, or 0 if unknown. */
int64_t session_begin_ns(struct session *session);
/* Returns true if this process measures for other processes and at least one of them has joined. */
bool session_has_clients(struct session *session);
/* Returns true if a parent process that still lives measures. This process then opens no sensors. */
bool session_is_client(struct session *session);
/* Creates a session for child processes of the same user. Writes its path, the value for JOULE_SESSION, to
 * out_path. The session becomes the current session of this process, so call this function before regions
 * begin. Returns JOULE_INVALID if the path does not fit, or the status of the failed system call, with a
 * message. */
joule_status session_create_shared(char *out_path, size_t size, joule_error *out_error);
/* Removes files of sessions whose owners have ended. Searches only the folder that contains this process's
 * session file, and does nothing if the process has no such file. */
void session_remove_leftovers(void);
/* Prevents further processes from joining; the mapping remains until the process ends. */
void session_remove_shared(void);

/* Allocates the pages of a part of the mapping. Returns false if out of memory or if the file system is full.
 * Without this call, a full file system would cause SIGBUS in a user's program. On kernels before 5.14,
 * returns true, and pages are allocated on access. Async-signal-safe. */
bool session_populate(void *start, size_t size);

/* Returns the tag of a name. Adds the name if it has no tag yet. Returns TAG_OTHER if the table is full.
 * Lock-free. */
uint32_t session_tag(struct session *session, const char *name);
/* Writes the name of a tag, always terminated; "(other)" for invalid numbers. */
void session_tag_name(struct session *session, uint32_t tag, char out_name[SESSION_NAME]);
/* Adds `joules` to the budget of a tag: the energy that all its regions in all processes of the session may
 * use together. Returns false without a mapping. Lock-free. */
bool session_add_budget(struct session *session, uint32_t tag, double joules);
/* Returns the budget of a tag in joules, or NaN if it has none. */
double session_get_budget(struct session *session, uint32_t tag);
/* Sets the mean joules that each region of a tag may use, in all processes of the session, replacing an
 * earlier value. Returns false without a mapping. Lock-free. */
bool session_set_call_budget(struct session *session, uint32_t tag, double joules);
/* Returns the mean joules that each region of a tag may use, or NaN if there is no limit. */
double session_get_call_budget(struct session *session, uint32_t tag);
/* Sets the expected energy of each call of a tag whose calls are counted without timestamps. Returns false
 * without a mapping. Lock-free. */
bool session_set_expected(struct session *session, uint32_t tag, joule_quantity joules);
/* Returns the expected energy of each call of a tag. It is unknown if the tag's calls have timestamps. */
joule_quantity session_get_expected(struct session *session, uint32_t tag);
/* session_set_timestamp_seconds stores the time between the two timestamps of an empty region, in seconds, if
 * it is shorter than the stored time. session_timestamp_seconds returns the shortest time of all processes of
 * the session; NaN: unknown. */
void session_set_timestamp_seconds(struct session *session, double seconds);
double session_timestamp_seconds(struct session *session);

/* Returns the process id by which this process owns slots. Returns 0 if this process is in another PID
 * namespace than the owner of the session. Async-signal-safe. */
uint32_t session_process(struct session *session);
/* Returns a slot for the thread `tid` of this process, and allocates the pages that regions need. Prefers the
 * slot that the thread already has. *out_number: the number of the slot. Returns NULL if no slot is free or
 * no memory is left. Async-signal-safe. */
struct slot *session_take_slot(struct session *session, uint32_t tid, uint32_t *out_number);
/* A number that changes when earlier slots no longer belong to this process: in a child after fork, and when
 * the session is replaced. Never 0. */
extern _Atomic uint32_t session_generation;

/* Publishes the totals of the measuring process since its meter opened. Call it from one thread at a
 * time. */
void session_publish(struct session *session, int64_t time_ns, const joule_quantity *total,
                     const joule_quantity *cpu, const joule_quantity *gpu);
/* Returns the energy of a window of time from the board. The energy is unknown if `domain` is not
 * JOULE_TOTAL, JOULE_CPU or JOULE_GPU, or if the board has no reading as old as begin_ns. */
struct window session_window(struct session *session, int32_t domain, int64_t begin_ns, int64_t end_ns);
/* Returns the energy from begin_ns to the board's last reading. base_joules: the value of each sum at
 * begin_ns. The caller sets it to NaN before the first call and keeps it between calls. Without this array,
 * results could decrease when old entries of the board are dropped. */
struct window session_energy(struct session *session, int32_t domain, int64_t begin_ns,
                             double base_joules[BOARD_SUMS]);
/* Writes the times of the first `capacity` readings of the board after after_ns. Returns the number of all
 * readings after after_ns. */
size_t session_ticks(struct session *session, int32_t domain, int64_t after_ns, int64_t *out_ticks_ns,
                     size_t capacity);

#endif
