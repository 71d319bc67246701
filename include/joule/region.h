/* joule/region.h - the energy of a region: one stretch of a program's execution.
 *
 * joule_begin and joule_end write a timestamp to a ring of the calling thread, without a system call, lock or
 * allocation. The energy is computed later, when the sensors have updates after the region's end. So a result
 * is first PENDING, then final.
 * Note: `window` is the energy of the whole device during the region; `attributed` is the region's share of
 * `window`.
 */
#ifndef JOULE_REGION_H
#define JOULE_REGION_H

#include <joule/meter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of a region's flags. With neither JOULE_REGION_CPU nor JOULE_REGION_GPU, a region claims all devices.
 * Unknown bits are ignored. */
#define JOULE_REGION_CPU 1u /* claims CPU packages and memory */
/* claims GPUs; the hook of joule_set_sync is called when the region begins and ends */
#define JOULE_REGION_GPU          2u
#define JOULE_REGION_THREAD_OWNED 4u /* only the thread that began the region may end it */

/* A running or finished region. The caller owns it and may copy or move it. It belongs to the process that
 * began it: a child after fork cannot end it. Its layout is final. */
typedef struct joule_region {
    uint64_t begin_ns; /* CLOCK_MONOTONIC; 0: never begun */
    uint64_t end_ns;   /* CLOCK_MONOTONIC; 0: the region is still running */
    uint32_t tag;
    uint32_t flags; /* the low 3 bits are those passed to joule_begin_with; the others are private */
    uint32_t slot;  /* private */
    uint32_t owner; /* private */
} joule_region;

/* Returns the tag of a name. The tag is the same in every thread and process of a session, including children
 * after fork. Names are truncated to 47 bytes at a character boundary. Returns 0, the tag "(other)", for
 * NULL, for "", and for new names after the first 4095. Store the result: the call is too slow for hot paths.
 * Any thread. */
JOULE_API uint32_t joule_tag(const char *name);

/* Begin a region and return it; never fail. Regions of one thread may nest. joule_begin claims all devices.
 * If more than 256 threads have regions, the regions of the remaining threads are attributed together, by
 * their time (`folded`). Allowed in a signal handler. Any thread. */
JOULE_API joule_region joule_begin(uint32_t tag);
JOULE_API joule_region joule_begin_with(uint32_t tag, uint32_t flags);

/* Ends a region and sets end_ns. JOULE_INVALID: the region never began, has ended already (also through a
 * copy), or has THREAD_OWNED and another thread began it. JOULE_STALE: the parent began it before fork.
 * Allowed in a signal handler. Any thread, unless THREAD_OWNED. */
JOULE_API joule_status joule_end(joule_region *region);

/* The energy of a region or of a tag. */
typedef struct joule_result {
    uint32_t struct_size; /* set by the caller to sizeof(joule_result) */
    uint32_t is_final;    /* 0: figures may still change, because a sensor has no update after the end yet */
    uint64_t count;       /* finished regions in this result */
    uint64_t folded;      /* regions that did not fit in the ring; they share energy by their total time */
    double duration_s;    /* sum of the regions' durations */
    /* 0 to 1: part of duration_s that sensors covered and in which energy was attributed to the region */
    double coverage;
    joule_quantity window; /* joules of the claimed devices during the region */
    /* Joules: the region's share. Shares of concurrent regions add up to their common window. */
    joule_quantity attributed;
    joule_quantity self; /* joules: attributed, without the regions nested in it */
    joule_quantity cpu;  /* joules: the part of `window` on CPU packages and memory */
    joule_quantity gpu;  /* joules: the part of `window` on GPUs */
    /* 1: a GPU region ran without hook or spans, so its GPU joules may include those of other regions. */
    uint32_t unsynchronised;
    uint32_t reserved[7]; /* 0 */
} joule_result;

