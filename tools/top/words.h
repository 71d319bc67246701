/* tools/top/words.h - formats power, energy, ratios, memory and time as short texts of limited width.
 *
 * Note: unknown values are "-", never 0.
 */
#ifndef TOP_WORDS_H
#define TOP_WORDS_H

#include <joule/quantity.h>
#include "frame.h"

#define WORD_SIZE 32
#define UNKNOWN   "-"

/* Each function writes into `out` and returns it. */
char *word_power(double watts, char out[WORD_SIZE]); /* "312 W", "1.25 kW": up to 7 columns */
/* "83.1 to 91.6 W"; empty if unknown. */
char *word_range(joule_quantity q, char *(*word)(double, char *), char out[WORD_SIZE]);
char *word_energy(double joules, char out[WORD_SIZE]); /* "35.1 kJ": up to 7 columns */
char *word_share(double share, char out[WORD_SIZE]);   /* 0.97: "97%", 12.5: "1250%": up to 6 columns */
char *word_celsius(double celsius, char out[WORD_SIZE]);
char *word_bytes(uint64_t bytes, char out[WORD_SIZE]); /* "141 GiB": up to 8 columns */
/* "120/141 GiB": up to 12 columns. If one value is unknown, "-/141 GiB" or "120 GiB". */
char *word_memory(uint64_t used, uint64_t total, char out[WORD_SIZE]);
char *word_time(double seconds, char out[WORD_SIZE]); /* "0:02:23" */

/* Returns 'm', 'd', '~' or '?'; ' ' without a class. */
char class_letter(joule_class cls);
enum style class_style(joule_class cls);

#endif
