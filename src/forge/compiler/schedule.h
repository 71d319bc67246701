/* compiler/schedule.h - chooses the order of launches, and the number of cores of each launch.
 *
 * The launches of a program run one after another. So the order decides which operands are still in a cache,
 * and how many bytes are live at once. The number of cores decides the seconds of a launch and the power
 * during these seconds. Both follow from a model (hal/rates.h), not from a measurement.
 *
 * Bytes by level: an operand is in a cache if the bytes of all operands since its last use, including its
 * own, fit into this cache (reuse distance). A program runs again and again, so the last use of an input, of
 * a constant or of a slot may be in the previous run. A value that is written counts at the level from which
 * its next reader gets it; without a reader in this program, the bytes go to memory. The L2 caches of all
 * cores of a launch count together: the model assumes that neighbouring launches divide their operands alike.
 *
 * Note: this file knows no graphs and no kernels. compiler/lower_schedule.c describes a program in its terms.
 */
#ifndef FORGE_COMPILER_SCHEDULE_H
#define FORGE_COMPILER_SCHEDULE_H

#include <forge/compiler.h>
#include "forge/hal/rates.h"

struct cores_scratch; /* schedule_cores.c */

/* A buffer that launches read and write. */
struct schedule_value {
    double bytes;
    bool is_arena; /* is in memory only from its writer to its last reader; others are in memory for good */
};

/* An operand of a launch. */
struct schedule_access {
    uint32_t value;
    uint32_t
        over; /* outputs: bit i is set if the output may be stored in the memory of the launch's input i */
    double bytes; /* bytes that the launch moves, which may be fewer than those of the value */
};

struct schedule_launch {
    double flop; /* in f32; a FLOP in f64 counts twice */
    struct launch_work work;
    uint32_t first_access, read_count, write_count; /* in `accesses`: first the inputs, then the outputs */
};

/* Launch `after` must run after launch `before`. */
struct schedule_edge {
    uint32_t before, after;
    /* `after` may overwrite an operand of `before`; otherwise it reads a result */
    bool is_overwrite;
};

/* The launches to schedule, and the bounds. The launches are in an order that satisfies all edges. All arrays
 * are owned by the caller. */
struct schedule_problem {
    const struct device_rates *rates;
    const struct schedule_value *values;
    const struct schedule_access *accesses;
    const struct schedule_launch *launches;
    const struct schedule_edge *edges;
    size_t value_count, access_count, launch_count, edge_count;
    forge_minimise objective;
    double max_seconds; /* INFINITY: no bound */
    double max_bytes;   /* of all values with is_arena that are live at once; INFINITY: no bound */
};

/* Seconds, joules and memory of all launches. */
struct schedule_cost {
    double seconds, joules;
    double bytes[RATE_LEVELS]; /* moved from and to each level */
    double peak_bytes;         /* largest number of live bytes in the arena */
};

struct schedule {
    uint32_t *order;                 /* [launch_count]: launches in the order in which they run */
    uint16_t *cores;                 /* [launch_count], by launch: number of cores */
    struct schedule_cost before;     /* in the given order, on all cores that a launch can use */
    struct schedule_cost cores_only; /* in the given order, on the chosen numbers of cores */
    struct schedule_cost after;      /* in the chosen order, on the chosen numbers of cores */
    size_t trials;                   /* number of orders that were compared */
};

/* Finds a good schedule. Bounds come first: if no order is found that satisfies them, the result is the one
 * that exceeds them least; the caller compares `after` with the bounds. A bound of the seconds is kept if the
 * schedule for FORGE_MINIMISE_TIME keeps it. The result depends only on the problem. Returns false if out of
 * memory. The caller frees *out with schedule_free, also after a failure. */
bool schedule_find(const struct schedule_problem *problem, struct schedule *out);
void schedule_free(struct schedule *schedule);

/* Divides the bytes that a launch moves among its operands, in proportion to their sizes. sizes, out_bytes:
 * [reads + writes], may be the same array. */
void schedule_divide_bytes(const double *sizes, size_t reads, size_t writes, double read_bytes,
                           double written_bytes, double *out_bytes);
/* Returns the number of cores that a launch can use. */
static inline unsigned schedule_useful_cores(const struct device_rates *rates,
                                             const struct schedule_launch *launch)
{
    size_t parts = launch->work.parts ? launch->work.parts : 1;
    return parts < rates->cores ? (unsigned)parts : rates->cores;
}
/* Returns what the objective minimises: joules, seconds, or their product. */
double schedule_score(forge_minimise objective, const struct schedule_cost *cost);

/* --- the model ------------------------------------------------------------------------------------------ */

/* Sets the reuse distance of each access in bytes, and returns the largest number of live bytes. A distance
 * is INFINITY if it is larger than all caches. order: [launch_count]. out_distances: [access_count].
 * out_live: [launch_count], the live bytes at each position of the order; may be NULL. Returns NaN if out of
 * memory. */
double schedule_trace(const struct schedule_problem *problem, const uint32_t *order, double *out_distances,
                      double *out_live);
/* Returns the cost of one launch on `cores` cores; peak_bytes is 0. distances: of schedule_trace. */
struct schedule_cost schedule_launch_cost(const struct schedule_problem *problem, uint32_t launch,
                                          unsigned cores, const double *distances);

/* --- numbers of cores (schedule_cores.c) ---------------------------------------------------------------- */

/* Chooses the number of cores of each launch, for fixed distances. `scratch` is of schedule_cores_new.
 * is_final: spends more time on a choice that a bound of the seconds makes difficult. out_cores:
 * [launch_count]. Returns the sum of all costs; peak_bytes is 0. */
struct schedule_cost schedule_choose_cores(const struct schedule_problem *problem, const double *distances,
                                           struct cores_scratch *scratch, bool is_final, uint16_t *out_cores);
/* Returns true if is_final makes a difference. */
bool schedule_cores_differ(const struct schedule_problem *problem);
/* Returns memory for schedule_choose_cores, or NULL if out of memory. The caller frees it with
 * schedule_cores_free. */
struct cores_scratch *schedule_cores_new(const struct schedule_problem *problem);
void schedule_cores_free(struct cores_scratch *scratch);

#endif
