/* tools/forge/sample.h - generates text with a trained network.
 *
 * Note: the same slots and seed give the same text.
 */
#ifndef FORGE_SAMPLE_H
#define FORGE_SAMPLE_H

#include "trainee.h"

/* Generates `count` tokens that follow a newline. Each is drawn from softmax(logits / temperature);
 * temperature 0: it is the likeliest token. *out_text is UTF-8 without control characters except newline and
 * tab. The caller frees it with free(). */
joule_status sample_text(struct trainee *trainee, unsigned count, double temperature, char **out_text,
                         joule_error *error);

#endif
