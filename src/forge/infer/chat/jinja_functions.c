/* infer/chat/jinja_functions.c - tests ("x is defined") and functions. */
#include "forge/infer/chat/jinja.h"
#include "base/string.h"

/* --- tests --------------------------------------------------------------------------------------------- */

/* A test that is a condition on `self`. */
#define TEST(name, condition)                                                                                \
    static struct value test_##name(struct jinja *jinja, struct value self, const struct value *arguments)   \
    {                                                                                                        \
        (void)jinja;                                                                                         \
        (void)arguments;                                                                                     \
        return value_bool(condition);                                                                        \
    }
TEST(defined, self.kind != VALUE_UNDEFINED)
TEST(undefined, self.kind == VALUE_UNDEFINED)
TEST(none, self.kind == VALUE_NONE)
TEST(string, self.kind == VALUE_STRING)
TEST(mapping, self.kind == VALUE_DICT)
TEST(iterable, self.kind == VALUE_STRING || self.kind == VALUE_LIST || self.kind == VALUE_DICT ||
                   self.kind == VALUE_UNDEFINED)
TEST(sequence, self.kind == VALUE_STRING || self.kind == VALUE_DICT || self.kind == VALUE_UNDEFINED ||
                   (self.kind == VALUE_LIST && self.list->kind != LIST_LAZY))
TEST(number, self.kind == VALUE_INT || self.kind == VALUE_FLOAT || self.kind == VALUE_BOOL)
TEST(integer, self.kind == VALUE_INT)
TEST(float, self.kind == VALUE_FLOAT)
TEST(boolean, self.kind == VALUE_BOOL)
TEST(true, self.kind == VALUE_BOOL && self.truth)
TEST(false, self.kind == VALUE_BOOL && !self.truth)
TEST(callable, self.kind == VALUE_MACRO || self.kind == VALUE_FUNCTION || self.kind == VALUE_METHOD)
TEST(equalto, value_equal(jinja, self, arguments[0]))
TEST(ne, !value_equal(jinja, self, arguments[0]))
TEST(lt, jinja_compare(jinja, SPAN("<"), self, arguments[0]))
TEST(le, jinja_compare(jinja, SPAN("<="), self, arguments[0]))
TEST(gt, jinja_compare(jinja, SPAN(">"), self, arguments[0]))
TEST(ge, jinja_compare(jinja, SPAN(">="), self, arguments[0]))
TEST(in, jinja_compare(jinja, SPAN("in"), self, arguments[0]))

/* Returns the value true if the remainder of a division equals `wanted`, otherwise false. */
static struct value test_remainder(struct jinja *jinja, struct value self, struct value divisor,
                                   int64_t wanted)
{
    struct value rest = jinja_binary(jinja, SPAN("%"), self, divisor);
    return value_bool(!jinja->has_failed && value_equal(jinja, rest, value_int(wanted)));
}

static struct value test_odd(struct jinja *jinja, struct value self, const struct value *arguments)
{
    (void)arguments;
    return test_remainder(jinja, self, value_int(2), 1);
}

static struct value test_even(struct jinja *jinja, struct value self, const struct value *arguments)
{
    (void)arguments;
    return test_remainder(jinja, self, value_int(2), 0);
}

static struct value test_divisibleby(struct jinja *jinja, struct value self, const struct value *arguments)
{
    return test_remainder(jinja, self, arguments[0], 0);
}

static const struct builtin tests[] = {
    {"defined", test_defined},
    {"undefined", test_undefined},
    {"none", test_none},
    {"string", test_string},
    {"mapping", test_mapping},
    {"iterable", test_iterable},
    {"sequence", test_sequence},
    {"number", test_number},
    {"integer", test_integer},
    {"float", test_float},
    {"boolean", test_boolean},
    {"true", test_true},
    {"false", test_false},
    {"callable", test_callable},
    {"equalto", test_equalto, {"other"}, 1},
    {"eq", test_equalto, {"other"}, 1},
    {"==", test_equalto, {"other"}, 1},
    {"ne", test_ne, {"other"}, 1},
    {"!=", test_ne, {"other"}, 1},
    {"lt", test_lt, {"other"}, 1},
    {"lessthan", test_lt, {"other"}, 1},
    {"<", test_lt, {"other"}, 1},
    {"le", test_le, {"other"}, 1},
    {"<=", test_le, {"other"}, 1},
    {"gt", test_gt, {"other"}, 1},
    {"greaterthan", test_gt, {"other"}, 1},
    {">", test_gt, {"other"}, 1},
    {"ge", test_ge, {"other"}, 1},
    {">=", test_ge, {"other"}, 1},
    {"in", test_in, {"seq"}, 1},
    {"odd", test_odd},
    {"even", test_even},
    {"divisibleby", test_divisibleby, {"num"}, 1},
};

const struct builtin *jinja_find_test(struct span name)
{
    return JINJA_FIND(tests, name);
}

/* --- functions ----------------------------------------------------------------------------------------- */

