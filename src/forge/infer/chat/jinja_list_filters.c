/* infer/chat/jinja_list_filters.c - filters of lists and dicts. */
#include "forge/infer/chat/jinja.h"

/* Returns an attribute by its path, such as "function.name" or "items.0". */
static struct value attribute_path(struct jinja *jinja, struct value value, struct value path)
{
    if (path.kind != VALUE_STRING)
        return jinja_item(jinja, value, path);
    struct span rest = path.string;
    while (!jinja->has_failed) {
        const char *point = rest.size ? memchr(rest.bytes, '.', rest.size) : NULL;
        struct span name = {rest.bytes, point ? (size_t)(point - rest.bytes) : rest.size};
        struct value key = value_span(name);
        if (name.size == 1 && *name.bytes >= '0' && *name.bytes <= '9')
            key = value_int(*name.bytes - '0');
        value = jinja_item(jinja, value, key);
        if (!point)
            return value;
        rest = (struct span){point + 1, rest.size - name.size - 1};
    }
    return value;
}

/* --- items --------------------------------------------------------------------------------------------- */

static struct value filter_join(struct jinja *jinja, struct value self, const struct value *arguments)
{
    const struct list *items = value_items(jinja, self);
    struct span separator = value_text(jinja, arguments[0]);
    struct buffer buffer = {0};
    for (size_t i = 0; items && i < items->count && jinja_charge(jinja, 1); i++) {
        struct value item = items->items[i];
        if (arguments[1].kind != VALUE_ABSENT && arguments[1].kind != VALUE_NONE)
            item = attribute_path(jinja, item, arguments[1]);
        if (i)
            buffer_add_span(jinja, &buffer, separator);
        value_print(jinja, &buffer, item);
    }
    return buffer_take(jinja, &buffer);
}

static struct value filter_first(struct jinja *jinja, struct value self, const struct value *arguments)
{
    const struct list *items = value_items(jinja, self);
    (void)arguments;
    if (items && items->count)
        return items->items[0];
    return (struct value){.kind = VALUE_UNDEFINED, .string = SPAN("the first item of an empty list")};
}

static struct value filter_last(struct jinja *jinja, struct value self, const struct value *arguments)
{
    const struct list *items = value_items(jinja, self);
    (void)arguments;
    if (items && items->count)
        return items->items[items->count - 1];
    return (struct value){.kind = VALUE_UNDEFINED, .string = SPAN("the last item of an empty list")};
}

static struct value filter_list(struct jinja *jinja, struct value self, const struct value *arguments)
{
    const struct list *items = value_items(jinja, self);
    struct list *list = list_new(jinja, LIST_PLAIN);
    (void)arguments;
    for (size_t i = 0; items && i < items->count && !jinja->has_failed; i++)
        list_add(jinja, list, items->items[i]);
    return value_list(list);
}

static struct value filter_reverse(struct jinja *jinja, struct value self, const struct value *arguments)
{
    const struct list *items = value_items(jinja, self);
    struct list *list = list_new(jinja, LIST_LAZY);
    struct buffer buffer = {0};
    (void)arguments;
    for (size_t i = items ? items->count : 0; i-- > 0 && jinja_charge(jinja, 1);) {
        if (self.kind == VALUE_STRING)
            buffer_add_span(jinja, &buffer, items->items[i].string);
        else
            list_add(jinja, list, items->items[i]);
    }
    return self.kind == VALUE_STRING ? buffer_take(jinja, &buffer) : value_list(list);
}

/* Returns the pairs of a dict as tuples. */
static struct list *pairs_of(struct jinja *jinja, const struct dict *dict, enum list_kind kind)
{
    struct list *list = list_new(jinja, kind);
    for (size_t i = 0; i < dict->count && !jinja->has_failed; i++) {
        struct list *pair = list_new(jinja, LIST_TUPLE);
        list_add(jinja, pair, dict->pairs[i].key);
        list_add(jinja, pair, dict->pairs[i].value);
        list_add(jinja, list, value_list(pair));
    }
    return list;
}

static struct value filter_items(struct jinja *jinja, struct value self, const struct value *arguments)
{
    (void)arguments;
    if (self.kind == VALUE_UNDEFINED)
        return value_list(list_new(jinja, LIST_LAZY));
    if (self.kind != VALUE_DICT)
        return jinja_fail(jinja, JOULE_INVALID, "items: the value must be a dict, not of type %s",
                          value_kind_name(self));
    return value_list(pairs_of(jinja, self.dict, LIST_LAZY));
}

/* --- order --------------------------------------------------------------------------------------------- */

/* An item with the value by which it is sorted. */
struct sorted {
    struct value key, item;
};

/* Returns the value by which an item is sorted or compared: the item, or its `attribute` if one is given. A
 * text is converted to lower case unless has_case. */
static struct value sort_key(struct jinja *jinja, struct value item, struct value attribute, bool has_case)
{
    struct value key = item;
    if (attribute.kind != VALUE_ABSENT && attribute.kind != VALUE_NONE)
        key = attribute_path(jinja, item, attribute);
    if (key.kind == VALUE_STRING && !has_case && !jinja->has_failed)
        key = jinja_find_filter(SPAN("lower"))->call(jinja, key, NULL);
    return key;
}

