/* ir/text_tokens.c - prints and parses names and elements; see text.h.
 *
 * Note: each printed element is parsed again to check it. If the parsed bytes differ, the element is printed
 * in another form. So the text is exact for every type, also for bytes that no computation produces.
 */
#include "forge/ir/text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "forge/core/dtype.h"

/* --- names ---------------------------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word_character(char c, bool is_path)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-' || (is_path && c == '/');
}

static size_t word_length(const char *text, size_t length, bool is_path)
{
    size_t count = 0;
    if (length && (is_path || is_letter(text[0])))
        while (count < length && is_word_character(text[count], is_path))
            count++;
    return count;
}

void text_add_quoted(struct text *text, const char *name)
{
    size_t length = strlen(name);
    text_add(text, "\"");
    while (length) {
        unsigned char c = (unsigned char)*name;
        size_t count = string_utf8_length(name, length);
        if (count && c >= ' ' && c != 0x7f && c != '"' && c != '\\') {
            text_add_bytes(text, name, count);
        } else {
            text_printf(text, "\\%02x", c);
            count = 1;
        }
        name += count;
        length -= count;
    }
    text_add(text, "\"");
}

static void add_name(struct text *text, const char *name, bool is_path)
{
    size_t length = strlen(name);
    if (length && word_length(name, length, is_path) == length)
        text_add(text, name);
    else
        text_add_quoted(text, name);
}

void text_add_word(struct text *text, const char *name)
{
    add_name(text, name, false);
}

void text_add_path(struct text *text, const char *path)
{
    add_name(text, path, true);
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parses the rest of a name after the opening quote. Returns a copy in the arena, or NULL after an error. */
static char *quoted_name(struct cursor *cursor, struct arena *arena)
{
    const char *from = cursor->text + cursor->at, *end = cursor->text + cursor->length;
    const char *close = from;
    while (close < end && *close != '"' && *close != '\n')
        close++;
    char *name = arena_alloc(arena, (size_t)(close - from) + 1), *to = name;
    if (!name) {
        cursor_no_memory(cursor);
        return NULL;
    }
    while (from < close) {
        bool is_escape = *from == '\\';
        int high = is_escape && close - from > 2 ? digit_of(from[1]) : -1,
            low = high >= 0 ? digit_of(from[2]) : -1;
        *to++ = is_escape ? (char)(high * 16 + low) : *from;
        if (to[-1] == '\0' || (is_escape && low < 0)) {
            cursor_fail_at(cursor, (size_t)(from - cursor->text),
                           "expected a backslash and two hexadecimal digits other than 00");
            return NULL;
        }
        from += is_escape ? 3 : 1;
    }
    cursor->at = (size_t)(close - cursor->text);
    if (close == end || *close != '"') {
        cursor_expected(cursor, "a closing quote");
        return NULL;
    }
    cursor->at++;
    return name;
}

char *cursor_name(struct cursor *cursor, struct arena *arena, bool is_path)
{
    if (cursor_next(cursor) == '"') {
        cursor->at++;
        return quoted_name(cursor, arena);
    }
    const char *from = cursor->text + cursor->at;
    size_t count = word_length(from, cursor->length - cursor->at, is_path);
    if (count == 0) {
        cursor_expected(cursor, "a name");
        return NULL;
    }
    cursor->at += count;
    char *name = arena_copy(arena, from, count);
    if (!name)
        cursor_no_memory(cursor);
    return name;
}

/* --- elements ------------------------------------------------------------------------------------------- */

static uint64_t bits_of(const void *element, size_t size)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++) {
        size_t at = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? size - 1 - i : i;
        bits = bits << 8 | ((const unsigned char *)element)[at];
    }
    return bits;
}

static void set_bits(void *element, size_t size, uint64_t bits)
{
    for (size_t i = 0; i < size; i++, bits >>= 8) {
        size_t at = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i : size - 1 - i;
        ((unsigned char *)element)[at] = (unsigned char)bits;
    }
}

static bool float_from_text(const char *string, double *out)
{
    static const struct {
        const char *name;
        double value;
    } others[] = {{"nan", (double)NAN}, {"inf", (double)INFINITY}, {"-inf", -(double)INFINITY}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(string, others[i].name) == 0) {
            *out = others[i].value;
            return true;
        }
    return string_to_double(string, out);
}

