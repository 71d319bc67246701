/* joule/meter/lane.h - a thread that reads one or more sources at a steady pace.
 *
 * A lane reads at absolute deadlines; its lock guards the channels of its sources. It turns each reading into
 * a point on a curve, by a counter or an integrator. All sources that are not slow (prompt sources) share
 * lane 0. Each slow source has a separate lane, so that a vendor's library that hangs delays no other source.
 * Note: hardware is read without the lock. The lock is held only while results are stored.
 */
#ifndef JOULE_LANE_H
#define JOULE_LANE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include "joule/sources/device.h"

struct joule_meter;

#define LANE_MAX_SOURCES 48
/* Sensors that update faster than they are read are read at a random time in this last part of each period.
 * Without the random time, a load that repeats in step with the readings would look steady. */
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
    bool is_late;            /* reads no energy: starts with meter_watch, and no other thread waits for it */
    pthread_mutex_t lock;    /* guards the channels and the fields below */
    pthread_cond_t changed;  /* signals changes of `opened`, `finished` and in_meter */
    sem_t woken;             /* the thread sleeps on it; posted with `stop` and `requested` */
    pthread_mutex_t reading; /* serialises opening and reading hardware; taken before any other lock */
    bool stop;               /* the thread must end */
    bool opened;             /* the sources are open and have been read once */
    bool finished;           /* the thread no longer uses the lane */
    bool is_detached;        /* the thread ended by itself and must not be joined */
    bool in_meter;           /* the thread uses the meter; joule_close waits for it without a time limit */
    _Atomic int references;  /* held by the meter and the thread; at 0 the lane is freed */
    _Atomic uint64_t ticks, overruns;   /* number of rounds, and number of rounds skipped because of delay */
    _Atomic uint64_t requested, served; /* numbers of requested readings, see lane_request */
    _Atomic int64_t read_ns;            /* end of the last round of readings */
    bool reads_facts;                   /* the thread also reads facts of devices */
    /* time of the next reading of facts; used only by the reading thread */
    int64_t facts_ns;
    uint64_t dither; /* state of the thread's random number generator */
    bool knows_offset;
    int64_t boottime_minus_monotonic_ns; /* a jump is a suspend and makes a gap in every curve */
};

/* One round of readings of a lane. Its sink adds points to the curves of the lane's channels
 * (lane_sink.c). */
struct lane_round {
    struct sink sink;
    struct lane *lane;
    int64_t before_ns; /* start of the current source's read */
};
extern const struct sink_ops lane_sink_ops;

/* Returns an empty lane with one reference; NULL: out of memory. */
struct lane *lane_create(struct joule_meter *meter, int64_t period_ns);
/* Adds a source in state JOULE_PENDING. If the caller then sets another state, the source is never opened.
 * The lane owns the source. Returns NULL if out of memory or if the lane is full. */
struct source *lane_add(struct lane *lane, const struct source_ops *ops, bool is_named);
/* Opens the sources, publishes their channels in the meter and takes the first reading. */
void lane_open_sources(struct lane *lane);
/* Takes one round of readings. Waits if the sources are being opened. */
void lane_read(struct lane *lane);
/* Starts the thread, which opens the sources if they are not open yet, then reads them periodically. Returns
 * false if the thread cannot be started. */
bool lane_start(struct lane *lane);
/* Waits until the sources are open and have been read once, at most until deadline_ns (CLOCK_MONOTONIC).
 * Returns false at the deadline. */
bool lane_wait_opened(struct lane *lane, int64_t deadline_ns);
/* Requests a reading now, between two periodic ones. Returns the value that lane->served reaches when a
 * reading that began after this call is complete; 0: there is no thread. */
uint64_t lane_request(struct lane *lane);
/* Asks the thread to stop and waits for it until deadline_ns. Call it once for a lane. Returns false if the
 * thread hangs in a source, or is the calling thread. Such a thread keeps its lane and frees the lane when it
 * ends. Until then the thread may use the host, but never the meter. */
bool lane_halt(struct lane *lane, int64_t deadline_ns);
/* Drops a reference; the last one frees the lane and its sources. */
void lane_release(struct lane *lane);

#endif
