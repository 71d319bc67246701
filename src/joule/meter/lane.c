/* joule/meter/lane.c - see lane.h. */
#include "joule/meter/lane.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include "base/clock.h"
#include "joule/meter/engine.h"

#define CATCH_UP_PERIODS 8 /* a lane that is late by more periods skips rounds */
#define FACTS_PERIOD_NS  NS_PER_S
#define SUSPEND_NS       (50 * NS_PER_S / 1000) /* a jump of BOOTTIME against MONOTONIC beyond jitter */
#define STACK_BYTES      (256 * 1024)
#define SLOW_STACK_BYTES (2 * 1024 * 1024) /* vendors' libraries need more stack */

/* --- one round ------------------------------------------------------------------------------------------ */

/* Restarts every counter and integrator of the lane, which leaves a gap in each curve. */
static void break_all(struct lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    for (size_t s = 0; s < lane->source_count; s++)
        for (size_t c = 0; c < lane->sources[s]->channel_count; c++) {
            lane->sources[s]->channels[c]->counter.primed = false;
            integrate_break(&lane->sources[s]->channels[c]->integrator);
        }
    pthread_mutex_unlock(&lane->lock);
}

/* Makes a gap in every curve if the machine was suspended. During a suspend, CLOCK_MONOTONIC stands still and
 * CLOCK_BOOTTIME advances. Energy used during the suspend belongs to no window. */
static void notice_suspend(struct lane *lane, struct joule_host *host, int64_t monotonic_ns)
{
    int64_t offset_ns = host->ops->clock_ns(host, CLOCK_BOOTTIME) - monotonic_ns;
    if (lane->knows_offset && offset_ns - lane->boottime_minus_monotonic_ns > SUSPEND_NS)
        break_all(lane);
    lane->boottime_minus_monotonic_ns = offset_ns;
    lane->knows_offset = true;
}

/* Reads facts of devices, at most once a second, because facts change slowly and reading them is
 * expensive. */
static void read_facts(struct lane *lane, struct lane_round *round)
{
    if (!lane->reads_facts || round->before_ns < lane->facts_ns)
        return;
    lane->facts_ns = round->before_ns + FACTS_PERIOD_NS;
    for (size_t i = 0; i < lane->source_count; i++)
        if (lane->sources[i]->state == JOULE_OK && lane->sources[i]->ops->query)
            lane->sources[i]->ops->query(lane->sources[i], &round->sink);
}

void lane_read(struct lane *lane)
{
    struct joule_host *host = lane->host;
    pthread_mutex_lock(&lane->reading);
    struct lane_round round = {{&lane_sink_ops, host}, lane, host->ops->clock_ns(host, CLOCK_MONOTONIC)};
    notice_suspend(lane, host, round.before_ns);
    for (size_t i = 0; i < lane->source_count; i++) {
        struct source *source = lane->sources[i];
        if (source->state != JOULE_OK)
            continue;
        source->ops->read(source, &round.sink);
        pthread_mutex_lock(&lane->lock);
        mirror_check(source->channels, source->channel_count);
        pthread_mutex_unlock(&lane->lock);
        round.before_ns = sink_now(&round.sink);
    }
    read_facts(lane, &round);
    atomic_store(&lane->read_ns, round.before_ns);
    atomic_fetch_add(&lane->ticks, 1);
    pthread_mutex_unlock(&lane->reading);
}

struct lane *lane_create(struct joule_meter *meter, int64_t period_ns)
{
    struct lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    lane->meter = meter;
    lane->host = meter->host;
    lane->period_ns = period_ns;
    atomic_init(&lane->references, 1);
    pthread_mutex_init(&lane->lock, NULL);
    pthread_mutex_init(&lane->reading, NULL);
    sem_init(&lane->woken, 0, 0);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&lane->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return lane;
}

struct source *lane_add(struct lane *lane, const struct source_ops *ops, bool is_named)
{
    if (lane->source_count == LANE_MAX_SOURCES)
        return NULL;
    struct source *source = calloc(1, sizeof *source);
    if (!source)
        return NULL;
    source->ops = ops;
    source->host = lane->host;
    source->cpu = &lane->cpu;
    source->gpus = &lane->gpus;
    source->is_named = is_named;
    source->state = JOULE_PENDING; /* not open yet: nothing to read, nothing to close */
    return lane->sources[lane->source_count++] = source;
}

static void free_source(struct source *source)
{
    if (source->ops->close && source->state == JOULE_OK)
        source->ops->close(source);
    for (size_t i = 0; i < source->channel_count; i++)
        curve_free(&source->channels[i]->curve);
    arena_free(&source->arena);
    free(source);
}

