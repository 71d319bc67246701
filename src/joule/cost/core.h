/* joule/cost/core.h - a model of a core: the cycles, seconds, joules, watts and temperature rise of counted
 * work.
 *
 * The caller counts the work and reads the sizes of the caches.
 * Note: the order of work matters as much as its amount. Describe the known facts about the order in
 * cost_flow; an unknown order widens the interval. No result is a guaranteed upper limit.
 */
#ifndef JOULE_COST_CORE_H
#define JOULE_COST_CORE_H

#include "joule/cost/cost.h"

/* Levels of the memory hierarchy, nearest first. */
enum cost_level { COST_L1, COST_L2, COST_L3, COST_DRAM, COST_LEVELS };

/* A core. Rates and latencies are indexed by feature, in cycles of `hz`. */
struct cost_core {
    char id[32];     /* microarchitecture, or a similar one whose figures are used */
    joule_class cls; /* class of the predicted times: ASSUMED from the family, DERIVED after calibration */
    double hz;       /* frequency under load */
    double log_sd, hz_log_sd; /* error of predicted cycles; error of hz */
    double package_share;     /* share of this core in the idle energy of its package: 1 / cores per
                               * package */
    /* Operations that can begin per cycle; for lines, arrivals per cycle. COST_UOPS: the width of the core.
     * 0: only the limits of other features apply. */
    double per_cycle[COST_FEATURES];
    /* Cycles from an operation to one that depends on it. COST_MISPREDICTS: minimum number of lost cycles. */
    double latency[COST_FEATURES];
    double window;  /* maximum micro-operations in flight; 0: in order */
    double overlap; /* 1: limits do not overlap (they add up); large: they overlap completely */
    /* Sizes of the data caches that this core can use, in bytes, from COST_L1; 0: no such cache. */
    double cache_bytes[COST_DRAM];
    double line_bytes;
    uint32_t instance; /* instance of CAUSE_CPU_SEED, as in the table of the core */
};

/* Describes the core of a CPU by its family; never fails. hz: the core's frequency; NaN: use the family's
 * typical frequency. Cache sizes are those typical of the family; sources/cpu/cpu_caches.h reads the real
 * ones. */
void cost_core_describe(const struct cost_cpu *cpu, double hz, struct cost_core *out_core);

/* Returns the nearest level into which `bytes` fit; COST_DRAM for NaN. */
enum cost_level cost_core_level(const struct cost_core *core, double bytes);

/* Fills the table that prices the work of a core and the idle energy of its package. Its class is ASSUMED:
 * prices are estimated from manufacturing process and core size, within a factor of 3 either way (more for
 * unknown families). Most of this error is common to all programs on one machine. */
void cost_core_table(const struct cost_cpu *cpu, struct cost_table *out_table);

/* 5 % point, estimate and 95 % point. */
struct cost_range {
    double low, est, high;
};

/* The known facts about the order of work; NaN: unknown. */
struct cost_flow {
    /* Latency of the longest dependence chain across the iterations of a loop, in cycles. It includes
     * latencies of cache lines beyond L1 if addresses depend on loaded values. 0: no operation waits for
     * another. */
    double chain_cycles;
    double streamed;       /* part of the transferred lines that is requested in a regular order, 0 to 1 */
    double longest_cycles; /* upper limit of an unknown chain, in cycles; 0: unknown */
};

/* Returns the cycles of `work` if no operation waits for another: the limit of the busiest part of the core,
 * with the lowest cost of mispredicts and caches. Ignores COST_CYCLES and seconds in `work`. */
double cost_core_throughput(const struct cost_core *core, const struct cost_features *work);
/* Returns the cycles of two pieces of work of a and b cycles that overlap as far as the core allows. */
double cost_core_overlapped(const struct cost_core *core, double a, double b);
/* Returns the cycles of a dependence chain that restarts after `uops` micro-operations. Each chain overlaps
 * with the next one as far as the window reaches. */
double cost_core_restarted(const struct cost_core *core, double chain_cycles, double uops);
/* Returns the cycles of `work` if each operation waits for the one before. */
double cost_core_serial(const struct cost_core *core, const struct cost_features *work);
/* Returns the cycles of `work`. flow: the known facts about the order. 0 without work; NaN if an amount is
 * unknown, negative or infinite. */
struct cost_range cost_core_cycles(const struct cost_core *core, const struct cost_features *work,
                                   const struct cost_flow *flow);

/* A piece of work on one core. */
struct cost_run {
    struct cost_range cycles, seconds;
    struct cost energy;    /* includes energy of cycles, and of the core's share of the idle package */
    struct estimate watts; /* mean; unknown without work */
};
/* Fills *out_run. `work` must not contain COST_CYCLES and COST_PACKAGE_SECONDS, because the function computes
 * both from the time. Errors of table and core are common to all runs on one machine. The error of an unknown
 * order is independent in each run. */
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
/* Adjusts the idle price of `table` to a package that is `kelvin` warmer (negative: cooler) than the figures
 * of the table assume. Leakage grows by 1 % per kelvin, with an error of the same size (assumed). */
void cost_table_warm(struct cost_table *table, double kelvin);

#endif
