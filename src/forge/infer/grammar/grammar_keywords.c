/* infer/grammar/grammar_keywords.c - reads the keywords of a JSON schema; see grammar_schema.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "forge/infer/grammar/grammar_schema.h"

const char *const schema_keyword_names[KEYWORDS] = {
    "type",  "enum",     "const",      "anyOf",     "oneOf",
    "allOf", "$ref",     "properties", "required",  "additionalProperties",
    "items", "minItems", "maxItems",   "minLength", "maxLength"};
static const char *const unsupported_names[] = {"pattern",
                                                "minimum",
                                                "maximum",
                                                "exclusiveMinimum",
                                                "exclusiveMaximum",
                                                "multipleOf",
                                                "uniqueItems",
                                                "contains",
                                                "minContains",
                                                "maxContains",
                                                "prefixItems",
                                                "additionalItems",
                                                "not",
                                                "if",
                                                "then",
                                                "else",
                                                "patternProperties",
                                                "propertyNames",
                                                "minProperties",
                                                "maxProperties",
                                                "dependentRequired",
                                                "dependentSchemas",
                                                "dependencies",
                                                "unevaluatedProperties",
                                                "unevaluatedItems",
                                                "$dynamicRef",
                                                "$recursiveRef",
                                                NULL};

bool schema_fail(struct compiler *c, joule_status status, const char *format, ...)
{
    char message[300];
    va_list arguments;
    if (c->has_failed)
        return false;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    c->has_failed = true;
    error_set(c->error, status, "cannot compile the JSON schema: %s", message);
    return false;
}

bool schema_fail_memory(struct compiler *c)
{
    return schema_fail(c, JOULE_NO_MEMORY, "out of memory");
}

static bool is_listed(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

bool schema_read_keywords(struct compiler *c, const struct json_value *schema, struct keywords *out)
{
    *out = (struct keywords){0};
    for (const struct json_value *member = schema->first; member; member = member->next) {
        size_t key = 0;
        if (is_listed(unsupported_names, member->name) && member->kind != JSON_FALSE)
            return schema_fail(c, JOULE_UNSUPPORTED, "the keyword '%s' is not supported", member->name);
        while (key < KEYWORDS && strcmp(schema_keyword_names[key], member->name) != 0)
            key++;
        if (key == KEYWORDS)
            continue;
        if (out->of[key])
            return schema_fail(c, JOULE_INVALID, "a schema has two members '%s'", member->name);
        out->of[key] = member;
    }
    return true;
}

bool schema_expect_only(struct compiler *c, const struct keywords *k, enum keyword key)
{
    for (size_t i = 0; i < KEYWORDS; i++)
        if (k->of[i] && i != key)
            return schema_fail(c, JOULE_UNSUPPORTED, "'%s' beside '%s' is not supported",
                               schema_keyword_names[i], schema_keyword_names[key]);
    return true;
}

bool schema_read_count(struct compiler *c, const struct keywords *k, enum keyword key, uint64_t *value)
{
    if (!k->of[key])
        return true;
    return (k->of[key]->kind == JSON_NUMBER && json_u64_of(k->of[key], value)) ||
           schema_fail(c, JOULE_INVALID, "%s is not a whole number from 0 to 2^64 - 1",
                       schema_keyword_names[key]);
}
