/* optim/schedule.c - computes the learning rate as a function of the step; see <forge/optim.h>. */
#include <forge/optim.h>

#include <math.h>
#include "base/abi.h"

/* Returns the completed fraction, 0 to 1, of a schedule with an end. */
static double progress(const forge_schedule *s, uint64_t step)
{
    if (step >= s->steps)
        return 1;
    uint64_t done = step - s->warm_up_steps, all = s->steps - s->warm_up_steps;
    return (double)done / (double)all;
}

double forge_schedule_rate(const forge_schedule *schedule, uint64_t step)
{
    forge_schedule s;
    if (abi_read(&s, sizeof s, sizeof s, schedule) != JOULE_OK)
        return NAN;
    if (step < s.warm_up_steps)
        return s.rate * ((double)step + 1) / (double)s.warm_up_steps;
    uint64_t since = step - s.warm_up_steps, period = s.period_steps ? s.period_steps : 1;
    uint64_t periods = since / period;
    switch (s.kind) {
    case FORGE_SCHEDULE_CONSTANT:
        return s.rate;
    case FORGE_SCHEDULE_LINEAR:
        return s.rate + (s.last_rate - s.rate) * progress(&s, step);
    case FORGE_SCHEDULE_COSINE:
        return s.last_rate + (s.rate - s.last_rate) * (1 + cos(M_PI * progress(&s, step))) / 2;
    case FORGE_SCHEDULE_STEP:
        return s.rate * pow(s.factor, (double)periods);
    case FORGE_SCHEDULE_EXPONENTIAL:
        return s.rate * pow(s.factor, (double)since / (double)period);
    }
    return NAN;
}
