/* support/simulation.c - see simulation.h. */
#include "support/simulation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include "joule/stats/distribution.h"
#include "support/check.h"

#define NORMAL_SD     0.03
#define LOG_NORMAL_SD 0.3
#define RUN_SD        0.02
#define SLOW_CHANCE   0.05
#define MIN_SLOWNESS  1.1
#define MAX_SLOWNESS  1.5

const char *simulated_name(enum simulated kind)
{
    static const char *const names[] = {"normal", "log-normal", "slow runs"};
    return names[kind];
}

double simulated_mean(enum simulated kind)
{
    if (kind == SIMULATED_NORMAL)
        return 1;
    if (kind == SIMULATED_LOG_NORMAL)
        return exp(LOG_NORMAL_SD * LOG_NORMAL_SD / 2);
    return exp(RUN_SD * RUN_SD / 2) * (1 + SLOW_CHANCE * ((MIN_SLOWNESS + MAX_SLOWNESS) / 2 - 1));
}

double simulated_median(enum simulated kind)
{
    /* Slow runs are above the median: the least factor is 4.8 sds. */
    return kind == SIMULATED_SLOW_RUNS ? exp(RUN_SD * normal_quantile(0.5 / (1 - SLOW_CHANCE))) : 1;
}

double simulated_uniform(struct generator *generator)
{
    return ((double)(generator_bits(generator) >> 11) + 0.5) * 0x1p-53;
}

double simulated_normal(struct generator *generator)
{
    double radius = sqrt(-2 * log(simulated_uniform(generator)));
    return radius * cos(6.283185307179586 * simulated_uniform(generator));
}

double simulated_run(struct generator *generator, enum simulated kind)
{
    double z = simulated_normal(generator);
    if (kind == SIMULATED_NORMAL)
        return 1 + NORMAL_SD * z;
    if (kind == SIMULATED_LOG_NORMAL)
        return exp(LOG_NORMAL_SD * z);
    bool is_slow = simulated_uniform(generator) < SLOW_CHANCE;
    return exp(RUN_SD * z) *
           (is_slow ? MIN_SLOWNESS + (MAX_SLOWNESS - MIN_SLOWNESS) * simulated_uniform(generator) : 1);
}

void simulated_runs(struct generator *generator, enum simulated kind, double *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = simulated_run(generator, kind);
}

bool simulation_is_full(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#endif
    return is_full_test();
}

uint64_t simulation_fresh_seed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const char *given = getenv("JOULE_TEST_SEED");
    uint64_t seed = given && *given ? strtoull(given, NULL, 10)
                                    : (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    print_message("fresh seed %llu (to repeat: JOULE_TEST_SEED)\n", (unsigned long long)seed);
    return seed;
}

void simulation_check(const char *what, size_t hits, size_t repetitions, double low, double high)
{
    double rate = (double)hits / (double)repetitions;
    print_message("%s: %.2f %% of %zu\n", what, 100 * rate, repetitions);
    if (!(rate >= low && rate <= high))
        fail_msg("%s: %.2f %% is not from %.1f %% to %.1f %%", what, 100 * rate, 100 * low, 100 * high);
}
