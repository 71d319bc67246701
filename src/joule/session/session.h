/* joule/session/session.h - the shared memory in which regions are written.
 *
 * Creates or joins one mapping (session_layout.h). Manages names of tags, owners of slots, and the board on
 * which the measuring process shows its totals. `joule run` creates the mapping from sealed memory and passes
 * its descriptor in JOULE_SESSION (/proc/PID/fd/N; a file where there is no /proc); libjoule in any child
 * process writes there. Without JOULE_SESSION a process has an anonymous mapping of the same layout.
 * Note: writers never wait and never allocate; the only reader is the process that measures (reader.h).
 */
#ifndef JOULE_SESSION_H
#define JOULE_SESSION_H

#include <joule/region.h>
#include "joule/curve/curve.h"
#include "joule/session/session_layout.h"

struct session;

/* The session of this process: the one named by JOULE_SESSION, else a private one; made on first use. After fork a
 * child of a private session has its own, with the same tags and no regions. Never NULL. Async-signal-safe. */
struct session *session_current(void);
/* What is mapped; NULL when no memory could be had: regions are then timed and nothing more. */
struct session_map *session_map(struct session *session);
/* Returns the time before which no region of the session can have begun; 0: unknown. */
int64_t session_begin_ns(struct session *session);
/* True when this process measures for others and some have joined. */
bool session_has_clients(struct session *session);
/* True when a parent that is still alive measures: this process opens no sensors. */
bool session_is_client(struct session *session);
/* Makes a session for child processes of the same user and returns its path in out_path, for JOULE_SESSION.
 * No process can remove its memory. The session becomes the current one of this process; call this before
 * regions begin. */
joule_status session_create_shared(char *out_path, size_t size, joule_error *out_error);
/* Removes files of sessions whose owner is dead from the folder of this process's own session file, if it has
 * one. */
void session_remove_leftovers(void);
/* Lets no further process join; the mapping stays until the process ends. */
void session_remove_shared(void);

/* Puts memory behind a part of the session's mapping, so that a full file system shows here and not as SIGBUS in the middle
 * of somebody's program; false: there is none. Kernels before 5.14 cannot; there the pages come when they are touched.
 * Async-signal-safe. */
bool session_populate(void *start, size_t size);

/* The number of a name; TAG_OTHER when the table is full. Lock-free. */
uint32_t session_tag(struct session *session, const char *name);
/* The name of a tag, always terminated; "(other)" for numbers that are no tags. */
void session_tag_name(struct session *session, uint32_t tag, char out_name[SESSION_NAME]);
/* A budget allows a tag so many joules more, in whichever process of the session. False: there is no mapping. Lock-free. */
bool session_allow(struct session *session, uint32_t tag, double joules);
/* The joules that budgets have so far allowed a tag in all; NaN: none was set. */
double session_allowed(struct session *session, uint32_t tag);
/* Each region of a tag may use so many joules in the mean, in whichever process of the session; the last word counts.
 * False: there is no mapping. Lock-free. */
bool session_allow_each(struct session *session, uint32_t tag, double joules);
/* NaN: no such limit. */
double session_allowed_each(struct session *session, uint32_t tag);
/* Calls of a tag are counted without stamps, and each is expected to take so much. False: there is no mapping. Lock-free. */
bool session_expect(struct session *session, uint32_t tag, joule_quantity joules);
/* Unknown: its calls are not counted so. */
joule_quantity session_expected(struct session *session, uint32_t tag);
/* What lies between the stamps of a region with nothing in it, in the fastest process of the session; NaN: nobody said. */
void session_set_stamp_seconds(struct session *session, double seconds);
double session_stamp_seconds(struct session *session);

/* The number by which this process owns slots; 0 where it is of another PID namespace than the session. Async-signal-safe. */
uint32_t session_process(struct session *session);
/* A slot for the thread `tid` of this process: the one that it already has, else a free one, with all its memory in
 * place. NULL: none is free. Async-signal-safe. */
struct slot *session_take_slot(struct session *session, uint32_t tid, uint32_t *out_number);
/* Changes when slots taken before are no longer this process's to write: in a child after fork, and when the session
 * is replaced. Never 0. */
extern _Atomic uint32_t session_generation;

/* The measuring process shows its totals since it began here. One thread at a time. */
void session_publish(struct session *session, int64_t time_ns, const joule_quantity *total,
                     const joule_quantity *cpu, const joule_quantity *gpu);
/* What the board tells about a window of time; `domain` is JOULE_TOTAL, JOULE_CPU or JOULE_GPU, others are unknown. */
struct window session_window(struct session *session, int32_t domain, int64_t begin_ns, int64_t end_ns);
/* The same from begin_ns to the board's last reading. base_joules, NaN before the first question, keep what the board showed
 * of each sum at begin_ns: its entries get sparse, and the answers would not all grow. */
struct window session_energy(struct session *session, int32_t domain, int64_t begin_ns,
                             double base_joules[BOARD_SUMS]);
/* The times of the board's readings after after_ns, as curve_ticks gives them. */
size_t session_ticks(struct session *session, int32_t domain, int64_t after_ns, int64_t *out_ticks_ns,
                     size_t capacity);

#endif