static struct value function_range(struct jinja *jinja, struct value self, const struct value *arguments)
{
    int64_t bounds[3] = {0, 0, 1};
    (void)self;
    for (int i = 0; i < 3 && arguments[i].kind != VALUE_ABSENT; i++)
        if (!value_is_whole(arguments[i], &bounds[i]))
            return jinja_fail(jinja, JOULE_INVALID, "range: the arguments must be integers, not of type %s",
                              value_kind_name(arguments[i]));
    if (arguments[1].kind == VALUE_ABSENT) {
        bounds[1] = bounds[0];
        bounds[0] = 0;
    }
    if (bounds[2] == 0)
        return jinja_fail(jinja, JOULE_INVALID, "range: the step is 0");
    struct list *list = list_new(jinja, LIST_PLAIN);
    for (int64_t i = bounds[0]; (bounds[2] > 0 ? i < bounds[1] : i > bounds[1]) && !jinja->has_failed;) {
        if (list && list->count == JINJA_MAX_RANGE)
            return jinja_fail(jinja, JOULE_INVALID, "range: more than %d items", JINJA_MAX_RANGE);
        list_add(jinja, list, value_int(i));
        if (__builtin_add_overflow(i, bounds[2], &i))
            break;
    }
    return value_list(list);
}

/* Returns a dict of the arguments: the pairs of a dict, then the named arguments. */
static struct dict *dict_of_arguments(struct jinja *jinja, const struct arguments *arguments)
{
    struct dict *dict = dict_new(jinja);
    const struct dict *sources[2] = {NULL, arguments->named};
    if (arguments->count && arguments->positional[0].kind == VALUE_DICT)
        sources[0] = arguments->positional[0].dict;
    if (arguments->count > 1 || (arguments->count && !sources[0]))
        jinja_fail(jinja, JOULE_UNSUPPORTED, "dict and namespace take named arguments and at most one dict");
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; sources[s] && i < sources[s]->count && !jinja->has_failed; i++)
            dict_set(jinja, dict, sources[s]->pairs[i].key, sources[s]->pairs[i].value);
    return dict;
}

static struct value function_dict(struct jinja *jinja, const struct arguments *arguments)
{
    return value_dict(dict_of_arguments(jinja, arguments));
}

static struct value function_namespace(struct jinja *jinja, const struct arguments *arguments)
{
    struct value value = value_dict(dict_of_arguments(jinja, arguments));
    if (value.kind == VALUE_DICT)
        value.kind = VALUE_NAMESPACE;
    return value;
}

static struct value function_raise(struct jinja *jinja, struct value self, const struct value *arguments)
{
    struct span message = value_text(jinja, arguments[0]);
    int size = message.size < 300 ? (int)message.size : 300;
    (void)self;
    return jinja_fail(jinja, JOULE_INVALID, "the template refuses the conversation: %.*s", size,
                      message.bytes);
}

/* Appends the text of one conversion of strftime, such as 'd' for %d. Returns false if the conversion is not
 * supported. */
static bool add_time(struct jinja *jinja, struct buffer *out, char field, bool has_padding)
{
    static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"};
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    const struct tm *now = &jinja->now;
    const char *day = days[(unsigned)now->tm_wday % 7], *month = months[(unsigned)now->tm_mon % 12];
    char text[16];
    int hour12 = now->tm_hour % 12 ? now->tm_hour % 12 : 12;
    int number = field == 'd' || field == 'e' ? now->tm_mday
                 : field == 'm'               ? now->tm_mon + 1
                 : field == 'y'               ? now->tm_year % 100
                 : field == 'H'               ? now->tm_hour
                 : field == 'I'               ? hour12
                 : field == 'M'               ? now->tm_min
                 : field == 'S'               ? now->tm_sec
                 : field == 'Y'               ? now->tm_year + 1900
                 : field == 'j'               ? now->tm_yday + 1
                                              : -1;
    if (number >= 0) {
        const char *format = !has_padding ? "%d" : field == 'e' ? "%2d" : field == 'j' ? "%03d" : "%02d";
        struct text line;
        text_init(&line, text, sizeof text);
        text_printf(&line, format, number);
        return buffer_add_span(jinja, out, span_of(text));
    }
    if (field == 'A' || field == 'a')
        return buffer_add(jinja, out, day, field == 'A' ? strlen(day) : 3);
    if (field == 'B' || field == 'b' || field == 'h')
        return buffer_add(jinja, out, month, field == 'B' ? strlen(month) : 3);
    if (field == 'p')
        return buffer_add(jinja, out, now->tm_hour < 12 ? "AM" : "PM", 2);
    return field == '%' && buffer_add(jinja, out, "%", 1);
}

static struct value function_strftime(struct jinja *jinja, struct value self, const struct value *arguments)
{
    struct span format = value_text(jinja, arguments[0]);
    struct buffer buffer = {0};
    (void)self;
    for (size_t i = 0; i < format.size && jinja_charge(jinja, 1); i++) {
        if (format.bytes[i] != '%' || i + 1 == format.size) {
            buffer_add(jinja, &buffer, format.bytes + i, 1);
            continue;
        }
        bool has_sign = format.bytes[i + 1] == '-' && i + 2 < format.size;
        i += has_sign ? 2 : 1;
        if (!add_time(jinja, &buffer, format.bytes[i], !has_sign))
            jinja_fail(jinja, JOULE_UNSUPPORTED, "strftime_now: %%%c is not supported", format.bytes[i]);
    }
    return buffer_take(jinja, &buffer);
}

static const struct builtin functions[] = {
    {"range", function_range, {"start", "stop", "step"}, 1},
    {"namespace", .call_any = function_namespace},
    {"dict", .call_any = function_dict},
    {"raise_exception", function_raise, {"message"}, 1},
    {"strftime_now", function_strftime, {"format"}, 1},
};

const struct builtin *jinja_find_function(struct span name)
{
    return JINJA_FIND(functions, name);
}
