/* joule/cost/core.h - a model of a core: the cycles, seconds, joules, watts and temperature rise of counted
 * work.
 *
 * The caller counts the work and reads the sizes of the caches.
 * Note: the order of work matters as much as its amount. State what is known of it in cost_flow; an unknown
 * order widens the interval. No result is a safe worst case.
 */
#ifndef JOULE_COST_CORE_H
#define JOULE_COST_CORE_H

#include "joule/cost/cost.h"

/* Levels of the memory hierarchy, nearest first. */
enum cost_level { COST_L1, COST_L2, COST_L3, COST_DRAM, COST_LEVELS };

/* A core. Rates and latencies are indexed by feature, in cycles of `hz`. */
struct cost_core {
    char id[32];     /* its microarchitecture, or the one whose figures are used for it */
    joule_class cls; /* class of the predicted times: ASSUMED from the family, DERIVED after calibration */
    double hz;       /* frequency under load */
    double log_sd, hz_log_sd; /* errors of predicted cycles, and of hz */
    double package_share;     /* part of its package's idle energy: 1 / cores per package */
    /* Operations that can begin per cycle; for lines, arrivals per cycle. COST_UOPS: the width. 0: no own
     * limit. */
    double per_cycle[COST_FEATURES];
    /* Cycles from an operation to one that depends on it. COST_MISPREDICTS: minimum of the lost cycles. */
    double latency[COST_FEATURES];
    double window;  /* maximum micro-operations in flight; 0: in order */
    double overlap; /* how far limits overlap: 1 not at all (they add up); large: completely */
    /* Sizes of the data caches that this core can use, from COST_L1; 0: none. */
    double cache_bytes[COST_DRAM];
    double line_bytes;
    uint32_t instance; /* instance of CAUSE_CPU_SEED, as in its table */
};

/* Describes the core of a CPU by its family; never fails. hz: its known frequency; NaN: the family's typical
 * one. Cache sizes are typical, too; sources/cpu/cpu_caches.h reads those of this machine. */
void cost_core_describe(const struct cost_cpu *cpu, double hz, struct cost_core *out_core);

/* Returns the nearest level that holds `bytes` at once; COST_DRAM for NaN. */
enum cost_level cost_core_level(const struct cost_core *core, double bytes);

/* Fills the table that prices the work of a core and the idle energy of its package. Its class is ASSUMED:
 * prices are guessed from process and core size, within a factor of 3 either way (more for unknown families).
 * Most of this error is common to all programs on one machine. */
void cost_core_table(const struct cost_cpu *cpu, struct cost_table *out_table);

/* 5 % point, estimate and 95 % point. */
struct cost_range {
    double low, est, high;
};

/* The known facts about the order of work; NaN: unknown. */
struct cost_flow {
    /* Latency of the longest dependence chain, in cycles, across the iterations of a loop. It includes
     * latencies of lines beyond L1 if an address depends on one. 0: no step waits. */
    double chain_cycles;
    double streamed;       /* part of the transferred lines that is requested in a regular order, 0 to 1 */
    double longest_cycles; /* upper limit of an unknown chain, in cycles; 0: unknown */
};

/* Returns the cycles of `work` if nothing waits: the limit of the busiest part of the core, with the lowest
 * cost of mispredicts and caches. Ignores COST_CYCLES and seconds in `work`. */
double cost_core_throughput(const struct cost_core *core, const struct cost_features *work);
/* Returns the cycles of two pieces of work of a and b cycles that overlap as far as the core allows. */
double cost_core_overlapped(const struct cost_core *core, double a, double b);
/* Returns the cycles of a chain that restarts after `uops` micro-operations; the next chain overlaps with it
 * as far as the window reaches. */
double cost_core_restarted(const struct cost_core *core, double chain_cycles, double uops);
/* Returns the cycles of `work` if each step waits for the step before. */
double cost_core_serial(const struct cost_core *core, const struct cost_features *work);
/* Returns the cycles of `work` in the known order. 0 for no work; NaN if an amount is unknown, negative or
 * infinite. */
struct cost_range cost_core_cycles(const struct cost_core *core, const struct cost_features *work,
                                   const struct cost_flow *flow);

/* A piece of work on one core. */
struct cost_run {
    struct cost_range cycles, seconds;
    struct cost energy;    /* includes the cycles and, for their duration, the core's share of its package */
    struct estimate watts; /* mean; unknown without work */
};
/* Fills *out_run. `work` must not contain COST_CYCLES and COST_PACKAGE_SECONDS; they are set from the time.
 * The errors of table and core are common to all runs on one machine; the error of the unknown order is this
 * run's own. */
void cost_core_run(const struct cost_core *core, const struct cost_table *table,
                   const struct cost_features *work, const struct cost_flow *flow, struct cost_run *out_run);

/* --- temperature ---------------------------------------------------------------------------------------- */

/* A package and its cooler as one thermal mass: dT(t) = W R (1 - exp(-t / tau)). */
struct cost_cooling {
    double kelvin_per_watt; /* R */
    double seconds;         /* tau */
    double r_log_sd, tau_log_sd;
    uint32_t instance;  /* instance of CAUSE_CPU_SEED */
    const char *source; /* static storage */
};
/* Describes the typical cooling of the CPU's family; class ASSUMED. */
void cost_cooling_describe(const struct cost_cpu *cpu, struct cost_cooling *out_cooling);
/* Returns the temperature rise in kelvin after `seconds` at `watts`; INFINITY: steady state. Hot spots on the
 * chip, which are warmer for a short time, are not included. */
struct estimate cost_cooling_rise(const struct cost_cooling *cooling, const struct estimate *watts,
                                  double seconds);
/* Adjusts the idle price of `table` to a package that is `kelvin` warmer (negative: cooler) than assumed in
 * its figures: leakage grows by 1 % per kelvin, with an error of the same size (assumed). */
void cost_table_warm(struct cost_table *table, double kelvin);

#endif
