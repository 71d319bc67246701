/* tools/joule/calibrate/kernels.h - small loops with known operation counts, and the memory that they access.
 *
 * Note: counts follow joulec's rules for compiled code: one micro-operation per operation. A comparison and
 * its branch together are one micro-operation, even if the core executes two.
 */
#ifndef CALIBRATE_KERNELS_H
#define CALIBRATE_KERNELS_H

#include "joule/cost/fit.h"

/* Memory of a loop: its state and small data. The assembler of instructions_*.h uses the offsets of these
 * members. */
struct kernel_state {
    uint64_t position;      /* current address; the next call continues there */
    uint64_t begin, end;    /* limits of the array; an address beyond `end` restarts at `begin` */
    uint64_t factor, one;   /* integer operands K and U */
    double near_one, small; /* operands of floating-point kernels */
    double sink;            /* keeps the compiler from removing results */
    uint64_t starts[6], unused[2];
    uint64_t words[48];
} __attribute__((aligned(64)));

enum layout {
    LAYOUT_NONE,
    LAYOUT_RING,           /* all lines of a level, linked in random order */
    LAYOUT_RINGS,          /* six rings, each with a sixth of the lines */
    LAYOUT_ARRAY,          /* sequential */
    LAYOUT_ALTERNATING,    /* decisions of branches: alternating 0 and 1 */
    LAYOUT_RANDOM_EIGHTHS, /* decisions of branches: random, each is 1 with probability 1/8 */
    LAYOUT_RANDOM_HALVES,  /* decisions of branches: random, each is 1 with probability 1/2 */
};

struct kernel {
    void (*run)(struct kernel_state *state, uint64_t rounds);
    double times; /* bodies in a round */
    const char *name;
    enum fit_family family;
    double amount[COST_FEATURES];
    double chain[COST_FEATURES]; /* operations of one body that are on the dependence chain */
    /* number of cache lines accessed in one body; number of lines whose address depends on the previous
     * line */
    double lines, waits;
    enum layout layout;
    enum cost_level level;
    enum { NEEDS_NOTHING, NEEDS_FMA, NEEDS_256, NEEDS_512 } needs;
    bool wraps; /* after the array's end the address restarts at its begin */
};

extern const struct kernel kernels[];
extern const size_t kernel_count;
extern const char kernel_architecture[]; /* "x86-64", "aarch64", or "C" for compiled code */

/* Returns true if this CPU can run the kernel and has the cache level that the kernel accesses. */
bool kernel_is_here(const struct kernel *kernel, const struct cost_core *core);
/* Fills in the operation counts of one round, without measured values. */
void kernel_describe(const struct kernel *kernel, struct fit_kernel *out);

/* Memory of all kernels. */
struct kernel_memory {
    struct kernel_state *of; /* state of each kernel */
    unsigned char *ring[COST_LEVELS], *rings[COST_LEVELS], *array[COST_LEVELS];
    size_t bytes[COST_LEVELS];
    unsigned char *decisions[3]; /* for LAYOUT_ALTERNATING and the two layouts after it */
};
/* Allocates the memory, in sizes that depend on the core's caches. The caller calls kernel_memory_free.
 * Returns false if out of memory. */
bool kernel_memory_make(const struct cost_core *core, struct kernel_memory *out);
void kernel_memory_free(struct kernel_memory *memory);

#endif