/* Merges two sorted parts of `from`, [begin, middle) and [middle, end), into `to`. */
static void merge(struct jinja *jinja, const struct sorted *from, struct sorted *to, const size_t bounds[3],
                  int sign)
{
    size_t a = bounds[0], b = bounds[1];
    for (size_t i = bounds[0]; i < bounds[2]; i++) {
        bool takes_b = a >= bounds[1];
        if (!takes_b && b < bounds[2] && jinja_charge(jinja, 1))
            takes_b = sign * value_compare(jinja, from[a].key, from[b].key) > 0;
        to[i] = from[takes_b ? b++ : a++];
    }
}

/* Sorts items; equal items keep their order. Returns the sorted items, or NULL after a failure. */
static const struct sorted *sort_items(struct jinja *jinja, struct sorted *items, size_t count,
                                       bool is_reversed)
{
    struct sorted *other = jinja_alloc(jinja, count * sizeof *other);
    for (size_t width = 1; other && width < count && !jinja->has_failed; width *= 2) {
        for (size_t i = 0; i < count && !jinja->has_failed; i += 2 * width) {
            size_t middle = i + width < count ? i + width : count;
            size_t end = middle + width < count ? middle + width : count;
            merge(jinja, items, other, (const size_t[]){i, middle, end}, is_reversed ? -1 : 1);
        }
        struct sorted *swapped = items;
        items = other;
        other = swapped;
    }
    return jinja->has_failed ? NULL : items;
}

/* Sorts `items` by an attribute. Returns a list. */
static struct value sort_list(struct jinja *jinja, const struct list *items, struct value attribute,
                              bool has_case, bool is_reversed)
{
    struct list *list = list_new(jinja, LIST_PLAIN);
    struct sorted *unsorted = items ? jinja_alloc(jinja, items->count * sizeof *unsorted) : NULL;
    for (size_t i = 0; unsorted && i < items->count && jinja_charge(jinja, 1); i++) {
        unsorted[i].item = items->items[i];
        unsorted[i].key = sort_key(jinja, items->items[i], attribute, has_case);
    }
    const struct sorted *sorted = unsorted ? sort_items(jinja, unsorted, items->count, is_reversed) : NULL;
    for (size_t i = 0; sorted && i < items->count && !jinja->has_failed; i++)
        list_add(jinja, list, sorted[i].item);
    return value_list(list);
}

static struct value filter_sort(struct jinja *jinja, struct value self, const struct value *arguments)
{
    return sort_list(jinja, value_items(jinja, self), arguments[2], value_truth(arguments[1]),
                     value_truth(arguments[0]));
}

static struct value filter_dictsort(struct jinja *jinja, struct value self, const struct value *arguments)
{
    bool is_by_value = arguments[1].kind == VALUE_STRING && span_is(arguments[1].string, "value");
    if (jinja_is_undefined(jinja, self))
        return self;
    if (self.kind != VALUE_DICT)
        return jinja_fail(jinja, JOULE_INVALID, "dictsort: the value must be a dict, not of type %s",
                          value_kind_name(self));
    return sort_list(jinja, pairs_of(jinja, self.dict, LIST_PLAIN), value_int(is_by_value),
                     value_truth(arguments[0]), value_truth(arguments[2]));
}

static struct value filter_unique(struct jinja *jinja, struct value self, const struct value *arguments)
{
    const struct list *items = value_items(jinja, self);
    struct list *list = list_new(jinja, LIST_LAZY);
    struct dict *keys = dict_new(jinja);
    for (size_t i = 0; items && keys && i < items->count && jinja_charge(jinja, 1); i++) {
        struct value key = sort_key(jinja, items->items[i], arguments[1], value_truth(arguments[0]));
        if (dict_find(jinja, keys, key))
            continue;
        dict_set(jinja, keys, key, value_none());
        list_add(jinja, list, items->items[i]);
    }
    return value_list(list);
}

/* Returns the smallest item if sign is 1, the largest if it is -1. */
static struct value extreme(struct jinja *jinja, struct value self, const struct value *arguments, int sign)
{
    const struct list *items = value_items(jinja, self);
    struct value best = {.kind = VALUE_UNDEFINED}, best_key = best;
    for (size_t i = 0; items && i < items->count && jinja_charge(jinja, 1); i++) {
        struct value key = sort_key(jinja, items->items[i], arguments[1], value_truth(arguments[0]));
        if (i && sign * value_compare(jinja, key, best_key) >= 0)
            continue;
        best = items->items[i];
        best_key = key;
    }
    return best;
}

static struct value filter_min(struct jinja *jinja, struct value self, const struct value *arguments)
{
    return extreme(jinja, self, arguments, 1);
}

static struct value filter_max(struct jinja *jinja, struct value self, const struct value *arguments)
{
    return extreme(jinja, self, arguments, -1);
}