static bool integer_from_text(const struct dtype_row *row, const char *string, void *out_element)
{
    uint64_t bits, stored;
    int64_t number;
    if (row->kind == DTYPE_BOOL) {
        bits = strcmp(string, "true") == 0;
        if (!bits && strcmp(string, "false") != 0)
            return false;
    } else if (row->kind == DTYPE_SIGNED) {
        if (!string_to_i64(string, 10, &number))
            return false;
        bits = (uint64_t)number;
    } else if (!string_to_u64(string, 10, &bits)) {
        return false;
    }
    row->store_bits(out_element, 0, 1, &bits);
    row->load_bits(out_element, 0, 1, &stored);
    return stored == bits; /* otherwise the number is out of the type's range */
}

bool element_from_text(forge_dtype dtype, const char *string, void *out_element)
{
    const struct dtype_row *row = dtype_row(dtype);
    uint64_t bits;
    double number;
    if (!row || row->block_elements > 1)
        return false;
    if (string_starts(string, "0x")) {
        if (strlen(string) != 2 + 2 * (size_t)row->block_bytes || !string_to_u64(string + 2, 16, &bits))
            return false;
        set_bits(out_element, row->block_bytes, bits);
        return true;
    }
    if (row->kind != DTYPE_FLOAT)
        return integer_from_text(row, string, out_element);
    if (!float_from_text(string, &number))
        return false;
    row->store(out_element, 0, 1, &number);
    return true;
}

static bool reads_back(forge_dtype dtype, const char *string, const void *element)
{
    unsigned char read[8];
    return element_from_text(dtype, string, read) &&
           memcmp(read, element, forge_dtype_block_bytes(dtype)) == 0;
}

/* Returns the number of significant digits to try first: the number that the type always preserves. %g drops
 * trailing zeros, so shorter forms need no separate attempt. Small integers must be printed exactly, because
 * in a narrow type a shorter number could round to the same element. */
static int min_digits(forge_dtype dtype, double value)
{
    if (value == floor(value) && fabs(value) < 1e6)
        return DBL_DIG;
    bool is_normal = fabs(value) >= (dtype == FORGE_F64 ? DBL_MIN : (double)FLT_MIN);
    return is_normal && dtype == FORGE_F64 ? DBL_DIG : is_normal && dtype == FORGE_F32 ? FLT_DIG : 1;
}

/* Writes the shortest text that parses to the bytes of the element. Returns false if there is no such
 * text. */
static bool float_to_text(forge_dtype dtype, const void *element, char *out, size_t size)
{
    double value;
    struct text text;
    dtype_row(dtype)->load(element, 0, 1, &value);
    int first = min_digits(dtype, value);
    for (int digits = first; isfinite(value) && digits <= DBL_DECIMAL_DIG; digits++) {
        text_init(&text, out, size);
        text_printf(&text, "%.*g", digits, value);
        if (reads_back(dtype, out, element))
            return true;
    }
    string_copy(out, size, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    return reads_back(dtype, out, element);
}

static bool integer_to_text(forge_dtype dtype, const void *element, char *out, size_t size)
{
    uint64_t bits;
    struct text text;
    dtype_row(dtype)->load_bits(element, 0, 1, &bits);
    text_init(&text, out, size);
    if (dtype == FORGE_BOOL)
        text_add(&text, bits ? "true" : "false");
    else if (dtype_row(dtype)->kind == DTYPE_SIGNED)
        text_printf(&text, "%" PRId64, (int64_t)bits);
    else
        text_printf(&text, "%" PRIu64, bits);
    return reads_back(dtype, out, element);
}

void text_add_element(struct text *text, forge_dtype dtype, const void *element)
{
    char number[ELEMENT_TEXT];
    size_t size = forge_dtype_block_bytes(dtype);
    bool is_float = dtype_row(dtype)->kind == DTYPE_FLOAT;
    if ((is_float ? float_to_text : integer_to_text)(dtype, element, number, sizeof number))
        text_add(text, number);
    else
        text_printf(text, "0x%0*" PRIx64, (int)(2 * size), bits_of(element, size));
}
