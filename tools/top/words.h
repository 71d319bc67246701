/* tools/top/words.h - figures as short words.
 *
 * Owns how powers, energies, shares, memory and times look in a column, and the letter of a class.
 * Newcomers: what is not known is "-", and never 0; texts have fixed greatest widths, which columns rely on.
 */
#ifndef TOP_WORDS_H
#define TOP_WORDS_H

#include <joule/quantity.h>
#include "frame.h"

#define WORD_SIZE 32
#define UNKNOWN   "-"

/* Each writes into out, of WORD_SIZE, and gives it back. */
char *word_power(double watts, char out[WORD_SIZE]); /* "312 W", "1.25 kW": up to 7 columns */
/* "83.1 to 91.6 W"; empty where it is not known. */
char *word_range(joule_quantity q, char *(*word)(double, char *), char out[WORD_SIZE]);
char *word_energy(double joules, char out[WORD_SIZE]); /* "35.1 kJ": up to 7 */
char *word_share(double share, char out[WORD_SIZE]);   /* 0.97: "97%", 12.5: "1250%": up to 6 */
char *word_celsius(double celsius, char out[WORD_SIZE]);
char *word_bytes(uint64_t bytes, char out[WORD_SIZE]); /* "141 GiB": up to 8 */
/* "120/141 GiB": up to 12; where one of the two is known, that. */
char *word_memory(uint64_t used, uint64_t total, char out[WORD_SIZE]);
char *word_time(double seconds, char out[WORD_SIZE]); /* "0:02:23" */

/* "m", "d", "~", "?"; " " without a class. */
char class_letter(joule_class cls);
enum style class_style(joule_class cls);

#endif
