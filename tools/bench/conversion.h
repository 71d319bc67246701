/* bench/conversion.h - converts joules to carbon emissions and cost, at the end of all computations. */
#ifndef BENCH_CONVERSION_H
#define BENCH_CONVERSION_H

#include <joule/base.h>
#include <stdbool.h>

/* Factors; NaN: not requested. */
struct conversion {
    double grams_per_kwh; /* carbon intensity: grams of CO2 equivalent per kilowatt hour */
    double low, high;     /* range of the intensity; equal to it if the user gave a number */
    const char *source;   /* where the intensity is from, with the year; static storage */
    double pue;           /* energy of the data centre divided by that of its computers; 1: not given */
    double price_per_kwh; /* in any currency */
};

/* Returns factors of which none is requested. */
struct conversion conversion_none(void);
/* Reads --carbon: a number, or a region of the table such as DE, DEU or world. JOULE_INVALID: neither. */
joule_status conversion_read_carbon(struct conversion *conversion, const char *text, joule_error *out_error);
/* Return grams of CO2 equivalent or cost of `joules`; NaN if unknown or not requested. */
double conversion_grams(const struct conversion *conversion, double joules, double grams_per_kwh);
double conversion_cost(const struct conversion *conversion, double joules);

#endif
