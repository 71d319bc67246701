/* tools/joule/calibrate/measure_kernels.c - see measure_kernels.h. */
#include "calibrate/measure_kernels.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"
#include "joule/host/host.h"

#define MAX_REPEATS 16
/* time between two readings of the clock: shorter than disturbances, longer than a reading */
#define PIECE_S       0.003
#define MAX_PIECES    4096
#define CLOCK_S       0.001
#define CLOCK_ROUNDS  3000 /* rounds for the first estimate of the clock */
#define TICK_WAIT_S   0.002
#define TICK_WAITS    200
#define SENSOR_WAIT_S 0.5
/* Maximum relative spread of repeats. Kernels with a greater spread are repeated again, at most as often as
 * before. */
#define STEADY 0.05

struct state {
    struct measured *out;
    const struct effort *effort;
    const volatile sig_atomic_t *stopped;
    struct kernel_memory memory;
    joule_meter *meter;                           /* NULL: no sensor */
    const struct kernel *kernel[FIT_MAX_KERNELS]; /* the kernels that run here */
    double rounds_a_second[FIT_MAX_KERNELS];
    struct repeats {
        unsigned count;
        double cycles[MAX_REPEATS], joules[MAX_REPEATS], seconds[MAX_REPEATS];
    } repeats[FIT_MAX_KERNELS];
    double hz[FIT_MAX_KERNELS * MAX_REPEATS];
    size_t hz_count;
    size_t kernel_count; /* number of kernels; also the index of idle time, if measured */
    int64_t begin_ns;
};

/* --- clocks and statistics ------------------------------------------------------------------------------ */

static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void sleep_seconds(double seconds)
{
    struct timespec left = clock_timespec((int64_t)(seconds * 1e9));
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the values and returns their median. */
static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count ? (values[(count - 1) / 2] + values[count / 2]) / 2 : NAN;
}

/* Sorts the values and returns their 10 % quantile, because disturbances by other work only increase them. */
static double low_quantile(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 10];
}

/* Returns the relative standard deviation of sorted values, estimated from the interquartile range. */
static double spread(const double *ordered, size_t count)
{
    double middle = (ordered[(count - 1) / 2] + ordered[count / 2]) / 2;
    return count < 3 ? INFINITY : (ordered[count - 1 - count / 4] - ordered[count / 4]) / 1.349 / middle;
}

/* --- one kernel ----------------------------------------------------------------------------------------- */

static struct kernel_state *kernel_state_of(struct state *s, size_t index)
{
    return &s->memory.of[s->kernel[index] - kernels];
}

/* Runs a kernel and returns the CPU time in seconds. */
static double run(struct state *s, size_t index, double rounds)
{
    double begin = thread_seconds();
    s->kernel[index]->run(kernel_state_of(s, index), rounds >= 1 ? (uint64_t)rounds : 1);
    return thread_seconds() - begin;
}

/* Returns the current clock in Hz, measured with the first kernel, whose additions take one cycle each. */
static double measure_clock(struct state *s)
{
    double rounds = CLOCK_ROUNDS, best = 0;
    rounds = floor(rounds * CLOCK_S / 3 / fmax(run(s, 0, rounds), 1e-7));
    for (int i = 0; i < 3; i++)
        best = fmax(best, rounds * kernels[0].times / run(s, 0, rounds));
    return best;
}

/* Estimates rounds per second, and loads the data into the caches. */
static void warm_up(struct state *s, size_t index)
{
    double rounds = 1, seconds = 0;
    while (seconds < PIECE_S && rounds < 1e12) {
        seconds = run(s, index, rounds);
        s->rounds_a_second[index] = rounds / fmax(seconds, 1e-9);
        rounds *= seconds < PIECE_S / 10 ? 8 : 2;
    }
}

/* Waits for the sensor's reading. Sets *out to the measured joules, or to NaN and returns false if there are
 * none. */
static bool take_joules(struct state *s, int64_t begin_ns, int64_t end_ns, double *out)
{
    joule_quantity joules = {.value = NAN};
    for (int i = 0; i < TICK_WAITS; i++) {
        joule_sample_now(s->meter);
        if (joule_window_joules(s->meter, JOULE_CPU, begin_ns, end_ns, &joules, NULL) != JOULE_PENDING)
            break;
        sleep_seconds(TICK_WAIT_S);
    }
    bool is_measured = joules.cls == JOULE_CLASS_MEASURED || joules.cls == JOULE_CLASS_DERIVED;
    *out = is_measured ? joules.value : NAN;
    return is_measured;
}

/* Returns true if the kernel has used effort->min_joules since begin_ns, or if no minimum applies. */
static bool has_joules(struct state *s, int64_t begin_ns)
{
    joule_quantity joules;
    if (!s->meter || s->effort->min_joules <= 0)
        return true;
    joule_sample_now(s->meter);
    joule_window_joules(s->meter, JOULE_CPU, begin_ns, clock_now_ns(), &joules, NULL);
    return joules.value >= s->effort->min_joules;
}

