/* infer/chat/jinja_filters.c - filters of texts and numbers. */
#include "forge/infer/chat/jinja.h"
#include <math.h>
#include "base/string.h"

struct value jinja_strip(struct jinja *jinja, struct span text, struct span characters, bool at_start,
                         bool at_end)
{
    struct span stripped = span_strip(text, characters, at_start, at_end);
    jinja_charge(jinja, (text.size - stripped.size) / 8 * (1 + characters.size / 8));
    return value_span(stripped);
}

static struct value filter_trim(struct jinja *jinja, struct value self, const struct value *arguments)
{
    struct span characters = {0}, text = value_text(jinja, self);
    if (arguments[0].kind == VALUE_STRING)
        characters = arguments[0].string;
    return jinja_strip(jinja, text, characters, true, true);
}

static struct value filter_length(struct jinja *jinja, struct value self, const struct value *arguments)
{
    (void)arguments;
    if (self.kind == VALUE_STRING)
        return jinja_charge(jinja, self.string.size / 16) ? value_int((int64_t)span_length(self.string))
                                                          : self;
    if (self.kind == VALUE_LIST)
        return value_int((int64_t)self.list->count);
    if (self.kind == VALUE_DICT)
        return value_int((int64_t)self.dict->count);
    if (self.kind != VALUE_UNDEFINED)
        return jinja_fail(jinja, JOULE_INVALID, "a value of type %s has no length", value_kind_name(self));
    return value_int(0);
}

/* Returns a text whose first character and whose other characters have the given case. */
static struct value with_case(struct jinja *jinja, struct value self, bool is_first_upper, bool is_upper)
{
    struct span text = value_text(jinja, self);
    struct buffer buffer = {0};
    for (size_t i = 0, size; i < text.size && jinja_charge(jinja, 1); i += size) {
        char bytes[4];
        uint32_t code = span_code((struct span){text.bytes + i, text.size - i}, &size);
        buffer_add(jinja, &buffer, bytes, code_encode(code_case(code, i ? is_upper : is_first_upper), bytes));
    }
    return buffer_take(jinja, &buffer);
}

static struct value filter_upper(struct jinja *jinja, struct value self, const struct value *arguments)
{
    (void)arguments;
    return with_case(jinja, self, true, true);
}

static struct value filter_lower(struct jinja *jinja, struct value self, const struct value *arguments)
{
    (void)arguments;
    return with_case(jinja, self, false, false);
}

static struct value filter_capitalize(struct jinja *jinja, struct value self, const struct value *arguments)
{
    (void)arguments;
    return with_case(jinja, self, true, false);
}

/* Makes the first letter of each word upper case, and the others lower case. Words begin after white space,
 * '-' and opening brackets. The string method title() has a different rule. */
static struct value filter_title(struct jinja *jinja, struct value self, const struct value *arguments)
{
    (void)arguments;
    struct span text = value_text(jinja, self);
    struct buffer buffer = {0};
    bool begins_word = true;
    for (size_t i = 0, size; i < text.size && jinja_charge(jinja, 1); i += size) {
        char bytes[4];
        uint32_t code = span_code((struct span){text.bytes + i, text.size - i}, &size);
        buffer_add(jinja, &buffer, bytes, code_encode(code_case(code, begins_word), bytes));
        begins_word = code_is_space(code) || (code && code < 0x80 && strchr("-({[<", (int)code));
    }
    return buffer_take(jinja, &buffer);
}

static struct value filter_replace(struct jinja *jinja, struct value self, const struct value *arguments)
{
    struct span rest = value_text(jinja, self), from = value_text(jinja, arguments[0]);
    struct span to = value_text(jinja, arguments[1]);
    struct buffer buffer = {0};
    int64_t limit = -1;
    if (arguments[2].kind != VALUE_ABSENT && arguments[2].kind != VALUE_NONE &&
        !value_is_whole(arguments[2], &limit))
        return jinja_fail(jinja, JOULE_INVALID, "replace: the count is not an integer");
    if (!from.size)
        return jinja_fail(jinja, JOULE_UNSUPPORTED, "replace: replacing an empty text is not supported");
    for (size_t at; limit-- != 0 && jinja_charge(jinja, 1) && (at = span_find(rest, from)) != SIZE_MAX;) {
        buffer_add(jinja, &buffer, rest.bytes, at);
        buffer_add_span(jinja, &buffer, to);
        rest = (struct span){rest.bytes + at + from.size, rest.size - at - from.size};
    }
    buffer_add_span(jinja, &buffer, rest);
    return buffer_take(jinja, &buffer);
}

