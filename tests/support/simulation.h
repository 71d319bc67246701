/* support/simulation.h - runs whose true distribution is known, for tests of statistics.
 *
 * Note: a simulation with a fixed seed always gives the same result. A simulation with a fresh seed may
 * fail by chance. Its number of repetitions must be so large that this probability is below 10^-6: the
 * rate must be 4.9 standard errors, sqrt(rate (1 - rate) / repetitions), away from both bounds. */
#ifndef TEST_SIMULATION_H
#define TEST_SIMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include "joule/stats/generator.h"

#define SIMULATION_SEED UINT64_C(20221005)

/* Distributions of one run's energy. */
enum simulated {
    SIMULATED_NORMAL,     /* mean 1, sd 0.03 */
    SIMULATED_LOG_NORMAL, /* log of median 1, with sd 0.3: skewed */
    SIMULATED_SLOW_RUNS,  /* log-normal with sd 0.02; one run of twenty takes 1.1 to 1.5 times as much */
    SIMULATED_KINDS
};
/* Returns a name for messages; static storage. */
const char *simulated_name(enum simulated kind);
/* Return the true mean and the true median. */
double simulated_mean(enum simulated kind);
double simulated_median(enum simulated kind);

/* Returns a uniform variate from 0 to 1, both excluded. */
double simulated_uniform(struct generator *generator);
/* Return a uniform variate from `low` to `high`, and a uniform integer from 0 to count - 1. */
static inline double simulated_between(struct generator *generator, double low, double high)
{
    return low + (high - low) * simulated_uniform(generator);
}
static inline unsigned simulated_below(struct generator *generator, size_t count)
{
    unsigned number = (unsigned)(simulated_uniform(generator) * (double)count);
    return number < count ? number : (unsigned)count - 1;
}
/* Returns a normal variate, exact in the tails (Box and Muller, "A note on the generation of random normal
 * deviates", 1958). */
double simulated_normal(struct generator *generator);
/* Returns one run. */
double simulated_run(struct generator *generator, enum simulated kind);
/* Sets `count` runs. */
void simulated_runs(struct generator *generator, enum simulated kind, double *out, size_t count);

/* Returns is_full_test(), and false with sanitizers, which make these tests ten times slower and find nothing
 * new in a repetition. */
bool simulation_is_full(void);
/* Returns a seed that differs in each run, or the number in JOULE_TEST_SEED, and prints it. */
uint64_t simulation_fresh_seed(void);
/* Prints `hits` of `repetitions` and fails the test unless their rate is from low to high. */
void simulation_check(const char *what, size_t hits, size_t repetitions, double low, double high);

#endif
