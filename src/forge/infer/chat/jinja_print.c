/* infer/chat/jinja_print.c - values as text: as Python prints them, and as JSON. */
#include "forge/infer/chat/jinja.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "base/string.h"

enum { ESCAPE_SIZE = 16 }; /* bytes of the longest escape, with NUL */

static void print_literal(struct jinja *jinja, struct buffer *out, const char *text)
{
    buffer_add(jinja, out, text, strlen(text));
}

static void print_int(struct jinja *jinja, struct buffer *out, int64_t integer)
{
    char digits[32];
    string_print(digits, sizeof digits, "%" PRId64, integer);
    print_literal(jinja, out, digits);
}

/* Prints a float as Python does: the shortest digits that read back equal, with a point or an exponent. */
static void print_float(struct jinja *jinja, struct buffer *out, double number, bool is_json)
{
    char digits[64];
    struct text text;
    if (!isfinite(number)) {
        const char *name = isnan(number) ? (is_json ? "NaN" : "nan") : is_json ? "Infinity" : "inf";
        print_literal(jinja, out, number < 0 ? "-" : "");
        print_literal(jinja, out, name);
        return;
    }
    text_init(&text, digits, sizeof digits);
    if (fabs(number) >= 1e15 && fabs(number) < 1e16)
        text_printf(&text, "%.0f",
                    number); /* C's shortest form has an exponent here, but Python's has none */
    else
        text_add_double(&text, number);
    print_literal(jinja, out, digits);
    if (!strpbrk(digits, ".e"))
        print_literal(jinja, out, ".0");
}

/* Writes the escape of a character to `out`. Writes nothing if the character needs no escape. */
typedef void escape_fn(uint32_t code, char out[ESCAPE_SIZE]);

static void escape_unprintable(uint32_t code, char out[ESCAPE_SIZE])
{
    if (code < 0x20 || (code >= 0x7f && code <= 0xa0) || code == 0xad)
        string_print(out, ESCAPE_SIZE, "\\x%02x", code);
    else if ((code_is_space(code) && code != ' ') || (code >= 0xd800 && code < 0xe000))
        string_print(out, ESCAPE_SIZE, "\\u%04x", code);
}

static void escape_control(uint32_t code, char out[ESCAPE_SIZE])
{
    if (code < 0x20)
        string_print(out, ESCAPE_SIZE, "\\u%04x", code);
}

