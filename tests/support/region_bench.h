/* support/region_bench.h - regions of simulated threads on a scripted machine of known power.
 *
 * The machine has a package, whose power may vary, and optionally a GPU board. Tests write begins and ends of
 * regions into slots of the session at any virtual time, in seconds since the meter was opened. Note: slots
 * of simulated threads have numbers from 100 on; smaller numbers belong to the test's real threads. Whether
 * the owners of simulated slots are alive is unknown. */
#ifndef TEST_REGION_BENCH_H
#define TEST_REGION_BENCH_H

#include "joule/collector/collector.h"
#include "joule/session/session.h"

#define BENCH_START_S   1000.0 /* time of the machine when the meter is opened */
#define BENCH_TICK_S    0.1    /* time between two readings */
#define BENCH_THREADS   8
#define BENCH_WATTS     50.0  /* mean power of the package */
#define BENCH_GPU_WATTS 200.0 /* power of the board, if there is one */

struct bench {
    struct joule_host *host;
    joule_meter *meter;
    struct slot *slots[BENCH_THREADS];
};

/* Set-ups and tear-down of a test; *state is the bench. After bench_set_up_wandering the power of the package
 * varies between 20 and 80 W. After the other set-ups it is BENCH_WATTS. */
int bench_set_up_steady(void **state);
int bench_set_up_wandering(void **state);
int bench_set_up_with_board(void **state);
int bench_tear_down(void **state);

/* Convert seconds of virtual time to CLOCK_MONOTONIC, and back. */
int64_t bench_at(double s);
double bench_seconds(int64_t time_ns);
/* Advances the time by `seconds` and reads every BENCH_TICK_S. */
void bench_run(struct bench *bench, double seconds);

/* Writes a finished region into the thread's ring and returns the region. */
joule_region bench_put(struct bench *bench, unsigned thread, uint32_t tag, uint32_t flags, double begin_s,
                       double end_s);
/* Adds `count` regions of equal length that found the thread's ring full. Their total time is duration_s, and
 * the last region ends at end_s. own_s: the part of duration_s outside nested regions. */
void bench_fold(struct bench *bench, unsigned thread, uint32_t tag, unsigned count, double duration_s,
                double own_s, double end_s);
/* Begins a region; returns its index among the thread's open regions. */
unsigned bench_open(struct bench *bench, unsigned thread, uint32_t tag, double begin_s);
/* Ends a region of `thread`; the thread `ender` writes its end. */
void bench_close(struct bench *bench, unsigned thread, unsigned index, uint32_t tag, double begin_s,
                 double end_s, unsigned ender);
/* The two steps of ending a region. bench_lose removes the region from the list of open regions. bench_end
 * writes the finished region with its begin and end into the ring. */
void bench_lose(struct bench *bench, unsigned thread, unsigned index, double begin_s);
void bench_end(struct bench *bench, unsigned thread, unsigned index, uint32_t tag, double begin_s,
               double end_s, unsigned ender);

/* Return results of the bench's meter; fail the test if the status is not the expected one. */
joule_result bench_result(struct bench *bench, const joule_region *region, joule_status expected);
joule_result bench_tag(struct bench *bench, uint32_t tag, joule_status expected);

#endif
