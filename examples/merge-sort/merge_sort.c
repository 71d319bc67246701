/* merge_sort.c - sorts numbers with one thread or with several.
 *
 * The regions `fill`, `sort` and `check` let `joule run`, `joule record` and `joule plot` show the energy of
 * each phase. README.md explains what is seen.
 *
 *     cc -O2 merge_sort.c $(pkg-config --cflags --libs joule) -o merge_sort && ./merge_sort --help
 */
#define PROGRAM "merge_sort"
#include "../support/support.h"
#include <getopt.h>
#include <joule/joule.h>
#include <pthread.h>
#include <string.h>

static const char USAGE[] =
    "usage: merge_sort [OPTION...] sequential|threads\n"
    "\n"
    "Sorts random numbers, several times, and prints a checksum of the sorted numbers.\n"
    "\n"
    "  -n, --size COUNT      sort COUNT numbers (1000000)\n"
    "  -r, --repeats COUNT   sort COUNT times (so often that 4000000 numbers are sorted)\n"
    "  -t, --threads COUNT   use at most COUNT threads (one for each CPU)\n"
    "  -s, --seed NUMBER     sort other numbers (1)\n"
    "      --help            print this text\n";

enum { MAX_SIZE = 200000000, MAX_REPEATS = 10000000, MAX_THREADS = 256, ALL_NUMBERS = 4000000 };
enum { RUN = 16 };              /* shorter ranges are sorted by insertion */
enum { INTERRUPTIBLE = 65536 }; /* longer ranges are not sorted after Ctrl-C */

/* A range to sort. Both arrays hold the same numbers in this range when it begins. */
struct range {
    int32_t *values; /* gets the sorted numbers */
    int32_t *spare;  /* overwritten */
    size_t count;
    int threads; /* the range may use so many */
};

static void sort_by_insertion(int32_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        int32_t value = values[i];
        size_t at = i;
        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

/* Merges the sorted halves from[0, middle) and from[middle, count) into `to`. */
static void merge(int32_t *to, const int32_t *from, size_t middle, size_t count)
{
    size_t left = 0, right = middle;
    for (size_t i = 0; i < count; i++)
        to[i] = right == count || (left < middle && from[left] <= from[right]) ? from[left++] : from[right++];
}

static void *sort_range(void *arg)
{
    struct range *range = arg;
    if (range->count <= RUN) {
        sort_by_insertion(range->values, range->count);
        return NULL;
    }
    if (range->count > INTERRUPTIBLE && atomic_load(&is_interrupted))
        return NULL;
    /* The halves are sorted into the spare array, so that they can be merged back without a copy. */
    size_t middle = range->count / 2;
    struct range left = {range->spare, range->values, middle, range->threads / 2};
    struct range right = {range->spare + middle, range->values + middle, range->count - middle,
                          range->threads - range->threads / 2};
    pthread_t thread;
    bool is_parallel = range->threads > 1 && pthread_create(&thread, NULL, sort_range, &left) == 0;
    if (!is_parallel)
        sort_range(&left);
    sort_range(&right);
    if (is_parallel)
        pthread_join(thread, NULL);
    merge(range->values, range->spare, middle, range->count);
    return NULL;
}

struct options {
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
    struct options options = {.size = 1000000, .threads = count_cpus(), .seed = 1};
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
    if (optind != argc - 1)
        fail_usage(USAGE);
    if (strcmp(argv[optind], "sequential") == 0)
        options.threads = 1;
    else if (strcmp(argv[optind], "threads") != 0)
        fail_usage(USAGE);
    if (options.repeats == 0)
        options.repeats = options.size < ALL_NUMBERS ? ALL_NUMBERS / (long)options.size : 1;
    return options;
}

static bool is_sorted(const int32_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (values[i - 1] > values[i])
            return false;
    return true;
}

int main(int argc, char **argv)
{
    struct options options = parse_options(argc, argv);
    size_t size_bytes = options.size * sizeof(int32_t);
    int32_t *values = allocate(size_bytes), *spare = allocate(size_bytes);
    uint32_t fill_tag = joule_tag("fill"), sort_tag = joule_tag("sort"), check_tag = joule_tag("check");
    uint64_t sum = 0, sort_ns = 0;
    bool is_right = true;
    catch_interrupts();
    for (long i = 0; i < options.repeats && is_right && !atomic_load(&is_interrupted); i++) {
        /* The numbers are always new. The processor would learn how to predict the branches of the same
         * sort. */
        joule_region region = joule_begin(fill_tag);
        for (size_t j = 0; j < options.size; j++)
            spare[j] = values[j] = (int32_t)(next_random(&options.seed) >> 32);
        joule_end(&region);

        struct range all = {values, spare, options.size, options.threads};
        region = joule_begin(sort_tag);
        sort_range(&all);
        joule_end(&region);
        sort_ns += region.end_ns - region.begin_ns;

        region = joule_begin(check_tag);
        is_right = is_sorted(values, options.size);
        sum = 31 * sum + checksum(values, size_bytes);
        joule_end(&region);
    }
    printf("%zu numbers, %d %s: %.3f us for each sort, checksum %016llx%s\n", options.size, options.threads,
           options.threads == 1 ? "thread" : "threads", 1e-3 * (double)sort_ns / (double)options.repeats,
           (unsigned long long)sum, is_right || atomic_load(&is_interrupted) ? "" : ", NOT SORTED");
    free(values);
    free(spare);
    return finish(is_right ? EXIT_SUCCESS : EXIT_FAILURE);
}
