/* joule/cost/cost.h - the one cost model: amounts of work in, joules with their errors out.
 *
 * Owns the feature vector, the table of coefficients and the product of the two. It reads no hardware: whoever asks
 * counts the work. A core's work can be counted from above, by the seconds that it is busy, or from below, by what it
 * executes: tables of the one kind (cpu_seed.c) have no price for features of the other (core_seed.c), as a sum of both
 * would count everything twice.
 * Newcomers: a table's errors are common to everything it priced. Costs from one table may be wrong by a factor, and
 * their ratio is still good; so keep estimates and subtract or divide those, not the values.
 */
#ifndef JOULE_COST_H
#define JOULE_COST_H

#include <stdbool.h>
#include "joule/curve/estimate.h"

/* Raised when a feature or cause changes its meaning; new ones are added at the end. */
#define COST_VERSION 1

/* What is counted. */
enum cost_feature {
    COST_PACKAGE_SECONDS, /* packages that are powered: what they need while nothing runs */
    COST_CORE_SECONDS,    /* cores that run at least one thread, at any frequency: leakage, clocks */
    COST_CUBIC_SECONDS, /* the same times (frequency / reference)^3: switching, as voltage follows frequency */
    COST_SHARED_SECONDS, /* threads that run on a core beside its first one */
    /* What a core does. Each micro-operation counts among COST_UOPS, and again below with what it needs beside that. */
    COST_CYCLES,  /* of a core, working or waiting: clock, leakage */
    COST_UOPS,    /* fetched, renamed, retired; compare and branch are one, an operation and its load, too */
    COST_INT_OPS, /* add, logic, shift, compare, move of integers */
    COST_INT_MULS,
    COST_INT_DIVS,
    COST_FP_OPS, /* add, multiply, compare, convert */
    COST_FP_FMAS,
    COST_FP_DIVS,  /* divide, square root */
    COST_SIMD_256, /* vectors of 256 bits, whatever is done with them, beside its class above */
    COST_SIMD_512, /* the same of 512 bits */
    COST_L1_LOADS,
    COST_L1_STORES,
    COST_ATOMICS, /* read, change and write, uncontended */
    COST_BRANCHES,
    COST_MISPREDICTS, /* the work thrown away; the cycles lost count as cycles */
    COST_L2_LINES,    /* cache lines by where they came from: each counts once */
    COST_L3_LINES,
    COST_DRAM_LINES,
    COST_FEATURES
};

/* What a table may have got wrong, each independent of the others. */
enum cost_cause {
    COST_CAUSE_SIZE,    /* all coefficients: this machine against the typical one of its family */
    COST_CAUSE_IDLE,    /* sleep states, and what else a package does while idle */
    COST_CAUSE_WORK,    /* the program: what its instructions need against the typical mix */
    COST_CAUSE_SPLIT,   /* how much of a busy core's power follows the frequency */
    COST_CAUSE_SHARE,   /* what a second thread adds */
    COST_CAUSE_HOST,    /* in a virtual machine: the share of a host that cannot be seen */
    COST_CAUSE_CLOCK,   /* what a cycle needs */
    COST_CAUSE_UNITS,   /* what micro-operations need */
    COST_CAUSE_LINES,   /* what moving a cache line needs */
    COST_CAUSE_TIME,    /* how many cycles this core takes, and how long they are */
    COST_CAUSE_COOLING, /* how warm a watt makes it */
    COST_CAUSES
};

struct cost_features {
    uint32_t version; /* COST_VERSION */
    double amount[COST_FEATURES];
};

struct cost_table {
    uint32_t version;  /* COST_VERSION */
    uint32_t instance; /* of CAUSE_CPU_SEED: tables with the same one share their errors */
    joule_class cls;
    char id[48];                  /* names the table and its revision in reports */
    const char *source;           /* where the figures come from; static storage */
    double joules[COST_FEATURES]; /* for each unit of the feature; NaN: this table cannot price it */
    /* The change of the logarithm of a coefficient when a cause is one sd up: the covariance of the logarithms is
     * this matrix times its transpose. */
    double log_sd[COST_FEATURES][COST_CAUSES];
};

struct cost {
    struct estimate total;
    struct estimate part[COST_FEATURES];
};

/* What `features` cost by `table`. Unknown where an amount other than 0 has no coefficient, and where versions
 * differ. */
struct cost cost_of(const struct cost_table *table, const struct cost_features *features);
/* The value of the total alone, for those who ask often; NaN: unknown. */
double cost_joules(const struct cost_table *table, const struct cost_features *features);
/* "package_seconds"; the keys of a breakdown. */
const char *cost_feature_name(enum cost_feature feature);

/* --- tables for CPUs ---------------------------------------------------------------------------------------- */

/* What is known of the CPUs of a machine. */
struct cost_cpu {
    char vendor[24];   /* "intel", "amd", "arm" (also cores that a licensee made), else not priced apart */
    unsigned family;   /* of x86; else 0 */
    unsigned model;    /* of x86; the part number of a core by Arm itself, else 0 */
    char name[96];     /* as the vendor writes it; empty: unknown */
    unsigned packages; /* sockets */
    unsigned cores;    /* physical ones of all packages; of a virtual machine: virtual CPUs */
    unsigned threads;  /* of all cores */
    bool is_virtual;
};

/* The table for a CPU: its family's where that is known, else one for CPUs in general, with a wider error. In a virtual
 * machine a "package" is the guest's part of a typical host. Always answers. */
void cost_cpu_table(const struct cost_cpu *cpu, struct cost_table *out_table);

/* Modelled joules, without the idle share, of a program that used cpu_seconds of CPU time in wall_seconds, at the
 * reference frequency. More CPU time than cores x wall time is taken to have shared cores. wall_seconds NaN: every
 * thread had a core of its own. */
struct estimate cost_cpu_energy(const struct cost_cpu *cpu, double cpu_seconds, double wall_seconds);

/* Cores with the same price of a micro-operation: by process, and by how much is done for each of them. */
enum cost_core_class {
    COST_CORE_14NM,
    COST_CORE_7NM,
    COST_CORE_SMALL,
    COST_CORE_OTHER, /* of known families, but none of these */
    COST_CORE_UNKNOWN,
    COST_CORE_CLASSES
};

/* What is typical for the family of a CPU. */
struct cost_cpu_type {
    enum cost_core_class core_class;
    const char *core;     /* its microarchitecture, or one like it; static storage */
    double cores;         /* of a package */
    double cache_cores;   /* those of them that share a last-level cache */
    double package_watts; /* all threads busy */
    const char *family;   /* static storage */
};
struct cost_cpu_type cost_cpu_type(const struct cost_cpu *cpu);

#endif
