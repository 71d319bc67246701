/* bench/gemm.c - compares products of f32 matrices on one thread: TensorForge, OpenBLAS and oneDNN.
 *
 * Each round runs every library once, so that other load affects all alike. Speeds are medians of CPU time.
 * The limit is measured with a loop of multiply-adds on registers. Note: the other libraries are opened at
 * run time. If one is missing, the table contains "not measured".
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bench.h"
#include "peak.h"
#include "forge/backends/cpu/isa.h"

enum { LARGEST = 2048, MIN_ROUNDS = 5, MAX_ROUNDS = 201 };
static const double ROUND_NS = 1.5e9; /* total time for each size, in ns */

static float *a, *b, *c, *exact;

/* --- contestants ---------------------------------------------------------------------------------------- */

typedef void product_fn(int64_t n);

static void ours(int64_t n)
{
    static _Alignas(64) unsigned char scratch[KERNEL_SCRATCH_BYTES];
    static const struct matmul_attributes attributes = {0, FORGE_F32};
    forge_shape shape = forge_shape_of(n, n);
    struct view in[2] = {{a, FORGE_F32, shape, {n, 1}}, {b, FORGE_F32, shape, {n, 1}}},
                out = {c, FORGE_F32, shape, {n, 1}};
    struct launch launch = {OP_MATMUL, &attributes, in, 2, &out, 1};
    static const struct cpu_kernel *kernel;
    enum isa isa;
    if (!kernel && isa_choose(getenv("FORGE_ISA"), &isa, NULL) != JOULE_OK)
        exit(1);
    if (!kernel)
        kernel = isa_kernels(isa);
    size_t grain;
    while (!(kernel->op == OP_MATMUL && kernel->takes(&launch)))
        kernel++;
    kernel->run_in(&launch, 0, kernel->pieces(&launch, &grain), scratch);
}

typedef void sgemm_fn(int order, int turns_a, int turns_b, int m, int n, int k, float alpha, const float *a,
                      int a_step, const float *b, int b_step, float beta, float *c, int c_step);
static sgemm_fn *openblas_sgemm;

static void openblas(int64_t n)
{
    int size = (int)n;
    openblas_sgemm(101, 111, 111, size, size, size, 1, a, size, b, size, 0, c, size);
}

typedef int dnnl_sgemm_fn(char turns_a, char turns_b, int64_t m, int64_t n, int64_t k, float alpha,
                          const float *a, int64_t a_step, const float *b, int64_t b_step, float beta,
                          float *c, int64_t c_step);
static dnnl_sgemm_fn *dnnl_sgemm;

static void onednn(int64_t n)
{
    dnnl_sgemm('N', 'N', n, n, n, 1, a, n, b, n, 0, c, n);
}

/* Restricts the other libraries to one thread and the given instruction set. Note: an older OpenBLAS does not
 * recognize newer processors, so OPENBLAS_CORETYPE selects its kernels. */
static void tell_peers(enum isa isa)
{
    static const char *const openblas_cores[] = {"NEHALEM", "HASWELL", "SKYLAKEX"};
    static const char *const dnnl_isas[] = {"SSE41", "AVX2", "AVX512_CORE"};
    setenv("OPENBLAS_CORETYPE", openblas_cores[isa], 0);
    setenv("DNNL_MAX_CPU_ISA", dnnl_isas[isa], 0);
    setenv("OMP_NUM_THREADS", "1", 1);
}

static product_fn *find_openblas(void)
{
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    void (*set_threads)(int) = NULL;
    if (!library)
        return NULL;
    *(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
    *(void **)&openblas_sgemm = dlsym(library, "cblas_sgemm");
    if (!set_threads || !openblas_sgemm)
        return NULL;
    set_threads(1);
    return openblas;
}

static product_fn *find_onednn(void)
{
    void *library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library)
        *(void **)&dnnl_sgemm = dlsym(library, "dnnl_sgemm");
    return dnnl_sgemm ? onednn : NULL;
}

/* --- the limit ------------------------------------------------------------------------------------------ */

