/* joulec/source/constant.h - evaluates whole-number constants of preprocessed C: "1000", "(64 * 64u)", "1 <<
 * 20".
 *
 * Supports + - * / % << >>, signs and parentheses; no names, types or conditions. Note: suffixes are ignored;
 * a value that does not fit 63 bits is an error.
 */
#ifndef JOULEC_CONSTANT_H
#define JOULEC_CONSTANT_H

#include <joule/base.h>
#include <stdint.h>

/* Evaluates text[0..size) up to its end, a comma, or an unmatched closing parenthesis. *out_end gets the
 * position where it stopped. Returns JOULE_INVALID if the text is not a constant; the message says why. */
joule_status constant_read(const char *text, size_t size, int64_t *out_value, size_t *out_end,
                           joule_error *out_error);

#endif
