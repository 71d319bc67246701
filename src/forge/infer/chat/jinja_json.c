/* infer/chat/jinja_json.c - JSON as values of templates, as Python's json module reads it. */
#include "forge/infer/chat/jinja.h"
#include "base/json.h"
#include "base/string.h"

/* Returns an integer, or a float if the number has a point or an exponent, or is too large. */
static struct value read_number(const struct json_value *json)
{
    int64_t integer;
    if (!strpbrk(json->text, ".eE") && string_to_i64(json->text, 10, &integer))
        return value_int(integer);
    return value_float(json_double_of(json));
}

static struct value read_items(struct jinja *jinja, const struct json_value *json)
{
    struct list *list = list_new(jinja, LIST_PLAIN);
    for (const struct json_value *item = json->first; item && jinja_charge(jinja, 1); item = item->next)
        list_add(jinja, list, jinja_read_json(jinja, item));
    return value_list(list);
}

static struct value read_members(struct jinja *jinja, const struct json_value *json)
{
    struct dict *dict = dict_new(jinja);
    for (const struct json_value *item = json->first; item && jinja_charge(jinja, 1); item = item->next)
        dict_set(jinja, dict, value_span(span_of(item->name)), jinja_read_json(jinja, item));
    return value_dict(dict);
}

struct value jinja_read_json(struct jinja *jinja, const struct json_value *json)
{
    struct value value = value_none();
    if (!jinja_enter(jinja))
        return value;
    if (json->kind == JSON_FALSE || json->kind == JSON_TRUE)
        value = value_bool(json->kind == JSON_TRUE);
    else if (json->kind == JSON_NUMBER)
        value = read_number(json);
    else if (json->kind == JSON_STRING)
        value = value_span(span_of(json->text));
    else if (json->kind == JSON_ARRAY)
        value = read_items(jinja, json);
    else if (json->kind == JSON_OBJECT)
        value = read_members(jinja, json);
    jinja_leave(jinja);
    return value;
}
