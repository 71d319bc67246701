/* infer/chat/jinja_methods.c - methods of strings, lists and dicts. */
#include "forge/infer/chat/jinja.h"
#include "base/string.h"

/* Returns an argument that is a string. Fails for other values. */
static struct span text_argument(struct jinja *jinja, struct value argument)
{
    if (argument.kind == VALUE_STRING)
        return argument.string;
    if (!jinja_is_undefined(jinja, argument))
        jinja_fail(jinja, JOULE_INVALID, "an argument has the type %s instead of string",
                   value_kind_name(argument));
    return (struct span){"", 0};
}

/* Returns an argument that is an integer, or `absent` if the argument is not given or None. */
static int64_t whole_argument(struct jinja *jinja, struct value argument, int64_t absent)
{
    int64_t integer = absent;
    if (argument.kind != VALUE_ABSENT && argument.kind != VALUE_NONE && !value_is_whole(argument, &integer))
        jinja_fail(jinja, JOULE_INVALID, "an argument has the type %s instead of int",
                   value_kind_name(argument));
    return integer;
}

/* --- strings ------------------------------------------------------------------------------------------- */

static struct value strip(struct jinja *jinja, struct value self, struct value argument, bool start, bool end)
{
    struct span characters = {0};
    if (argument.kind != VALUE_ABSENT && argument.kind != VALUE_NONE)
        characters = text_argument(jinja, argument);
    return jinja_strip(jinja, self.string, characters, start, end);
}

static struct value method_strip(struct jinja *jinja, struct value self, const struct value *arguments)
{
    return strip(jinja, self, arguments[0], true, true);
}

static struct value method_lstrip(struct jinja *jinja, struct value self, const struct value *arguments)
{
    return strip(jinja, self, arguments[0], true, false);
}

static struct value method_rstrip(struct jinja *jinja, struct value self, const struct value *arguments)
{
    return strip(jinja, self, arguments[0], false, true);
}

/* Appends the words of `rest`, which white space separates. limit: maximum number of splits; below 0:
 * none. */
static void split_words(struct jinja *jinja, struct list *list, struct span rest, int64_t limit)
{
    rest = span_strip(rest, (struct span){0}, true, limit < 0);
    while (rest.size && !jinja->has_failed) {
        size_t size, end = 0;
        while (end < rest.size &&
               (limit == 0 ||
                !code_is_space(span_code((struct span){rest.bytes + end, rest.size - end}, &size))))
            end += limit == 0 ? rest.size : size;
        list_add(jinja, list, value_span((struct span){rest.bytes, end}));
        rest = span_strip((struct span){rest.bytes + end, rest.size - end}, (struct span){0}, true, false);
        limit--;
    }
}

static struct value method_split(struct jinja *jinja, struct value self, const struct value *arguments)
{
    struct list *list = list_new(jinja, LIST_PLAIN);
    int64_t limit = whole_argument(jinja, arguments[1], -1);
    bool has_separator = arguments[0].kind != VALUE_ABSENT && arguments[0].kind != VALUE_NONE;
    struct span separator = has_separator ? text_argument(jinja, arguments[0]) : SPAN(" "),
                rest = self.string;
    if (!separator.size)
        return jinja_fail(jinja, JOULE_INVALID, "split: the separator is empty");
    if (!list || !jinja_charge(jinja, rest.size / 16))
        return self;
    if (!has_separator) {
        split_words(jinja, list, rest, limit);
        return value_list(list);
    }
    for (size_t at; limit-- != 0 && !jinja->has_failed && (at = span_find(rest, separator)) != SIZE_MAX;) {
        list_add(jinja, list, value_span((struct span){rest.bytes, at}));
        rest = (struct span){rest.bytes + at + separator.size, rest.size - at - separator.size};
    }
    list_add(jinja, list, value_span(rest));
    return value_list(list);
}

/* Returns the offset in bytes of the last occurrence of a part, or SIZE_MAX. */
static size_t find_last(struct jinja *jinja, struct span span, struct span part)
{
    size_t found = SIZE_MAX, from = 0, at;
    struct span rest = span;
    while (jinja_charge(jinja, 1 + part.size / 16) && (at = span_find(rest, part)) != SIZE_MAX) {
        found = from + at;
        from = found + 1;
        rest = (struct span){span.bytes + from, span.size - from};
    }
    return found;
}