static struct value filter_escape(struct jinja *jinja, struct value self, const struct value *arguments)
{
    static const char from[] = "&<>'\"";
    static const char *const to[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    struct span text = value_text(jinja, self);
    struct buffer buffer = {0};
    (void)arguments;
    jinja_charge(jinja, text.size / 8);
    for (size_t i = 0; i < text.size && !jinja->has_failed; i++) {
        const char *found = text.bytes[i] ? strchr(from, text.bytes[i]) : NULL;
        struct span part = found ? span_of(to[found - from]) : (struct span){text.bytes + i, 1};
        buffer_add_span(jinja, &buffer, part);
    }
    return buffer_take(jinja, &buffer);
}

static struct value filter_string(struct jinja *jinja, struct value self, const struct value *arguments)
{
    (void)arguments;
    return value_span(value_text(jinja, self));
}

/* Returns the text that indents a line. value: this text, or a number of spaces. absent: number of spaces if
 * `value` is not given. */
static struct span indentation(struct jinja *jinja, struct value value, int64_t absent)
{
    int64_t width = absent;
    struct buffer buffer = {0};
    if (value.kind == VALUE_STRING)
        return value.string;
    if (value.kind != VALUE_ABSENT && !value_is_whole(value, &width))
        jinja_fail(jinja, JOULE_INVALID, "an indentation must be an integer or a string, not a %s",
                   value_kind_name(value));
    for (int64_t i = 0; i < width && jinja_charge(jinja, 1); i++)
        buffer_add(jinja, &buffer, " ", 1);
    return buffer_take(jinja, &buffer).string;
}

static struct value filter_indent(struct jinja *jinja, struct value self, const struct value *arguments)
{
    struct span text = value_text(jinja, self), indent = indentation(jinja, arguments[0], 4);
    bool first = value_truth(arguments[1]), blank = value_truth(arguments[2]);
    struct buffer buffer = {0};
    if (first)
        buffer_add_span(jinja, &buffer, indent);
    for (size_t begin = 0; begin < text.size && jinja_charge(jinja, 1);) {
        const char *newline = memchr(text.bytes + begin, '\n', text.size - begin);
        size_t end = newline ? (size_t)(newline - text.bytes) + 1 : text.size;
        buffer_add(jinja, &buffer, text.bytes + begin, end - begin);
        bool is_blank = end == text.size || text.bytes[end] == '\n';
        if (newline && (blank || !is_blank))
            buffer_add_span(jinja, &buffer, indent);
        begin = end;
    }
    return buffer_take(jinja, &buffer);
}

static struct value filter_tojson(struct jinja *jinja, struct value self, const struct value *arguments)
{
    struct json_style style = {.is_ascii = value_truth(arguments[0]),
                               .sorts_keys = value_truth(arguments[3])};
    bool has_indent = arguments[1].kind != VALUE_ABSENT && arguments[1].kind != VALUE_NONE;
    struct buffer buffer = {0};
    style.item_separator = has_indent ? SPAN(",") : SPAN(", ");
    style.key_separator = SPAN(": ");
    if (has_indent)
        style.indent = indentation(jinja, arguments[1], 0);
    if (arguments[2].kind == VALUE_LIST && arguments[2].list->count == 2) {
        style.item_separator = value_text(jinja, arguments[2].list->items[0]);
        style.key_separator = value_text(jinja, arguments[2].list->items[1]);
    }
    value_print_json(jinja, &buffer, self, &style, 0);
    return buffer_take(jinja, &buffer);
}

/* --- other --------------------------------------------------------------------------------------------- */

static struct value filter_default(struct jinja *jinja, struct value self, const struct value *arguments)
{
    (void)jinja;
    if (self.kind != VALUE_UNDEFINED && (!value_truth(arguments[1]) || value_truth(self)))
        return self;
    return arguments[0].kind == VALUE_ABSENT ? value_span(SPAN("")) : arguments[0];
}

/* Returns true if a text is a number, as Python's int() or float() reads it. */
static bool read_number(struct span text, int64_t *out_integer, double *out_number, bool *out_is_whole)
{
    char copy[64];
    text = span_strip(text, (struct span){0}, true, true);
    if (text.size + 1 > sizeof copy)
        return false;
    memcpy(copy, text.bytes, text.size);
    copy[text.size] = '\0';
    *out_is_whole = string_to_i64(copy, 10, out_integer);
    return *out_is_whole || string_to_double(copy, out_number);
}

static struct value filter_int(struct jinja *jinja, struct value self, const struct value *arguments)
{
    struct value absent = arguments[0].kind == VALUE_ABSENT ? value_int(0) : arguments[0];
    double number = NAN;
    int64_t integer = 0, base = 10;
    bool is_whole = value_is_whole(self, &integer);
    if (arguments[1].kind != VALUE_ABSENT && (!value_is_whole(arguments[1], &base) || base != 10))
        return jinja_fail(jinja, JOULE_UNSUPPORTED, "int: bases other than 10 are not supported");
    if (jinja_is_undefined(jinja, self) || is_whole)
        return is_whole ? value_int(integer) : self;
    if (self.kind == VALUE_FLOAT)
        number = self.number;
    else if (self.kind != VALUE_STRING || !read_number(self.string, &integer, &number, &is_whole))
        return absent;
    if (is_whole)
        return value_int(integer);
    return fabs(number) < 0x1p63 ? value_int((int64_t)number) : absent;
}

static struct value filter_float(struct jinja *jinja, struct value self, const struct value *arguments)
{
    double number = NAN;
    int64_t integer;
    bool is_whole;
    if (jinja_is_undefined(jinja, self))
        return self;
    if (value_is_number(self, &number))
        return value_float(number);
    if (self.kind == VALUE_STRING && read_number(self.string, &integer, &number, &is_whole))
        return value_float(is_whole ? (double)integer : number);
    return arguments[0].kind == VALUE_ABSENT ? value_float(0) : arguments[0];
}

static struct value filter_abs(struct jinja *jinja, struct value self, const struct value *arguments)
{
    int64_t integer;
    (void)arguments;
    if (self.kind == VALUE_FLOAT)
        return value_float(fabs(self.number));
    if (!value_is_whole(self, &integer) || integer == INT64_MIN)
        return jinja_fail(jinja, JOULE_INVALID, "abs: a value of type %s is not supported",
                          value_kind_name(self));
    return value_int(integer < 0 ? -integer : integer);
}

static const struct builtin filters[] = {
    {"trim", filter_trim, {"chars"}},
    {"length", filter_length},
    {"count", filter_length},
    {"upper", filter_upper},
    {"lower", filter_lower},
    {"title", filter_title},
    {"capitalize", filter_capitalize},
    {"replace", filter_replace, {"old", "new", "count"}, 2},
    {"default", filter_default, {"default_value", "boolean"}},
    {"d", filter_default, {"default_value", "boolean"}},
    {"tojson", filter_tojson, {"ensure_ascii", "indent", "separators", "sort_keys"}},
    {"string", filter_string},
    {"int", filter_int, {"default", "base"}},
    {"float", filter_float, {"default"}},
    {"abs", filter_abs},
    {"e", filter_escape},
    {"escape", filter_escape},
    {"safe", filter_string},
    {"indent", filter_indent, {"width", "first", "blank"}},
};

const struct builtin *jinja_find_filter(struct span name)
{
    const struct builtin *found = JINJA_FIND(filters, name);
    return found ? found : jinja_find_list_filter(name);
}