static struct value filter_sum(struct jinja *jinja, struct value self, const struct value *arguments)
{
    const struct list *items = value_items(jinja, self);
    struct value sum = arguments[1].kind == VALUE_ABSENT ? value_int(0) : arguments[1];
    for (size_t i = 0; items && i < items->count && jinja_charge(jinja, 1); i++) {
        struct value item = items->items[i];
        if (arguments[0].kind != VALUE_ABSENT)
            item = attribute_path(jinja, item, arguments[0]);
        sum = jinja_binary(jinja, SPAN("+"), sum, item);
    }
    return sum;
}

/* Returns the items of a value for map and similar filters. As in Jinja, a false value has no items. */
static const struct list *items_or_none(struct jinja *jinja, struct value value)
{
    return value_truth(value) ? value_items(jinja, value) : list_new(jinja, LIST_PLAIN);
}

/* --- selection ----------------------------------------------------------------------------------------- */

/* Returns the items for which a test (by default: whether the value is true) has the result `wanted`.
 * arguments: the name of the test and its argument. attribute: absent, or the attribute that is tested. */
static struct value choose(struct jinja *jinja, struct value self, const struct value *arguments,
                           struct value attribute, bool wanted)
{
    const struct builtin *test = NULL;
    const struct list *items = items_or_none(jinja, self);
    struct list *list = list_new(jinja, LIST_LAZY);
    struct arguments given = {.positional = arguments + 1, .count = arguments[1].kind != VALUE_ABSENT};
    if (arguments[0].kind == VALUE_STRING)
        test = jinja_find_test(arguments[0].string);
    if (arguments[0].kind != VALUE_ABSENT && !test)
        return jinja_fail(jinja, JOULE_UNSUPPORTED,
                          "a test in select, reject, selectattr or rejectattr is not supported");
    for (size_t i = 0; items && i < items->count && jinja_charge(jinja, 1); i++) {
        struct value value = items->items[i];
        if (attribute.kind != VALUE_ABSENT)
            value = attribute_path(jinja, value, attribute);
        if (test && !jinja->has_failed)
            value = jinja_call_builtin(jinja, test, value, &given);
        if (value_truth(value) == wanted)
            list_add(jinja, list, items->items[i]);
    }
    return value_list(list);
}

static struct value filter_select(struct jinja *jinja, struct value self, const struct value *arguments)
{
    return choose(jinja, self, arguments, (struct value){.kind = VALUE_ABSENT}, true);
}

static struct value filter_reject(struct jinja *jinja, struct value self, const struct value *arguments)
{
    return choose(jinja, self, arguments, (struct value){.kind = VALUE_ABSENT}, false);
}

static struct value filter_selectattr(struct jinja *jinja, struct value self, const struct value *arguments)
{
    return choose(jinja, self, arguments + 1, arguments[0], true);
}

static struct value filter_rejectattr(struct jinja *jinja, struct value self, const struct value *arguments)
{
    return choose(jinja, self, arguments + 1, arguments[0], false);
}

/* Parameters: the name of a filter and its argument; or `attribute` and `default`. */
static struct value filter_map(struct jinja *jinja, struct value self, const struct value *arguments)
{
    const struct list *items = items_or_none(jinja, self);
    struct list *list = list_new(jinja, LIST_LAZY);
    const struct builtin *filter =
        arguments[0].kind == VALUE_STRING ? jinja_find_filter(arguments[0].string) : NULL;
    struct arguments given = {.positional = arguments + 1, .count = arguments[1].kind != VALUE_ABSENT};
    if (!filter && arguments[2].kind == VALUE_ABSENT)
        return jinja_fail(jinja, JOULE_UNSUPPORTED, "a filter in map is not supported");
    for (size_t i = 0; items && i < items->count && jinja_charge(jinja, 1); i++) {
        struct value value = items->items[i];
        value = filter ? jinja_call_builtin(jinja, filter, value, &given)
                       : attribute_path(jinja, value, arguments[2]);
        if (value.kind == VALUE_UNDEFINED && arguments[3].kind != VALUE_ABSENT)
            value = arguments[3];
        list_add(jinja, list, value);
    }
    return value_list(list);
}

static const struct builtin list_filters[] = {
    {"join", filter_join, {"d", "attribute"}},
    {"first", filter_first},
    {"last", filter_last},
    {"list", filter_list},
    {"items", filter_items},
    {"dictsort", filter_dictsort, {"case_sensitive", "by", "reverse"}},
    {"sort", filter_sort, {"reverse", "case_sensitive", "attribute"}},
    {"unique", filter_unique, {"case_sensitive", "attribute"}},
    {"min", filter_min, {"case_sensitive", "attribute"}},
    {"max", filter_max, {"case_sensitive", "attribute"}},
    {"sum", filter_sum, {"attribute", "start"}},
    {"reverse", filter_reverse},
    {"select", filter_select, {"test", "argument"}},
    {"reject", filter_reject, {"test", "argument"}},
    {"selectattr", filter_selectattr, {"attr", "test", "argument"}, 1},
    {"rejectattr", filter_rejectattr, {"attr", "test", "argument"}, 1},
    {"map", filter_map, {"filter", "argument", "attribute", "default"}},
};

const struct builtin *jinja_find_list_filter(struct span name)
{
    return JINJA_FIND(list_filters, name);
}