/* Returns the current limit of one thread in GFLOP/s, or NaN if it is unknown. */
static double limit(void)
{
    enum isa isa;
    return isa_choose(getenv("FORGE_ISA"), &isa, NULL) == JOULE_OK ? peak_thread_gflops(isa_name(isa)) : NAN;
}

/* --- measuring ------------------------------------------------------------------------------------------ */

enum { OURS, OPENBLAS, ONEDNN, LIMIT, CONTESTANTS };
static const char *const names[] = {"forge", "openblas", "onednn", "limit"};
static product_fn *products[LIMIT];

static double gflops(product_fn *product, int64_t n)
{
    double flop = 2. * (double)n * (double)n * (double)n;
    int repeats = 1 + (int)(2e7 / flop);
    int64_t begin_ns = thread_ns();
    for (int i = 0; i < repeats; i++)
        product(n);
    return flop * repeats / (double)(thread_ns() - begin_ns);
}

/* Excludes libraries with wrong results from the comparison. */
static void check(int64_t n)
{
    size_t count = (size_t)(n * n);
    ours(n);
    memcpy(exact, c, count * sizeof *c);
    for (int i = OPENBLAS; i < LIMIT; i++) {
        double worst = 0;
        if (!products[i])
            continue;
        products[i](n);
        for (size_t k = 0; k < count; k++)
            worst = fmax(worst, fabs((double)c[k] - (double)exact[k]));
        if (!(worst < 1e-3 * sqrt((double)n))) {
            printf("%s differs by %g at n = %lld: not measured\n", names[i], worst, (long long)n);
            products[i] = NULL;
        }
    }
}

static void race(int64_t n)
{
    static double speeds[CONTESTANTS][MAX_ROUNDS];
    double medians[CONTESTANTS];
    int rounds = 0;
    check(n);
    int64_t begin_ns = thread_ns();
    for (; rounds < MAX_ROUNDS; rounds++) {
        if (rounds >= MIN_ROUNDS && (double)(thread_ns() - begin_ns) > ROUND_NS)
            break;
        for (int i = 0; i < LIMIT; i++)
            speeds[i][rounds] = products[i] ? gflops(products[i], n) : NAN;
        speeds[LIMIT][rounds] = limit();
    }
    printf("%6lld", (long long)n);
    for (int i = 0; i < CONTESTANTS; i++) {
        medians[i] = i == LIMIT || products[i] ? median(speeds[i], (size_t)rounds) : NAN;
        printf("  %9.1f", medians[i]);
    }
    double peer = fmax(medians[OPENBLAS], medians[ONEDNN]);
    printf("  %8.2f  %9.2f\n", medians[OURS] / medians[LIMIT], medians[OURS] / peer);
    printf("{\"bench\":\"gemm\",\"dtype\":\"f32\",\"threads\":1,\"n\":%lld", (long long)n);
    for (int i = 0; i < CONTESTANTS; i++)
        if (!isnan(medians[i]))
            printf(",\"%s_gflops\":%.1f", names[i], medians[i]);
    printf("}\n");
}

int main(void)
{
    static const int64_t sizes[] = {64, 96, 128, 192, 256, 384, 512, 768, 1000, 1024, 1536, 2048};
    size_t bytes = sizeof(float) * LARGEST * LARGEST;
    float **const matrices[] = {&a, &b, &c, &exact};
    for (size_t i = 0; i < 4; i++) {
        *matrices[i] = aligned_alloc(64, bytes);
        if (!*matrices[i])
            return 1;
    }
    srand48(1);
    for (size_t i = 0; i < LARGEST * LARGEST; i++) {
        a[i] = (float)(drand48() - drand48());
        b[i] = (float)(drand48() - drand48());
    }
    enum isa isa;
    if (isa_choose(getenv("FORGE_ISA"), &isa, NULL) != JOULE_OK)
        return 1;
    products[OURS] = ours;
    tell_peers(isa);
    products[OPENBLAS] = find_openblas();
    products[ONEDNN] = find_onednn();
    printf("GFLOP/s of f32 products n x n, one thread, %s (nan: not measured)\n", isa_name(isa));
    printf("     n      forge   openblas     onednn  FMA limit  of limit  of better peer\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        race(sizes[i]);
    return 0;
}
