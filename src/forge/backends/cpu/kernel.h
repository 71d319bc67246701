/* backends/cpu/kernel.h - the kernels of the CPU, and the check whether a kernel supports a launch.
 *
 * A launch uses the first kernel that supports it: kernels of the instruction set in use (isa.h) come first,
 * then the reference kernels. A kernel divides its work into pieces, and any piece may run on any thread. The
 * division depends only on the launch, not on the number of threads.
 */
#ifndef FORGE_CPU_KERNEL_H
#define FORGE_CPU_KERNEL_H

#include "forge/ir/launch.h"

struct cpu_kernel {
    const char *name;
    enum op op;
    in_place_bits in_place; /* for each output, the inputs that it may overwrite (ir/launch.h) */
    /* Returns true if the kernel supports the launch. NULL: the kernel supports all launches of the
     * operation. */
    bool (*takes)(const struct launch *launch);
    /* Returns the number of pieces. *out_grain: minimum number of pieces per thread. */
    size_t (*pieces)(const struct launch *launch, size_t *out_grain);
    /* Computes pieces [first, end). */
    void (*run)(const struct launch *launch, size_t first, size_t end);
    /* If not NULL, used instead of `run`. scratch: KERNEL_SCRATCH_BYTES of memory that no other thread uses,
     * aligned to 64 bytes. */
    void (*run_in)(const struct launch *launch, size_t first, size_t end, void *scratch);
    /* Name of the composite, if op is OP_COMPOSITE. A kernel of a composite that supports two sizes must
     * support all sizes between them. */
    const char *composite;
    /* If not NULL, used instead of `run`, for work in two rounds. The second round starts when all pieces of
     * the first round are done. The first round passes data to the second in `shared`, a block of
     * shared_bytes(launch) bytes. Memory is allocated for the largest sizes, so shared_bytes must not be
     * greater for smaller sizes. scratch: as for run_in. */
    void (*run_shared[2])(const struct launch *launch, size_t first, size_t end, void *shared, void *scratch);
    size_t (*second_pieces)(const struct launch *launch, size_t *out_grain);
    size_t (*shared_bytes)(const struct launch *launch);
    /* If not NULL, the kernel also reads its input 1 from a copy in another order of bytes, `repacked` of the
     * view. repacked_bytes: returns the size of the copy; 0: this launch has none. repack: writes the copy;
     * its pieces are those of the last round. The copy depends only on the type, shape and elements of the
     * input, and is the same for all kernels of the device. */
    size_t (*repacked_bytes)(const struct launch *launch);
    void (*repack)(const struct launch *launch, size_t first, size_t end, void *repacked);
};

enum { KERNEL_SCRATCH_BYTES = 3 << 20 }; /* size of a thread's scratch memory */

/* Returns true if the kernel supports this operation on these views. */
bool kernel_takes(const struct cpu_kernel *kernel, const struct launch *launch);

/* The reference kernels, which support all operations of one process except composites. The last row has the
 * name NULL. */
extern const struct cpu_kernel reference_kernels[];

#endif
