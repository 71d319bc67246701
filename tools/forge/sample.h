/* tools/forge/sample.h - text that a trained network writes.
 *
 * Owns drawing one token after the other. Newcomers: the same slots and seed give the same text; what cannot be shown on a
 * terminal is replaced.
 */
#ifndef FORGE_SAMPLE_H
#define FORGE_SAMPLE_H

#include "trainee.h"

/* `count` tokens that follow a line's end, each drawn from softmax(logits / temperature); temperature 0: the likeliest. The
 * text is UTF-8 without control characters but for line ends and tabs, and the caller's: free. */
joule_status sample_text(struct trainee *trainee, unsigned count, double temperature, char **out_text,
                         joule_error *error);

#endif