void lane_release(struct lane *lane)
{
    if (atomic_fetch_sub(&lane->references, 1) != 1)
        return;
    for (size_t i = 0; i < lane->source_count; i++)
        free_source(lane->sources[i]);
    pthread_cond_destroy(&lane->changed);
    sem_destroy(&lane->woken);
    pthread_mutex_destroy(&lane->lock);
    pthread_mutex_destroy(&lane->reading);
    free(lane);
}

/* Shortens the lane's period so that no counter can lose a wrap between two readings. */
static void keep_counters_alive(struct lane *lane, const struct source *source)
{
    for (size_t i = 0; i < source->channel_count; i++) {
        if (source->channels[i]->mode != CHANNEL_COUNTER)
            continue;
        int64_t limit_ns =
            (int64_t)(counter_max_interval_s(&source->channels[i]->counter) / (1 + LANE_DITHER) * 1e9);
        if (limit_ns > 0 && limit_ns < lane->period_ns)
            lane->period_ns = limit_ns;
    }
}

/* Allows the lane to use the meter until leave_meter. Returns false if the lane must stop, because the meter
 * may no longer exist. For example, the meter may be closed while a vendor's call hangs. */
static bool enter_meter(struct lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    lane->in_meter = !lane->stop;
    bool entered = lane->in_meter;
    pthread_mutex_unlock(&lane->lock);
    return entered;
}

static void leave_meter(struct lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    lane->in_meter = false;
    pthread_cond_broadcast(&lane->changed);
    pthread_mutex_unlock(&lane->lock);
}

/* Opens all pending sources of the lane and publishes their channels. Returns false if the lane must stop. */
static bool open_all(struct lane *lane)
{
    cpu_info_read(lane->host, &lane->cpu);
    for (size_t i = 0; i < lane->source_count; i++) {
        struct source *source = lane->sources[i];
        if (source->state != JOULE_PENDING)
            continue;
        source->state = source->ops->open(source);
        if (source->ops->is_slow && source->period_s > 0)
            lane->period_ns = (int64_t)(source->period_s * 1e9);
        keep_counters_alive(lane, source);
        if (!enter_meter(lane))
            return false;
        meter_publish(lane->meter, lane, source);
        leave_meter(lane);
    }
    return true;
}

void lane_open_sources(struct lane *lane)
{
    pthread_mutex_lock(&lane->reading); /* a source that is only partly open must not be read */
    bool is_open = open_all(lane);
    pthread_mutex_unlock(&lane->reading);
    if (!is_open)
        return;
    lane_read(lane);
    pthread_mutex_lock(&lane->lock);
    lane->opened = true;
    pthread_cond_broadcast(&lane->changed);
    pthread_mutex_unlock(&lane->lock);
}

static bool is_to_stop(struct lane *lane)
{
    pthread_mutex_lock(&lane->lock);
    bool stop = lane->stop;
    pthread_mutex_unlock(&lane->lock);
    return stop;
}

/* Sleeps until deadline_ns (CLOCK_MONOTONIC) or until the thread is woken. Returns true if the lane must
 * stop. Returns false at the deadline, or if a reading is requested.
 * Note: a semaphore is used because a condition variable costs a second system call each time: its mutex
 * counts as contended after the wait. */
static bool sleep_until(struct lane *lane, int64_t deadline_ns)
{
    struct timespec deadline = clock_timespec(deadline_ns);
    int result;
    do
        result = sem_clockwait(&lane->woken, CLOCK_MONOTONIC, &deadline);
    while (result != 0 && errno == EINTR);
    return result == 0 && is_to_stop(lane);
}

/* Returns true if a reading of the source may be taken before the end of the period. This requires values
 * with timestamps, or sensors that all update more than once per period. Models may always be read early. */
static bool updates_every_period(const struct lane *lane, const struct source *source)
{
    if (source->ops->is_stamped)
        return true;
    for (size_t i = 0; i < source->channel_count; i++) {
        const struct channel *ch = source->channels[i];
        double tick_s = ch->mode == CHANNEL_COUNTER ? ch->counter.tick_s : ch->integrator.period_s;
        if (ch->info.cls < JOULE_CLASS_MODELLED && tick_s * 1e9 >= (double)lane->period_ns)
            return false;
    }
    return true;
}

/* Returns the number of nanoseconds by which the next round begins before the end of its period. The time is
 * random, and at most LANE_DITHER of the period. Returns 0 if a source must not be read early. */