static struct value method_rsplit(struct jinja *jinja, struct value self, const struct value *arguments)
{
    struct list *list = list_new(jinja, LIST_PLAIN);
    struct span separator = text_argument(jinja, arguments[0]), span = self.string;
    if (whole_argument(jinja, arguments[1], -1) < 0)
        return method_split(jinja, self, arguments);
    if (whole_argument(jinja, arguments[1], -1) != 1)
        return jinja_fail(jinja, JOULE_UNSUPPORTED, "rsplit: limits other than 1 are not supported");
    if (!separator.size)
        return jinja_fail(jinja, JOULE_INVALID, "rsplit: the separator is empty");
    if (!jinja_charge(jinja, span.size / 4))
        return self;
    size_t at = find_last(jinja, span, separator);
    if (at != SIZE_MAX) {
        list_add(jinja, list, value_span((struct span){span.bytes, at}));
        at += separator.size;
        span = (struct span){span.bytes + at, span.size - at};
    }
    list_add(jinja, list, value_span(span));
    return value_list(list);
}

static struct value method_splitlines(struct jinja *jinja, struct value self, const struct value *arguments)
{
    struct list *list = list_new(jinja, LIST_PLAIN);
    struct span rest = self.string;
    if (value_truth(arguments[0]))
        return jinja_fail(jinja, JOULE_UNSUPPORTED, "splitlines: keepends is not supported");
    while (rest.size && !jinja->has_failed) {
        size_t end = 0, skipped;
        while (end < rest.size && rest.bytes[end] != '\n' && rest.bytes[end] != '\r')
            end++;
        list_add(jinja, list, value_span((struct span){rest.bytes, end}));
        skipped = end + 1 < rest.size && rest.bytes[end] == '\r' && rest.bytes[end + 1] == '\n'
                      ? 2
                      : end < rest.size;
        rest = (struct span){rest.bytes + end + skipped, rest.size - end - skipped};
    }
    return value_list(list);
}

static bool has_affix(struct span span, struct span affix, bool at_end)
{
    return affix.size <= span.size &&
           memcmp(span.bytes + (at_end ? span.size - affix.size : 0), affix.bytes, affix.size) == 0;
}

/* Returns whether the string begins or ends with an affix, or with one of a tuple. */
static struct value test_affix(struct jinja *jinja, struct value self, struct value affix, bool at_end)
{
    if (affix.kind != VALUE_LIST)
        return value_bool(has_affix(self.string, text_argument(jinja, affix), at_end));
    for (size_t i = 0; i < affix.list->count && jinja_charge(jinja, 1); i++)
        if (has_affix(self.string, text_argument(jinja, affix.list->items[i]), at_end))
            return value_bool(true);
    return value_bool(false);
}

static struct value method_startswith(struct jinja *jinja, struct value self, const struct value *arguments)
{
    return test_affix(jinja, self, arguments[0], false);
}

static struct value method_endswith(struct jinja *jinja, struct value self, const struct value *arguments)
{
    return test_affix(jinja, self, arguments[0], true);
}

static struct value method_removeprefix(struct jinja *jinja, struct value self, const struct value *arguments)
{
    struct span span = self.string, prefix = text_argument(jinja, arguments[0]);
    size_t removed = has_affix(span, prefix, false) ? prefix.size : 0;
    return value_span((struct span){span.bytes + removed, span.size - removed});
}

static struct value method_removesuffix(struct jinja *jinja, struct value self, const struct value *arguments)
{
    struct span span = self.string, suffix = text_argument(jinja, arguments[0]);
    return value_span(
        (struct span){span.bytes, span.size - (has_affix(span, suffix, true) ? suffix.size : 0)});
}

static struct value method_find(struct jinja *jinja, struct value self, const struct value *arguments)
{
    size_t at = span_find(self.string, text_argument(jinja, arguments[0]));
    if (at == SIZE_MAX || !jinja_charge(jinja, at / 16))
        return value_int(-1);
    return value_int((int64_t)span_length((struct span){self.string.bytes, at}));
}

