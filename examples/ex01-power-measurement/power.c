/* power.c - measures power and efficiency of the CPU, and of each GPU, at four loads.
 *
 * Threads multiply and add for a part of the time: idle 0 %, light 25 %, medium 50 %, heavy 100 %. Each load
 * first runs for a while, so that power is measured at a steady state. README.md explains what is seen.
 *
 *     cc -O3 power.c ../support/gpu.c $(pkg-config --cflags --libs joule) -lm -o power && ./power
 */
#define PROGRAM "power"
#include "../support/support.h"
#include "../support/gpu.h"
#include <getopt.h>
#include <joule/joule.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

static const char USAGE[] =
    "usage: power [OPTION...]\n"
    "\n"
    "Prints power, TFLOPS and TFLOPS/W of the CPU, and of each NVIDIA GPU, at four loads.\n"
    "\n"
    "  -d, --duration SECONDS   measure each load for SECONDS (0.3)\n"
    "  -w, --warm-up SECONDS    run each load for SECONDS before (0.1)\n"
    "  -t, --threads COUNT      use at most COUNT threads on the CPU (one for each CPU)\n"
    "      --help               print this text\n";

enum { MAX_THREADS = 1024, MAX_SECONDS = 3600 };
static const double SLICE_S = 0.02; /* a thread computes for a part of each slice, and sleeps for the rest */

static const struct load {
    const char *name;
    double share; /* of the device's time in which it computes */
} loads[] = {{"idle", 0}, {"light", 0.25}, {"medium", 0.5}, {"heavy", 1}};
enum { LOADS = sizeof loads / sizeof *loads };

/* --- work --- */

enum { LANES = 32, STEPS = 20000 };

/* Multiplies and adds in registers, for about 0.1 ms. Returns the number of floating-point operations. */
static double compute_on_cpu(void)
{
    static atomic_int sink; /* the result must go somewhere, or the compiler would remove the work */
    float values[LANES];
    for (int lane = 0; lane < LANES; lane++)
        values[lane] = (float)lane;
    for (int step = 0; step < STEPS; step++)
        for (int lane = 0; lane < LANES; lane++)
            values[lane] = values[lane] * 0.5f + 0.5f;
    float sum = 0;
    for (int lane = 0; lane < LANES; lane++)
        sum += values[lane];
    atomic_store_explicit(&sink, (int)sum, memory_order_relaxed);
    return 2.0 * LANES * STEPS;
}

struct worker {
    pthread_t thread;
    struct gpu *gpu; /* NULL: the CPU */
    double share;    /* 0 to 1: part of the time in which it computes */
    atomic_bool *is_over;
    _Atomic uint64_t flop, busy_ns; /* so far */
};

static void *work(void *arg)
{
    struct worker *worker = arg;
    while (!atomic_load(worker->is_over)) {
        double begin_s = now_s(), busy_s = 0;
        while (busy_s < worker->share * SLICE_S && !atomic_load(worker->is_over)) {
            double flop = worker->gpu ? gpu_compute(worker->gpu) : compute_on_cpu();
            double elapsed_s = now_s() - begin_s;
            if (flop == 0)
                return NULL;
            atomic_fetch_add(&worker->flop, (uint64_t)flop);
            atomic_fetch_add(&worker->busy_ns, (uint64_t)(1e9 * (elapsed_s - busy_s)));
            busy_s = elapsed_s;
        }
        /* After a late slice, the next sleep is longer, so that the share is right. */
        if (worker->share < 1)
            sleep_s(busy_s * (1 - worker->share) / worker->share);
    }
    return NULL;
}

/* --- measurement --- */

struct options {
    double duration_s, warm_up_s;
    int threads;
};

/* The work of all workers so far. */
struct sum {
    double flop, busy_s;
};

static struct sum add_up(struct worker *workers, int count)
{
    struct sum sum = {0};
    for (int i = 0; i < count; i++) {
        sum.flop += (double)atomic_load(&workers[i].flop);
        sum.busy_s += 1e-9 * (double)atomic_load(&workers[i].busy_ns);
    }
    return sum;
}

static void print_line(const struct load *load, const joule_result *result, struct sum done, int devices)
{
    double seconds = result->duration_s, tflops = 1e-12 * done.flop / seconds;
    joule_quantity joules = result->window;
    printf("  %-7s %5.0f %%", load->name, 100 * done.busy_s / seconds / devices);
    if (isfinite(joules.value))
        printf(" %8.2f W   %7.2f to %-7.2f %8.3g %9.3g   %s\n", joules.value / seconds, joules.low / seconds,
               joules.high / seconds, tflops, tflops / (joules.value / seconds),
               joule_class_name(joules.cls));
    else
        printf("  unknown     unknown            %8.3g   unknown\n", tflops);
    fflush(stdout);
}

