/* joule/region.h - what a stretch of a program cost.
 *
 * Begin and end take a time stamp and push it into a ring of the calling thread: no system call, no lock, no
 * allocation. Energy is joined to the region afterwards, when the sensors have ticked past its end, so a result
 * is first PENDING and then final.
 * Newcomers: a region's `window` is what the whole device used meanwhile; `attributed` is its share of that.
 */
#ifndef JOULE_REGION_H
#define JOULE_REGION_H

#include <joule/meter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of a region's flags. Without a device bit a region claims every device. Other bits are ignored, since joule_begin_with cannot fail. */
#define JOULE_REGION_CPU          1u /* claims CPU packages and memory */
#define JOULE_REGION_GPU          2u /* claims GPUs; calls the hook of joule_set_sync at both edges */
#define JOULE_REGION_THREAD_OWNED 4u /* only the thread that began it may end it */

/* A running or finished region. The caller owns it and may copy it; its address does not matter. It belongs to the
 * process that began it: a child after fork cannot end it. Its layout is final. */
typedef struct joule_region {
    uint64_t begin_ns; /* CLOCK_MONOTONIC; 0: never begun */
    uint64_t end_ns;   /* 0 while it runs */
    uint32_t tag;
    uint32_t flags; /* the low 3 bits as given to joule_begin_with; the rest is libjoule's */
    uint32_t slot;  /* where it is listed; libjoule's */
    uint32_t owner; /* the thread that began it; libjoule's */
} joule_region;

/* The number of a name, the same for every thread and process of a session, also after fork. The name is cut at 47
 * bytes, between characters. At most 4095 names: later ones, NULL and "" get 0, the tag of "(other)". Not for hot
 * paths: keep the result. Any thread. */
JOULE_API uint32_t joule_tag(const char *name);

/* Begins a region. Never fails. Where no ring is free (more than 256 threads have regions), regions of such
 * threads are attributed together, by their time (`folded`). May be called in a signal handler. Any thread;
 * regions of one thread nest. */
JOULE_API joule_region joule_begin(uint32_t tag);
JOULE_API joule_region joule_begin_with(uint32_t tag, uint32_t flags);

/* Ends a region and fills end_ns. Any thread, unless THREAD_OWNED. JOULE_INVALID: not running (never begun, or ended
 * already, be it through a copy), or not the owner's thread. JOULE_STALE: begun before fork, by the parent. May be
 * called in a signal handler. */
JOULE_API joule_status joule_end(joule_region *region);

/* The energy of a region or of a tag. */
typedef struct joule_result {
    uint32_t struct_size; /* set by the caller to sizeof(joule_result) */
    uint32_t is_final;    /* 0: sensors have not ticked past its end; figures may still move */
    uint64_t count;       /* finished regions in this result */
    uint64_t folded;      /* those that found no room; they are attributed by their total time */
    double duration_s;    /* sum of their lengths */
    double coverage;      /* 0 to 1: the part of that time that sensors saw and that was shared out in time */
    joule_quantity window;     /* joules: all that the claimed devices used meanwhile */
    joule_quantity attributed; /* joules: its share; concurrent regions add up to their common window */
    joule_quantity self;       /* joules: attributed less the regions nested in it */
    joule_quantity cpu;        /* joules: the part of `window` on CPU packages and memory */
    joule_quantity gpu;        /* joules: the part of `window` on GPUs */
    uint32_t unsynchronised; /* 1: a GPU region ran without hook or spans: its GPU joules may be another's */
    uint32_t reserved[7];    /* 0 */
} joule_result;

/* Joules of one ended region. JOULE_PENDING: no reading after its end yet (out_result holds what is known).
 * JOULE_INVALID: not ended, or struct_size too small. JOULE_STALE: the meter is from before fork. JOULE_OK:
 * `window` is known. JOULE_ABSENT, JOULE_DENIED and similar: `window` is not known and will never be, because
 * nothing reads those devices or nothing did when the region began. `attributed` and `self` are kept for the
 * last few thousand regions. For older ones `folded` is 1, and both are their tag's part of the window, with
 * an interval from 0 to the whole window. In a process whose parent measures (`joule run`) both stay unknown
 * although the result is final, because only the parent sees all sharers. `meter` may be NULL. Any thread. */
JOULE_API joule_status joule_region_result(joule_meter *meter, const joule_region *region,
                                           joule_result *out_result);

/* As above, but takes readings and waits for a final result for at most timeout_s seconds (0 or less, NaN: one look). */
JOULE_API joule_status joule_region_wait(joule_meter *meter, const joule_region *region, double timeout_s,
                                         joule_result *out_result);

/* Sum over all finished regions of a tag, in all processes of the session. JOULE_PENDING: some of them wait for a
 * reading. JOULE_ABSENT: none has finished. JOULE_UNSUPPORTED: a parent measures, and reports the tags. Any thread. */
JOULE_API joule_status joule_tag_result(joule_meter *meter, uint32_t tag, joule_result *out_result);

/* A finished stretch of time that another clock stamped: GPU events, a DAQ, a log. */
typedef struct joule_span {
    uint32_t struct_size; /* sizeof(joule_span) */
    uint32_t tag;
    uint32_t flags;       /* as for joule_begin_with */
    int32_t device_index; /* GPU that it ran on; -1: all that the flags name */
    double begin;         /* in the foreign clock's own unit */
    double end;
    /* The clock map: nanoseconds of CLOCK_MONOTONIC = offset_ns + scale_ns * foreign time. */
    double offset_ns;
    double scale_ns;
    double error_ns; /* standard error of a mapped stamp */
} joule_span;

/* Adds a finished foreign span; it takes part in sharing like a region of a thread of its own. Sharing does not go back:
 * add spans within a second of their end. Once a span has come later than that sharing waits longer (10 s at most), and
 * so do final results; what a late span missed shows in the coverage. JOULE_INVALID: end before begin, not finite, in
 * the future, or struct_size too small. JOULE_STALE: the meter is from before fork. JOULE_NO_MEMORY: the ring is full until the next reading. Any thread. */
JOULE_API joule_status joule_span_add(joule_meter *meter, const joule_span *span);

/* The hook that makes a GPU idle (cudaDeviceSynchronize, say), called at both edges of JOULE_REGION_GPU regions
 * in the thread of the edge. Without a hook such regions are marked unsynchronised and not judged. NULL takes
 * the hook away. Set it before regions run, from one thread. */
typedef void (*joule_sync_fn)(void *context);
JOULE_API void joule_set_sync(joule_sync_fn sync, void *context);

/* What a call of joule_measure cost. */
typedef struct joule_measurement {
    uint32_t struct_size; /* set by the caller to sizeof(joule_measurement) */
    uint32_t reserved;
    double duration_s;
    double coverage; /* 0 to 1 */
    joule_quantity cpu_joules;
    joule_quantity gpu_joules;
    joule_quantity total_joules;
} joule_measurement;

/* Runs fn(arg) with the default meter around it and waits for the final figures (at most 2 s after fn returns).
 * JOULE_PENDING: a sensor did not tick in time. JOULE_ABSENT, JOULE_DENIED and their like: nothing can be read.
 * JOULE_FAILED: no meter could be opened. JOULE_INVALID: fn is NULL or struct_size too small. fn is called in every other
 * case. Any thread. */
JOULE_API joule_status joule_measure(void (*fn)(void *), void *arg, joule_measurement *out_measurement);

#ifdef __cplusplus
}
#endif
#endif
