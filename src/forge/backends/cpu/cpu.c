/* backends/cpu/cpu.c - the CPU as a device.
 *
 * Owns its threads and the running of launches on them. Newcomers: subnormal numbers are flushed to zero while launches
 * run, in every thread, and the caller's own setting comes back afterwards.
 */
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "forge/backends/cpu/kernel.h"
#include "forge/hal/device.h"

struct cpu {
    struct forge_device device;
    struct pool *pool;
};

static joule_status cpu_open(forge_device **out_device, joule_error *out_error)
{
    struct cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return error_set(out_error, JOULE_NO_MEMORY, "memory for a device is used up");
    cpu->device.ops = &cpu_ops;
    joule_status status = pool_create(NULL, &cpu->pool, out_error);
    if (status == JOULE_OK)
        *out_device = &cpu->device;
    else
        free(cpu);
    return status;
}

static void cpu_close(forge_device *device)
{
    struct cpu *cpu = (struct cpu *)device;
    pool_free(cpu->pool);
    free(cpu);
}

static joule_status cpu_allocate(forge_device *device, size_t size_bytes, forge_buffer **out_buffer,
                                 joule_error *out_error)
{
    (void)device;
    return forge_buffer_new(size_bytes, out_buffer, out_error);
}

static joule_status cpu_select(forge_device *device, const struct launch *launch,
                               struct selection *out_selection)
{
    (void)device;
    for (const struct cpu_kernel *kernel = cpu_kernels; kernel->name; kernel++) {
        if (kernel->op != launch->op || (kernel->takes && !kernel->takes(launch)))
            continue;
        *out_selection = (struct selection){kernel->name, kernel->in_place};
        return JOULE_OK;
    }
    return JOULE_UNSUPPORTED;
}

static const void *cpu_find_kernel(forge_device *device, const char *name)
{
    (void)device;
    for (const struct cpu_kernel *kernel = cpu_kernels; kernel->name; kernel++)
        if (strcmp(kernel->name, name) == 0)
            return kernel;
    return NULL;
}

/* --- running ------------------------------------------------------------------------------------------------ */

#if defined(__SSE2__)
#define FLUSH_TO_ZERO       0x8000u
#define SUBNORMALS_ARE_ZERO 0x0040u

static unsigned flush_subnormals(void)
{
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | FLUSH_TO_ZERO | SUBNORMALS_ARE_ZERO);
    return before;
}

static void restore_subnormals(unsigned before)
{
    _mm_setcsr(before);
}
#else
static unsigned flush_subnormals(void)
{
    return 0;
}

static void restore_subnormals(unsigned before)
{
    (void)before;
}
#endif

static void run_pieces(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct bound_launch *bound = context;
    (void)worker;
    unsigned before = flush_subnormals();
    ((const struct cpu_kernel *)bound->kernel)->run(&bound->launch, begin, end);
    restore_subnormals(before);
}

static joule_status cpu_run(forge_device *device, const struct bound_launch *launches, size_t count,
                            int64_t *ends_ns, joule_error *out_error)
{
    struct cpu *cpu = (struct cpu *)device;
    (void)out_error;
    for (size_t i = 0; i < count; i++) {
        const struct cpu_kernel *kernel = launches[i].kernel;
        size_t grain, pieces = kernel->pieces(&launches[i].launch, &grain);
        if (pieces <= grain)
            run_pieces((void *)&launches[i], 0, pieces, 0);
        else
            parallel_for(cpu->pool, pieces, grain, run_pieces, (void *)&launches[i]);
        ends_ns[i] = clock_now_ns();
    }
    return JOULE_OK;
}

static joule_status cpu_set_threads(forge_device *device, unsigned threads, joule_error *out_error)
{
    return pool_resize(((struct cpu *)device)->pool, threads, out_error);
}

const struct device_ops cpu_ops = {.name = "cpu",
                                   .energy = JOULE_CPU,
                                   .open = cpu_open,
                                   .close = cpu_close,
                                   .allocate = cpu_allocate,
                                   .select = cpu_select,
                                   .find_kernel = cpu_find_kernel,
                                   .run = cpu_run,
                                   .set_threads = cpu_set_threads};