static int64_t early_ns(struct lane *lane)
{
    for (size_t i = 0; i < lane->source_count; i++)
        if (!updates_every_period(lane, lane->sources[i]))
            return 0;
    uint64_t x = lane->dither += UINT64_C(0x9e3779b97f4a7c15); /* SplitMix64, Steele, Lea and Flood 2014 */
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    double part = (double)((x ^ x >> 31) >> 11) * 0x1p-53;
    return (int64_t)(part * LANE_DITHER * (double)lane->period_ns);
}

/* Returns true if the lane has sources, but none of them is open. */
static bool finds_nothing(const struct lane *lane)
{
    for (size_t i = 0; i < lane->source_count; i++)
        if (lane->sources[i]->state == JOULE_OK)
            return false;
    return lane->source_count > 0;
}

static void *lane_main(void *argument)
{
    struct lane *lane = argument;
    bool has_work = true;
    if (!lane->opened) { /* otherwise the creator of the thread has opened the sources */
        lane_open_sources(lane);
        has_work = !finds_nothing(lane);
    }
    int64_t deadline_ns = lane->read_ns + lane->period_ns, early = early_ns(lane);
    while (has_work && !sleep_until(lane, deadline_ns - early)) {
        uint64_t requested = atomic_load(&lane->requested);
        bool is_due = clock_now_ns() >= deadline_ns - early;
        lane_read(lane);
        if (!enter_meter(lane))
            break;
        meter_after_read(lane->meter, lane);
        leave_meter(lane);
        atomic_store(&lane->served, requested);
        if (!is_due)
            continue;
        early = early_ns(lane);
        deadline_ns += lane->period_ns;
        int64_t now_ns = clock_now_ns();
        /* Rounds that are too late to be caught up are skipped. */
        if (now_ns - deadline_ns > CATCH_UP_PERIODS * lane->period_ns) {
            int64_t lost = (now_ns - deadline_ns) / lane->period_ns + 1;
            atomic_fetch_add(&lane->overruns, (uint64_t)lost);
            deadline_ns += lost * lane->period_ns;
        }
    }
    pthread_mutex_lock(&lane->lock);
    lane->finished = true;
    /* The thread detaches itself, because the meter may never be closed. */
    lane->is_detached = !lane->stop && pthread_detach(pthread_self()) == 0;
    pthread_cond_broadcast(&lane->changed);
    pthread_mutex_unlock(&lane->lock);
    lane_release(lane);
    return NULL;
}

bool lane_start(struct lane *lane)
{
    bool is_slow = lane->source_count && lane->sources[0]->ops->is_slow;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, is_slow ? SLOW_STACK_BYTES : STACK_BYTES);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* signals belong to the program that is measured */
    atomic_fetch_add(&lane->references, 1);
    bool has_thread = pthread_create(&lane->thread, &attributes, lane_main, lane) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    lane->has_thread = has_thread;
    if (!has_thread)
        lane_release(lane);
    return has_thread;
}

/* Waits until *flag is true, at most until deadline_ns (CLOCK_MONOTONIC). The lane's lock guards *flag. If
 * the lane must stop, also waits, without a limit, until the lane's thread no longer uses the meter. Returns
 * *flag. */
static bool wait_for(struct lane *lane, const bool *flag, int64_t deadline_ns)
{
    struct timespec deadline = clock_timespec(deadline_ns);
    pthread_mutex_lock(&lane->lock);
    while (!*flag && pthread_cond_timedwait(&lane->changed, &lane->lock, &deadline) != ETIMEDOUT)
        ;
    while (lane->stop && lane->in_meter)
        pthread_cond_wait(&lane->changed, &lane->lock);
    bool done = *flag;
    pthread_mutex_unlock(&lane->lock);
    return done;
}

bool lane_wait_opened(struct lane *lane, int64_t deadline_ns)
{
    return wait_for(lane, &lane->opened, deadline_ns);
}

uint64_t lane_request(struct lane *lane)
{
    if (!lane->has_thread)
        return 0;
    uint64_t number = atomic_fetch_add(&lane->requested, 1) + 1;
    sem_post(&lane->woken);
    return number;
}

bool lane_halt(struct lane *lane, int64_t deadline_ns)
{
    if (!lane->has_thread)
        return true;
    pthread_mutex_lock(&lane->lock);
    lane->stop = true;
    bool is_over = lane->is_detached;
    pthread_cond_broadcast(&lane->changed);
    sem_post(&lane->woken);
    pthread_mutex_unlock(&lane->lock);
    if (is_over)
        return true;
    if (pthread_equal(pthread_self(), lane->thread)) /* a callback in this lane's thread called exit */
        return false;
    bool finished = wait_for(lane, &lane->finished, deadline_ns);
    if (finished)
        pthread_join(lane->thread, NULL);
    else
        pthread_detach(lane->thread);
    return finished;
}
