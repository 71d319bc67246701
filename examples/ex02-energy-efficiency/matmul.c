/* matmul.c - multiplies two matrices by four implementations of the same computation, to compare their
 * energy.
 *
 * All implementations add the products of an element in the same order, so that their results are equal to
 * the last bit. README.md explains what is seen.
 *
 *     cc -O3 matmul.c $(pkg-config --cflags --libs joule) -lm -o matmul && ./matmul all
 */
#define PROGRAM "matmul"
#include "../support/support.h"
#include <getopt.h>
#include <joule/joule.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

static const char USAGE[] = "usage: matmul [OPTION...] all|naive|blocked|vectorised|threads\n"
                            "\n"
                            "Multiplies two matrices. Prints time, GFLOP/s and a checksum of the product; "
                            "with `all` also the energy.\n"
                            "\n"
                            "  -n, --size ROWS       multiply matrices with ROWS rows and columns (384)\n"
                            "  -r, --repeats COUNT   multiply COUNT times (4)\n"
                            "  -t, --threads COUNT   use COUNT threads (one for each CPU)\n"
                            "  -s, --seed NUMBER     use other matrices (1)\n"
                            "      --help            print this text\n";

enum { MAX_SIZE = 8192, MAX_REPEATS = 1000000, MAX_THREADS = 256, BLOCK = 32 };

/* Adds a * b to rows [begin, end) of c. a, b, c: [size, size], row-major. */
struct product {
    size_t size;
    const float *a, *b;
    float *c;
    size_t begin, end;
    int threads;
};

/* For each element, a row of `a` times a column of `b`. The column's elements are far apart in memory. */
static void multiply_naive(const struct product *p)
{
    size_t n = p->size;
    for (size_t i = p->begin; i < p->end && !atomic_load(&is_interrupted); i++)
        for (size_t j = 0; j < n; j++) {
            float sum = p->c[i * n + j];
            for (size_t k = 0; k < n; k++)
                sum += p->a[i * n + k] * p->b[k * n + j];
            p->c[i * n + j] = sum;
        }
}

static size_t limit(size_t value, size_t max)
{
    return value < max ? value : max;
}

/* The same in blocks: the cache holds the blocks of all three matrices until they are no longer needed. */
static void multiply_blocked(const struct product *p)
{
    size_t n = p->size;
    for (size_t i0 = p->begin; i0 < p->end && !atomic_load(&is_interrupted); i0 += BLOCK)
        for (size_t j0 = 0; j0 < n; j0 += BLOCK)
            for (size_t k0 = 0; k0 < n; k0 += BLOCK)
                for (size_t i = i0; i < limit(i0 + BLOCK, p->end); i++)
                    for (size_t j = j0; j < limit(j0 + BLOCK, n); j++) {
                        float sum = p->c[i * n + j];
                        for (size_t k = k0; k < limit(k0 + BLOCK, n); k++)
                            sum += p->a[i * n + k] * p->b[k * n + j];
                        p->c[i * n + j] = sum;
                    }
}

/* Adds `factor` times a row of b to a row of c. The compiler uses vector instructions here. */
static void add_row(float *restrict c, const float *restrict b, float factor, size_t count)
{
    for (size_t j = 0; j < count; j++)
        c[j] += factor * b[j];
}

/* With the loops in another order, the innermost loop runs along rows of b and c. */
static void multiply_vectorised(const struct product *p)
{
    size_t n = p->size;
    for (size_t i = p->begin; i < p->end && !atomic_load(&is_interrupted); i++)
        for (size_t k = 0; k < n; k++)
            add_row(p->c + i * n, p->b + k * n, p->a[i * n + k], n);
}

static void *multiply_part(void *part)
{
    multiply_vectorised(part);
    return NULL;
}

