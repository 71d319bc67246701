/* joule/cost/cost.h - the cost model, which computes joules and their errors from amounts of work.
 *
 * It reads no hardware. The caller counts the work. Work of a core is counted either in busy seconds (tables
 * of cpu_seed.c) or in executed operations (tables of core_seed.c). A table prices only one of these two
 * kinds of features, because their sum would count the same energy twice.
 * Note: all costs that use one table share its errors. Two such costs may be wrong by a factor while their
 * ratio is accurate. So subtract or divide estimates, not values.
 */
#ifndef JOULE_COST_H
#define JOULE_COST_H

#include <stdbool.h>
#include "joule/curve/estimate.h"

/* Increase this number when a feature or cause changes its meaning. Add new features and causes at the
 * end. */
#define COST_VERSION 1

/* The counted features. */
enum cost_feature {
    COST_PACKAGE_SECONDS, /* seconds that packages are powered: their idle energy */
    COST_CORE_SECONDS,    /* seconds that cores run at least one thread, at any frequency: leakage, clocks */
    /* core seconds times (frequency / reference)^3: switching energy, because voltage follows frequency */
    COST_CUBIC_SECONDS,
    COST_SHARED_SECONDS, /* seconds of threads on a core that already runs another thread */
    /* Work of a core. Each micro-operation counts in COST_UOPS and, for its additional energy, in the
     * features below that it uses. */
    COST_CYCLES, /* core cycles, working or waiting; their energy is that of clocks and leakage */
    /* micro-operations that are fetched, renamed and retired. A compare and its branch count as one, and so
     * do an operation and its load */
    COST_UOPS,
    COST_INT_OPS, /* add, logic, shift, compare, move of integers */
    COST_INT_MULS,
    COST_INT_DIVS,
    COST_FP_OPS, /* add, multiply, compare, convert */
    COST_FP_FMAS,
    COST_FP_DIVS,  /* divide, square root */
    COST_SIMD_256, /* operations on 256-bit vectors, in addition to their class above */
    COST_SIMD_512, /* operations on 512-bit vectors, in addition to their class */
    COST_L1_LOADS,
    COST_L1_STORES,
    COST_ATOMICS, /* atomic read-modify-writes without contention */
    COST_BRANCHES,
    COST_MISPREDICTS, /* mispredicted branches: the discarded work; lost cycles count in COST_CYCLES */
    COST_L2_LINES,    /* cache lines by origin; each line counts once */
    COST_L3_LINES,
    COST_DRAM_LINES,
    COST_FEATURES
};

/* Causes of error in a table, independent of each other. */
enum cost_cause {
    COST_CAUSE_SIZE,    /* all coefficients: this machine compared with the typical one of its family */
    COST_CAUSE_IDLE,    /* sleep states and other activity of an idle package */
    COST_CAUSE_WORK,    /* the program: its instructions compared with the typical mix */
    COST_CAUSE_SPLIT,   /* part of a busy core's power that follows the frequency */
    COST_CAUSE_SHARE,   /* extra power of a second thread on a core */
    COST_CAUSE_HOST,    /* in a virtual machine: the invisible host */
    COST_CAUSE_CLOCK,   /* energy price of a cycle */
    COST_CAUSE_UNITS,   /* energy of micro-operations */
    COST_CAUSE_LINES,   /* energy of moving a cache line */
    COST_CAUSE_TIME,    /* number of cycles that this core takes, and their length */
    COST_CAUSE_COOLING, /* kelvin per watt */
    COST_CAUSES
};

/* Amounts of work, each in the unit of its feature. */
struct cost_features {
    uint32_t version; /* COST_VERSION */
    double amount[COST_FEATURES];
};

/* A table of prices with their errors. */
struct cost_table {
    uint32_t version;  /* COST_VERSION */
    uint32_t instance; /* instance of CAUSE_CPU_SEED: tables with the same number share their errors */
    joule_class cls;
    char id[48];                  /* name and revision of the table, in reports */
    const char *source;           /* origin of the figures; static storage */
    double joules[COST_FEATURES]; /* joules per unit of the feature; NaN: not priced */
    /* Change of the logarithm of a price if a cause is one standard deviation higher. The covariance of the
     * logarithms is this matrix times its transpose. */
    double log_sd[COST_FEATURES][COST_CAUSES];
};

/* The cost of some features, in joules. */
struct cost {
    struct estimate total;
    struct estimate part[COST_FEATURES];
};

/* Returns the cost of `features`. Unknown if an amount other than 0 has no price, or if the versions
 * differ. */
struct cost cost_of(const struct cost_table *table, const struct cost_features *features);
/* Returns only the value of cost_of().total, without errors, which is faster; NaN: unknown. */
double cost_joules(const struct cost_table *table, const struct cost_features *features);
/* Returns a feature's name, such as "package_seconds"; static storage. */
const char *cost_feature_name(enum cost_feature feature);

/* --- tables for CPUs ------------------------------------------------------------------------------------ */

/* The CPUs of a machine. */
struct cost_cpu {
    char vendor[24];   /* "intel", "amd", "arm" (also cores of licensees); others are priced as "any CPU" */
    unsigned family;   /* x86 only; otherwise 0 */
    unsigned model;    /* x86 model, or part number of a core by Arm; otherwise 0 */
    char name[96];     /* model name by the vendor; empty: unknown */
    unsigned packages; /* sockets */
    unsigned cores;    /* physical cores of all packages; in a virtual machine, virtual CPUs */
    unsigned threads;  /* threads of all cores */
    bool is_virtual;
};

/* Fills the table of the CPU's family, or a generic one with a wider error. In a virtual machine a "package"
 * is the guest's part of a typical host. Never fails. */
void cost_cpu_table(const struct cost_cpu *cpu, struct cost_table *out_table);

/* Returns the modelled joules, without the idle share, of a program that used cpu_seconds of CPU time in
 * wall_seconds at the reference frequency. CPU time beyond cores x wall time is counted as threads that share
 * cores. wall_seconds NaN: every thread had its own core. */
struct estimate cost_cpu_energy(const struct cost_cpu *cpu, double cpu_seconds, double wall_seconds);

/* Classes of cores with the same price of a micro-operation, by process and core size. */
enum cost_core_class {
    COST_CORE_14NM,
    COST_CORE_7NM,
    COST_CORE_SMALL,
    COST_CORE_OTHER, /* another known family */
    COST_CORE_UNKNOWN,
    COST_CORE_CLASSES
};

/* Typical properties of a CPU's family. */
struct cost_cpu_type {
    enum cost_core_class core_class;
    const char *core;     /* its microarchitecture, or a similar one; static storage */
    double cores;         /* per package */
    double cache_cores;   /* cores that share a last-level cache */
    double package_watts; /* power of a package with all threads busy */
    const char *family;   /* static storage */
};
/* Returns the typical properties of a CPU's family; never fails. */
struct cost_cpu_type cost_cpu_type(const struct cost_cpu *cpu);

#endif