static struct value method_count(struct jinja *jinja, struct value self, const struct value *arguments)
{
    struct span part = text_argument(jinja, arguments[0]), rest = self.string;
    int64_t count = 0;
    if (!part.size)
        return value_int((int64_t)span_length(rest) + 1);
    for (size_t at; jinja_charge(jinja, 1) && (at = span_find(rest, part)) != SIZE_MAX; count++)
        rest = (struct span){rest.bytes + at + part.size, rest.size - at - part.size};
    return value_int(count);
}

static struct value method_join(struct jinja *jinja, struct value self, const struct value *arguments)
{
    const struct list *items = value_items(jinja, arguments[0]);
    struct buffer buffer = {0};
    for (size_t i = 0; items && i < items->count && jinja_charge(jinja, 1); i++) {
        if (i)
            buffer_add_span(jinja, &buffer, self.string);
        buffer_add_span(jinja, &buffer, text_argument(jinja, items->items[i]));
    }
    return buffer_take(jinja, &buffer);
}

static struct value method_isdigit(struct jinja *jinja, struct value self, const struct value *arguments)
{
    (void)arguments;
    bool is_digit = self.string.size > 0 && jinja_charge(jinja, self.string.size / 64);
    for (size_t i = 0; i < self.string.size; i++)
        is_digit = is_digit && self.string.bytes[i] >= '0' && self.string.bytes[i] <= '9';
    return value_bool(is_digit);
}

/* Replaces "{}" and "{N}" by arguments; other fields are not supported. */
static struct value method_format(struct jinja *jinja, struct value self, const struct value *arguments)
{
    struct buffer buffer = {0};
    struct span span = self.string;
    size_t next = 0;
    for (size_t i = 0; i < span.size && !jinja->has_failed; i++) {
        char c = span.bytes[i], after = i + 1 < span.size ? span.bytes[i + 1] : '\0';
        bool is_number =
            c == '{' && after >= '0' && after <= '9' && i + 2 < span.size && span.bytes[i + 2] == '}';
        if ((c == '{' || c == '}') && after == c) {
            buffer_add(jinja, &buffer, &c, 1);
            i++;
        } else if ((c == '{' && after == '}') || is_number) {
            size_t number = is_number ? (size_t)(after - '0') : next++;
            if (number >= JINJA_PARAMETERS || arguments[number].kind == VALUE_ABSENT)
                jinja_fail(jinja, JOULE_INVALID, "format: an argument is missing");
            else
                value_print(jinja, &buffer, arguments[number]);
            i += is_number ? 2 : 1;
        } else if (c == '{' || c == '}') {
            jinja_fail(jinja, JOULE_UNSUPPORTED, "format: fields other than {} are not supported");
        } else {
            buffer_add(jinja, &buffer, &c, 1);
        }
    }
    return buffer_take(jinja, &buffer);
}

/* --- lists and dicts ----------------------------------------------------------------------------------- */

static struct value method_append(struct jinja *jinja, struct value self, const struct value *arguments)
{
    if (self.list->kind == LIST_TUPLE)
        return jinja_fail(jinja, JOULE_INVALID, "a tuple cannot be changed");
    list_add(jinja, self.list, arguments[0]);
    return value_none();
}

static struct value method_pop(struct jinja *jinja, struct value self, const struct value *arguments)
{
    struct list *list = self.list;
    int64_t index = whole_argument(jinja, arguments[0], -1);
    index += index < 0 ? (int64_t)list->count : 0;
    if (list->kind == LIST_TUPLE || index < 0 || index >= (int64_t)list->count)
        return jinja_fail(jinja, JOULE_INVALID, "pop: the list has no such item");
    if (!jinja_charge(jinja, list->count / 8))
        return self;
    struct value item = list->items[index];
    list->count--;
    memmove(list->items + index, list->items + index + 1, (list->count - (size_t)index) * sizeof item);
    return item;
}

static struct value method_index(struct jinja *jinja, struct value self, const struct value *arguments)
{
    for (size_t i = 0; i < self.list->count && jinja_charge(jinja, 1); i++)
        if (value_equal(jinja, self.list->items[i], arguments[0]))
            return value_int((int64_t)i);
    return jinja_fail(jinja, JOULE_INVALID, "index: the list has no such item");
}

