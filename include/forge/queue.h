/* forge/queue.h - queues, which run work in order, and timelines, which order work between queues and
 * threads.
 *
 * A timeline is a number that only grows; threads and queues wait until it reaches a value. A queue runs
 * instances and host functions one after another in a thread of its own.
 * Note: two queues never synchronise by themselves. If one writes what another reads, order them by points
 * that they signal and wait for.
 */
#ifndef FORGE_QUEUE_H
#define FORGE_QUEUE_H

#include <forge/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- timelines ------------------------------------------------------------------------------------------ */

/* A growing number, initially 0. Any thread may use it. */
typedef struct forge_timeline forge_timeline;

/* Makes a timeline. */
FORGE_API joule_status forge_timeline_new(forge_timeline **out_timeline, joule_error *out_error);
/* Frees a timeline. No thread or queue may use it. NULL is allowed. */
FORGE_API void forge_timeline_free(forge_timeline *timeline);
/* Returns the present value. */
FORGE_API uint64_t forge_timeline_value(const forge_timeline *timeline);
/* Sets the value. Wakes all threads and queues that wait for this or a lower value; they see all memory
 * writes made before the call. JOULE_INVALID: `value` is not above the present value. JOULE_FAILED: the
 * timeline has failed. */
FORGE_API joule_status forge_timeline_signal(forge_timeline *timeline, uint64_t value,
                                             joule_error *out_error);
/* Makes the timeline fail: waits for more than its present value return JOULE_FAILED with this message. Only
 * the first message is kept. */
FORGE_API void forge_timeline_fail(forge_timeline *timeline, const char *message);
/* Waits until the timeline reaches `value`. timeout_s below 0: no time-out. JOULE_PENDING: time-out.
 * JOULE_FAILED: the timeline has failed; the message is that of forge_timeline_fail. */
FORGE_API joule_status forge_timeline_wait(forge_timeline *timeline, uint64_t value, double timeout_s,
                                           joule_error *out_error);

/* A value of a timeline, as an event. Its layout is final. */
typedef struct forge_point {
    forge_timeline *timeline;
    uint64_t value;
} forge_point;
#define FORGE_MAX_POINTS 8

/* --- queues --------------------------------------------------------------------------------------------- */

typedef struct forge_queue forge_queue; /* any thread may use it */

/* The points that an entry waits for before it begins, and those that it signals when it is done: at most
 * FORGE_MAX_POINTS of each. The arrays are copied. */
typedef struct forge_order {
    uint32_t struct_size; /* sizeof(forge_order) */
    uint32_t wait_count, signal_count;
    uint32_t reserved;
    const forge_point *waits, *signals;
} forge_order;

/* Makes a queue and its thread. */
FORGE_API joule_status forge_queue_new(forge_queue **out_queue, joule_error *out_error);
/* Runs the submitted entries, returns when they are done, and frees the queue. An entry whose points were not
 * signalled does not run, nor do entries after it; their signals fail. NULL is allowed. */
FORGE_API void forge_queue_free(forge_queue *queue);

/* Submits a run of an instance. It starts when all earlier entries are done and the points of `order` are
 * signalled. The instance must not be used until the signals have come. If the run fails, or waits for a
 * failed point, its signals fail with the same message; later entries still run. order: may be NULL.
 * JOULE_INVALID: too many points. JOULE_NO_MEMORY. */
FORGE_API joule_status forge_queue_run(forge_queue *queue, forge_instance *instance, const forge_order *order,
                                       joule_error *out_error);
/* Submits a call of a host function, for example to copy an output to another instance or to save a
 * checkpoint. The entry, `order` and errors are those of forge_queue_run. */
typedef joule_status (*forge_host_fn)(void *context, joule_error *out_error);
FORGE_API joule_status forge_queue_call(forge_queue *queue, forge_host_fn call, void *context,
                                        const forge_order *order, joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
