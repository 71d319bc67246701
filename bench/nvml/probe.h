/* bench/nvml/probe.h - what the parts of the NVML probe share.
 *
 * The probe finds out how a real board's sensors behave: how long each call takes, how often values change, on which
 * clock they are stamped, and whether counter and power agree. It reads only; no setting of the card is touched.
 * Newcomers: everything measured goes into CSV files as raw events in CLOCK_MONOTONIC microseconds; analyse.py makes
 * sense of them, here or elsewhere.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdio.h>
#include <time.h>
#include "joule/sources/nvidia/nvml_abi.h"

struct probe {
    struct nvml_api api;
    nvml_device device;
    int64_t init_us; /* how long Init_v2 took */
    FILE *facts;     /* facts.txt: one "name: value" a line */
    FILE *latency;   /* latency.csv */
    FILE *polls;     /* polls.csv: each change of a polled value */
    FILE *ring;      /* ring.csv: the driver's own samples */
    FILE *gpm;       /* gpm.csv */
    FILE *phases;    /* phases.csv: what ran when, and the energy counter at both ends */
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

/* Whether the library has the function; `call` is a name without "nvml". */
#define HAS(probe, call) ((probe)->api.call != NULL)

/* What the board is, which fields answer, what the ring looks like. */
void facts_write(struct probe *probe);
/* Times every call that Joule uses; `condition` is a word for the table. */
void latency_measure(struct probe *probe, const char *condition);
/* Polls all sensors for a time, in one thread each; `phase` is a word for the tables. */
void poll_sensors(struct probe *probe, const char *phase, double seconds);

#endif
