/* backends/cpu/cpu.c - the CPU as a device: its threads, their scratch memory, and the execution of launches.
 *
 * A device executes one call at a time; other callers wait.
 * Note: while pieces run, subnormal numbers are flushed to zero in each thread. After each call, the thread's
 * setting is restored.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"
#include "base/thread.h"
#include "forge/backends/cpu/compiled.h"
#include "forge/backends/estimated/machine.h"
#include "forge/backends/estimated/reference_rates.h"
#include "forge/hal/backend.h"

/* Time for which an idle thread waits before it sleeps. Usually the next launch begins earlier, and waking a
 * thread takes about as long. */
#define SPIN_NS 50000

struct cpu {
    struct forge_device device;
    enum isa isa;
    /* in order of preference: kernels of the instruction set, reference kernels */
    const struct cpu_kernel *tables[2];
    struct compiled *compiled; /* has a lock of its own */
    pthread_mutex_t lock;      /* protects all following members */
    struct pool *pool;
    void **scratches; /* one block of KERNEL_SCRATCH_BYTES per thread */
    unsigned scratch_count;
    /* memory for data that the first round of a launch passes to the second; all threads use it */
    void *shared;
    size_t shared_bytes;
};

/* --- threads -------------------------------------------------------------------------------------------- */

/* Ensures that each thread has a scratch block. Returns false if out of memory. */
static bool add_scratches(struct cpu *cpu)
{
    unsigned wanted = pool_width(cpu->pool);
    if (wanted <= cpu->scratch_count)
        return true;
    void **grown = realloc(cpu->scratches, wanted * sizeof *grown);
    if (!grown)
        return false;
    cpu->scratches = grown;
    while (cpu->scratch_count < wanted) {
        void *scratch = aligned_alloc(64, KERNEL_SCRATCH_BYTES);
        if (!scratch)
            return false;
        cpu->scratches[cpu->scratch_count++] = scratch;
    }
    return true;
}

/* Grows the shared memory to at least `bytes`, for a kernel that is being bound. Returns false if out of
 * memory. */
static bool make_shared(struct cpu *cpu, size_t bytes)
{
    pthread_mutex_lock(&cpu->lock);
    if (bytes > cpu->shared_bytes) {
        size_t whole = (bytes + 63) / 64 * 64;
        void *grown = aligned_alloc(64, whole);
        if (grown) {
            free(cpu->shared);
            cpu->shared = grown;
            cpu->shared_bytes = whole;
        }
    }
    bool is_there = bytes <= cpu->shared_bytes;
    pthread_mutex_unlock(&cpu->lock);
    return is_there;
}

static joule_status set_threads(struct cpu *cpu, unsigned threads, joule_error *error)
{
    joule_status status = pool_resize(cpu->pool, threads, error);
    if (add_scratches(cpu))
        return status;
    pool_resize(cpu->pool, cpu->scratch_count ? cpu->scratch_count : 1, NULL);
    return error_set(error, JOULE_NO_MEMORY, "cannot run %u threads: out of memory", threads);
}

static joule_status cpu_set_threads(forge_device *device, unsigned threads, joule_error *out_error)
{
    struct cpu *cpu = (struct cpu *)device;
    pthread_mutex_lock(&cpu->lock);
    joule_status status = set_threads(cpu, threads, out_error);
    pthread_mutex_unlock(&cpu->lock);
    return status;
}

/* --- open, close ---------------------------------------------------------------------------------------- */

static void cpu_close(forge_device *device)
{
    struct cpu *cpu = (struct cpu *)device;
    pool_free(cpu->pool);
    compiled_free(cpu->compiled);
    for (unsigned i = 0; i < cpu->scratch_count; i++)
        free(cpu->scratches[i]);
    free(cpu->scratches);
    free(cpu->shared);
    pthread_mutex_destroy(&cpu->lock);
    free(cpu);
}

static joule_status cpu_open(forge_device **out_device, joule_error *out_error)
{
    enum isa isa;
    joule_status status = isa_choose(getenv("FORGE_ISA"), &isa, out_error);
    if (status != JOULE_OK)
        return status;
    struct cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot open a device: out of memory");
    cpu->device.ops = &cpu_ops;
    cpu->isa = isa;
    cpu->tables[0] = isa_kernels(isa);
    cpu->tables[1] = reference_kernels;
    pthread_mutex_init(&cpu->lock, NULL);
    status = pool_create(&(struct pool_options){.spin_ns = SPIN_NS}, &cpu->pool, out_error);
    cpu->compiled = compiled_new(isa);
    if (status == JOULE_OK && !cpu->compiled)
        status = error_set(out_error, JOULE_NO_MEMORY, "cannot open a device: out of memory");
    if (status == JOULE_OK && !add_scratches(cpu))
        status = error_set(out_error, JOULE_NO_MEMORY, "cannot start threads: out of memory");
    if (status == JOULE_OK)
        *out_device = &cpu->device;
    else
        cpu_close(&cpu->device);
    return status;
}