/* Runs one load on the CPU, or on a GPU, and prints its line. */
static void run_load(const struct load *load, const char *prefix, struct gpu *gpu,
                     const struct options *options, joule_meter *meter)
{
    struct worker workers[MAX_THREADS];
    int devices = gpu ? 1 : options->threads, count = 0;
    atomic_bool is_over = false;
    for (; count < devices; count++) {
        struct worker *worker = &workers[count];
        memset(worker, 0, sizeof *worker);
        worker->gpu = gpu;
        worker->is_over = &is_over;
        worker->share = fmin(load->share * devices - count, 1);
        if (worker->share <= 0)
            break;
        if (pthread_create(&worker->thread, NULL, work, worker) != 0) {
            fprintf(stderr, PROGRAM ": cannot start a thread; the load is lighter than its name says\n");
            break;
        }
    }
    char name[48];
    snprintf(name, sizeof name, "%s%s", prefix, load->name);
    sleep_s(options->warm_up_s);
    joule_region region = joule_begin_with(joule_tag(name), gpu ? JOULE_REGION_GPU : JOULE_REGION_CPU);
    struct sum before = add_up(workers, count);
    sleep_s(options->duration_s);
    struct sum done = add_up(workers, count);
    joule_end(&region);
    atomic_store(&is_over, true);
    for (int i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);

    joule_result result = {.struct_size = sizeof result};
    joule_status status = joule_region_wait(meter, &region, 1.0, &result);
    result.duration_s = 1e-9 * (double)(region.end_ns - region.begin_ns);
    if (status != JOULE_OK && status != JOULE_PENDING)
        result.window.value = NAN;
    done.flop -= before.flop;
    done.busy_s -= before.busy_s;
    print_line(load, &result, done, devices);
}

static void run_loads(const char *prefix, struct gpu *gpu, const struct options *options, joule_meter *meter)
{
    printf("  %-7s %7s %10s   %18s %8s %9s   %s\n", "load", "busy", "power", "90 % interval (W)", "TFLOPS",
           "TFLOPS/W", "power is");
    for (int i = 0; i < LOADS && !atomic_load(&is_interrupted); i++)
        run_load(&loads[i], prefix, gpu, options, meter);
}

static void run_gpus(const struct options *options, joule_meter *meter)
{
    const char *reason;
    int count = gpu_count(&reason);
    if (count == 0)
        printf("GPU: none: %s\n", reason);
    for (int i = 0; i < count && !atomic_load(&is_interrupted); i++) {
        struct gpu *gpu = gpu_open(i, &reason);
        if (!gpu) {
            printf("GPU %d: not measured: %s\n", i, reason);
            continue;
        }
        char prefix[32];
        snprintf(prefix, sizeof prefix, "gpu%d ", i);
        printf("GPU %d, %s; power is the sum of all GPUs\n", i, gpu_name(gpu));
        run_loads(prefix, gpu, options, meter);
        gpu_close(gpu);
    }
}

static struct options parse_options(int argc, char **argv)
{
    static const struct option known[] = {{"duration", 1, NULL, 'd'},
                                          {"warm-up", 1, NULL, 'w'},
                                          {"threads", 1, NULL, 't'},
                                          {"help", 0, NULL, 'h'},
                                          {0}};
    struct options options = {.duration_s = 0.3, .warm_up_s = 0.1, .threads = count_cpus()};
    for (int option; (option = getopt_long(argc, argv, "d:w:t:", known, NULL)) != -1;) {
        if (option == 'd')
            options.duration_s = parse_number("duration", optarg, 0.01, MAX_SECONDS);
        else if (option == 'w')
            options.warm_up_s = parse_number("warm-up", optarg, 0, MAX_SECONDS);
        else if (option == 't')
            options.threads = (int)parse_count("number of threads", optarg, 1, MAX_THREADS);
        else if (option == 'h')
            exit(fputs(USAGE, stdout) < 0);
        else
            fail_usage(USAGE);
    }
    if (optind != argc)
        fail_usage(USAGE);
    return options;
}

int main(int argc, char **argv)
{
    struct options options = parse_options(argc, argv);
    joule_meter *meter;
    joule_error error;
    if (joule_open(NULL, &meter, &error) != JOULE_OK) {
        fprintf(stderr, PROGRAM ": %s\n", error.message);
        return EXIT_FAILURE;
    }
    catch_interrupts();
    printf("CPU, %d %s\n", options.threads, options.threads == 1 ? "thread" : "threads");
    run_loads("", NULL, &options, meter);
    if (!atomic_load(&is_interrupted))
        run_gpus(&options, meter);
    joule_close(meter);
    return finish(EXIT_SUCCESS);
}
