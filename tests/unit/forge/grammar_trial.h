/* tests/unit/forge/grammar_trial.h - compiles grammars, and validates documents against schemas.
 *
 * The validation is written from the specification of JSON Schema, and knows only the keywords that the
 * tests use. */
#ifndef FORGE_GRAMMAR_TRIAL_H
#define FORGE_GRAMMAR_TRIAL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/json.h"
#include "forge/infer/grammar/grammar.h"
#include "support/chance.h"
#include "support/check.h"

static joule_error error;

static inline struct grammar *compile(const char *schema)
{
    struct grammar *grammar = NULL;
    joule_status status =
        schema ? grammar_new(schema, strlen(schema), &grammar, &error) : grammar_new_object(&grammar, &error);
    if (status != JOULE_OK)
        fail_msg("%s: %s", schema, error.message);
    return grammar;
}

/* Returns true if the grammar accepts the whole text. */
static inline bool accepts(const struct grammar *grammar, const char *text, size_t size)
{
    static struct grammar_state state;
    grammar_begin(grammar, &state);
    return grammar_accept(grammar, &state, text, size) && grammar_is_complete(&state);
}

/* --- validation ----------------------------------------------------------------------------------------- */

static inline size_t count_characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static inline bool is_equal(const struct json_value *a, const struct json_value *b)
{
    if (a->kind != b->kind || (a->text && strcmp(a->text, b->text) != 0))
        return false;
    for (a = a->first, b = b->first; a && b; a = a->next, b = b->next)
        if (!is_equal(a, b) || (a->name && strcmp(a->name, b->name) != 0))
            return false;
    return a == b;
}

static inline bool is_of_type(const struct json_value *value, const char *type)
{
    switch (value->kind) {
    case JSON_NULL:
        return strcmp(type, "null") == 0;
    case JSON_FALSE:
    case JSON_TRUE:
        return strcmp(type, "boolean") == 0;
    case JSON_NUMBER:
        return strcmp(type, "number") == 0 || (strcmp(type, "integer") == 0 && !strpbrk(value->text, ".eE"));
    case JSON_STRING:
        return strcmp(type, "string") == 0;
    case JSON_ARRAY:
        return strcmp(type, "array") == 0;
    default:
        return strcmp(type, "object") == 0;
    }
}

static inline double limit(const struct json_value *schema, const char *name, double otherwise)
{
    const struct json_value *value = json_member(schema, name);
    return value ? json_double_of(value) : otherwise;
}

static inline bool is_valid(const struct json_value *root, const struct json_value *schema,
                            const struct json_value *value);

static inline bool is_valid_array(const struct json_value *root, const struct json_value *schema,
                                  const struct json_value *value)
{
    double count = 0;
    for (const struct json_value *item = value->first; item; item = item->next, count++)
        if (json_member(schema, "items") && !is_valid(root, json_member(schema, "items"), item))
            return false;
    return count >= limit(schema, "minItems", 0) && count <= limit(schema, "maxItems", INFINITY);
}

static inline bool is_valid_object(const struct json_value *root, const struct json_value *schema,
                                   const struct json_value *value)
{
    const struct json_value *properties = json_member(schema, "properties"),
                            *required = json_member(schema, "required");
    const struct json_value *others = json_member(schema, "additionalProperties");
    for (const struct json_value *item = value->first; item; item = item->next) {
        const struct json_value *own = json_member(properties, item->name);
        if (own ? !is_valid(root, own, item) : others && !is_valid(root, others, item))
            return false;
    }
    for (const struct json_value *name = required ? required->first : NULL; name; name = name->next)
        if (!json_member(value, name->text))
            return false;
    return true;
}

static inline bool is_one_valid(const struct json_value *root, const struct json_value *list,
                                const struct json_value *value)
{
    for (const struct json_value *item = list->first; item; item = item->next)
        if (is_valid(root, item, value))
            return true;
    return false;
}

/* Returns true if the value satisfies the schema, written from the specification of JSON Schema. */
static inline bool is_valid(const struct json_value *root, const struct json_value *schema,
                            const struct json_value *value)
{
    if (schema->kind != JSON_OBJECT)
        return schema->kind == JSON_TRUE;
    const struct json_value *type = json_member(schema, "type"), *values = json_member(schema, "enum");
    bool has_type = !type || (type->kind == JSON_STRING && is_of_type(value, type->text));
    for (const struct json_value *item = type ? type->first : NULL; item; item = item->next)
        has_type |= is_of_type(value, item->text);
    bool is_listed = !values;
    for (const struct json_value *item = values ? values->first : NULL; item; item = item->next)
        is_listed |= is_equal(item, value);
    if (!has_type || !is_listed)
        return false;
    if (json_member(schema, "const") && !is_equal(json_member(schema, "const"), value))
        return false;
    if (json_member(schema, "anyOf") && !is_one_valid(root, json_member(schema, "anyOf"), value))
        return false;
    if (json_member(schema, "$ref") && !is_valid(root, root, value)) /* the tests refer to "#" only */
        return false;
    if (value->kind == JSON_ARRAY)
        return is_valid_array(root, schema, value);
    if (value->kind == JSON_OBJECT)
        return is_valid_object(root, schema, value);
    double length = value->kind == JSON_STRING ? (double)count_characters(value->text) : 0;
    return value->kind != JSON_STRING ||
           (length >= limit(schema, "minLength", 0) && length <= limit(schema, "maxLength", INFINITY));
}

static inline const struct json_value *parse(struct arena *arena, const char *text, size_t size)
{
    char *copy = arena_copy(arena, text, size); /* the tree points into it */
    assert_non_null(copy);
    const struct json_value *value = json_parse(arena, copy, size, "generated", &error);
    if (!value)
        fail_msg("%s: %.*s", error.message, (int)size, text);
    return value;
}

#endif
