/* runtime/queue.c - see <forge/queue.h>.
 *
 * Note: the queue's lock guards only the list of entries. The queue's thread releases the lock before it
 * waits for points, so submitting an entry never blocks.
 */
#include <forge/queue.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/abi.h"
#include "base/error.h"
#include "forge/hal/timeline.h"

/* A submitted call, with its points to wait for and to signal. */
struct entry {
    struct entry *next;
    forge_host_fn call;
    void *context;
    size_t wait_count, signal_count;
    forge_point waits[FORGE_MAX_POINTS], signals[FORGE_MAX_POINTS];
};

/* A thread, and the linked list of entries that it runs in order. */
struct forge_queue {
    pthread_t thread;
    pthread_mutex_t lock;    /* guards the list */
    pthread_cond_t has_more; /* signalled when an entry is added or is_closing is set */
    struct entry *first, **end;
    atomic_bool is_closing; /* written under the lock */
};

/* --- the thread ----------------------------------------------------------------------------------------- */

/* Waits for the entry's points, and runs the entry. *out_is_stuck: true if the queue was freed before all
 * points were signalled. Returns the entry's status, or JOULE_ABSENT if the queue is stuck. */
static joule_status run_entry(forge_queue *queue, const struct entry *entry, bool *out_is_stuck,
                              joule_error *error)
{
    for (size_t i = 0; i < entry->wait_count; i++) {
        const forge_point *point = &entry->waits[i];
        joule_status status = timeline_wait(point->timeline, point->value, &queue->is_closing, error);
        *out_is_stuck = status == JOULE_ABSENT;
        if (status != JOULE_OK)
            return status;
    }
    return entry->call(entry->context, error);
}

static void signal_points(const struct entry *entry, joule_status status, const joule_error *reason)
{
    joule_error error;
    for (size_t i = 0; i < entry->signal_count; i++) {
        const forge_point *point = &entry->signals[i];
        if (status != JOULE_OK)
            forge_timeline_fail(point->timeline, reason->message);
        else if (forge_timeline_signal(point->timeline, point->value, &error) == JOULE_INVALID)
            forge_timeline_fail(point->timeline, error.message);
    }
}

/* Waits for an entry, removes the first entry from the list, and returns it; the caller frees it with free().
 * Returns NULL if the list is empty and the queue is closing. */
static struct entry *remove_first(forge_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->first && !queue->is_closing)
        pthread_cond_wait(&queue->has_more, &queue->lock);
    struct entry *entry = queue->first;
    if (entry) {
        queue->first = entry->next;
        if (!queue->first)
            queue->end = &queue->first;
    }
    pthread_mutex_unlock(&queue->lock);
    return entry;
}

static void *run_entries(void *argument)
{
    forge_queue *queue = argument;
    bool is_stuck = false;
    for (struct entry *entry = remove_first(queue); entry; entry = remove_first(queue)) {
        joule_error error = {.message = "an entry of a queue failed without a message"};
        joule_status status = JOULE_ABSENT;
        if (is_stuck)
            error_set(&error, status, "the queue was freed before this entry began");
        else
            status = run_entry(queue, entry, &is_stuck, &error);
        signal_points(entry, status, &error);
        free(entry);
    }
    return NULL;
}

/* --- life ----------------------------------------------------------------------------------------------- */

joule_status forge_queue_new(forge_queue **out_queue, joule_error *out_error)
{
    forge_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot create a queue: out of memory");
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->has_more, NULL);
    queue->end = &queue->first;
    /* the queue's thread blocks all signals, because the program's own threads must receive them */
    sigset_t all, old_mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old_mask);
    int failed = pthread_create(&queue->thread, NULL, run_entries, queue);
    pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
    if (failed) {
        free(queue);
        return error_set(out_error, JOULE_NO_MEMORY, "cannot start the thread of a queue: %s",
                         strerror(failed));
    }
    *out_queue = queue;
    return JOULE_OK;
}

void forge_queue_free(forge_queue *queue)
{
    if (!queue)
        return;
    pthread_mutex_lock(&queue->lock);
    queue->is_closing = true;
    pthread_cond_signal(&queue->has_more);
    pthread_mutex_unlock(&queue->lock);
    timeline_wake_all();
    pthread_join(queue->thread, NULL);
    pthread_cond_destroy(&queue->has_more);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

/* --- submitting ----------------------------------------------------------------------------------------- */

static joule_status copy_order(struct entry *entry, const forge_order *order, joule_error *error)
{
    forge_order copy = {0};
    if (!order)
        return JOULE_OK;
    joule_status status = abi_read(&copy, sizeof copy, SIZE_UP_TO(forge_order, signals), order);
    if (status != JOULE_OK)
        return error_set(error, status, "forge_order: set struct_size to sizeof(forge_order)");
    if (copy.wait_count > FORGE_MAX_POINTS || copy.signal_count > FORGE_MAX_POINTS)
        return error_set(error, JOULE_INVALID,
                         "a queue entry can wait for at most %d points and signal at most as many",
                         FORGE_MAX_POINTS);
    entry->wait_count = copy.wait_count;
    entry->signal_count = copy.signal_count;
    for (size_t i = 0; i < copy.wait_count; i++)
        entry->waits[i] = copy.waits[i];
    for (size_t i = 0; i < copy.signal_count; i++)
        entry->signals[i] = copy.signals[i];
    return JOULE_OK;
}

joule_status forge_queue_call(forge_queue *queue, forge_host_fn call, void *context, const forge_order *order,
                              joule_error *out_error)
{
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot add an entry to a queue: out of memory");
    entry->call = call;
    entry->context = context;
    joule_status status = copy_order(entry, order, out_error);
    if (status != JOULE_OK) {
        free(entry);
        return status;
    }
    pthread_mutex_lock(&queue->lock);
    *queue->end = entry;
    queue->end = &entry->next;
    pthread_cond_signal(&queue->has_more);
    pthread_mutex_unlock(&queue->lock);
    return JOULE_OK;
}

static joule_status run_instance(void *instance, joule_error *error)
{
    return forge_instance_run(instance, error);
}

joule_status forge_queue_run(forge_queue *queue, forge_instance *instance, const forge_order *order,
                             joule_error *out_error)
{
    return forge_queue_call(queue, run_instance, instance, order, out_error);
}
