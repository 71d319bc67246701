/* tools/top/format.h - formats power, energy, ratios, memory and time as short texts of limited width.
 *
 * Note: unknown values are "-", never 0.
 */
#ifndef TOP_FORMAT_H
#define TOP_FORMAT_H

#include <joule/quantity.h>
#include "frame.h"

#define FORMAT_SIZE 32
#define UNKNOWN     "-"

/* Each function writes into `out` and returns it. */
char *format_power(double watts, char out[FORMAT_SIZE]); /* "312 W", "1.25 kW": up to 7 columns */
/* Writes the interval of q, such as "83.1 to 91.6 W"; "" if unknown. */
char *format_range(joule_quantity q, char *(*format)(double, char *), char out[FORMAT_SIZE]);
char *format_energy(double joules, char out[FORMAT_SIZE]); /* "35.1 kJ": up to 7 columns */
char *format_share(double share, char out[FORMAT_SIZE]);   /* 0.97: "97%", 12.5: "1250%": up to 6 columns */
char *format_celsius(double celsius, char out[FORMAT_SIZE]);
char *format_bytes(uint64_t bytes, char out[FORMAT_SIZE]); /* "141 GiB": up to 8 columns */
/* Writes "120/141 GiB": up to 12 columns. If one value is unknown, "-/141 GiB" or "120 GiB". */
char *format_memory(uint64_t used, uint64_t total, char out[FORMAT_SIZE]);
char *format_time(double seconds, char out[FORMAT_SIZE]); /* "0:02:23" */

/* Returns the letter of a class: 'm', 'd', '~' or '?'; ' ' for JOULE_CLASS_NONE. */
char class_letter(joule_class cls);
enum style class_style(joule_class cls);

#endif