/* Writes the energy in joules of one ended region to *out_result. `attributed` and `self` are stored for the
 * last few thousand regions. For an older region `folded` is 1. Both members are then the tag's average share
 * of the window, with an interval from 0 to the whole window. If a parent measures (`joule run`),
 * `attributed` and `self` stay unknown although the result is final, because only the parent knows all
 * concurrent regions. JOULE_OK: `window` is known. JOULE_PENDING: no reading after the region's end yet;
 * *out_result is the energy known so far. JOULE_ABSENT, JOULE_DENIED and other errors: `window` is unknown
 * and will not become known, because no sensor reads the claimed devices, or none read them when the region
 * began. JOULE_INVALID: the region has not ended, or struct_size is too small. JOULE_STALE: the meter was
 * opened before fork. Any thread. */
JOULE_API joule_status joule_region_result(joule_meter *meter, const joule_region *region,
                                           joule_result *out_result);

/* Like joule_region_result, but reads the sensors and waits at most timeout_s seconds for a final result.
 * Does not wait if timeout_s is NaN or not above 0. */
JOULE_API joule_status joule_region_wait(joule_meter *meter, const joule_region *region, double timeout_s,
                                         joule_result *out_result);

/* Writes the sum over all finished regions of a tag, in all processes of the session, to *out_result.
 * JOULE_PENDING: the energy of some regions is not final. JOULE_ABSENT: no region of the tag has finished.
 * JOULE_UNSUPPORTED: a parent measures; only the parent reports tags. Any thread. */
JOULE_API joule_status joule_tag_result(joule_meter *meter, uint32_t tag, joule_result *out_result);

/* A finished stretch of time with timestamps of another clock: GPU events, a data acquisition device, a
 * log. */
typedef struct joule_span {
    uint32_t struct_size; /* sizeof(joule_span) */
    uint32_t tag;
    uint32_t flags;       /* flags of joule_begin_with */
    int32_t device_index; /* index of the GPU on which the span ran; -1: all devices that the flags claim */
    double begin;         /* begin and end are times in the unit of the other clock */
    double end;
    /* Conversion: nanoseconds of CLOCK_MONOTONIC = offset_ns + scale_ns * time of the other clock. */
    double offset_ns;
    double scale_ns;
    double error_ns; /* standard error of a converted timestamp */
} joule_span;

/* Adds a finished span. Energy is attributed to a span as to a region of a separate thread. Add a span within
 * 1 s of its end, because energy that is attributed already is not divided again. If a span is added later,
 * it gets no energy for the time that is attributed already, and its coverage is lower. From then on,
 * attribution and final results wait longer for spans (10 s at most). JOULE_INVALID: end before begin, not
 * finite, in the future, or struct_size too small. JOULE_STALE: the meter was opened before fork.
 * JOULE_NO_MEMORY: the thread's ring is full until the next reading, or the thread has no ring. Any
 * thread. */
JOULE_API joule_status joule_span_add(joule_meter *meter, const joule_span *span);

/* A hook that waits until the GPU is idle, for example by cudaDeviceSynchronize. libjoule calls the hook when
 * a region with JOULE_REGION_GPU begins and ends, in the thread that begins or ends it. Without a hook, such
 * regions are marked unsynchronised, and their budgets are not judged. */
typedef void (*joule_sync_fn)(void *context);
/* Sets the hook of this process; NULL removes it. Call it before regions run, from one thread. */
JOULE_API void joule_set_sync(joule_sync_fn sync, void *context);

/* The result of joule_measure. */
typedef struct joule_measurement {
    uint32_t struct_size; /* set by the caller to sizeof(joule_measurement) */
    uint32_t reserved;
    double duration_s;
    double coverage; /* 0 to 1 */
    joule_quantity cpu_joules;
    joule_quantity gpu_joules;
    joule_quantity total_joules;
} joule_measurement;

/* Calls fn(arg) and writes the energy of the whole machine during the call to *out_measurement. Uses the
 * default meter and waits at most 2 s for the final figures. JOULE_PENDING: a sensor had no update in this
 * time. JOULE_ABSENT, JOULE_DENIED and other errors: no sensor can be read. JOULE_FAILED: the default meter
 * cannot be opened. JOULE_INVALID: fn is NULL or struct_size is too small. fn is called unless fn or
 * out_measurement is invalid. Any thread. */
JOULE_API joule_status joule_measure(void (*fn)(void *), void *arg, joule_measurement *out_measurement);

#ifdef __cplusplus
}
#endif
#endif
