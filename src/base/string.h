/* base/string.h - builds and parses text in fixed buffers, independent of locale.
 *
 * Nothing is allocated. Note: sysfs files end in a newline and may be empty or contain garbage. Parsers here
 * reject text that is not completely a number, instead of returning 0.
 */
#ifndef BASE_STRING_H
#define BASE_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text that is built in buffer[0..size). Bytes that do not fit are dropped, but counted in `length`. */
struct text {
    char *buffer; /* may be NULL if size is 0 */
    size_t size;
    size_t length; /* without terminator; >= size: the text was truncated */
};

/* Initialises `text` as an empty text in a buffer, which the caller owns. */
void text_init(struct text *text, char *buffer, size_t size);
/* Append a string, `count` bytes, or formatted text (in the C locale). */
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const char *bytes, size_t count);
/* Adds bytes as text of HTML, XML or an attribute in double quotes: escapes & < > and ". */
void text_add_markup(struct text *text, const char *bytes, size_t count);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends a finite double in the shortest form that reads back equal, with '.' in all locales. */
void text_add_double(struct text *text, double value);
/* Appends a finite measured or computed number. Whole numbers are exact. Other numbers have 12 significant
 * digits. If six decimals need more digits, the number has six decimals, but at most 15 digits. This hides
 * rounding errors of sums and products. */
void text_add_measure(struct text *text, double value);

/* Like snprintf, without a result. For text that may be truncated: messages, names, and paths (a truncated
 * path does not exist). */
void string_print(char *destination, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Copies `source` with a terminator, truncated to size - 1 bytes. Returns true if nothing was truncated. */
bool string_copy(char *destination, size_t size, const char *source);
/* Removes white space at both ends, in place. Returns the new start. */
char *string_trim(char *string);
/* Return true if `string` begins with `prefix` or ends with `suffix`. */
bool string_starts(const char *string, const char *prefix);
bool string_ends(const char *string, const char *suffix);
/* Returns true if `string` is in a list that ends with NULL; false for NULL. */
bool string_is_one_of(const char *string, const char *const *list);

/* Parse a whole string as a number; white space around the number is allowed. For other text, overflow and
 * empty text, return false and do not change *out_value. string_to_double accepts decimal numbers with
 * exponent only (no hex, inf, nan). */
bool string_to_u64(const char *string, int base, uint64_t *out_value);
bool string_to_i64(const char *string, int base, int64_t *out_value);
bool string_to_double(const char *string, double *out_value);
/* Parses a decimal number at the start of `string`. Returns the first byte after the number, or NULL if there
 * is none or it overflows. */
const char *string_scan_double(const char *string, double *out_value);

/* Returns the size in bytes that a line of /proc/meminfo states; UINT64_MAX: unknown. text: the file; key:
 * the begin of the line, for example "MemTotal:". */
uint64_t string_meminfo_bytes(const char *text, const char *key);

/* Returns the length in bytes, 1 to 4, of the UTF-8 character at bytes[0..count), count > 0. 0: invalid,
 * which includes stray or missing continuation bytes, overlong forms, surrogates, and characters above
 * U+10FFFF. */
size_t string_utf8_length(const char *bytes, size_t count);
/* Decodes the UTF-8 character at bytes[0..count). Returns its length in bytes. Returns 0 and sets
 * *out_character to UINT32_MAX if count is 0 or the bytes are invalid. */
size_t string_utf8_read(const char *bytes, size_t count, uint32_t *out_character);
/* Writes a character up to U+10FFFF as UTF-8. Returns its length in bytes, 1 to 4. */
size_t string_utf8_write(uint32_t character, char out[4]);

/* Calls each(cpu) for a kernel's CPU list such as "0,4-7". Returns false for malformed text, after calls for
 * the valid part. Numbers above 65535 are malformed. */
bool string_each_cpu(const char *list, void (*each)(unsigned cpu, void *context), void *context);

#endif
