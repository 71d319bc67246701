/* tests/unit/forge/cpu_kernels.h - runs CPU kernels without a device, for each available instruction set.
 *
 * run_kernel checks two rules that all kernels must follow. The result has the same bytes for any order and
 * grouping of the pieces. The old elements of the output, which are NaN here, are not read. */
#ifndef CPU_KERNELS_H
#define CPU_KERNELS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/backends/cpu/isa.h"
#include "forge/core/dtype.h"
#include "forge/reference/reference.h"
#include "support/views.h"

#define EACH_ISA(isa)                                                                                        \
    for (enum isa isa = 0; isa < ISA_COUNT; isa++)                                                           \
        if (isa_is_here(isa))

/* Returns a random number between -1 and 1; all mantissa bits are random. */
static inline double random_number(void)
{
    return (double)(int64_t)random_bits() * 0x1p-63;
}

static inline void *random_floats(forge_dtype dtype, size_t count)
{
    char *data = malloc(count * 8 + 1);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++) {
        double number = random_number();
        dtype_row(dtype)->store(data, i, 1, &number);
    }
    return data;
}

/* The storage types of weights. The first CACHE_TYPES are also types of caches of keys and values. */
enum { CACHE_TYPES = 4, WEIGHT_TYPES = 7 };
static const forge_dtype storage_types[WEIGHT_TYPES] __attribute__((unused)) = {
    FORGE_F32, FORGE_F16, FORGE_BF16, FORGE_Q8_0, FORGE_Q4_0, FORGE_Q4_K, FORGE_Q6_K};

/* Returns random elements of `dtype` between -size and size. count: whole blocks. The caller frees them. */
static inline void *new_elements(forge_dtype dtype, size_t count, double size)
{
    double *numbers = malloc(count * sizeof *numbers + 1);
    void *elements = malloc(forge_dtype_size_bytes(dtype, count) + 1);
    assert_true(numbers && elements);
    for (size_t i = 0; i < count; i++)
        numbers[i] = size * random_number();
    dtype_row(dtype)->store(elements, 0, count, numbers);
    free(numbers);
    return elements;
}

/* Returns the kernel of a table that a device would choose. NULL means the reference kernel. */
static inline const struct cpu_kernel *kernel_in(const struct cpu_kernel *table, const struct launch *launch)
{
    for (const struct cpu_kernel *kernel = table; kernel->name; kernel++)
        if (kernel_takes(kernel, launch))
            return kernel;
    return NULL;
}

static inline const struct cpu_kernel *kernel_for(enum isa isa, const struct launch *launch)
{
    return kernel_in(isa_kernels(isa), launch);
}

static inline void run_some(const struct cpu_kernel *kernel, const struct launch *launch, int round,
                            size_t first, size_t end, void *shared)
{
    static _Alignas(64) unsigned char scratch[KERNEL_SCRATCH_BYTES];
    if (kernel->run_shared[round])
        kernel->run_shared[round](launch, first, end, shared, scratch);
    else if (kernel->run_in)
        kernel->run_in(launch, first, end, scratch);
    else
        kernel->run(launch, first, end);
}

/* Runs all pieces at once, or from the last to the first in groups of unequal size. The pieces' shared memory
 * is filled with NaN before. */
static inline void run_rounds(const struct cpu_kernel *kernel, const struct launch *launch, bool is_cut)
{
    size_t grain, bytes = kernel->shared_bytes ? kernel->shared_bytes(launch) : 0;
    void *shared = malloc(bytes + 1);
    assert_non_null(shared);
    memset(shared, 0xff, bytes);
    for (int round = 0; round < (kernel->second_pieces ? 2 : 1); round++) {
        size_t pieces = (round ? kernel->second_pieces : kernel->pieces)(launch, &grain);
        assert_true(grain > 0);
        if (!is_cut)
            run_some(kernel, launch, round, 0, pieces, shared);
        for (size_t end = pieces, first, group = 1; is_cut && end > 0; end = first, group = group % 3 + 1) {
            first = end > group ? end - group : 0;
            run_some(kernel, launch, round, first, end, shared);
        }
    }
    free(shared);
}

/* Runs the kernel twice and asserts equal results. The first run computes all pieces at once into memory full
 * of NaN. The second computes them from the last to the first, in groups of unequal size. */
static inline void run_one_kernel(const struct cpu_kernel *kernel, const struct launch *launch)
{
    struct view again[4];
    struct launch second = *launch;
    second.outputs = again;
    for (size_t k = 0; k < launch->output_count; k++) {
        size_t bytes = view_size_bytes(&launch->outputs[k]);
        again[k] = launch->outputs[k];
        again[k].data = malloc(bytes + 1);
        assert_non_null(again[k].data);
        memset(again[k].data, 0x7f, bytes);
        memset(launch->outputs[k].data, 0xff, bytes);
    }
    run_rounds(kernel, launch, false);
    run_rounds(kernel, &second, true);
    for (size_t k = 0; k < launch->output_count; k++) {
        assert_memory_equal(again[k].data, launch->outputs[k].data, view_size_bytes(&again[k]));
        free(again[k].data);
    }
}

static inline void run_kernel(enum isa isa, const struct launch *launch)
{
    run_one_kernel(kernel_for(isa, launch), launch);
}

#endif
