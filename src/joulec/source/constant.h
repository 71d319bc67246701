/* joulec/source/constant.h - evaluates whole-number constants of preprocessed C: "1000", "(64 * 64u)", "1 <<
 * 20".
 *
 * Supports + - * / % << >>, signs and parentheses, but no names, types or conditions. Note: suffixes of
 * numbers are ignored. A value that does not fit into int64_t is an error.
 */
#ifndef JOULEC_CONSTANT_H
#define JOULEC_CONSTANT_H

#include <joule/base.h>
#include <stdint.h>

/* Evaluates text[0..size) up to its end, a comma, or an unmatched closing parenthesis. Sets *out_end to the
 * offset in `text` at which the evaluation stopped. Returns JOULE_OK. Returns JOULE_INVALID, with the reason
 * in *out_error, if the text is not a constant. */
joule_status constant_read(const char *text, size_t size, int64_t *out_value, size_t *out_end,
                           joule_error *out_error);

#endif