/* Each thread computes some rows. If a thread cannot be created, the caller computes its rows. */
static void multiply_in_threads(const struct product *p)
{
    struct product parts[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    bool is_running[MAX_THREADS];
    for (int i = 0; i < p->threads; i++) {
        parts[i] = *p;
        parts[i].begin = p->size * (size_t)i / (size_t)p->threads;
        parts[i].end = p->size * (size_t)(i + 1) / (size_t)p->threads;
        is_running[i] =
            i + 1 < p->threads && pthread_create(&threads[i], NULL, multiply_part, &parts[i]) == 0;
        if (!is_running[i])
            multiply_vectorised(&parts[i]);
    }
    for (int i = 0; i < p->threads; i++)
        if (is_running[i])
            pthread_join(threads[i], NULL);
}

static const struct variant {
    const char *name;
    void (*multiply)(const struct product *p);
} variants[] = {
    {"naive", multiply_naive},
    {"blocked", multiply_blocked},
    {"vectorised", multiply_vectorised},
    {"threads", multiply_in_threads},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

struct options {
    const char *name; /* of a variant, or "all" */
    size_t size;
    long repeats;
    int threads;
    uint64_t seed;
};

static struct options parse_options(int argc, char **argv)
{
    static const struct option known[] = {{"size", 1, NULL, 'n'},    {"repeats", 1, NULL, 'r'},
                                          {"threads", 1, NULL, 't'}, {"seed", 1, NULL, 's'},
                                          {"help", 0, NULL, 'h'},    {0}};
    struct options options = {.size = 384, .repeats = 4, .threads = count_cpus(), .seed = 1};
    for (int option; (option = getopt_long(argc, argv, "n:r:t:s:", known, NULL)) != -1;) {
        if (option == 'n')
            options.size = (size_t)parse_count("size", optarg, 1, MAX_SIZE);
        else if (option == 'r')
            options.repeats = parse_count("number of repeats", optarg, 1, MAX_REPEATS);
        else if (option == 't')
            options.threads = (int)parse_count("number of threads", optarg, 1, MAX_THREADS);
        else if (option == 's')
            options.seed = (uint64_t)parse_count("seed", optarg, 0, 1L << 52);
        else if (option == 'h')
            exit(fputs(USAGE, stdout) < 0);
        else
            fail_usage(USAGE);
    }
    if (options.threads > MAX_THREADS)
        options.threads = MAX_THREADS;
    if (optind != argc - 1)
        fail_usage(USAGE);
    options.name = argv[optind];
    return options;
}

/* Multiplies and prints one line, with the energy if there is a meter. */
static void run(const struct variant *variant, struct product *product, long repeats, joule_meter *meter)
{
    size_t size_bytes = product->size * product->size * sizeof(float);
    joule_region region = joule_begin(joule_tag(variant->name));
    for (long i = 0; i < repeats && !atomic_load(&is_interrupted); i++) {
        memset(product->c, 0, size_bytes);
        variant->multiply(product);
    }
    joule_end(&region);
    if (atomic_load(&is_interrupted))
        return;
    double seconds = 1e-9 * (double)(region.end_ns - region.begin_ns);
    double gflop = 2e-9 * pow((double)product->size, 3) * (double)repeats;
    printf("%-11s %8.1f ms %8.2f", variant->name, 1e3 * seconds / (double)repeats, gflop / seconds);
    if (meter) {
        joule_result result = {.struct_size = sizeof result};
        joule_status status = joule_region_wait(meter, &region, 1.0, &result);
        double joules = result.window.value;
        if ((status == JOULE_OK || status == JOULE_PENDING) && isfinite(joules))
            printf(" %7.2f W %8.3f J %8.3f   %-9s", joules / seconds, joules / (double)repeats,
                   gflop / joules, joule_class_name(result.window.cls));
        else
            printf(" %9s %10s %8s   %-9s", "unknown", "unknown", "unknown", "-");
    }
    printf("   %016llx\n", (unsigned long long)checksum(product->c, size_bytes));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct options options = parse_options(argc, argv);
    bool is_all = strcmp(options.name, "all") == 0, is_known = is_all;
    for (int i = 0; i < VARIANTS; i++)
        is_known = is_known || strcmp(options.name, variants[i].name) == 0;
    if (!is_known)
        fail_usage(USAGE);
    /* For one variant, there is no meter: `joule compare` measures it. */
    joule_meter *meter = NULL;
    joule_error error;
    if (is_all && joule_open(NULL, &meter, &error) != JOULE_OK) {
        fprintf(stderr, PROGRAM ": %s\n", error.message);
        return EXIT_FAILURE;
    }
    size_t count = options.size * options.size;
    float *a = allocate(count * sizeof *a), *b = allocate(count * sizeof *b);
    float *c = allocate(count * sizeof *c);
    struct product product = {options.size, a, b, c, 0, options.size, options.threads};
    fill_random(a, count, options.seed);
    fill_random(b, count, options.seed + 1);
    catch_interrupts();
    printf("%-11s %11s %8s", "variant", "time", "GFLOP/s");
    if (meter)
        printf(" %9s %10s %8s   %-9s", "power", "energy", "GFLOP/J", "energy is");
    puts("   checksum");
    for (int i = 0; i < VARIANTS && !atomic_load(&is_interrupted); i++)
        if (is_all || strcmp(options.name, variants[i].name) == 0)
            run(&variants[i], &product, options.repeats, meter);
    joule_close(meter);
    free(a);
    free(b);
    free(c);
    return finish(EXIT_SUCCESS);
}
