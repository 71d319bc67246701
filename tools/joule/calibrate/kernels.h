/* tools/joule/calibrate/kernels.h - small loops whose work is known by construction.
 *
 * Owns the loops, the counts of a round of each, and the memory they walk. Timing them is measure.h's.
 * Newcomers: counts are those that joulec makes of compiled code: one micro-operation for each operation, a comparison being one
 * with its branch, whatever a core makes of it.
 */
#ifndef CALIBRATE_KERNELS_H
#define CALIBRATE_KERNELS_H

#include "joule/cost/fit.h"

/* What a loop reads and writes. The words_*.h know its offsets. */
struct ground {
    uint64_t place;      /* in memory, kept from call to call */
    uint64_t begin, end; /* of an array; a place beyond is put back */
    uint64_t factor, one;
    double near_one, small, sink;
    uint64_t starts[6], unused[2];
    uint64_t words[48];
} __attribute__((aligned(64)));

enum place {
    PLACE_NONE,
    PLACE_RING,    /* all lines of a level, each pointing to the next in no order */
    PLACE_RINGS,   /* six rings, each through a sixth of the lines */
    PLACE_ARRAY,   /* in order */
    PLACE_EVEN,    /* coins: heads every other time */
    PLACE_EIGHTHS, /* heads one time in eight, by chance */
    PLACE_HALVES,
};

struct kernel {
    void (*run)(struct ground *ground, uint64_t rounds);
    double times; /* that the following is done in a round */
    const char *name;
    enum fit_family family;
    double amount[COST_FEATURES];
    double chain[COST_FEATURES]; /* latencies that wait for each other */
    double lines, waits;         /* lines of the place's level; those of them that wait for the last */
    enum place place;
    enum cost_level level;
    enum { NEEDS_NOTHING, NEEDS_FMA, NEEDS_256, NEEDS_512 } needs;
    bool wraps;
};

extern const struct kernel kernels[];
extern const size_t kernel_count;
extern const char kernel_dialect[]; /* "x86-64", "aarch64"; "C": as a compiler understood them */

/* Whether this CPU can run it, and has its level of cache. */
bool kernel_is_here(const struct kernel *kernel, const struct cost_core *core);
/* What one round is, without what was measured. */
void kernel_describe(const struct kernel *kernel, struct fit_kernel *out);

/* The memory that they walk. */
struct grounds {
    struct ground *of; /* of each kernel */
    unsigned char *ring[COST_LEVELS], *rings[COST_LEVELS], *array[COST_LEVELS];
    size_t bytes[COST_LEVELS];
    unsigned char *coins[3];
};
/* Makes it, by the sizes of this core's caches. False: no memory. */
bool grounds_make(const struct cost_core *core, struct grounds *out);
void grounds_free(struct grounds *grounds);

#endif
