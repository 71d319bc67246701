/* support/truth.c - see truth.h. */
#include "support/truth.h"

#include <math.h>
#include <stdbool.h>
#include "support/chance.h"

const char *const trial_load_names[] = {"steady", "noisy", "wandering", "square", "bursts", "ramp"};

#define STEPS 3000

static struct {
    double joules[STEPS + 1]; /* cumulative true energy since the begin of the trial */
    double step_s;
} truth;

/* State of a generator of relative power. The relative power of a load is near 1. */
struct shape {
    enum trial_load load;
    double noise; /* standard deviation of the noise added in each step */
    double time_s, depth, duty, phase, slope;
    double drift;  /* for LOAD_WANDERING */
    double left_s; /* for LOAD_BURSTS: time until the next change */
    bool is_on;
};

static struct shape shape_of(enum trial_load load, double step_s, double span_s)
{
    struct shape s = {.load = load, .phase = chance(), .depth = chance_between(0.2, 0.9)};
    s.noise = (load == LOAD_NOISY ? 0.25 : 0.02) * sqrt(0.001 / step_s);
    s.time_s = load == LOAD_WANDERING ? chance_scale(0.05, 10)
               : load == LOAD_SQUARE  ? chance_scale(0.02, 4)
                                      : chance_scale(0.02, 2);
    s.duty = chance_between(0.2, 0.8);
    s.slope = chance_between(-0.8, 1.5) / span_s;
    s.drift = 0.3 * chance_normal();
    return s;
}

static double next_power(struct shape *s, double t_s, double step_s)
{
    double power = 1 + s->noise * chance_normal();
    switch (s->load) {
    case LOAD_WANDERING:
        s->drift += 0.3 * sqrt(2 * step_s / s->time_s) * chance_normal() - s->drift * step_s / s->time_s;
        return power + s->drift;
    case LOAD_SQUARE: {
        double turns = t_s / s->time_s + s->phase;
        return turns - floor(turns) < s->duty ? power : power - s->depth;
    }
    case LOAD_BURSTS:
        for (s->left_s -= step_s; s->left_s < 0; s->is_on = !s->is_on)
            s->left_s -= s->time_s * log(1 - chance());
        return s->is_on ? power : power - s->depth;
    case LOAD_RAMP:
        return power + s->slope * t_s;
    default:
        return power;
    }
}

void truth_make(enum trial_load load, double span_s, double level_watts)
{
    double step_s = truth.step_s = span_s / STEPS, watts = level_watts * chance_between(0.7, 1.4);
    struct shape s = shape_of(load, step_s, span_s);
    for (int i = 0; i < STEPS; i++)
        truth.joules[i + 1] =
            truth.joules[i] + fmax(next_power(&s, i * step_s, step_s), 0.02) * watts * step_s;
}

double truth_joules_at(double t_s)
{
    double x = fmin(fmax(t_s / truth.step_s, 0), STEPS - 1e-9);
    int i = (int)x;
    return truth.joules[i] + (x - i) * (truth.joules[i + 1] - truth.joules[i]);
}

#define IDLE_SPREAD 0.05 /* relative variation of idle power */

void truth_make_job(double begin_s, double end_s, double span_s, double level_watts, double *out_idle_joules)
{
    double step_s = truth.step_s = span_s / STEPS, drift = chance_normal();
    double idle_watts = level_watts * chance_between(0.2, 0.6),
           job_watts = level_watts * chance_between(0.3, 1.4);
    struct shape s = shape_of(LOAD_BURSTS, step_s, span_s);
    *out_idle_joules = 0;
    for (int i = 0; i < STEPS; i++) {
        double t = (i + 0.5) * step_s;
        bool runs = t >= begin_s && t < end_s;
        drift += sqrt(2 * step_s) * chance_normal() - drift * step_s;
        double idle = idle_watts * (1 + IDLE_SPREAD * drift);
        double job = runs ? job_watts * next_power(&s, t, step_s) : 0;
        *out_idle_joules += runs ? idle * step_s : 0;
        truth.joules[i + 1] = truth.joules[i] + (idle + job) * step_s;
    }
}
