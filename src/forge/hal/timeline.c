/* hal/timeline.c - see timeline.h and <forge/queue.h>. */
#include "forge/hal/timeline.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"

struct forge_timeline {
    uint64_t value; /* all members are guarded by the global `lock` */
    bool has_failed;
    char message[sizeof((joule_error *)0)->message];
};

/* Guards the members of all timelines. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved; /* signalled when any timeline changes; uses the monotonic clock */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_condition(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&moved, &attributes);
    pthread_condattr_destroy(&attributes);
}

joule_status forge_timeline_new(forge_timeline **out_timeline, joule_error *out_error)
{
    pthread_once(&once, make_condition);
    forge_timeline *timeline = calloc(1, sizeof *timeline);
    if (!timeline)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot create a timeline: out of memory");
    *out_timeline = timeline;
    return JOULE_OK;
}

void forge_timeline_free(forge_timeline *timeline)
{
    free(timeline);
}

uint64_t forge_timeline_value(const forge_timeline *timeline)
{
    pthread_mutex_lock(&lock);
    uint64_t value = timeline->value;
    pthread_mutex_unlock(&lock);
    return value;
}

joule_status forge_timeline_signal(forge_timeline *timeline, uint64_t value, joule_error *out_error)
{
    joule_status status = JOULE_OK;
    pthread_mutex_lock(&lock);
    if (timeline->has_failed)
        status = error_set(out_error, JOULE_FAILED, "%s", timeline->message);
    else if (value <= timeline->value)
        status = error_set(out_error, JOULE_INVALID,
                           "cannot set a timeline from %llu to %llu: values must increase",
                           (unsigned long long)timeline->value, (unsigned long long)value);
    else
        timeline->value = value;
    pthread_cond_broadcast(&moved);
    pthread_mutex_unlock(&lock);
    return status;
}

void forge_timeline_fail(forge_timeline *timeline, const char *message)
{
    pthread_mutex_lock(&lock);
    if (!timeline->has_failed)
        string_copy(timeline->message, sizeof timeline->message, message);
    timeline->has_failed = true;
    pthread_cond_broadcast(&moved);
    pthread_mutex_unlock(&lock);
}

/* --- waiting -------------------------------------------------------------------------------------------- */

/* Returns JOULE_OK if the timeline has reached `value`, JOULE_FAILED if the timeline has failed before, else
 * JOULE_PENDING. The caller holds the lock. */
static joule_status check_value(const forge_timeline *timeline, uint64_t value, joule_error *error)
{
    if (timeline->value >= value)
        return JOULE_OK;
    return timeline->has_failed ? error_set(error, JOULE_FAILED, "%s", timeline->message) : JOULE_PENDING;
}

joule_status forge_timeline_wait(forge_timeline *timeline, uint64_t value, double timeout_s,
                                 joule_error *out_error)
{
    double end_s = clock_seconds(clock_now_ns()) + timeout_s;
    /* a later end could overflow time_t, so it counts as no limit */
    bool has_end = timeout_s >= 0 && end_s < 1e9;
    struct timespec end = {has_end ? (time_t)end_s : 0, has_end ? (long)(fmod(end_s, 1) * 1e9) : 0};
    int waited = 0;
    pthread_mutex_lock(&lock);
    joule_status status = check_value(timeline, value, out_error);
    while (status == JOULE_PENDING && waited != ETIMEDOUT) {
        waited = has_end ? pthread_cond_timedwait(&moved, &lock, &end) : pthread_cond_wait(&moved, &lock);
        status = check_value(timeline, value, out_error);
    }
    uint64_t present = timeline->value;
    pthread_mutex_unlock(&lock);
    if (status == JOULE_PENDING)
        error_set(out_error, status, "the timeline is at %llu, and has not reached %llu",
                  (unsigned long long)present, (unsigned long long)value);
    return status;
}

joule_status timeline_wait(forge_timeline *timeline, uint64_t value, const atomic_bool *is_cancelled,
                           joule_error *out_error)
{
    pthread_mutex_lock(&lock);
    joule_status status = check_value(timeline, value, out_error);
    while (status == JOULE_PENDING && !*is_cancelled) {
        pthread_cond_wait(&moved, &lock);
        status = check_value(timeline, value, out_error);
    }
    pthread_mutex_unlock(&lock);
    if (status == JOULE_PENDING)
        return error_set(out_error, JOULE_ABSENT, "the queue was freed while it waited for a timeline");
    return status;
}

void timeline_wake_all(void)
{
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&moved);
    pthread_mutex_unlock(&lock);
}
