/* joule/meter/lane.h - a thread that reads one or more sources at a steady pace.
 *
 * Owns the pace (absolute deadlines), the lock over the channels of its sources, and the way from a reading to a
 * curve: counter or integrator, then a point. Prompt sources share lane 0; each slow source has its own, so that a
 * vendor's library that hangs delays nobody.
 * Newcomers: hardware is read without the lock; only the results are put in under it.
 */
#ifndef JOULE_LANE_H
#define JOULE_LANE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include "joule/sources/device.h"

struct joule_meter;

#define LANE_MAX_SOURCES 48
/* Sensors that tick faster than they are read are read at a random time in the last part of each period, of this size: a
 * load that repeats in step with the readings would else look steady. */
#define LANE_DITHER 0.5

struct lane {
    struct joule_meter *meter;
    struct joule_host *host;
    struct cpu_info cpu; /* read before the first source is opened */
    struct gpu_list gpus;
    struct source *sources[LANE_MAX_SOURCES];
    size_t source_count;
    _Atomic int64_t period_ns;
    pthread_t thread;
    bool has_thread;
    bool is_late;            /* has no joules: starts when somebody watches, and nobody waits for it */
    pthread_mutex_t lock;    /* channels, and the fields below */
    pthread_cond_t wake;     /* one of those changed */
    sem_t woken;             /* the thread sleeps on it; posted with `stop` and `asked` */
    pthread_mutex_t reading; /* one opener or reader of the hardware at a time; taken before any other lock */
    bool stop, opened, finished;
    bool is_detached; /* the thread ended by itself: nothing to join */
    bool in_meter;    /* the thread uses the meter; closing the meter waits for it, however long it takes */
    _Atomic int references; /* meter and thread; the last one frees */
    _Atomic uint64_t ticks, overruns;
    _Atomic uint64_t asked, served; /* readings between the periodic ones: see lane_ask */
    _Atomic int64_t read_ns;        /* end of the last round of readings */
    bool looks;                     /* the thread also reads devices */
    int64_t look_ns;                /* time of the next such reading; used by the reader */
    uint64_t dither;                /* state of the thread's random number generator */
    bool knows_offset;
    int64_t boottime_minus_monotonic_ns; /* a jump is a suspend: a gap in every curve */
};

/* One round of readings of a source, as source.h hands it to the source. */
struct sink {
    struct lane *lane;
    struct joule_host *host;
    int64_t before_ns; /* of the source's whole read */
};

/* An empty lane with one reference, or NULL. */
struct lane *lane_create(struct joule_meter *meter, int64_t period_ns);
/* The source, PENDING until it is opened: one of another state then is never opened. NULL: no memory, or too many. */
struct source *lane_add(struct lane *lane, const struct source_ops *ops, bool is_named);
/* Opens the sources, publishes their channels in the meter and takes the first reading. */
void lane_open_sources(struct lane *lane);
/* One round of readings; waits while the sources are being opened. */
void lane_read(struct lane *lane);
/* Starts the thread, which opens the sources unless that is done, and then reads. False: no thread. */
bool lane_start(struct lane *lane);
/* Waits until the sources are open and read once, at most until deadline_ns (CLOCK_MONOTONIC). */
bool lane_wait_opened(struct lane *lane, int64_t deadline_ns);
/* Requests a reading now, between two periodic ones. Returns the value that lane->served reaches once a
 * reading is done that began after this call; 0: there is no thread. */
uint64_t lane_ask(struct lane *lane);
/* Asks the thread to stop and waits for it until deadline_ns. False: it hangs in a source, or is the calling one; it
 * keeps its lane, frees it when it returns, and still uses the host until then, but never the meter. Once for a lane. */
bool lane_halt(struct lane *lane, int64_t deadline_ns);
/* Drops a reference; the last one frees the lane with its sources. */
void lane_release(struct lane *lane);

#endif
