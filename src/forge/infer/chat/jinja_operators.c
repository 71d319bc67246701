/* infer/chat/jinja_operators.c - arithmetic, comparison and slices, as in Python. */
#include "forge/infer/chat/jinja.h"
#include <math.h>

static struct value fail_types(struct jinja *jinja, struct span text, struct value a, struct value b)
{
    return jinja_fail(jinja, JOULE_INVALID, "operator '%.*s' does not accept the types %s and %s",
                      span_shown(text), text.bytes, value_kind_name(a), value_kind_name(b));
}

static struct value fail_range(struct jinja *jinja)
{
    return jinja_fail(jinja, JOULE_UNSUPPORTED, "integers above 64 bits are not supported");
}

/* --- texts and lists ----------------------------------------------------------------------------------- */

static struct value join_texts(struct jinja *jinja, struct span a, struct span b)
{
    if (!a.size || !b.size)
        return value_span(a.size ? a : b);
    char *bytes = jinja_alloc(jinja, a.size + b.size);
    if (!bytes)
        return value_none();
    memcpy(bytes, a.bytes, a.size);
    memcpy(bytes + a.size, b.bytes, b.size);
    return value_span((struct span){bytes, a.size + b.size});
}

static struct value join_lists(struct jinja *jinja, const struct list *a, const struct list *b)
{
    struct list *list = list_new(jinja, a->kind == LIST_TUPLE ? LIST_TUPLE : LIST_PLAIN);
    for (size_t i = 0; i < a->count && !jinja->has_failed; i++)
        list_add(jinja, list, a->items[i]);
    for (size_t i = 0; i < b->count && !jinja->has_failed; i++)
        list_add(jinja, list, b->items[i]);
    return value_list(list);
}

static struct value repeat(struct jinja *jinja, struct value value, int64_t times)
{
    struct list *list = value.kind == VALUE_LIST ? list_new(jinja, value.list->kind) : NULL;
    struct buffer buffer = {0};
    for (int64_t i = 0; i < times && jinja_charge(jinja, 1); i++) {
        if (value.kind == VALUE_STRING)
            buffer_add_span(jinja, &buffer, value.string);
        for (size_t k = 0; list && k < value.list->count && !jinja->has_failed; k++)
            list_add(jinja, list, value.list->items[k]);
    }
    return value.kind == VALUE_STRING ? buffer_take(jinja, &buffer) : value_list(list);
}

/* --- numbers ------------------------------------------------------------------------------------------- */

/* Returns the power of an integer with an exponent of at least 0. */
static struct value power(struct jinja *jinja, int64_t base, int64_t exponent)
{
    int64_t result = 1;
    for (bool overflows = false; exponent > 0; exponent /= 2) {
        if (overflows || (exponent % 2 && __builtin_mul_overflow(result, base, &result)))
            return fail_range(jinja);
        overflows = __builtin_mul_overflow(base, base, &base);
    }
    return value_int(result);
}

static struct value divide(struct jinja *jinja, char kind, int64_t a, int64_t b)
{
    if (b == 0)
        return jinja_fail(jinja, JOULE_INVALID, "division by zero");
    if (kind == '/')
        return value_float((double)a / (double)b);
    if (a == INT64_MIN && b == -1)
        return kind == '%' ? value_int(0) : fail_range(jinja);
    int64_t quotient = a / b, rest = a % b;
    if (rest && (rest < 0) != (b < 0)) { /* Python rounds down */
        quotient--;
        rest += b;
    }
    return value_int(kind == '%' ? rest : quotient);
}

/* Computes an operation of two integers. kind: the operator; 'f' means "//", and 'p' means "**". */
static struct value whole_arithmetic(struct jinja *jinja, char kind, int64_t a, int64_t b)
{
    int64_t result;
    bool overflows = kind == '+'   ? __builtin_add_overflow(a, b, &result)
                     : kind == '-' ? __builtin_sub_overflow(a, b, &result)
                     : kind == '*' ? __builtin_mul_overflow(a, b, &result)
                                   : false;
    if (overflows)
        return fail_range(jinja);
    if (kind == 'p')
        return b >= 0 ? power(jinja, a, b) : value_float(pow((double)a, (double)b));
    return kind == '+' || kind == '-' || kind == '*' ? value_int(result) : divide(jinja, kind, a, b);
}

