/* joule/curve/estimate.h - arithmetic on values with errors.
 *
 * An estimate has an independent error, such as noise, and errors with a named common cause, such as the gain
 * of a sensor. Independent errors add in quadrature. Errors with the same cause add linearly, so they cancel
 * in differences and ratios. A modelled value is log-normal: its sd divided by its value is the sd of the
 * logarithm.
 * Note: compute with estimates, and convert to low..high once at the end, with estimate_quantity.
 */
#ifndef JOULE_ESTIMATE_H
#define JOULE_ESTIMATE_H

#include <stdint.h>
#include <joule/quantity.h>

/* Common causes of errors. The low byte is the cause, the rest the instance, such as a device index. */
enum error_cause {
    CAUSE_NONE = 0,
    CAUSE_RAPL_GAIN,    /* scale error of a CPU's energy registers */
    CAUSE_GPU_GAIN,     /* scale error of a board's sensor; instance: the board */
    CAUSE_HWMON_GAIN,   /* scale error of a sensor chip (shunt, regulator); instance: the chip */
    CAUSE_BATTERY_GAIN, /* scale error of a battery's fuel gauge */
    CAUSE_CPU_SEED,     /* error of the built-in table (seed) of the CPU model */
    CAUSE_CLOCK_MAP,    /* error of timestamps that come from another clock */
    CAUSE_IDLE,         /* error of the idle baseline */
};
#define CAUSE(kind, instance) ((uint32_t)(kind) | (uint32_t)(instance) << 8)

/* If a sum has more causes, the further causes are merged into the last one, which overstates the error. */
#define ESTIMATE_CAUSES 12

/* A value with its errors. */
struct estimate {
    double value;    /* NaN: unknown */
    double variance; /* independent error */
    struct {
        uint32_t cause; /* CAUSE(...); CAUSE_NONE ends the list */
        double sd;      /* signed change of `value` if the cause increases by one sd */
    } common[ESTIMATE_CAUSES];
    double by_class[5]; /* subtotals, indexed by joule_class */
    joule_class cls;
};

#define Z90 1.6448536269514722 /* 95 % point of the standard normal distribution */

/* Returns an unknown estimate: its value is NaN. */
struct estimate estimate_unknown(void);
struct estimate estimate_zero(void); /* an empty sum: 0, without class */
/* Returns an estimate with an independent sd and an sd common to `cause`. */
struct estimate estimate_make(double value, joule_class cls, double independent_sd, uint32_t cause,
                              double common_sd);
/* Returns sum + factor * term. The result is unknown if `sum` or `term` is unknown. */
struct estimate estimate_add(struct estimate sum, double factor, const struct estimate *term);
/* Returns e times `factor`. All errors are scaled, too. */
struct estimate estimate_scale(struct estimate e, double factor);
/* Returns e, with class `cls` if that class is weaker than e's. For example, attributed measurements are
 * DERIVED. */
struct estimate estimate_weaken(struct estimate e, joule_class cls);
/* Returns the total standard deviation: independent and common errors in quadrature. */
double estimate_sd(const struct estimate *e);
/* Returns the estimate as a value with its 90 % interval. */
joule_quantity estimate_quantity(const struct estimate *e);
/* Returns an unknown quantity: all three numbers are NaN. */
joule_quantity quantity_unknown(void);
/* Returns `first`, or `second` if `first` is unknown. */
joule_quantity quantity_first_known(joule_quantity first, joule_quantity second);
/* Returns q times `by`, with the same relative error; by >= 0. */
joule_quantity quantity_scale(joule_quantity q, double by);
/* Returns q with its upper bound lowered to `limit`, but not below q.value. */
joule_quantity quantity_limit_high(joule_quantity q, double limit);

#endif
