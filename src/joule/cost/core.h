/* joule/cost/core.h - what a core's work takes: cycles, seconds, joules, watts, and the warmth that follows.
 *
 * Owns the description of a core (how much of what in a cycle, how long to wait), the time that counted work takes on it,
 * and the equations from there to energy, power and temperature. Who counts the work, and reads the caches, is the caller.
 * Newcomers: the order of the work decides as much as its amount. Say what is known of it (cost_flow); what is left unknown
 * makes the interval wide, not the answer wrong. None of this is a safe worst case.
 */
#ifndef JOULE_COST_CORE_H
#define JOULE_COST_CORE_H

#include "joule/cost/cost.h"

enum cost_level { COST_L1, COST_L2, COST_L3, COST_DRAM, COST_LEVELS };

/* A core. Throughputs and latencies are indexed by what is counted, in cycles of `hz`. */
struct cost_core {
    char id[32]; /* its microarchitecture, or that whose figures stand in for it */
    joule_class
        cls;   /* of the times that it gives: ASSUMED from its family; DERIVED where it was calibrated */
    double hz; /* while it works */
    double log_sd, hz_log_sd; /* of the cycles that it takes against this description; of hz */
    double package_share;     /* of its package's idle energy: one core's */
    /* How many can begin in a cycle; of lines: how many arrive. COST_UOPS: the width. 0: no limit of its own. */
    double per_cycle[COST_FEATURES];
    /* Cycles from one of them to what waits for it. COST_MISPREDICTS: cycles lost, at the least. */
    double latency[COST_FEATURES];
    double window;  /* micro-operations that can be under way at once; 0: they go in order */
    double overlap; /* how much limits hide behind each other: 1 not at all, they add up; large: wholly */
    /* Bytes of the data caches that this core can fill, from COST_L1; 0: it has none. */
    double cache_bytes[COST_DRAM];
    double line_bytes;
    uint32_t instance; /* of CAUSE_CPU_SEED, as its table's */
};

/* The core of a CPU, by its family; always answers. hz: what it is known to run at; NaN: what is typical. Caches are
 * typical, too: sources/cpu/cpu_caches.h reads this machine's. */
void cost_core_describe(const struct cost_cpu *cpu, double hz, struct cost_core *out_core);

/* The nearest level that holds so many bytes at once; NaN: COST_DRAM. A line from COST_L2 counts as COST_L2_LINES ... */
enum cost_level cost_core_level(const struct cost_core *core, double bytes);

/* The table that prices what a core does, and the idle energy of its package. Assumed: a guess by process and size that
 * nothing was measured for, a factor of 3 either way (more where the family is not known), most of it common to all
 * programs on one machine. */
void cost_core_table(const struct cost_cpu *cpu, struct cost_table *out_table);

/* The 5 %, middle and 95 % points. */
struct cost_range {
    double low, est, high;
};

/* What is known of the order of work; NaN: unknown. */
struct cost_flow {
    /* Latencies along the longest chain in which each step waits for the last, across the rounds of a loop; with those of
     * lines from farther than L1 where an address waits for one. 0: no step waits. */
    double chain_cycles;
    double streamed; /* of the lines that move, the part that is asked for in a regular order, 0 .. 1 */
    /* Cycles that the front and the units of the core take for the work if nothing waits, where a simulator of the core has counted
     * them; 0: nobody has, and its description answers. */
    double unit_cycles;
    double longest_cycles; /* of an unknown chain, at most; 0: nobody knows */
};

/* Cycles that work takes if nothing waits: what the most wanted part of the core allows, and all that is lost to
 * mispredicts and caches at the best overlap. COST_CYCLES and seconds in `work` are not looked at. */
double cost_core_throughput(const struct cost_core *core, const struct cost_features *work);
/* Cycles of two things at once that hide behind each other as far as the core lets them. */
double cost_core_beside(const struct cost_core *core, double a, double b);
/* Cycles of a chain that begins anew after so many micro-operations: the next runs beside it as far as the window reaches. */
double cost_core_restarted(const struct cost_core *core, double chain_cycles, double uops);
/* Cycles that work takes if each step waits for the last. */
double cost_core_serial(const struct cost_core *core, const struct cost_features *work);
/* Cycles of it, in the order that is known. No work takes none; NaN where an amount is unknown, negative or infinite. */
struct cost_range cost_core_cycles(const struct cost_core *core, const struct cost_features *work,
                                   const struct cost_flow *flow);

/* A stretch of work on one core. */
struct cost_run {
    struct cost_range cycles, seconds;
    struct cost energy;    /* with the cycles, and the core's share of its package while they last */
    struct estimate watts; /* the mean; unknown where there is no work */
};
/* `work` without COST_CYCLES and COST_PACKAGE_SECONDS, which are set from the time. The table's and the core's errors are
 * common to all runs on one machine; what the unknown order leaves open is this run's own. */
void cost_core_run(const struct cost_core *core, const struct cost_table *table,
                   const struct cost_features *work, const struct cost_flow *flow, struct cost_run *out_run);

/* --- warmth ---------------------------------------------------------------------------------------------------- */

/* A package and its cooler as one body that warms: dT(t) = W R (1 - exp(-t / tau)). */
struct cost_cooling {
    double kelvin_per_watt; /* R */
    double seconds;         /* tau */
    double r_log_sd, tau_log_sd;
    uint32_t instance;  /* of CAUSE_CPU_SEED */
    const char *source; /* static storage */
};
/* Typical of the CPU's family; assumed. */
void cost_cooling_describe(const struct cost_cpu *cpu, struct cost_cooling *out_cooling);
/* Kelvin above the start after `watts` for so long; INFINITY: sustained. A single spot of the chip is warmer for a short
 * time: that is not in this. */
struct estimate cost_cooling_rise(const struct cost_cooling *cooling, const struct estimate *watts,
                                  double seconds);
/* Makes `table` that of a package so much warmer (or less: negative) than where its figures hold: it leaks more while it
 * idles, 1 % for each kelvin, about which as much is uncertain (assumed). */
void cost_table_warm(struct cost_table *table, double kelvin);

#endif