/* Returns the remainder. It has the divisor's sign, even a remainder of 0. */
static double remainder_of(double a, double b)
{
    double rest = fmod(a, b);
    if (rest == 0)
        return copysign(0, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
}

/* Returns the quotient, rounded down. */
static double quotient_of(double a, double b)
{
    double quotient = round((a - remainder_of(a, b)) / b);
    return quotient == 0 ? copysign(0, a / b) : quotient;
}

static struct value arithmetic(struct jinja *jinja, char kind, double a, double b)
{
    if (b == 0 && (kind == '/' || kind == 'f' || kind == '%'))
        return jinja_fail(jinja, JOULE_INVALID, "division by zero");
    switch (kind) {
    case '+':
        return value_float(a + b);
    case '-':
        return value_float(a - b);
    case '*':
        return value_float(a * b);
    case '/':
        return value_float(a / b);
    case 'f':
        return value_float(quotient_of(a, b));
    case '%':
        return value_float(remainder_of(a, b));
    default:
        return value_float(pow(a, b));
    }
}

struct value jinja_binary(struct jinja *jinja, struct span text, struct value a, struct value b)
{
    int64_t i = 0, j = 0;
    double x = 0, y = 0;
    char kind = span_is(text, "//") ? 'f' : span_is(text, "**") ? 'p' : *text.bytes;
    if (kind == '~') {
        struct span first = value_text(jinja, a);
        return join_texts(jinja, first, value_text(jinja, b));
    }
    if (jinja_is_undefined(jinja, a) || jinja_is_undefined(jinja, b))
        return a;
    if (value_is_whole(a, &i) && value_is_whole(b, &j))
        return whole_arithmetic(jinja, kind, i, j);
    if (value_is_number(a, &x) && value_is_number(b, &y))
        return arithmetic(jinja, kind, x, y);
    if (kind == '+' && a.kind == VALUE_STRING && b.kind == VALUE_STRING)
        return join_texts(jinja, a.string, b.string);
    if (kind == '+' && a.kind == VALUE_LIST && b.kind == VALUE_LIST &&
        (a.list->kind == LIST_TUPLE) == (b.list->kind == LIST_TUPLE))
        return join_lists(jinja, a.list, b.list);
    if (kind == '*' && (a.kind == VALUE_STRING || a.kind == VALUE_LIST) && value_is_whole(b, &j))
        return repeat(jinja, a, j);
    if (kind == '*' && (b.kind == VALUE_STRING || b.kind == VALUE_LIST) && value_is_whole(a, &i))
        return repeat(jinja, b, i);
    if (kind == '%' && a.kind == VALUE_STRING)
        return jinja_fail(jinja, JOULE_UNSUPPORTED, "operator '%%' for a string is not supported");
    return fail_types(jinja, text, a, b);
}

/* --- comparison ---------------------------------------------------------------------------------------- */

static bool contains(struct jinja *jinja, struct value container, struct value item)
{
    if (container.kind == VALUE_STRING && item.kind == VALUE_STRING)
        return jinja_charge(jinja, container.string.size / 64) &&
               span_find(container.string, item.string) != SIZE_MAX;
    if (container.kind == VALUE_DICT)
        return dict_find(jinja, container.dict, item) != NULL;
    if (container.kind == VALUE_LIST) {
        for (size_t i = 0; i < container.list->count && jinja_charge(jinja, 1); i++)
            if (value_equal(jinja, container.list->items[i], item))
                return true;
        return false;
    }
    if (container.kind != VALUE_UNDEFINED)
        fail_types(jinja, SPAN("in"), item, container);
    return false;
}

bool jinja_compare(struct jinja *jinja, struct span text, struct value a, struct value b)
{
    if (span_is(text, "=="))
        return value_equal(jinja, a, b);
    if (span_is(text, "!="))
        return !value_equal(jinja, a, b);
    if (span_is(text, "in"))
        return contains(jinja, b, a);
    if (span_is(text, "not in"))
        return !contains(jinja, b, a);
    double x, y;
    if (value_is_number(a, &x) && value_is_number(b, &y) && (isnan(x) || isnan(y)))
        return false;
    int order = value_compare(jinja, a, b);
    bool is_equal = text.size == 2 && order == 0;
    return is_equal || (*text.bytes == '<' ? order < 0 : order > 0);
}

/* --- slices -------------------------------------------------------------------------------------------- */

/* Returns a bound of a slice, limited to the range 0 to count, or -1 to count - 1 if is_backwards. absent:
 * the result if the slice has no such bound. */
static int64_t clamp(struct jinja *jinja, struct value bound, int64_t absent, int64_t count,
                     bool is_backwards)
{
    int64_t index;
    int64_t low = is_backwards ? -1 : 0, high = is_backwards ? count - 1 : count;
    if (bound.kind == VALUE_NONE)
        return absent;
    if (!value_is_whole(bound, &index)) {
        jinja_fail(jinja, JOULE_INVALID, "the bounds of a slice must be integers, not of type %s",
                   value_kind_name(bound));
        return 0;
    }
    index += index < 0 ? count : 0;
    return index < low ? low : index > high ? high : index;
}

/* Returns the offset in bytes of a character of a text, at most its size. */
static size_t offset_of(struct span span, int64_t index)
{
    size_t at = 0;
    for (; index > 0 && at < span.size; index--)
        at += span_first((struct span){span.bytes + at, span.size - at});
    return at;
}

static struct value slice_text(struct jinja *jinja, struct span span, int64_t start, int64_t stop,
                               int64_t step)
{
    if (step == 1) {
        size_t begin = offset_of(span, start);
        struct span rest = {span.bytes + begin, span.size - begin};
        return value_span((struct span){rest.bytes, offset_of(rest, stop - start)});
    }
    const struct list *characters = value_items(jinja, value_span(span));
    struct buffer buffer = {0};
    for (int64_t i = start; characters && (step > 0 ? i < stop : i > stop) && jinja_charge(jinja, 1);
         i += step)
        buffer_add_span(jinja, &buffer, characters->items[i].string);
    return buffer_take(jinja, &buffer);
}

struct value jinja_slice(struct jinja *jinja, struct value object, const struct value bounds[3])
{
    int64_t step = 1, count;
    if (object.kind != VALUE_STRING && object.kind != VALUE_LIST)
        return jinja_fail(jinja, JOULE_INVALID, "a value of type %s cannot be sliced",
                          value_kind_name(object));
    if (bounds[2].kind != VALUE_NONE && (!value_is_whole(bounds[2], &step) || step == 0))
        return jinja_fail(jinja, JOULE_INVALID, "the step of a slice must be an integer other than 0");
    if (!jinja_charge(jinja, object.kind == VALUE_STRING ? object.string.size / 16 : 0))
        return object;
    count = object.kind == VALUE_STRING ? (int64_t)span_length(object.string) : (int64_t)object.list->count;
    step = step > count    ? count + 1
           : step < -count ? -count - 1
                           : step; /* so that i + step cannot overflow */
    bool is_backwards = step < 0;
    int64_t start = clamp(jinja, bounds[0], is_backwards ? count - 1 : 0, count, is_backwards);
    int64_t stop = clamp(jinja, bounds[1], is_backwards ? -1 : count, count, is_backwards);
    if (jinja->has_failed)
        return object;
    if (object.kind == VALUE_STRING)
        return slice_text(jinja, object.string, start, start > stop && step == 1 ? start : stop, step);
    struct list *list = list_new(jinja, object.list->kind == LIST_TUPLE ? LIST_TUPLE : LIST_PLAIN);
    for (int64_t i = start; (is_backwards ? i > stop : i < stop) && jinja_charge(jinja, 1); i += step)
        list_add(jinja, list, object.list->items[i]);
    return value_list(list);
}
