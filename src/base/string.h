/* base/string.h - text: bounded building, trimming, numbers without locale.
 *
 * Owns a growing-nowhere string builder over a caller's buffer and the parsers that every sysfs reader uses.
 * It allocates nothing. Newcomers: sysfs files end in a newline and may be empty or hold garbage; the parsers
 * here reject what is not wholly a number instead of returning 0.
 */
#ifndef BASE_STRING_H
#define BASE_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes into buffer[0..size); keeps counting past the end, so that length tells what was needed. */
struct text {
    char *buffer; /* may be NULL where size is 0 */
    size_t size;
    size_t length; /* without terminator; >= size means that the text was cut */
};

void text_init(struct text *text, char *buffer, size_t size);
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const char *bytes, size_t count);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a finite double in the shortest form that reads back equal, with '.' whatever the locale. */
void text_add_double(struct text *text, double value);
/* As above, for measured or computed numbers. Whole numbers are exact; others have 12 digits, or six decimals
 * where these are more, so that rounding errors of sums and products do not show. */
void text_add_measure(struct text *text, double value);

/* snprintf for what may be cut: words for people, names, and paths, as a path that was cut does not exist. */
void string_print(char *destination, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Copies with termination, cutting at size - 1 bytes; returns whether all of it fitted. */
bool string_copy(char *destination, size_t size, const char *source);
/* Removes white space at both ends, in place; returns the new start. */
char *string_trim(char *string);
bool string_starts(const char *string, const char *prefix);
bool string_ends(const char *string, const char *suffix);
/* Whether `string` is among those of a list that NULL ends; NULL is not. */
bool string_is_one_of(const char *string, const char *const *list);

/* Whole-string numbers; white space around is allowed, anything else, overflow and empty text give false and
 * leave *out alone. string_to_double takes decimal forms with exponent only (no hex, inf, nan), any locale. */
bool string_to_u64(const char *string, int base, uint64_t *out_value);
bool string_to_i64(const char *string, int base, int64_t *out_value);
bool string_to_double(const char *string, double *out_value);
/* Reads a decimal number at the start of `string`; returns the first byte after it, or NULL. */
const char *string_scan_double(const char *string, double *out_value);

/* Length in bytes, 1 to 4, of the UTF-8 character at the start of bytes[0..count), count > 0; 0 when there is none:
 * stray and missing continuation bytes, overlong forms, surrogates, above U+10FFFF. */
size_t string_utf8_length(const char *bytes, size_t count);

/* Calls each(cpu) for a kernel CPU list such as "0,4-7"; false, after what was good, for malformed text.
 * Numbers over 65535 are malformed. */
bool string_each_cpu(const char *list, void (*each)(unsigned cpu, void *context), void *context);

#endif
