/* tools/forge/sampling_options.h - the options of `forge generate` and `forge chat` that choose tokens. */
#ifndef FORGE_SAMPLING_OPTIONS_H
#define FORGE_SAMPLING_OPTIONS_H

#include <forge/sampling.h>
#include "common/options.h"

enum sampling_number { TEMPERATURE, TOP_P, MIN_P, REPETITION, PRESENCE, FREQUENCY, SAMPLING_NUMBERS };

/* The texts of the options; NULL: not given. */
struct sampling_options {
    const char *numbers[SAMPLING_NUMBERS];
    const char *top_k, *seed;
};

/* Writes the rows of the options to a table. Returns SAMPLING_ROWS. */
enum { SAMPLING_ROWS = SAMPLING_NUMBERS + 2 };
size_t sampling_options_add(struct sampling_options *options, struct option *rows);
/* Converts the options. Without --seed, the seed is random. Returns false after a message if an option is
 * wrong. */
bool sampling_options_read(const struct sampling_options *options, const char *subcommand,
                           forge_sampling *out_sampling);

#endif