static void cpu_query(forge_device *device, forge_device_facts *out_facts)
{
    _Static_assert(ISA_COUNT <= FORGE_MAX_INSTRUCTION_SETS, "the public list has room");
    const struct cpu *cpu = (const struct cpu *)device;
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    out_facts->threads = pool_width(cpu->pool);
    if (pages > 0 && page_bytes > 0)
        out_facts->memory_bytes = (uint64_t)pages * (uint64_t)page_bytes;
    for (enum isa isa = 0; isa < ISA_COUNT; isa++)
        out_facts->instruction_sets[isa] =
            (forge_instruction_set){isa_name(isa), isa_is_here(isa), isa == cpu->isa};
}

static joule_status cpu_allocate(forge_device *device, size_t size_bytes, forge_buffer **out_buffer,
                                 joule_error *out_error)
{
    (void)device;
    return forge_buffer_new(size_bytes, out_buffer, out_error);
}

/* --- kernels -------------------------------------------------------------------------------------------- */

/* Returns the preferred kernel for the launch, or NULL if there is none. */
static const struct cpu_kernel *find_taker(const struct cpu *cpu, const struct launch *launch)
{
    for (size_t i = 0; i < sizeof cpu->tables / sizeof *cpu->tables; i++)
        for (const struct cpu_kernel *kernel = cpu->tables[i]; kernel->name; kernel++)
            if (kernel_takes(kernel, launch))
                return kernel;
    return NULL;
}

static joule_status cpu_select(forge_device *device, const struct launch *launch,
                               struct selection *out_selection)
{
    const struct cpu_kernel *kernel = find_taker((const struct cpu *)device, launch);
    if (!kernel)
        return JOULE_UNSUPPORTED;
    *out_selection = (struct selection){kernel->name, kernel->in_place};
    return JOULE_OK;
}

/* Returns true if no two outputs have the same address, and the kernel allows each output to overwrite the
 * inputs that have its address. */
static bool allows_overlaps(const struct cpu_kernel *kernel, const struct launch *launch)
{
    for (size_t k = 0; k < launch->output_count; k++) {
        const struct view *output = &launch->outputs[k];
        if (forge_shape_elements(&output->shape) == 0)
            continue;
        for (size_t i = 0; i < launch->input_count; i++)
            if (launch->inputs[i].data == output->data && forge_shape_elements(&launch->inputs[i].shape) &&
                !in_place_may(kernel->in_place, k, i))
                return false;
        for (size_t i = 0; i < k; i++)
            if (launch->outputs[i].data == output->data)
                return false;
    }
    return true;
}

static const void *cpu_find_kernel(forge_device *device, const char *name, const struct launch *launch)
{
    struct cpu *cpu = (struct cpu *)device;
    for (size_t i = 0; i < sizeof cpu->tables / sizeof *cpu->tables; i++)
        for (const struct cpu_kernel *kernel = cpu->tables[i]; kernel->name; kernel++)
            if (strcmp(kernel->name, name) == 0 && kernel_takes(kernel, launch) &&
                allows_overlaps(kernel, launch))
                return make_shared(cpu, kernel->shared_bytes ? kernel->shared_bytes(launch) : 0) ? kernel
                                                                                                 : NULL;
    return NULL;
}

static const void *cpu_compile(forge_device *device, const struct launch *launch)
{
    return (const void *)compiled_find(((struct cpu *)device)->compiled, launch);
}

static joule_status cpu_set_compiled(forge_device *device, bool is_on, joule_error *out_error)
{
    return compiled_set(((struct cpu *)device)->compiled, is_on, out_error);
}

static void cpu_query_compiled(forge_device *device, forge_compiled_facts *out_facts)
{
    compiled_query(((struct cpu *)device)->compiled, out_facts);
}

/* --- schedules ------------------------------------------------------------------------------------------ */

static joule_status cpu_rates(forge_device *device, struct device_rates *out_rates, joule_error *out_error)
{
    forge_device_facts facts = {.struct_size = sizeof facts};
    struct machine machine;
    cpu_query(device, &facts);
    joule_status status = machine_of_cpu(&facts, &machine, out_error);
    if (status == JOULE_OK)
        *out_rates = machine_rates(&machine);
    return status;
}

static void cpu_work(forge_device *device, const struct launch *launch, const struct program_cost *cost,
                     struct launch_work *out_work)
{
    const struct cpu *cpu = (const struct cpu *)device;
    const struct cpu_kernel *kernel = find_taker(cpu, launch);
    *out_work = (struct launch_work){.parts = 1};
    if (!kernel)
        return;
    size_t grain, pieces = (kernel->second_pieces ? kernel->second_pieces : kernel->pieces)(launch, &grain);
    if (pieces && grain)
        out_work->parts = (pieces - 1) / grain + 1;
    if (string_starts(kernel->name, "reference_"))
        out_work->plain_s = reference_units(launch, cost) * REFERENCE_UNIT_SECONDS;
}

/* --- running -------------------------------------------------------------------------------------------- */

#if defined(__SSE2__)
#define FLUSH_TO_ZERO       0x8000u
#define SUBNORMALS_ARE_ZERO 0x0040u

