/* backends/estimated/estimated_device.c - a device that runs nothing and estimates the time and energy of
 * launches.
 *
 * The device has a simulated clock and energy counter. Its memory has addresses that must not be accessed.
 * machine.c estimates launches. The device "cpu" selects the kernels, so a program that is compiled for one
 * of these two devices also runs on the other. The environment variable FORGE_MACHINE replaces figures of
 * this machine, to describe another machine.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/backends/estimated/machine.h"
#include "forge/backends/estimated/reference_rates.h"
#include "forge/hal/backend.h"

struct estimated {
    struct forge_device device;
    forge_device *cpu;    /* selects kernels */
    pthread_mutex_t lock; /* protects all following members */
    struct machine machine;
    double now_s;
    struct expected consumed; /* expected cost since estimated_reset */
    struct expected last;     /* expected cost of the last run */
};

/* --- open, close ---------------------------------------------------------------------------------------- */

static joule_status describe(struct estimated *e, joule_error *error)
{
    forge_device_facts facts = {.struct_size = sizeof facts};
    const char *given = getenv("FORGE_MACHINE");
    joule_status status = forge_device_query(e->cpu, &facts);
    if (status == JOULE_OK)
        status = machine_of_cpu(&facts, &e->machine, error);
    return status == JOULE_OK && given ? machine_read(&e->machine, given, error) : status;
}