/* Measures one repeat of a kernel. Returns false if stopped. */
static bool measure_repeat(struct state *s, size_t index)
{
    struct repeats *r = &s->repeats[index];
    static double pieces[MAX_PIECES];
    size_t count = 0;
    double rounds = fmax(1, floor(s->rounds_a_second[index] * PIECE_S)), hz = measure_clock(s), wall = 0;
    run(s, index, rounds);
    int64_t begin_ns = clock_now_ns();
    uint64_t done = 0;
    while (wall < s->effort->seconds ||
           (wall < MAX_STRETCH * s->effort->seconds && !has_joules(s, begin_ns))) {
        double seconds = run(s, index, rounds);
        pieces[count++ % MAX_PIECES] = seconds / rounds;
        done++;
        wall = clock_seconds(clock_now_ns() - begin_ns);
        if (*s->stopped)
            return false;
    }
    int64_t end_ns = clock_now_ns();
    hz = (hz + measure_clock(s)) / 2;
    s->hz[s->hz_count++] = hz;
    r->cycles[r->count] = low_quantile(pieces, count < MAX_PIECES ? count : MAX_PIECES) * hz;
    r->seconds[r->count] = clock_seconds(end_ns - begin_ns) / ((double)done * rounds);
    if (s->meter && take_joules(s, begin_ns, end_ns, &r->joules[r->count]))
        r->joules[r->count] /= (double)done * rounds;
    r->count++;
    return true;
}

/* Measures one repeat of idle time. Its joules are those of one second. Returns false if stopped. */
static bool measure_idle(struct state *s)
{
    struct repeats *r = &s->repeats[s->kernel_count];
    int64_t begin_ns = clock_now_ns();
    while (clock_seconds(clock_now_ns() - begin_ns) < s->effort->seconds) {
        sleep_seconds(fmin(0.05, s->effort->seconds));
        if (*s->stopped)
            return false;
    }
    int64_t end_ns = clock_now_ns();
    double seconds = clock_seconds(end_ns - begin_ns);
    r->seconds[r->count] = 1;
    if (take_joules(s, begin_ns, end_ns, &r->joules[r->count]))
        r->joules[r->count] /= seconds;
    r->count++;
    return true;
}

/* Returns the median and the spread of the repeats. If there were additional repeats, uses only the lowest
 * ones, because the others were disturbed. */
static double typical(const struct state *s, const double *values, unsigned count, double *out_spread)
{
    double ordered[MAX_REPEATS];
    unsigned kept = count < s->effort->repeats ? count : s->effort->repeats;
    memcpy(ordered, values, count * sizeof *ordered);
    qsort(ordered, count, sizeof *ordered, by_value);
    *out_spread = spread(ordered, kept);
    return median(ordered, kept);
}

static bool is_steady(const struct state *s, size_t index)
{
    const struct repeats *r = &s->repeats[index];
    double cycles = 0, joules = 0;
    if (index < s->kernel_count)
        typical(s, r->cycles, r->count, &cycles);
    if (s->meter)
        typical(s, r->joules, r->count, &joules);
    return cycles <= STEADY && joules <= STEADY;
}

/* --- all kernels ---------------------------------------------------------------------------------------- */

static void print_progress(const struct state *s, unsigned number, size_t index, size_t of)
{
    static int64_t printed_ns;
    int64_t now = clock_now_ns();
    double done = fmin(((double)number + (double)index / (double)of) / s->effort->repeats, 1),
           past = clock_seconds(now - s->begin_ns);
    if (!s->effort->prints_progress || now - printed_ns < NS_PER_S / 5)
        return;
    printed_ns = now;
    fprintf(stderr, "\r\033[K%3.0f %%, %.0f s left: %s", 100 * done, done > 0 ? past / done - past : NAN,
            s->out->list[index].name);
}

static void shuffle(size_t *order, size_t count, uint64_t *state)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i-- > 1;) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        size_t j = (*state >> 33) % (i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* Measures each kernel once, in random order; `only_unsteady`: only those whose repeats differ. */
static bool run_once(struct state *s, unsigned number, bool only_unsteady, uint64_t *chance)
{
    size_t order[FIT_MAX_KERNELS], all = s->kernel_count + (s->meter != NULL);
    shuffle(order, all, chance);
    for (size_t i = 0; i < all; i++) {
        size_t index = order[i];
        if (only_unsteady && is_steady(s, index))
            continue;
        print_progress(s, number, i, all);
        if (index == s->kernel_count ? !measure_idle(s) : !measure_repeat(s, index))
            return false;
    }
    return true;
}

static bool run_all(struct state *s)
{
    uint64_t chance = (uint64_t)clock_now_ns();
    unsigned n = s->effort->repeats;
    for (size_t i = 0; i < s->kernel_count; i++) {
        warm_up(s, i);
        if (*s->stopped)
            return false;
    }
    s->begin_ns = clock_now_ns();
    for (unsigned number = 0; number < 2 * n; number++)
        if (!run_once(s, number, number >= n, &chance))
            return false;
    return true;
}

/* --- preparation and results ---------------------------------------------------------------------------- */

/* Pins the process to its last allowed CPU, because interrupts prefer the first. Returns the CPU, or -1. */
static int pin(void)
{
    cpu_set_t set;
    int cpu = -1;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return -1;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set))
            cpu = i;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? cpu : -1;
}

