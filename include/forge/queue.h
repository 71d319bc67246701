/* forge/queue.h - work in order on a device, and between devices.
 *
 * Owns timelines, numbers that only grow and that threads and queues wait for, and queues, which run instances and host
 * functions one after another in a thread of their own.
 * Newcomers: nothing here makes two queues share an instance: what one writes and another reads is ordered by the points
 * that they signal and wait for, and by nothing else.
 */
#ifndef FORGE_QUEUE_H
#define FORGE_QUEUE_H

#include <forge/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- timelines ---------------------------------------------------------------------------------------------- */

typedef struct forge_timeline forge_timeline; /* begins at 0; any thread */

FORGE_API joule_status forge_timeline_new(forge_timeline **out_timeline, joule_error *out_error);
/* Nobody may wait for it or be about to signal it. NULL is allowed. */
FORGE_API void forge_timeline_free(forge_timeline *timeline);
FORGE_API uint64_t forge_timeline_value(const forge_timeline *timeline);
/* Sets it to `value` and wakes who waits for that or less. Everything written before is seen by them. INVALID: it is there
 * already, or further. FAILED: it has failed. */
FORGE_API joule_status forge_timeline_signal(forge_timeline *timeline, uint64_t value,
                                             joule_error *out_error);
/* It will not get further. Who waits for more than its value is told FAILED with this message; the first one stays. */
FORGE_API void forge_timeline_fail(forge_timeline *timeline, const char *message);
/* Returns when it is at `value` or further. timeout_s below 0: however long that takes. PENDING: the time is over. FAILED:
 * it has failed, and the message says how. */
FORGE_API joule_status forge_timeline_wait(forge_timeline *timeline, uint64_t value, double timeout_s,
                                           joule_error *out_error);

/* The moment at which a timeline gets to a value. Its layout is final. */
typedef struct forge_point {
    forge_timeline *timeline;
    uint64_t value;
} forge_point;
#define FORGE_MAX_POINTS 8

/* --- queues ------------------------------------------------------------------------------------------------- */

typedef struct forge_queue forge_queue; /* any thread */

/* What an entry waits for before it begins, and signals when it is done. At most FORGE_MAX_POINTS of each; copied. */
typedef struct forge_order {
    uint32_t struct_size; /* sizeof(forge_order) */
    uint32_t wait_count, signal_count;
    uint32_t reserved;
    const forge_point *waits, *signals;
} forge_order;

FORGE_API joule_status forge_queue_new(forge_queue **out_queue, joule_error *out_error);
/* Runs what was submitted, and returns when it is done. An entry whose points to wait for have not come is not begun, nor are
 * those after it: their signals fail. NULL is allowed. */
FORGE_API void forge_queue_free(forge_queue *queue);

/* Runs the instance when what was submitted before is done and the order's points have come. An entry that fails, or waits
 * for what has failed, makes its own signals fail with the same message; entries after it go on. The instance may not be
 * used otherwise until the signals have come. order NULL: nothing to wait for, nothing to signal. INVALID: too many points.
 * NO_MEMORY. */
FORGE_API joule_status forge_queue_run(forge_queue *queue, forge_instance *instance, const forge_order *order,
                                       joule_error *out_error);
/* The same for a function of the host: to hand an output to another instance, to save a checkpoint. */
typedef joule_status (*forge_host_fn)(void *context, joule_error *out_error);
FORGE_API joule_status forge_queue_call(forge_queue *queue, forge_host_fn call, void *context,
                                        const forge_order *order, joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
