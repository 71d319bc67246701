/* infer/chat/jinja_value.c - the state of an evaluation with its limits, and lists, dicts and comparison of
 * values. */
#include "forge/infer/chat/jinja.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/error.h"

enum { STEP_PAIRS = 8 }; /* pairs of a dict whose comparison counts as one step */

void jinja_begin(struct jinja *jinja, size_t input_size, joule_error *error)
{
    *jinja = (struct jinja){.arena = {.block_size = 1 << 16}, .error = error, .steps_left = JINJA_MAX_STEPS};
    jinja->memory_left = JINJA_MAX_MEMORY;
    if (input_size < (SIZE_MAX / 2 - JINJA_MAX_MEMORY) / JINJA_COPIES) {
        jinja->memory_left += JINJA_COPIES * input_size;
        jinja->steps_left += (int64_t)(JINJA_COPIES * input_size);
    }
}

void jinja_end(struct jinja *jinja)
{
    arena_free(&jinja->arena);
}

struct value jinja_fail(struct jinja *jinja, joule_status status, const char *format, ...)
{
    char reason[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    if (!jinja->has_failed && jinja->line)
        error_set(jinja->error, status, "cannot render the chat template: line %u: %s", jinja->line, reason);
    else if (!jinja->has_failed)
        error_set(jinja->error, status, "cannot render the chat template: %s", reason);
    jinja->has_failed = true;
    return (struct value){.kind = VALUE_UNDEFINED};
}

bool jinja_is_undefined(struct jinja *jinja, struct value value)
{
    if (value.kind != VALUE_UNDEFINED)
        return false;
    struct span name = value.string.size ? value.string : SPAN("a value");
    jinja_fail(jinja, JOULE_INVALID, "'%.*s' is undefined", span_shown(name), name.bytes);
    return true;
}

bool jinja_charge(struct jinja *jinja, size_t steps)
{
    if (jinja->has_failed)
        return false;
    if (steps > (size_t)jinja->steps_left) {
        jinja_fail(jinja, JOULE_INVALID, "the template needs more than %d steps", JINJA_MAX_STEPS);
        return false;
    }
    jinja->steps_left -= (int64_t)steps;
    return true;
}

bool jinja_enter(struct jinja *jinja)
{
    if (jinja->depth >= JINJA_MAX_DEPTH) {
        jinja_fail(jinja, JOULE_INVALID, "expressions, blocks, calls or lists are nested deeper than %d",
                   JINJA_MAX_DEPTH);
        return false;
    }
    jinja->depth++;
    return true;
}

void jinja_leave(struct jinja *jinja)
{
    jinja->depth--;
}

/* Counts memory. Returns false, and fails, if the limit is reached. */
static bool charge_memory(struct jinja *jinja, size_t size)
{
    if (size > jinja->memory_left) {
        jinja_fail(jinja, JOULE_INVALID, "the template needs more than %d MiB of memory",
                   JINJA_MAX_MEMORY >> 20);
        return false;
    }
    jinja->memory_left -= size;
    return jinja_charge(jinja, size / STEP_BYTES);
}

void *jinja_alloc(struct jinja *jinja, size_t size)
{
    if (!charge_memory(jinja, size))
        return NULL;
    void *memory = arena_alloc(&jinja->arena, size);
    if (!memory)
        jinja_fail(jinja, JOULE_NO_MEMORY, "out of memory");
    return memory;
}

/* --- buffers ------------------------------------------------------------------------------------------- */

bool buffer_add(struct jinja *jinja, struct buffer *buffer, const char *bytes, size_t size)
{
    if (!size)
        return !jinja->has_failed;
    if (!charge_memory(jinja, size))
        return false;
    if (!array_reserve((void **)&buffer->bytes, &buffer->capacity, buffer->size + size, 1)) {
        jinja_fail(jinja, JOULE_NO_MEMORY, "out of memory");
        return false;
    }
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
    return true;
}

bool buffer_add_span(struct jinja *jinja, struct buffer *buffer, struct span span)
{
    return buffer_add(jinja, buffer, span.bytes, span.size);
}

struct value buffer_take(struct jinja *jinja, struct buffer *buffer)
{
    struct span span = {"", 0};
    char *copy = buffer->size && !jinja->has_failed ? jinja_alloc(jinja, buffer->size) : NULL;
    if (copy)
        span = (struct span){memcpy(copy, buffer->bytes, buffer->size), buffer->size};
    free(buffer->bytes);
    *buffer = (struct buffer){0};
    return value_span(span);
}

/* --- lists and dicts ----------------------------------------------------------------------------------- */

struct list *list_new(struct jinja *jinja, enum list_kind kind)
{
    struct list *list = jinja_alloc(jinja, sizeof *list);
    if (list)
        list->kind = kind;
    return list;
}

struct value value_list(struct list *list)
{
    return list ? (struct value){.kind = VALUE_LIST, .list = list} : (struct value){.kind = VALUE_UNDEFINED};
}

/* Returns `items` with room for one more item, in the arena; NULL after a failure. */
static void *with_room(struct jinja *jinja, void *items, size_t count, size_t *capacity, size_t item_size)
{
    if (count < *capacity)
        return items;
    size_t grown = *capacity ? 2 * *capacity : 4;
    void *memory = jinja_alloc(jinja, grown * item_size);
    if (memory && count)
        memcpy(memory, items, count * item_size);
    if (memory)
        *capacity = grown;
    return memory;
}

bool list_add(struct jinja *jinja, struct list *list, struct value value)
{
    struct value *items =
        list ? with_room(jinja, list->items, list->count, &list->capacity, sizeof *items) : NULL;
    if (!items)
        return false;
    list->items = items;
    items[list->count++] = value;
    return true;
}

struct dict *dict_new(struct jinja *jinja)
{
    return jinja_alloc(jinja, sizeof(struct dict));
}

struct value value_dict(struct dict *dict)
{
    return dict ? (struct value){.kind = VALUE_DICT, .dict = dict} : (struct value){.kind = VALUE_UNDEFINED};
}

struct value *dict_find_name(struct jinja *jinja, const struct dict *dict, struct span name)
{
    if (!jinja_charge(jinja, dict->count / STEP_PAIRS))
        return NULL;
    for (size_t i = 0; i < dict->count; i++) {
        const struct value *key = &dict->pairs[i].key;
        if (key->kind == VALUE_STRING && key->string.size == name.size &&
            (!name.size || memcmp(key->string.bytes, name.bytes, name.size) == 0))
            return &dict->pairs[i].value;
    }
    return NULL;
}

struct value *dict_find(struct jinja *jinja, const struct dict *dict, struct value key)
{
    if (key.kind == VALUE_STRING)
        return dict_find_name(jinja, dict, key.string);
    for (size_t i = 0; i < dict->count && jinja_charge(jinja, 1); i++)
        if (value_equal(jinja, dict->pairs[i].key, key))
            return &dict->pairs[i].value;
    return NULL;
}

bool dict_set(struct jinja *jinja, struct dict *dict, struct value key, struct value value)
{
    struct value *found = dict ? dict_find(jinja, dict, key) : NULL;
    if (!dict || jinja->has_failed)
        return false;
    if (found) {
        *found = value;
        return true;
    }
    struct pair *pairs = with_room(jinja, dict->pairs, dict->count, &dict->capacity, sizeof *pairs);
    if (!pairs)
        return false;
    dict->pairs = pairs;
    pairs[dict->count++] = (struct pair){key, value};
    return true;
}

const struct list *value_items(struct jinja *jinja, struct value value)
{
    if (value.kind == VALUE_LIST)
        return value.list;
    struct list *list = list_new(jinja, LIST_PLAIN);
    if (value.kind == VALUE_DICT) {
        for (size_t i = 0; i < value.dict->count; i++)
            list_add(jinja, list, value.dict->pairs[i].key);
    } else if (value.kind == VALUE_STRING) {
        for (size_t i = 0; i < value.string.size && !jinja->has_failed;) {
            struct span rest = {value.string.bytes + i, value.string.size - i};
            rest.size = span_first(rest);
            list_add(jinja, list, value_span(rest));
            i += rest.size;
        }
    } else if (value.kind != VALUE_UNDEFINED) {
        jinja_fail(jinja, JOULE_INVALID, "a value of type %s is not iterable", value_kind_name(value));
    }
    return jinja->has_failed ? NULL : list;
}

/* --- comparison ---------------------------------------------------------------------------------------- */

bool value_truth(struct value value)
{
    switch (value.kind) {
    case VALUE_UNDEFINED:
    case VALUE_ABSENT:
    case VALUE_NONE:
        return false;
    case VALUE_BOOL:
        return value.truth;
    case VALUE_INT:
        return value.integer != 0;
    case VALUE_FLOAT:
        return value.number != 0;
    case VALUE_STRING:
        return value.string.size > 0;
    case VALUE_LIST:
        return value.list->count > 0 || value.list->kind == LIST_LAZY;
    case VALUE_DICT:
        return value.dict->count > 0;
    default:
        return true;
    }
}

const char *value_kind_name(struct value value)
{
    static const char *const names[] = {
        [VALUE_UNDEFINED] = "undefined", [VALUE_ABSENT] = "absent", [VALUE_NONE] = "none",
        [VALUE_BOOL] = "bool",           [VALUE_INT] = "int",       [VALUE_FLOAT] = "float",
        [VALUE_STRING] = "string",       [VALUE_LIST] = "list",     [VALUE_DICT] = "dict",
        [VALUE_NAMESPACE] = "namespace", [VALUE_LOOP] = "loop",     [VALUE_MACRO] = "macro",
        [VALUE_FUNCTION] = "function",   [VALUE_METHOD] = "method",
    };
    return names[value.kind];
}

bool value_is_number(struct value value, double *out_number)
{
    int64_t integer;
    if (value.kind == VALUE_FLOAT)
        *out_number = value.number;
    else if (value_is_whole(value, &integer))
        *out_number = (double)integer;
    else
        return false;
    return true;
}

static bool lists_equal(struct jinja *jinja, const struct list *a, const struct list *b)
{
    if (a->count != b->count || (a->kind == LIST_TUPLE) != (b->kind == LIST_TUPLE) || !jinja_enter(jinja))
        return false;
    bool is_equal = true;
    for (size_t i = 0; is_equal && i < a->count; i++)
        is_equal = jinja_charge(jinja, 1) && value_equal(jinja, a->items[i], b->items[i]);
    jinja_leave(jinja);
    return is_equal;
}

static bool dicts_equal(struct jinja *jinja, const struct dict *a, const struct dict *b)
{
    if (a->count != b->count || !jinja_enter(jinja))
        return false;
    bool is_equal = true;
    for (size_t i = 0; is_equal && i < a->count && jinja_charge(jinja, 1); i++) {
        const struct value *found = dict_find(jinja, b, a->pairs[i].key);
        is_equal = found && value_equal(jinja, a->pairs[i].value, *found);
    }
    jinja_leave(jinja);
    return is_equal && !jinja->has_failed;
}

bool value_equal(struct jinja *jinja, struct value a, struct value b)
{
    double x, y;
    int64_t i, j;
    if (value_is_whole(a, &i) && value_is_whole(b, &j))
        return i == j;
    if (value_is_number(a, &x) && value_is_number(b, &y))
        return x == y;
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case VALUE_UNDEFINED:
    case VALUE_NONE:
        return true;
    case VALUE_STRING:
        return jinja_charge(jinja, a.string.size / STEP_BYTES) && span_compare(a.string, b.string) == 0;
    case VALUE_LIST:
        return lists_equal(jinja, a.list, b.list);
    case VALUE_DICT:
        return dicts_equal(jinja, a.dict, b.dict);
    default:
        return a.dict == b.dict; /* identity; all are pointers */
    }
}