static unsigned flush_subnormals(void)
{
    unsigned old_csr = _mm_getcsr();
    _mm_setcsr(old_csr | FLUSH_TO_ZERO | SUBNORMALS_ARE_ZERO);
    return old_csr;
}

static void restore_subnormals(unsigned old_csr)
{
    _mm_setcsr(old_csr);
}
#elif defined(__aarch64__)
#define FLUSH_TO_ZERO (UINT64_C(1) << 24) /* FZ: for operands and results, in f32 and f64 */

static unsigned flush_subnormals(void)
{
    uint64_t old_fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(old_fpcr));
    __asm__ volatile("msr fpcr, %0" : : "r"(old_fpcr | FLUSH_TO_ZERO));
    return (unsigned)old_fpcr; /* the upper half is reserved, and 0 */
}

static void restore_subnormals(unsigned old_fpcr)
{
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)old_fpcr));
}
#else
static unsigned flush_subnormals(void)
{
    return 0;
}

static void restore_subnormals(unsigned old_csr)
{
    (void)old_csr;
}
#endif

/* The arguments of run_pieces: a launch, and the memory for its threads. */
struct work {
    const struct bound_launch *bound;
    void **scratches;
    void *shared;
    int round;
};

static void run_pieces(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct work *work = context;
    const struct cpu_kernel *kernel = work->bound->kernel;
    unsigned old_csr = flush_subnormals();
    if (kernel->run_shared[work->round])
        kernel->run_shared[work->round](&work->bound->launch, begin, end, work->shared,
                                        work->scratches[worker]);
    else if (kernel->run_in)
        kernel->run_in(&work->bound->launch, begin, end, work->scratches[worker]);
    else
        kernel->run(&work->bound->launch, begin, end);
    restore_subnormals(old_csr);
}

static void run_round(struct cpu *cpu, const struct bound_launch *bound, int round)
{
    const struct cpu_kernel *kernel = bound->kernel;
    struct work work = {bound, cpu->scratches, cpu->shared, round};
    size_t grain, pieces = (round ? kernel->second_pieces : kernel->pieces)(&bound->launch, &grain);
    if (pieces <= grain || bound->cores == 1 || pool_width(cpu->pool) == 1)
        run_pieces(&work, 0, pieces, 0);
    else
        parallel_for_few(cpu->pool, bound->cores, pieces, grain, run_pieces, &work);
}

static joule_status cpu_run(forge_device *device, const struct bound_launch *launches, size_t count,
                            int64_t *ends_ns, joule_error *out_error)
{
    struct cpu *cpu = (struct cpu *)device;
    (void)out_error;
    pthread_mutex_lock(&cpu->lock);
    for (size_t i = 0; i < count; i++) {
        const struct cpu_kernel *kernel = launches[i].kernel;
        run_round(cpu, &launches[i], 0);
        if (kernel->second_pieces)
            run_round(cpu, &launches[i], 1);
        ends_ns[i] = clock_now_ns();
    }
    pthread_mutex_unlock(&cpu->lock);
    return JOULE_OK;
}

/* --- repacked inputs ------------------------------------------------------------------------------------ */

static size_t cpu_repacked_bytes(forge_device *device, const struct bound_launch *bound, size_t input)
{
    const struct cpu_kernel *kernel = bound->kernel;
    (void)device;
    return input == 1 && kernel->repacked_bytes ? kernel->repacked_bytes(&bound->launch) : 0;
}

/* The arguments of repack_pieces: a launch, and the memory of the copy. */
struct repacking {
    const struct bound_launch *bound;
    void *copy;
};

static void repack_pieces(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct repacking *work = context;
    const struct cpu_kernel *kernel = work->bound->kernel;
    (void)worker;
    kernel->repack(&work->bound->launch, begin, end, work->copy);
}

static void cpu_repack(forge_device *device, const struct bound_launch *bound, size_t input, void *out_copy)
{
    struct cpu *cpu = (struct cpu *)device;
    const struct cpu_kernel *kernel = bound->kernel;
    struct repacking work = {bound, out_copy};
    size_t grain,
        pieces = (kernel->second_pieces ? kernel->second_pieces : kernel->pieces)(&bound->launch, &grain);
    (void)input;
    pthread_mutex_lock(&cpu->lock);
    parallel_for(cpu->pool, pieces, grain, repack_pieces, &work);
    pthread_mutex_unlock(&cpu->lock);
}

const struct device_ops cpu_ops = {.name = "cpu",
                                   .energy = JOULE_CPU,
                                   .open = cpu_open,
                                   .close = cpu_close,
                                   .allocate = cpu_allocate,
                                   .select = cpu_select,
                                   .find_kernel = cpu_find_kernel,
                                   .run = cpu_run,
                                   .repacked_bytes = cpu_repacked_bytes,
                                   .repack = cpu_repack,
                                   .rates = cpu_rates,
                                   .work = cpu_work,
                                   .compile = cpu_compile,
                                   .set_compiled = cpu_set_compiled,
                                   .query_compiled = cpu_query_compiled,
                                   .set_threads = cpu_set_threads,
                                   .query = cpu_query};
