/* tools/forge/sample.h - lets a trained network write text.
 *
 * Note: the same slots and seed give the same text.
 */
#ifndef FORGE_SAMPLE_H
#define FORGE_SAMPLE_H

#include "trainee.h"

/* Draws `count` tokens that follow a newline, each from softmax(logits / temperature); temperature 0 takes
 * the likeliest. Returns UTF-8 in *out_text, without control characters except newline and tab; the caller
 * frees it. */
joule_status sample_text(struct trainee *trainee, unsigned count, double temperature, char **out_text,
                         joule_error *error);

#endif