static int compare_lists(struct jinja *jinja, const struct list *a, const struct list *b)
{
    int order = 0;
    if (!jinja_enter(jinja))
        return 0;
    for (size_t i = 0; !order && i < a->count && i < b->count && jinja_charge(jinja, 1); i++)
        if (!value_equal(jinja, a->items[i], b->items[i]))
            order = value_compare(jinja, a->items[i], b->items[i]);
    jinja_leave(jinja);
    return order ? order : (a->count > b->count) - (a->count < b->count);
}

int value_compare(struct jinja *jinja, struct value a, struct value b)
{
    double x, y;
    int64_t i, j;
    if (value_is_whole(a, &i) && value_is_whole(b, &j))
        return (i > j) - (i < j);
    if (value_is_number(a, &x) && value_is_number(b, &y))
        return (x > y) - (x < y);
    if (a.kind == VALUE_STRING && b.kind == VALUE_STRING && jinja_charge(jinja, a.string.size / STEP_BYTES))
        return span_compare(a.string, b.string);
    if (a.kind == VALUE_LIST && b.kind == VALUE_LIST &&
        (a.list->kind == LIST_TUPLE) == (b.list->kind == LIST_TUPLE))
        return compare_lists(jinja, a.list, b.list);
    if (!jinja_is_undefined(jinja, a) && !jinja_is_undefined(jinja, b))
        jinja_fail(jinja, JOULE_INVALID, "cannot compare values of the types %s and %s", value_kind_name(a),
                   value_kind_name(b));
    return 0;
}
