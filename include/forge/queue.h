/* forge/queue.h - queues, which run work in order, and timelines, which order work between queues and
 * threads.
 *
 * A timeline is a number that only grows. Threads and queues can wait until a timeline reaches a value. A
 * queue has a thread, in which it runs instances and host functions one after another.
 * Note: queues never synchronise with each other automatically. If an entry of one queue reads what an entry
 * of another queue writes, the writer must signal a point for which the reader waits.
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

/* Creates a timeline. */
FORGE_API joule_status forge_timeline_new(forge_timeline **out_timeline, joule_error *out_error);
/* Frees a timeline. No thread or queue may use it. NULL is allowed. */
FORGE_API void forge_timeline_free(forge_timeline *timeline);
/* Returns the present value. */
FORGE_API uint64_t forge_timeline_value(const forge_timeline *timeline);
/* Sets the value. Wakes all threads and queues that wait for a value up to `value`. After they wake, they see
 * all memory writes before this call. JOULE_INVALID: `value` is not above the present value. JOULE_FAILED:
 * the timeline has failed. */
FORGE_API joule_status forge_timeline_signal(forge_timeline *timeline, uint64_t value,
                                             joule_error *out_error);
/* Makes the timeline fail: waits for a value above the present one return JOULE_FAILED with this message.
 * Later calls do not replace the message. */
FORGE_API void forge_timeline_fail(forge_timeline *timeline, const char *message);
/* Waits until the timeline reaches `value`, at most timeout_s seconds; timeout_s below 0: no limit.
 * JOULE_PENDING: the time is over. JOULE_FAILED: the timeline has failed; the message is that of
 * forge_timeline_fail. */
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

/* The points that a queue entry waits for before it begins, and the points that it signals when it is done.
 * Each array has at most FORGE_MAX_POINTS points. The queue copies the arrays; the timelines must outlive the
 * entry. */
typedef struct forge_order {
    uint32_t struct_size; /* sizeof(forge_order) */
    uint32_t wait_count, signal_count;
    uint32_t reserved;
    const forge_point *waits, *signals;
} forge_order;

/* Creates a queue and its thread. */
FORGE_API joule_status forge_queue_new(forge_queue **out_queue, joule_error *out_error);
/* Runs the submitted entries, returns when they are done, and frees the queue. If an entry waits for a point
 * that is never signalled, this entry and all later entries do not run, and their signals fail. NULL is
 * allowed. */
FORGE_API void forge_queue_free(forge_queue *queue);

/* Submits a run of an instance as an entry of the queue. The run starts when all earlier entries are done and
 * the points in order->waits are signalled. The caller must not use the instance until the points in
 * order->signals are signalled. If the run fails, or a point that it waits for has failed, its signals fail
 * with the same message; later entries still run. order: may be NULL. JOULE_INVALID: too many points.
 * JOULE_NO_MEMORY: out of memory. */
FORGE_API joule_status forge_queue_run(forge_queue *queue, forge_instance *instance, const forge_order *order,
                                       joule_error *out_error);
/* Submits a call of a host function as an entry of the queue, for example to copy an output or to save a
 * checkpoint. Order, failures and errors are as for forge_queue_run. `context` must live until the call is
 * done. */
typedef joule_status (*forge_host_fn)(void *context, joule_error *out_error);
FORGE_API joule_status forge_queue_call(forge_queue *queue, forge_host_fn call, void *context,
                                        const forge_order *order, joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
