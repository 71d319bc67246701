/* joule/quantity.h - a number with its uncertainty.
 *
 * Every energy and power of libjoule is a joule_quantity: a value, an interval that contains the true value
 * with 90 % probability, and the class of the evidence. If the value is unknown, all three numbers are NaN,
 * never 0.
 * Note: low and high are the 5 % and 95 % points, not hard bounds.
 */
#ifndef JOULE_QUANTITY_H
#define JOULE_QUANTITY_H

#include <joule/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of evidence for a figure, from strongest to weakest. A sum has the weakest class of its terms. */
typedef enum joule_class {
    JOULE_CLASS_NONE = 0,     /* unknown; the value is NaN */
    JOULE_CLASS_MEASURED = 1, /* difference of a hardware energy counter */
    JOULE_CLASS_DERIVED = 2,  /* integral of sampled power, or a share of a measured energy */
    JOULE_CLASS_MODELLED = 3, /* result of a cost model: activity times coefficients */
    JOULE_CLASS_ASSUMED = 4,  /* based on a figure from the user or a data sheet */
} joule_class;

/* A value with its interval. Other structures contain it, so its layout is final. */
typedef struct joule_quantity {
    /* best estimate, in the unit that the name of the member or function contains; NaN: unknown */
    double value;
    double low;        /* 5 % point */
    double high;       /* 95 % point */
    joule_class cls;   /* class of the evidence */
    uint32_t reserved; /* 0 */
} joule_quantity;

/* Returns "measured", "derived", "modelled", "assumed" or "none", in static storage. Any thread. */
JOULE_API const char *joule_class_name(joule_class cls);

/* Returns the probability, 0 to 1, that the true value is at most `limit`. The interval of `q` defines the
 * distribution: normal for measured and derived quantities, log-normal for modelled and assumed ones. NaN if
 * `q` is unknown. Any thread. */
JOULE_API double joule_probability_below(joule_quantity q, double limit);

/* Returns the probability, 0 to 1, that the true value is within 20 % of q.value: the `confidence` of the
 * report. NaN if `q` is unknown. Any thread. */
JOULE_API double joule_confidence(joule_quantity q);

/* The physical dimension of a number with a unit. */
typedef enum joule_dimension {
    JOULE_DIMENSION_ENERGY = 1, /* joules: J or Wh, each with or without a prefix */
    JOULE_DIMENSION_POWER = 2,  /* watts: W, with or without a prefix */
    JOULE_DIMENSION_TIME = 3,   /* seconds: s with or without a prefix; min; h */
    /* temperature difference in kelvin: K with or without a prefix; C; degC */
    JOULE_DIMENSION_TEMPERATURE = 4,
} joule_dimension;

/* Parses a non-negative number with its unit ("50uJ", "1.5kWh", "100ms", "12 W") and converts it to the SI
 * base unit of `dimension`. The locale has no effect. A number without a unit is in the base unit. Prefixes:
 * p n u (or the micro sign) m k M G. JOULE_INVALID: any other text, for example a negative or infinite
 * number, or text after the unit. The message then contains the column of the error, and *out_value is not
 * changed. Any thread. */
JOULE_API joule_status joule_parse(const char *text, joule_dimension dimension, double *out_value,
                                   joule_error *out_error);

/* Writes `value` (SI base unit) with a unit prefix: "50.0 uJ", "1.25 kJ", "-12 W", "4500 s"; "unknown" for
 * NaN. Like snprintf, returns the needed length without the terminator, and writes at most `size` bytes
 * including the terminator. digits: significant digits, 1 to 15; other numbers are clamped to this range.
 * Time and temperature are never written with k, M or G. A value too small or too large for the prefixes is
 * written as "1.00e-15 J". Any thread. */
JOULE_API size_t joule_format(double value, joule_dimension dimension, int digits, char *out_text,
                              size_t size);

#ifdef __cplusplus
}
#endif
#endif
