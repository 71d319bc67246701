/* joule/curve/estimate.h - arithmetic on numbers that know their errors.
 *
 * Owns the inside of a joule_quantity: an independent error (edges, noise), which adds in quadrature, and errors
 * common to a named cause (the gain of a meter, a seed table), which add linearly and therefore cancel in
 * differences and ratios. A modelled value is log-normal: its sd over its value is the sd of the logarithm.
 * Newcomers: sums are made here and turned into low..high once, at the end, by estimate_quantity.
 */
#ifndef JOULE_ESTIMATE_H
#define JOULE_ESTIMATE_H

#include <stdint.h>
#include <joule/quantity.h>

/* What makes errors common. The low byte names the cause, the rest which instance (device index, say). */
enum error_cause {
    CAUSE_NONE = 0,
    CAUSE_RAPL_GAIN,    /* scale error of a CPU's energy registers */
    CAUSE_GPU_GAIN,     /* scale error of a board's sensor; instance: the board */
    CAUSE_HWMON_GAIN,   /* shunt and regulator; instance: the chip */
    CAUSE_BATTERY_GAIN, /* fuel gauge */
    CAUSE_CPU_SEED,     /* the seed table of the CPU model */
    CAUSE_CLOCK_MAP,    /* foreign time stamps */
    CAUSE_IDLE,         /* the idle baseline */
};
#define CAUSE(kind, instance) ((uint32_t)(kind) | (uint32_t)(instance) << 8)

#define ESTIMATE_CAUSES                                                                                      \
    12 /* more causes than this in one sum merge into the last, which overstates the error */

struct estimate {
    double value;    /* NaN: unknown */
    double variance; /* independent error */
    struct {
        uint32_t cause; /* CAUSE(...); CAUSE_NONE ends the list */
        double sd;      /* signed: the change of value when the cause is one sd up */
    } common[ESTIMATE_CAUSES];
    double by_class[5]; /* subtotals, indexed by joule_class */
    joule_class cls;
};

#define Z90 1.6448536269514722 /* the 95 % point of the standard normal */

struct estimate estimate_unknown(void);
struct estimate estimate_zero(void); /* a sum of nothing: 0, without class */
/* value with an independent sd and an sd common to `cause`. */
struct estimate estimate_make(double value, joule_class cls, double independent_sd, uint32_t cause,
                              double common_sd);
/* sum + factor * term. Unknown in either makes the sum unknown. */
struct estimate estimate_add(struct estimate sum, double factor, const struct estimate *term);
struct estimate estimate_scale(struct estimate e, double factor);
/* The same value, of a weaker class: the result of sharing out a measurement is derived. */
struct estimate estimate_weaken(struct estimate e, joule_class cls);
double estimate_sd(const struct estimate *e);
joule_quantity estimate_quantity(const struct estimate *e);
joule_quantity quantity_unknown(void);
/* Returns the first one, or the second if the first is unknown: power may be known before energy is. */
joule_quantity quantity_first_known(joule_quantity first, joule_quantity second);
/* `by` times as much, and as sure; by is not negative. */
joule_quantity quantity_scale(joule_quantity q, double by);

#endif
