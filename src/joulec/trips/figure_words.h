/* joulec/trips/figure_words.h - formats figures and trip counts for messages and reports. */
#ifndef JOULEC_FIGURE_WORDS_H
#define JOULEC_FIGURE_WORDS_H

#include <joule/quantity.h>
#include "joulec/trips/trips.h"

struct words {
    char text[96];
};

/* Returns text such as "3.4 uJ"; NaN: "unknown". */
struct words figure_words(double value, joule_dimension dimension);
/* Returns text such as "2.1 uJ to 6 uJ"; "2.1 uJ and more" if the upper end is unknown. */
struct words range_words(double low, double high, joule_dimension dimension);
/* Returns text such as "1000 times", "once", or "1 to 64 times, 33 expected". */
struct words trips_words(const struct trips_range *range);

#endif