static void escape_all_but_ascii(uint32_t code, char out[ESCAPE_SIZE])
{
    if (code >= 0x10000)
        string_print(out, ESCAPE_SIZE, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
    else if (code < 0x20 || code > 0x7f)
        string_print(out, ESCAPE_SIZE, "\\u%04x", code);
}

/* Prints a string in quotes. The quote is escaped with a backslash. A character of `from` becomes a backslash
 * and the character of `to` at the same position. */
static void print_string(struct jinja *jinja, struct buffer *out, struct span span, char quote,
                         const char *from, const char *to, escape_fn *escape)
{
    jinja_charge(jinja, span.size / 2);
    buffer_add(jinja, out, &quote, 1);
    for (size_t i = 0, size; i < span.size && !jinja->has_failed; i += size) {
        char escaped[ESCAPE_SIZE] = "";
        const char *bytes = span.bytes + i;
        uint32_t code = span_code((struct span){bytes, span.size - i}, &size);
        const char *simple = size == 1 && *bytes ? strchr(from, *bytes) : NULL;
        if (simple || (size == 1 && *bytes == quote))
            string_print(escaped, sizeof escaped, "\\%c", simple ? to[simple - from] : quote);
        else
            escape(code, escaped);
        buffer_add(jinja, out, *escaped ? escaped : bytes, *escaped ? strlen(escaped) : size);
    }
    buffer_add(jinja, out, &quote, 1);
}

/* Prints a string as Python's repr does. */
static void print_quoted(struct jinja *jinja, struct buffer *out, struct span span)
{
    bool has_single = memchr(span.bytes, '\'', span.size), has_double = memchr(span.bytes, '"', span.size);
    print_string(jinja, out, span, has_single && !has_double ? '"' : '\'', "\\\n\r\t", "\\nrt",
                 escape_unprintable);
}

static void print_quoted_value(struct jinja *jinja, struct buffer *out, struct value value);

static void print_list(struct jinja *jinja, struct buffer *out, const struct list *list)
{
    bool is_tuple = list->kind == LIST_TUPLE;
    print_literal(jinja, out, is_tuple ? "(" : "[");
    for (size_t i = 0; i < list->count && jinja_charge(jinja, 1); i++) {
        print_literal(jinja, out, i ? ", " : "");
        print_quoted_value(jinja, out, list->items[i]);
    }
    print_literal(jinja, out, is_tuple && list->count == 1 ? ",)" : is_tuple ? ")" : "]");
}

static void print_dict(struct jinja *jinja, struct buffer *out, const struct dict *dict)
{
    print_literal(jinja, out, "{");
    for (size_t i = 0; i < dict->count && jinja_charge(jinja, 1); i++) {
        print_literal(jinja, out, i ? ", " : "");
        print_quoted_value(jinja, out, dict->pairs[i].key);
        print_literal(jinja, out, ": ");
        print_quoted_value(jinja, out, dict->pairs[i].value);
    }
    print_literal(jinja, out, "}");
}

static void print_quoted_value(struct jinja *jinja, struct buffer *out, struct value value)
{
    if (!jinja_enter(jinja))
        return;
    if (value.kind == VALUE_STRING)
        print_quoted(jinja, out, value.string);
    else if (value.kind == VALUE_UNDEFINED)
        print_literal(jinja, out, "Undefined");
    else
        value_print(jinja, out, value);
    jinja_leave(jinja);
}

void value_print(struct jinja *jinja, struct buffer *out, struct value value)
{
    switch (value.kind) {
    case VALUE_UNDEFINED:
    case VALUE_ABSENT:
        return;
    case VALUE_NONE:
        print_literal(jinja, out, "None");
        return;
    case VALUE_BOOL:
        print_literal(jinja, out, value.truth ? "True" : "False");
        return;
    case VALUE_INT:
        print_int(jinja, out, value.integer);
        return;
    case VALUE_FLOAT:
        print_float(jinja, out, value.number, false);
        return;
    case VALUE_STRING:
        buffer_add_span(jinja, out, value.string);
        return;
    case VALUE_LIST:
        print_list(jinja, out, value.list);
        return;
    case VALUE_DICT:
        print_dict(jinja, out, value.dict);
        return;
    default:
        jinja_fail(jinja, JOULE_INVALID, "a value of type %s cannot be printed", value_kind_name(value));
    }
}

struct span value_text(struct jinja *jinja, struct value value)
{
    struct buffer buffer = {0};
    if (value.kind == VALUE_STRING)
        return value.string;
    value_print(jinja, &buffer, value);
    return buffer_take(jinja, &buffer).string;
}

/* --- JSON ---------------------------------------------------------------------------------------------- */

static void print_json_string(struct jinja *jinja, struct buffer *out, struct span span, bool is_ascii)
{
    print_string(jinja, out, span, '"', "\\\b\f\n\r\t", "\\bfnrt",
                 is_ascii ? escape_all_but_ascii : escape_control);
}

/* Begins the next line of JSON with indentation. */
static void print_indent(struct jinja *jinja, struct buffer *out, const struct json_style *style,
                         unsigned level)
{
    if (!style->indent.bytes)
        return;
    print_literal(jinja, out, "\n");
    for (unsigned i = 0; i < level; i++)
        buffer_add_span(jinja, out, style->indent);
}

static int by_key(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return span_compare(x->key.string, y->key.string);
}

/* Prints the key of a dict as a string, because JSON allows no other keys. */
static void print_json_key(struct jinja *jinja, struct buffer *out, struct value key,
                           const struct json_style *style, unsigned level)
{
    bool is_text = key.kind == VALUE_STRING, is_scalar = key.kind >= VALUE_NONE && key.kind <= VALUE_STRING;
    if (!is_scalar)
        jinja_fail(jinja, JOULE_INVALID, "tojson: a value of type %s cannot be a key", value_kind_name(key));
    print_literal(jinja, out, is_text ? "" : "\"");
    value_print_json(jinja, out, key, style, level);
    print_literal(jinja, out, is_text ? "" : "\"");
}

/* Returns the pairs of a dict, sorted if the style says so. */
static const struct pair *pairs_of(struct jinja *jinja, const struct dict *dict,
                                   const struct json_style *style)
{
    if (!style->sorts_keys || dict->count < 2)
        return dict->pairs;
    for (size_t i = 0; i < dict->count; i++)
        if (dict->pairs[i].key.kind != VALUE_STRING) {
            jinja_fail(jinja, JOULE_UNSUPPORTED,
                       "tojson: sort_keys with keys that are not strings is not supported");
            return NULL;
        }
    struct pair *sorted = jinja_alloc(jinja, dict->count * sizeof *sorted);
    if (!sorted || !jinja_charge(jinja, 16 * dict->count))
        return NULL;
    memcpy(sorted, dict->pairs, dict->count * sizeof *sorted);
    qsort(sorted, dict->count, sizeof *sorted, by_key);
    return sorted;
}

static void print_json_dict(struct jinja *jinja, struct buffer *out, const struct dict *dict,
                            const struct json_style *style, unsigned level)
{
    const struct pair *pairs = pairs_of(jinja, dict, style);
    print_literal(jinja, out, "{");
    for (size_t i = 0; i < dict->count && jinja_charge(jinja, 1); i++) {
        if (i)
            buffer_add_span(jinja, out, style->item_separator);
        print_indent(jinja, out, style, level + 1);
        print_json_key(jinja, out, pairs[i].key, style, level);
        buffer_add_span(jinja, out, style->key_separator);
        value_print_json(jinja, out, pairs[i].value, style, level + 1);
    }
    if (dict->count)
        print_indent(jinja, out, style, level);
    print_literal(jinja, out, "}");
}

static void print_json_list(struct jinja *jinja, struct buffer *out, const struct list *list,
                            const struct json_style *style, unsigned level)
{
    print_literal(jinja, out, "[");
    for (size_t i = 0; i < list->count && jinja_charge(jinja, 1); i++) {
        if (i)
            buffer_add_span(jinja, out, style->item_separator);
        print_indent(jinja, out, style, level + 1);
        value_print_json(jinja, out, list->items[i], style, level + 1);
    }
    if (list->count)
        print_indent(jinja, out, style, level);
    print_literal(jinja, out, "]");
}

void value_print_json(struct jinja *jinja, struct buffer *out, struct value value,
                      const struct json_style *style, unsigned level)
{
    if (!jinja_enter(jinja))
        return;
    if (value.kind == VALUE_NONE)
        print_literal(jinja, out, "null");
    else if (value.kind == VALUE_BOOL)
        print_literal(jinja, out, value.truth ? "true" : "false");
    else if (value.kind == VALUE_INT)
        print_int(jinja, out, value.integer);
    else if (value.kind == VALUE_FLOAT)
        print_float(jinja, out, value.number, true);
    else if (value.kind == VALUE_STRING)
        print_json_string(jinja, out, value.string, style->is_ascii);
    else if (value.kind == VALUE_LIST)
        print_json_list(jinja, out, value.list, style, level);
    else if (value.kind == VALUE_DICT)
        print_json_dict(jinja, out, value.dict, style, level);
    else if (!jinja_is_undefined(jinja, value))
        jinja_fail(jinja, JOULE_INVALID, "tojson: a value of type %s cannot be written as JSON",
                   value_kind_name(value));
    jinja_leave(jinja);
}
