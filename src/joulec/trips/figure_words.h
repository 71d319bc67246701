/* joulec/trips/figure_words.h - figures as words, for all that people read.
 *
 * Owns how many digits, and what a range of trip counts is called.
 */
#ifndef JOULEC_FIGURE_WORDS_H
#define JOULEC_FIGURE_WORDS_H

#include <joule/quantity.h>
#include "joulec/trips/trips.h"

struct words {
    char text[96];
};

/* "3.4 uJ"; "unknown". */
struct words figure_words(double value, joule_dimension dimension);
/* "2.1 uJ to 6 uJ"; "2.1 uJ and more" where nobody knows the upper end. */
struct words range_words(double low, double high, joule_dimension dimension);
/* "1000 times"; "once"; "1 to 64 times, 33 expected". */
struct words trips_words(const struct trips_range *range);

#endif
