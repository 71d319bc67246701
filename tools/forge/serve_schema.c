/* tools/forge/serve_schema.c - see serve_schema.h. */
#include "serve_schema.h"

#include <string.h>
#include "base/json_writer.h"
#include "forge/infer/grammar/grammar.h"

static const char field[] = "response_format";

/* Writes a value as JSON. The parser limits the depth to JSON_MAX_DEPTH. */
static void add_value(struct text *out, const struct json_value *value)
{
    static const char *const words[] = {[JSON_NULL] = "null", [JSON_FALSE] = "false", [JSON_TRUE] = "true"};
    bool is_object = value->kind == JSON_OBJECT;
    switch (value->kind) {
    case JSON_NULL:
    case JSON_FALSE:
    case JSON_TRUE:
        text_add(out, words[value->kind]);
        return;
    case JSON_NUMBER:
        text_add(out, value->text);
        return;
    case JSON_STRING:
        json_quote(out, value->text, strlen(value->text));
        return;
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    text_add(out, is_object ? "{" : "[");
    for (const struct json_value *item = value->first; item; item = item->next) {
        if (is_object) {
            json_quote(out, item->name, strlen(item->name));
            text_add(out, ":");
        }
        add_value(out, item);
        text_add(out, item->next ? "," : "");
    }
    text_add(out, is_object ? "}" : "]");
}

/* Returns the text of a value in memory of the arena, or NULL if out of memory. */
static char *text_of(const struct json_value *value, struct arena *arena)
{
    struct text text;
    text_init(&text, NULL, 0);
    add_value(&text, value);
    size_t size = text.length + 1;
    char *bytes = arena_alloc(arena, size);
    if (bytes) {
        text_init(&text, bytes, size);
        add_value(&text, value);
    }
    return bytes;
}

/* Sets the schema. Compiles it here to check it, so that the failure names the field, and the engine's thread
 * gets only valid schemas. */
static bool set_schema(const struct fields *fields, const struct json_value *schema, struct arena *arena,
                       struct answer_options *out)
{
    joule_error error = {0};
    struct grammar *grammar = NULL;
    char *text = text_of(schema, arena);
    if (!text)
        return failure_set_no_memory(fields->failure);
    joule_status status = grammar_new(text, strlen(text), &grammar, &error);
    if (status == JOULE_OK)
        grammar_free(grammar);
    else if (status == JOULE_NO_MEMORY)
        return failure_set_status(fields->failure, 500, "server_error", NULL, "%s", error.message);
    else
        return failure_set(fields->failure, field, "%s", error.message);
    out->json_schema = text;
    return true;
}

bool response_format_read(const struct fields *fields, struct arena *arena, struct answer_options *out)
{
    const struct json_value *format = field_find(fields, field);
    const char *type = json_text_of(json_member(format, "type"));
    if (!format || (type && strcmp(type, "text") == 0))
        return true;
    bool is_object = type && strcmp(type, "json_object") == 0,
         is_schema = type && strcmp(type, "json_schema") == 0;
    if (!is_object && !is_schema)
        return failure_set(
            fields->failure, field,
            "'response_format' must be an object with 'type': 'text', 'json_object' or 'json_schema'");
    /* OpenAI expects the schema in the object "json_schema". llama.cpp accepts the member "schema" for both
     * types. */
    const struct json_value *schema = json_member(json_member(format, "json_schema"), "schema");
    if (!schema)
        schema = json_member(format, "schema");
    if (schema)
        return set_schema(fields, schema, arena, out);
    if (is_schema)
        return failure_set(fields->failure, field, "'response_format.json_schema.schema' is missing");
    out->needs_json_object = true;
    return true;
}