static void estimated_close(forge_device *device)
{
    struct estimated *e = (struct estimated *)device;
    forge_device_close(e->cpu);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

static joule_status estimated_open(forge_device **out_device, joule_error *out_error)
{
    struct estimated *e = calloc(1, sizeof *e);
    if (!e)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot open a device: out of memory");
    e->device.ops = &estimated_ops;
    pthread_mutex_init(&e->lock, NULL);
    joule_status status = forge_device_open("cpu", &e->cpu, out_error);
    if (status == JOULE_OK)
        status = describe(e, out_error);
    if (status == JOULE_OK)
        *out_device = &e->device;
    else
        estimated_close(&e->device);
    return status;
}

static joule_status estimated_set_threads(forge_device *device, unsigned threads, joule_error *out_error)
{
    struct estimated *e = (struct estimated *)device;
    pthread_mutex_lock(&e->lock);
    joule_status status = forge_device_set_threads(e->cpu, threads, out_error);
    if (status == JOULE_OK)
        status = describe(e, out_error);
    pthread_mutex_unlock(&e->lock);
    return status;
}

static void estimated_query(forge_device *device, forge_device_facts *out_facts)
{
    struct estimated *e = (struct estimated *)device;
    forge_device_facts cpu = {.struct_size = sizeof cpu};
    pthread_mutex_lock(&e->lock);
    forge_device_query(e->cpu, &cpu);
    out_facts->threads = cpu.threads;
    out_facts->is_estimate_only = true;
    for (int i = 0, count = 0; i < FIGURES; i++)
        if (isfinite(e->machine.figures[i].value))
            out_facts->figures[count++] = machine_figure(&e->machine, (enum figure)i);
    pthread_mutex_unlock(&e->lock);
}

/* --- memory without bytes ------------------------------------------------------------------------------- */

struct range {
    void *start;
    size_t size_bytes;
};

static void give_back(void *context)
{
    struct range *range = context;
    munmap(range->start, range->size_bytes);
    free(range);
}

/* The memory is PROT_NONE, so that an access by mistake causes a fault instead of reading zeros. */
static joule_status estimated_allocate(forge_device *device, size_t size_bytes, forge_buffer **out_buffer,
                                       joule_error *out_error)
{
    (void)device;
    struct range *range = malloc(sizeof *range);
    size_t size = size_bytes ? size_bytes : 1;
    void *start =
        range ? mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;
    if (start == MAP_FAILED) {
        free(range);
        return error_set(out_error, JOULE_NO_MEMORY,
                         "cannot reserve %zu bytes of address space: out of memory", size_bytes);
    }
    *range = (struct range){start, size};
    joule_status status = forge_buffer_wrap(start, size_bytes, give_back, range, out_buffer, out_error);
    if (status != JOULE_OK)
        give_back(range);
    return status;
}

/* --- kernels -------------------------------------------------------------------------------------------- */

static joule_status estimated_select(forge_device *device, const struct launch *launch,
                                     struct selection *out_selection)
{
    const struct estimated *e = (const struct estimated *)device;
    return e->cpu->ops->select(e->cpu, launch, out_selection);
}

static const void *estimated_find_kernel(forge_device *device, const char *name, const struct launch *launch)
{
    const struct estimated *e = (const struct estimated *)device;
    return e->cpu->ops->find_kernel(e->cpu, name, launch);
}

/* --- estimates ------------------------------------------------------------------------------------------ */

static void expect_launch(forge_device *device, const struct bound_launch *launch,
                          struct expected *out_expected)
{
    const struct estimated *e = (const struct estimated *)device;
    struct selection selection;
    bool is_plain = e->cpu->ops->select(e->cpu, &launch->launch, &selection) == JOULE_OK &&
                    string_starts(selection.kernel, "reference_");
    struct machine_work work = {.cost = launch->cost,
                                .is_double = launch->launch.outputs[0].dtype == FORGE_F64,
                                .cores = launch->cores,
                                .plain_units =
                                    is_plain ? reference_units(&launch->launch, &launch->cost) : 0};
    machine_expect(&e->machine, &work, out_expected);
}

static int64_t now_ns(const struct estimated *e)
{
    return llround(e->now_s * 1e9);
}

static joule_status estimated_run(forge_device *device, const struct bound_launch *launches, size_t count,
                                  int64_t *ends_ns, joule_error *out_error)
{
    struct estimated *e = (struct estimated *)device;
    (void)out_error;
    pthread_mutex_lock(&e->lock);
    e->last = (struct expected){0};
    for (size_t i = 0; i < count; i++) {
        struct expected launch;
        expect_launch(device, &launches[i], &launch);
        expected_add(&e->last, 1, &launch);
        e->now_s += launch.seconds;
        ends_ns[i] = now_ns(e);
    }
    expected_add(&e->consumed, 1, &e->last);
    pthread_mutex_unlock(&e->lock);
    return JOULE_OK;
}

static int64_t estimated_now_ns(forge_device *device)
{
    struct estimated *e = (struct estimated *)device;
    pthread_mutex_lock(&e->lock);
    int64_t now = now_ns(e);
    pthread_mutex_unlock(&e->lock);
    return now;
}

static void estimated_reset(forge_device *device)
{
    struct estimated *e = (struct estimated *)device;
    pthread_mutex_lock(&e->lock);
    e->consumed = (struct expected){0};
    pthread_mutex_unlock(&e->lock);
}

static joule_quantity estimated_consumed(forge_device *device)
{
    struct estimated *e = (struct estimated *)device;
    pthread_mutex_lock(&e->lock);
    joule_quantity joules = expected_joules(&e->consumed);
    pthread_mutex_unlock(&e->lock);
    return joules;
}

static joule_quantity estimated_power(forge_device *device)
{
    struct estimated *e = (struct estimated *)device;
    pthread_mutex_lock(&e->lock);
    joule_quantity watts =
        e->last.seconds > 0 ? expected_watts(&e->last) : machine_figure(&e->machine, FIGURE_IDLE_WATTS).value;
    pthread_mutex_unlock(&e->lock);
    return watts;
}

/* --- schedules ------------------------------------------------------------------------------------------ */

static joule_status estimated_rates(forge_device *device, struct device_rates *out_rates,
                                    joule_error *out_error)
{
    struct estimated *e = (struct estimated *)device;
    (void)out_error;
    pthread_mutex_lock(&e->lock);
    *out_rates = machine_rates(&e->machine);
    pthread_mutex_unlock(&e->lock);
    return JOULE_OK;
}

/* The rate of reference kernels is infinite for another machine, unless it is given. */
static void estimated_work(forge_device *device, const struct launch *launch, const struct program_cost *cost,
                           struct launch_work *out_work)
{
    struct estimated *e = (struct estimated *)device;
    e->cpu->ops->work(e->cpu, launch, cost, out_work);
    pthread_mutex_lock(&e->lock);
    double core_rate = e->machine.figures[FIGURE_PLAIN_RATE].value / e->machine.cores.cores;
    pthread_mutex_unlock(&e->lock);
    out_work->plain_s *= 1 / REFERENCE_UNIT_SECONDS / core_rate;
}

static const struct expect_ops expect = {.launch = expect_launch,
                                         .now_ns = estimated_now_ns,
                                         .reset = estimated_reset,
                                         .consumed_joules = estimated_consumed,
                                         .power_watts = estimated_power};

const struct device_ops estimated_ops = {.name = "estimated",
                                         .energy = JOULE_CPU,
                                         .open = estimated_open,
                                         .close = estimated_close,
                                         .allocate = estimated_allocate,
                                         .select = estimated_select,
                                         .find_kernel = estimated_find_kernel,
                                         .run = estimated_run,
                                         .rates = estimated_rates,
                                         .work = estimated_work,
                                         .set_threads = estimated_set_threads,
                                         .query = estimated_query,
                                         .expect = &expect};
