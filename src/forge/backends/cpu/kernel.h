/* backends/cpu/kernel.h - the kernels of the CPU, and the selection of one for a launch.
 *
 * The first kernel that supports the launch is used: first those of the instruction set in use (isa.h), then
 * the reference kernels. A kernel divides its work into pieces. The division depends on the problem and never
 * on the number of threads, and any piece may run on any thread.
 */
#ifndef FORGE_CPU_KERNEL_H
#define FORGE_CPU_KERNEL_H

#include "forge/ir/launch.h"

struct cpu_kernel {
    const char *name;
    enum op op;
    in_place_bits in_place; /* which outputs may overwrite which inputs */
    /* Returns true if the kernel supports the launch. NULL: supports all. */
    bool (*takes)(const struct launch *launch);
    /* Returns the number of pieces. *out_grain: minimum number of pieces per thread. */
    size_t (*pieces)(const struct launch *launch, size_t *out_grain);
    /* Computes pieces [first, end). */
    void (*run)(const struct launch *launch, size_t first, size_t end);
    /* Used instead of run if not NULL. scratch: KERNEL_SCRATCH_BYTES for this thread alone, aligned to 64
     * bytes. */
    void (*run_in)(const struct launch *launch, size_t first, size_t end, void *scratch);
    /* OP_COMPOSITE: name of the composite. If the kernel supports two sizes, it must support all sizes
     * between them. */
    const char *composite;
    /* Used instead of run if not NULL, for work in two rounds. The second round starts when all pieces of the
     * first are done, and finds its data in `shared`, shared_bytes of memory. shared_bytes must not decrease
     * with larger sizes: with symbolic sizes, the result for the largest size must suffice for all others. */
    void (*run_shared[2])(const struct launch *launch, size_t first, size_t end, void *shared);
    size_t (*second_pieces)(const struct launch *launch, size_t *out_grain);
    size_t (*shared_bytes)(const struct launch *launch);
};

enum { KERNEL_SCRATCH_BYTES = 5 << 19 }; /* size of a thread's scratch memory */

/* Returns true if the kernel supports this operation on these views. */
bool kernel_takes(const struct cpu_kernel *kernel, const struct launch *launch);

/* The reference functions, which support everything that one process can compute. The last row has the name
 * NULL. */
extern const struct cpu_kernel reference_kernels[];

#endif
