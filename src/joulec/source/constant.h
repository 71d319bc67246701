/* joulec/source/constant.h - whole numbers as the source writes them, once all macros are replaced: "1000", "(64 * 64u)", "1 << 20".
 *
 * Owns the integer part of C's constant expressions that bounds are written with. No names, no types, no conditions.
 * Newcomers: a suffix is read and means nothing; what does not fit 63 bits is an error, not a smaller number.
 */
#ifndef JOULEC_CONSTANT_H
#define JOULEC_CONSTANT_H

#include <joule/base.h>
#include <stdint.h>

/* Reads from text[0..size) up to its end, a comma, or a closing parenthesis that none opened; *out_end is where it stopped.
 * INVALID, with what is wrong: it is no number. */
joule_status constant_read(const char *text, size_t size, int64_t *out_value, size_t *out_end,
                           joule_error *out_error);

#endif