/* Opens a meter, and closes it again if it has no measured energy. Modelled energy does not suffice. */
static void find_sensor(struct state *s)
{
    joule_options options = {
        .struct_size = sizeof options, .flags = JOULE_OPEN_NO_SESSION, .wait_s = SENSOR_WAIT_S};
    joule_quantity joules = {.cls = JOULE_CLASS_NONE};
    if (!s->effort->has_energy || joule_open(&options, &s->meter, NULL) != JOULE_OK)
        return;
    sleep_seconds(SENSOR_WAIT_S);
    joule_sample_now(s->meter);
    joule_energy_joules(s->meter, JOULE_CPU, &joules);
    if ((joules.cls == JOULE_CLASS_MEASURED || joules.cls == JOULE_CLASS_DERIVED) && joules.value > 0) {
        s->out->energy_class = joules.cls;
        for (size_t i = 0; i < joule_domain_count(s->meter) && !*s->out->energy_source; i++) {
            joule_domain domain = {.struct_size = sizeof domain};
            joule_domain_get(s->meter, i, &domain);
            if (domain.cls == joules.cls && domain.state == JOULE_OK)
                string_copy(s->out->energy_source, sizeof s->out->energy_source, domain.source);
        }
        return;
    }
    joule_close(s->meter);
    s->meter = NULL;
}

/* Returns the temperature of the package in degrees Celsius, from the kernel's thermal zones; NaN:
 * unknown. */
static double temperature(void)
{
    struct joule_host *host = host_real();
    for (int i = 0; i < 64; i++) {
        char path[96], type[64];
        int64_t millidegrees;
        string_print(path, sizeof path, "/sys/class/thermal/thermal_zone%d/type", i);
        if (!host_read_text(host, path, type, sizeof type))
            return NAN;
        if (strcmp(type, "x86_pkg_temp") != 0 && !string_starts(type, "cpu"))
            continue;
        string_print(path, sizeof path, "/sys/class/thermal/thermal_zone%d/temp", i);
        if (host_read_text(host, path, type, sizeof type) && string_to_i64(type, 10, &millidegrees))
            return (double)millidegrees / 1000;
    }
    return NAN;
}

static void list_kernels(const struct cost_core *core, struct state *s)
{
    for (size_t i = 0; i < kernel_count && s->kernel_count < FIT_MAX_KERNELS - 1; i++)
        if (kernel_is_here(&kernels[i], core)) {
            kernel_describe(&kernels[i], &s->out->list[s->kernel_count]);
            s->kernel[s->kernel_count++] = &kernels[i];
        }
    s->out->list[s->kernel_count] =
        (struct fit_kernel){.name = "idle", .family = FIT_IDLE, .work.version = COST_VERSION};
}

static void summarize(struct state *s)
{
    struct measured *out = s->out;
    out->count = s->kernel_count + (s->meter != NULL);
    for (size_t i = 0; i < out->count; i++) {
        struct fit_kernel *k = &out->list[i];
        const struct repeats *r = &s->repeats[i];
        bool is_idle = i == s->kernel_count;
        k->cycles = is_idle ? NAN : typical(s, r->cycles, r->count, &k->cycles_log_sd);
        k->seconds = is_idle ? 1 : typical(s, r->seconds, r->count, &(double){0});
        k->joules = s->meter ? typical(s, r->joules, r->count, &k->joules_log_sd) : NAN;
    }
    double hz = median(s->hz, s->hz_count);
    out->hz_log_sd = spread(s->hz, s->hz_count);
    out->hz = (struct cost_term){hz, hz * exp(-Z90 * out->hz_log_sd), hz * exp(Z90 * out->hz_log_sd)};
}

joule_status measure_kernels(const struct cost_core *core, const struct effort *effort,
                             const volatile sig_atomic_t *stopped, struct measured *out,
                             joule_error *out_error)
{
    int64_t begin_ns = clock_now_ns();
    struct state *s = calloc(1, sizeof *s);
    *out = (struct measured){.energy_class = JOULE_CLASS_NONE, .cpu = -1};
    if (!s || 2 * effort->repeats > MAX_REPEATS || !kernel_memory_make(core, &s->memory)) {
        free(s);
        return error_set(out_error, JOULE_NO_MEMORY, "cannot measure the kernels: out of memory");
    }
    s->out = out;
    s->effort = effort;
    s->stopped = stopped;
    list_kernels(core, s);
    find_sensor(s); /* before pinning, so that the meter's threads are not pinned */
    out->cpu = pin();
    bool done = run_all(s);
    if (effort->prints_progress)
        fprintf(stderr, "\r\033[K");
    if (done)
        summarize(s);
    out->temperature_celsius = temperature();
    joule_close(s->meter);
    kernel_memory_free(&s->memory);
    free(s);
    out->seconds = clock_seconds(clock_now_ns() - begin_ns);
    return done ? JOULE_OK : error_set(out_error, JOULE_FAILED, "stopped: nothing was written");
}
