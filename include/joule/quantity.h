/* joule/quantity.h - a number that says how sure it is.
 *
 * Every energy and power that libjoule gives is a joule_quantity: a value, the interval that holds the truth
 * with 90 % probability, and the class of the evidence. Unknown is NaN in all three numbers, never 0.
 * Newcomers: low and high are the 5 % and 95 % points, not hard bounds.
 */
#ifndef JOULE_QUANTITY_H
#define JOULE_QUANTITY_H

#include <joule/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a figure came about, from strongest to weakest. A sum carries the weakest class of its parts. */
typedef enum joule_class {
    JOULE_CLASS_NONE = 0,     /* nothing is known; the value is NaN */
    JOULE_CLASS_MEASURED = 1, /* the difference of a hardware energy counter */
    JOULE_CLASS_DERIVED = 2,  /* integrated from sampled power, or shared out from a measurement */
    JOULE_CLASS_MODELLED = 3, /* from a cost model: activity times coefficients */
    JOULE_CLASS_ASSUMED = 4,  /* from a figure that the user or a data sheet gave */
} joule_class;

/* Part of other structures: its layout is final. */
typedef struct joule_quantity {
    double value;      /* best estimate, in the unit that the name of the holder gives; NaN: unknown */
    double low;        /* 5 % point */
    double high;       /* 95 % point */
    joule_class cls;   /* evidence */
    uint32_t reserved; /* 0 */
} joule_quantity;

/* "measured", "derived", "modelled", "assumed" or "none", in static storage. Any thread. */
JOULE_API const char *joule_class_name(joule_class cls);

/* Probability, 0 to 1, that the true value is at most `limit`, from the interval of `q`: normal for measured
 * and derived quantities, log-normal for modelled and assumed ones. NaN where q is unknown. Any thread. */
JOULE_API double joule_probability_below(joule_quantity q, double limit);

/* Probability, 0 to 1, that the truth lies within +-20 % of q.value: the report's `confidence`. NaN where q is
 * unknown. Any thread. */
JOULE_API double joule_confidence(joule_quantity q);

/* What a text with a unit measures. */
typedef enum joule_dimension {
    JOULE_DIMENSION_ENERGY = 1, /* joules: J or Wh, each with or without a prefix */
    JOULE_DIMENSION_POWER = 2,  /* watts: W, with or without a prefix */
    JOULE_DIMENSION_TIME = 3,   /* seconds: s with or without a prefix, min, h */
    JOULE_DIMENSION_TEMPERATURE =
        4, /* kelvin of difference: K with or without a prefix; C and degC, the same step */
} joule_dimension;

/* Reads a non-negative number with its unit ("50uJ", "1.5kWh", "100ms", "12 W"), independent of locale, into
 * SI base units. A number without a unit is taken in the base unit. Prefixes p n u (also the micro sign) m k M G.
 * JOULE_INVALID, with a message that shows the column, for anything else, including negative, infinite, and
 * trailing text; *out_value is then untouched. Any thread. */
JOULE_API joule_status joule_parse(const char *text, joule_dimension dimension, double *out_value,
                                   joule_error *out_error);

/* Writes `value` (SI base unit) with a unit prefix and `digits` significant digits (1 to 15; others are taken as the
 * nearest), such as "50.0 uJ", "1.25 kJ", "-12 W" or "4500 s" (time and temperature have no prefix above 1);
 * "unknown" for NaN. What no prefix reaches is written as "1.00e-15 J". Like snprintf: returns the length needed,
 * writes at most `size` bytes with the terminator. Any thread. */
JOULE_API size_t joule_format(double value, joule_dimension dimension, int digits, char *out_text,
                              size_t size);

#ifdef __cplusplus
}
#endif
#endif
