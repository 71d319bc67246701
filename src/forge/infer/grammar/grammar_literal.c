/* infer/grammar/grammar_literal.c - compiles the values of enum and const; see grammar_schema.h. */
#include <stdlib.h>
#include <string.h>
#include "base/json_writer.h"
#include "forge/infer/grammar/grammar_schema.h"

enum { MAX_LITERAL_DEPTH = 8 };

/* Writes a value without white space. Note: the parser limits the depth of the recursion. */
static void write_value(struct text *out, const struct json_value *value)
{
    static const char *const words[] = {"null", "false", "true"};
    bool is_object = value->kind == JSON_OBJECT;
    if (value->kind <= JSON_TRUE)
        text_add(out, words[value->kind]);
    else if (value->kind == JSON_NUMBER)
        text_add(out, value->text);
    else if (value->kind == JSON_STRING)
        json_quote(out, value->text, strlen(value->text));
    else
        text_add(out, is_object ? "{" : "[");
    for (const struct json_value *item = value->first; item; item = item->next) {
        if (is_object) {
            json_quote(out, item->name, strlen(item->name));
            text_add(out, ":");
        }
        write_value(out, item);
        text_add(out, item->next ? "," : "");
    }
    if (value->kind >= JSON_ARRAY)
        text_add(out, is_object ? "}" : "]");
}

/* Returns how deep a value is nested: 0 for a number, 1 for [1]. */
static unsigned depth_of(const struct json_value *value)
{
    unsigned depth = 0;
    for (const struct json_value *item = value->first; item; item = item->next) {
        unsigned inner = depth_of(item);
        depth = inner > depth ? inner : depth;
    }
    return depth + (value->kind >= JSON_ARRAY);
}

/* Adds the text of a value, and returns the node after it. */
uint32_t schema_compile_literal(struct compiler *c, uint32_t source, const struct json_value *value)
{
    struct text text;
    text_init(&text, NULL, 0);
    write_value(&text, value);
    size_t size = text.length;
    char *bytes = malloc(size + 1);
    if (!bytes) {
        schema_fail_memory(c);
        return source;
    }
    text_init(&text, bytes, size + 1);
    write_value(&text, value);
    uint32_t end = draft_literal(&c->draft, source, bytes, size);
    free(bytes);
    return end;
}

/* Adds a value of enum or const. */
static void compile_value(struct compiler *c, uint32_t start, const struct json_value *value)
{
    if (depth_of(value) > MAX_LITERAL_DEPTH)
        schema_fail(c, JOULE_UNSUPPORTED, "a value in enum or const is nested deeper than %d",
                    MAX_LITERAL_DEPTH);
    else
        draft_final(&c->draft, schema_compile_literal(c, start, value));
}

static bool has_type(const struct json_value *value, unsigned types)
{
    static const unsigned of_kind[] = {[JSON_NULL] = 1u << TYPE_NULL,     [JSON_FALSE] = 1u << TYPE_BOOLEAN,
                                       [JSON_TRUE] = 1u << TYPE_BOOLEAN,  [JSON_NUMBER] = 1u << TYPE_NUMBER,
                                       [JSON_STRING] = 1u << TYPE_STRING, [JSON_ARRAY] = 1u << TYPE_ARRAY,
                                       [JSON_OBJECT] = 1u << TYPE_OBJECT};
    bool is_whole = value->kind == JSON_NUMBER && !strpbrk(value->text, ".eE");
    return (of_kind[value->kind] & types) || (is_whole && (types & 1u << TYPE_INTEGER));
}

/* Compiles enum or const. types: bits of the types that are allowed. */
bool schema_compile_literals(struct compiler *c, const struct keywords *k, unsigned types, uint32_t start)
{
    static const enum keyword checked[] = {KEY_PROPERTIES, KEY_REQUIRED,  KEY_ADDITIONAL, KEY_ITEMS,
                                           KEY_MIN_ITEMS,  KEY_MAX_ITEMS, KEY_MIN_LENGTH, KEY_MAX_LENGTH};
    enum keyword key = k->of[KEY_CONST] ? KEY_CONST : KEY_ENUM;
    const struct json_value *value = k->of[key];
    for (size_t i = 0; i < sizeof checked / sizeof *checked; i++)
        if (k->of[checked[i]])
            return schema_fail(c, JOULE_UNSUPPORTED, "'%s' beside '%s' is not supported",
                               schema_keyword_names[checked[i]], schema_keyword_names[key]);
    if (k->of[KEY_CONST] && k->of[KEY_ENUM])
        return schema_fail(c, JOULE_UNSUPPORTED, "'const' beside 'enum' is not supported");
    if (key == KEY_CONST) {
        if (has_type(value, types))
            compile_value(c, start, value);
        return !c->has_failed;
    }
    if (value->kind != JSON_ARRAY)
        return schema_fail(c, JOULE_INVALID, "enum is not an array");
    for (value = value->first; value && !c->has_failed; value = value->next)
        if (has_type(value, types))
            compile_value(c, start, value);
    return !c->has_failed;
}
