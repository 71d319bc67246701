/* bench/region.c - measures joule_begin + joule_end with 1 and 4 threads at once, while a meter runs.
 *
 * Times batches of 64 pairs of calls, in which the cost of the clock is negligible. Also times single pairs,
 * which show the slowest calls. The median cost of a clock reading is subtracted from single pairs. Note:
 * rings fill within a millisecond here, so most calls take the path of a full ring.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <joule/joule.h>
#include "bench.h"

#define BATCH   64
#define BATCHES 20000
#define CALLS   500000

struct worker {
    pthread_t thread;
    uint32_t tag;
    double *batch_ns, *call_ns;
};

static pthread_barrier_t together;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int64_t stamp(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void pair(uint32_t tag)
{
    joule_region region = joule_begin(tag);
    joule_end(&region);
}

static double quantile(double *values, size_t count, double q)
{
    qsort(values, count, sizeof *values, by_value);
    return values[(size_t)(q * (double)(count - 1))];
}

static double clock_cost_ns(void)
{
    double *costs = calloc(10001, sizeof *costs);
    for (size_t i = 0; i < 10001; i++) {
        int64_t begin = stamp();
        costs[i] = (double)(stamp() - begin);
    }
    double median = quantile(costs, 10001, 0.5);
    free(costs);
    return median;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int i = 0; i < 1000; i++)
        pair(worker->tag);
    pthread_barrier_wait(&together);
    for (size_t i = 0; i < BATCHES; i++) {
        double begin = now_ns();
        for (int k = 0; k < BATCH; k++)
            pair(worker->tag);
        worker->batch_ns[i] = (now_ns() - begin) / BATCH;
    }
    pthread_barrier_wait(&together);
    for (size_t i = 0; i < CALLS; i++) {
        int64_t begin = stamp();
        pair(worker->tag);
        worker->call_ns[i] = (double)(stamp() - begin);
    }
    return NULL;
}

static void measure(unsigned threads, double clock_ns)
{
    struct worker workers[4];
    double *batch_ns = calloc(threads * BATCHES, sizeof *batch_ns);
    double *call_ns = calloc(threads * CALLS, sizeof *call_ns);
    memset(batch_ns, 1, threads * BATCHES * sizeof *batch_ns);
    memset(call_ns, 1, threads * CALLS * sizeof *call_ns);
    pthread_barrier_init(&together, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        workers[i] = (struct worker){
            .tag = joule_tag("bench"), .batch_ns = batch_ns + i * BATCHES, .call_ns = call_ns + i * CALLS};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&together);
    double batch50 = quantile(batch_ns, threads * BATCHES, 0.5);
    double batch99 = quantile(batch_ns, threads * BATCHES, 0.99);
    double call50 = quantile(call_ns, threads * CALLS, 0.5) - clock_ns;
    double call99 = quantile(call_ns, threads * CALLS, 0.99) - clock_ns;
    printf("%7u  %12.1f  %12.1f  %12.1f  %12.1f\n", threads, batch50, batch99, call50, call99);
    printf("{\"bench\":\"region\",\"threads\":%u,\"batch_median_ns\":%.1f,\"batch_p99_ns\":%.1f,"
           "\"call_median_ns\":%.1f,\"call_p99_ns\":%.1f,\"clock_ns\":%.1f}\n",
           threads, batch50, batch99, call50, call99, clock_ns);
    free(batch_ns);
    free(call_ns);
}

int main(void)
{
    joule_meter *meter = NULL;
    joule_error error = {0};
    if (joule_open(NULL, &meter, &error) != JOULE_OK)
        fprintf(stderr, "without a meter: %s\n", error.message);
    double clock_ns = clock_cost_ns();
    printf("begin + end in ns (one clock reading: %.1f ns)\n", clock_ns);
    printf("threads  batch median     batch p99   call median      call p99\n");
    measure(1, clock_ns);
    measure(4, clock_ns);
    joule_close(meter);
    return 0;
}
