/* main.c - runs one or all of six kernels, serially or with OpenMP, at one of three sizes.
 *
 * Each kernel is a region with its name, so that `joule run` and `joule record` show its energy. README.md
 * explains what is seen.
 *
 *     cc -O3 -fopenmp main.c algorithms.c $(pkg-config --cflags --libs joule) -lm -o kernels
 */
#define PROGRAM "kernels"
#include "kernels.h"
#include "../support/support.h"
#include <getopt.h>
#include <joule/joule.h>
#include <string.h>

static const char USAGE[] =
    "usage: kernels [OPTION...] all|cholesky|lu|product|sum|collinear|matching\n"
    "\n"
    "Runs kernels and prints a checksum of each result. The checksums of serial and parallel runs are "
    "equal.\n"
    "\n"
    "  cholesky    Cholesky factorisation of a matrix\n"
    "  lu          decomposition of a matrix into two triangular matrices\n"
    "  product     product of two matrices\n"
    "  sum         sum of two matrices\n"
    "  collinear   number of triples of points that are on one line\n"
    "  matching    number of places where a pattern occurs in a text\n"
    "\n"
    "  -p, --parallel        run the loop of each kernel in the threads of OpenMP (OMP_NUM_THREADS)\n"
    "  -z, --size SIZE       small, medium, large, or a number of rows, points or characters (small)\n"
    "  -r, --repeats COUNT   run each kernel COUNT times (1)\n"
    "  -s, --seed NUMBER     use other input (1)\n"
    "      --help            print this text\n";

enum { MIN_SIZE = 32, MAX_SIZE = 1000000000, MAX_REPEATS = 1000000 };
static const char *const SIZES[] = {"small", "medium", "large"};

struct options {
    const char *name; /* of a kernel, or "all" */
    int size_index;   /* into the sizes of a kernel */
    size_t size;      /* 0: see size_index */
    long repeats;
    uint64_t seed;
    bool is_parallel;
};

static void parse_size(struct options *options, const char *text)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(text, SIZES[i]) == 0) {
            options->size_index = i;
            options->size = 0;
            return;
        }
    options->size = (size_t)parse_count("size", text, MIN_SIZE, MAX_SIZE);
}

static struct options parse_options(int argc, char **argv)
{
    static const struct option known[] = {{"parallel", 0, NULL, 'p'}, {"size", 1, NULL, 'z'},
                                          {"repeats", 1, NULL, 'r'},  {"seed", 1, NULL, 's'},
                                          {"help", 0, NULL, 'h'},     {0}};
    struct options options = {.repeats = 1, .seed = 1};
    for (int option; (option = getopt_long(argc, argv, "pz:r:s:", known, NULL)) != -1;) {
        if (option == 'p')
            options.is_parallel = true;
        else if (option == 'z')
            parse_size(&options, optarg);
        else if (option == 'r')
            options.repeats = parse_count("number of repeats", optarg, 1, MAX_REPEATS);
        else if (option == 's')
            options.seed = (uint64_t)parse_count("seed", optarg, 0, 1L << 52);
        else if (option == 'h')
            exit(fputs(USAGE, stdout) < 0);
        else
            fail_usage(USAGE);
    }
    if (optind != argc - 1)
        fail_usage(USAGE);
    options.name = argv[optind];
    return options;
}

static void run(const struct kernel *kernel, const struct options *options)
{
    size_t size = options->size ? options->size : kernel->sizes[options->size_index], bytes;
    void *input, *output;
    if (size > kernel->max_size) {
        fprintf(stderr, PROGRAM ": cannot run %s with size %zu: it must be at most %zu\n", kernel->name, size,
                kernel->max_size);
        exit(EXIT_USAGE);
    }
    kernel->prepare(size, options->seed, &input, &output, &bytes);
    uint32_t tag = joule_tag(kernel->name);
    double begin_s = now_s();
    for (long i = 0; i < options->repeats && !atomic_load(&is_interrupted); i++) {
        joule_region region = joule_begin(tag);
        kernel->run(size, input, output, options->is_parallel);
        joule_end(&region);
    }
    printf("%-10s size %8zu  %-8s %10.3f ms  checksum %016llx\n", kernel->name, size,
           options->is_parallel ? "parallel" : "serial", 1e3 * (now_s() - begin_s) / (double)options->repeats,
           (unsigned long long)checksum(output, bytes));
    free(input);
    free(output);
}

int main(int argc, char **argv)
{
    struct options options = parse_options(argc, argv);
#ifndef _OPENMP
    if (options.is_parallel) {
        fputs("kernels: cannot run in parallel: built without OpenMP\n"
              "hint: compile with -fopenmp\n",
              stderr);
        return EXIT_FAILURE;
    }
#endif
    bool is_known = false;
    catch_interrupts();
    for (int i = 0; i < KERNELS && !atomic_load(&is_interrupted); i++)
        if (strcmp(options.name, "all") == 0 || strcmp(options.name, kernels[i].name) == 0) {
            is_known = true;
            run(&kernels[i], &options);
        }
    if (!is_known && !atomic_load(&is_interrupted))
        fail_usage(USAGE);
    return finish(EXIT_SUCCESS);
}
