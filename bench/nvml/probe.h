/* bench/nvml/probe.h - shared parts of the NVML probe, which measures how the sensors of a real board behave.
 *
 * The probe measures how long calls take, how often values change, which clock their timestamps use, and
 * whether counter and power agree. It changes no setting of the board. Note: results are raw events in CSV
 * files, with times in CLOCK_MONOTONIC microseconds; analyse.py evaluates them.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdio.h>
#include <time.h>
#include "joule/sources/nvidia/nvml_abi.h"

struct probe {
    struct nvml_api api;
    nvml_device device;
    int64_t init_us; /* duration of nvmlInit_v2, in us */
    FILE *facts;     /* facts.txt: lines "name: value" */
    FILE *latency;   /* latency.csv: durations of calls */
    FILE *polls;     /* polls.csv: changes of polled values */
    FILE *ring;      /* ring.csv: samples from the driver's ring */
    FILE *gpm;       /* gpm.csv: samples of the GPM metrics */
    FILE *phases;    /* phases.csv: times of the phases, with the energy counter at both ends */
};

static inline int64_t clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static inline int64_t now_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

static inline void sleep_us(int64_t us)
{
    struct timespec span = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&span, NULL);
}

/* True if the library has the function; `call` is a name without "nvml". */
#define HAS(probe, call) ((probe)->api.call != NULL)

/* Writes facts.txt: properties of the board, which fields work, and the ring's format. */
void facts_write(struct probe *probe);
/* Measures the duration of every NVML call that Joule uses. condition: a word for the table, such as
 * "idle". */
void latency_measure(struct probe *probe, const char *condition);
/* Polls each sensor for `seconds` in its own thread. phase: a word for the tables. */
void poll_sensors(struct probe *probe, const char *phase, double seconds);

#endif
