/* backends/cpu/kernel.h - the kernels of the CPU.
 *
 * Owns the table of kernels and how one is chosen: the first that takes the work, among those of the
 * instruction set in use (isa.h) and then the reference's. Newcomers: a kernel cuts its work into pieces, by the problem and never by the
 * number of threads; any piece may run on any thread.
 */
#ifndef FORGE_CPU_KERNEL_H
#define FORGE_CPU_KERNEL_H

#include "forge/ir/launch.h"

struct cpu_kernel {
    const char *name;
    enum op op;
    in_place_bits in_place;
    /* NULL: everything. */
    bool (*takes)(const struct launch *launch);
    /* How many pieces there are, and how many make it worth waking a thread. */
    size_t (*pieces)(const struct launch *launch, size_t *out_grain);
    void (*run)(const struct launch *launch, size_t first, size_t end);
    /* In place of run: gets KERNEL_SCRATCH_BYTES that are this thread's own meanwhile, aligned to 64 bytes. */
    void (*run_in)(const struct launch *launch, size_t first, size_t end, void *scratch);
    /* OP_COMPOSITE: of which one of the library's. It takes all sizes between any that it takes. */
    const char *composite;
    /* In place of run, for work in two rounds: when all pieces of the first are done, those of the second, which find what
     * the first left them in shared_bytes of memory, which must be no less for larger sizes: where sizes are symbols it is
     * asked for the largest first, and must be enough from then on. */
    void (*run_shared[2])(const struct launch *launch, size_t first, size_t end, void *shared);
    size_t (*second_pieces)(const struct launch *launch, size_t *out_grain);
    size_t (*shared_bytes)(const struct launch *launch);
};

enum { KERNEL_SCRATCH_BYTES = 5 << 19 };

/* Whether the kernel is for this operation on such views. */
bool kernel_takes(const struct cpu_kernel *kernel, const struct launch *launch);

/* The reference's functions, which take everything that one process can compute. The end of the table has name NULL. */
extern const struct cpu_kernel reference_kernels[];

#endif
