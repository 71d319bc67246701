/* support/bench/simulated_machine.h - a machine whose commands, sensors and clock are simulated. It defines
 * the functions of bench/runner.h, so joule bench and joule compare decide about runs with known truth.
 *
 * Power and time of a run are log-normal. Temperature approaches a value that is proportional to the power,
 * exponentially. Power rises with temperature, as leakage currents do. No time passes in reality.
 */
#ifndef TEST_SIMULATED_MACHINE_H
#define TEST_SIMULATED_MACHINE_H

#include "experiment.h"
#include "summary.h"

#define SIMULATED_STARTS 500

struct simulated_machine {
    struct generator generator;
    double watts, seconds;     /* of a run at ambient temperature, medians */
    double power_sd, time_sd;  /* of the logarithms; independent of each other */
    double drift_sd;           /* change of the logarithm of power from run to run, for all commands alike */
    double slow_chance;        /* of a run that takes 1.1 to 1.5 times as long */
    double power_ratio_of_b;   /* power of a command whose name begins with b, divided by others'; 0: 1 */
    double time_ratio_of_b;    /* the same for time */
    double idle_watts;         /* NaN: no baseline, so the net energy is unknown */
    bool is_modelled;          /* there is no sensor: the energy is the command's, by a model */
    double ambient_celsius;    /* NaN: no temperature is readable */
    double kelvins_per_watt;   /* rise of the temperature at constant power */
    double thermal_s;          /* time constant of the temperature; at least 1e-9 */
    double leakage_per_kelvin; /* relative rise of power */
    double gpu_busy;           /* NaN: unknown */
    double throttle_celsius;   /* a run that ends above it reports clocks reduced for heat; 0: unknown */
    double fail_chance;        /* of an exit status 1 */
    double stop_chance;        /* of a run that was stopped meanwhile, which rejects it */
    double lost_chance;        /* of a run whose energy is unknown */
    size_t odd_run;            /* number of a run, from 1, that takes three times as long; 0: none does */
    /* state */
    double drift, celsius;
    int64_t now_ns;
    size_t run_count, pause_count;
    double start_celsius[SIMULATED_STARTS]; /* temperatures at the starts of the first runs */
};

/* The machine on which commands run. Assign all members of a new one before an experiment. */
extern struct simulated_machine simulated;

/* Returns a machine with 50 W, 1 s, no scatter, no baseline, and nothing else readable. */
struct simulated_machine simulated_machine(uint64_t seed);
/* An experiment on the machine. */
struct simulated_experiment {
    struct settings settings;
    struct experiment experiment;
    int code; /* exit code; 0: complete */
    char *words[40];
    int word_count;
};
/* Runs an experiment with the words of a command line after "compare" or "bench", which end with NULL.
 * Nothing is stored unless the words name a database. The seed of the order is from the machine. Fails the
 * test if the words are wrong. Call simulated_end after it. */
void simulated_begin(struct simulated_experiment *s, const char *subject, const char *const *words);
void simulated_end(struct simulated_experiment *s);

#endif
