/* support/region_bench.h - regions of threads that do not exist, on a scripted machine of known power.
 *
 * Owns the machine (a package whose power may wander, and where wanted a board), its meter, and slots of the session into
 * which edges are written at any virtual time.
 * Newcomers: virtual time counts from the opening, in seconds. The slots are numbers 100 and up, so that real threads of
 * the test are not in the way; nobody can tell whether their owners live.
 */
#ifndef TEST_REGION_BENCH_H
#define TEST_REGION_BENCH_H

#include "joule/collector/collector.h"
#include "joule/session/session.h"

#define BENCH_START_S   1000.0 /* of the machine, when the meter opens */
#define BENCH_TICK_S    0.1    /* between two readings */
#define BENCH_THREADS   8
#define BENCH_WATTS     50.0  /* of the package, in the mean */
#define BENCH_GPU_WATTS 200.0 /* of the board, where there is one */

struct bench {
    struct joule_host *host;
    joule_meter *meter;
    struct slot *slots[BENCH_THREADS];
};

/* Set-ups and the tear-down of a test; *state becomes the bench. Wandering: the package draws 20 to 80 W. */
int bench_set_up_steady(void **state);
int bench_set_up_wandering(void **state);
int bench_set_up_with_board(void **state);
int bench_tear_down(void **state);

/* Seconds of virtual time as CLOCK_MONOTONIC, and back. */
int64_t bench_at(double s);
double bench_seconds(int64_t time_ns);
/* Lets readings pass for so long. */
void bench_run(struct bench *bench, double seconds);

/* A finished region; it is in the thread's ring when this returns. */
joule_region bench_put(struct bench *bench, unsigned thread, uint32_t tag, uint32_t flags, double begin_s,
                       double end_s);
/* Adds `count` regions of equal length that found the thread's ring full; the last one ends at end_s. own_s:
 * duration_s less the regions nested in them. */
void bench_fold(struct bench *bench, unsigned thread, uint32_t tag, unsigned count, double duration_s,
                double own_s, double end_s);
/* Begins one; its place among the open ones. */
unsigned bench_open(struct bench *bench, unsigned thread, uint32_t tag, double begin_s);
/* Ends it from the thread `ender`. */
void bench_close(struct bench *bench, unsigned thread, unsigned index, uint32_t tag, double begin_s,
                 double end_s, unsigned ender);
/* The two halves of an end that come apart: it is open no longer, and the end that tells its times. */
void bench_lose(struct bench *bench, unsigned thread, unsigned index, double begin_s);
void bench_end(struct bench *bench, unsigned thread, unsigned index, uint32_t tag, double begin_s,
               double end_s, unsigned ender);

/* The answers of the bench's meter; the test fails where the status is another one. */
joule_result bench_result(struct bench *bench, const joule_region *region, joule_status expected);
joule_result bench_tag(struct bench *bench, uint32_t tag, joule_status expected);
/* Fails the test unless |a - b| <= tolerance. */
void bench_near(double a, double b, double tolerance);

#endif