static struct value method_get(struct jinja *jinja, struct value self, const struct value *arguments)
{
    const struct value *found = dict_find(jinja, self.dict, arguments[0]);
    return found ? *found : arguments[1].kind == VALUE_ABSENT ? value_none() : arguments[1];
}

static struct value method_keys(struct jinja *jinja, struct value self, const struct value *arguments)
{
    (void)arguments;
    struct list *list = list_new(jinja, LIST_PLAIN);
    for (size_t i = 0; i < self.dict->count && !jinja->has_failed; i++)
        list_add(jinja, list, self.dict->pairs[i].key);
    return value_list(list);
}

static struct value method_values(struct jinja *jinja, struct value self, const struct value *arguments)
{
    (void)arguments;
    struct list *list = list_new(jinja, LIST_PLAIN);
    for (size_t i = 0; i < self.dict->count && !jinja->has_failed; i++)
        list_add(jinja, list, self.dict->pairs[i].value);
    return value_list(list);
}

/* A method that is also a filter. */
#define METHOD_OF_FILTER(filter)                                                                             \
    static struct value method_##filter(struct jinja *jinja, struct value self,                              \
                                        const struct value *arguments)                                       \
    {                                                                                                        \
        return jinja_find_filter(SPAN(#filter))->call(jinja, self, arguments);                               \
    }
METHOD_OF_FILTER(upper)
METHOD_OF_FILTER(lower)
METHOD_OF_FILTER(capitalize)
METHOD_OF_FILTER(replace)
METHOD_OF_FILTER(items)

static struct value method_title(struct jinja *jinja, struct value self, const struct value *arguments)
{
    (void)arguments;
    struct buffer buffer = {0};
    bool follows_letter = false;
    for (size_t i = 0, size; i < self.string.size && jinja_charge(jinja, 1); i += size) {
        char bytes[4];
        uint32_t code = span_code((struct span){self.string.bytes + i, self.string.size - i}, &size);
        buffer_add(jinja, &buffer, bytes, code_encode(code_case(code, !follows_letter), bytes));
        follows_letter = code_has_case(code);
    }
    return buffer_take(jinja, &buffer);
}

static const struct builtin string_methods[] = {
    {"strip", method_strip, {"chars"}},
    {"lstrip", method_lstrip, {"chars"}},
    {"rstrip", method_rstrip, {"chars"}},
    {"split", method_split, {"sep", "maxsplit"}},
    {"rsplit", method_rsplit, {"sep", "maxsplit"}, 1},
    {"splitlines", method_splitlines, {"keepends"}},
    {"startswith", method_startswith, {"prefix"}, 1},
    {"endswith", method_endswith, {"suffix"}, 1},
    {"removeprefix", method_removeprefix, {"prefix"}, 1},
    {"removesuffix", method_removesuffix, {"suffix"}, 1},
    {"find", method_find, {"sub"}, 1},
    {"count", method_count, {"sub"}, 1},
    {"join", method_join, {"iterable"}, 1},
    {"isdigit", method_isdigit},
    {"format", method_format, {"0", "1", "2", "3"}},
    {"upper", method_upper},
    {"lower", method_lower},
    {"title", method_title},
    {"capitalize", method_capitalize},
    {"replace", method_replace, {"old", "new", "count"}, 2},
};

static const struct builtin list_methods[] = {
    {"append", method_append, {"object"}, 1},
    {"pop", method_pop, {"index"}},
    {"index", method_index, {"value"}, 1},
};

static const struct builtin dict_methods[] = {
    {"items", method_items},
    {"keys", method_keys},
    {"values", method_values},
    {"get", method_get, {"key", "default"}, 1},
};

const struct builtin *jinja_find(const struct builtin *table, size_t count, struct span name)
{
    for (size_t i = 0; i < count; i++)
        if (span_is(name, table[i].name))
            return &table[i];
    return NULL;
}

const struct builtin *jinja_find_method(enum value_kind kind, struct span name)
{
    if (kind == VALUE_STRING)
        return JINJA_FIND(string_methods, name);
    if (kind == VALUE_LIST)
        return JINJA_FIND(list_methods, name);
    return kind == VALUE_DICT ? JINJA_FIND(dict_methods, name) : NULL;
}
