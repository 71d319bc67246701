/* infer/grammar/grammar_schema.c - compiles a JSON schema to the automaton of a grammar.
 *
 * Each schema within the schema becomes a part of the automaton that other parts call, so a schema may
 * refer to itself. Parts are compiled from a list instead of by recursion, because an untrusted schema could
 * otherwise exhaust the stack.
 */
#include "forge/infer/grammar/grammar_schema.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"

enum { MAX_ALTERNATIVES = 100, MAX_REFERENCES = 4096, MAX_SIZE = 1 << 20 };
#define CANNOT "cannot compile the JSON schema: "

static const char *const type_names[TYPES] = {"null",   "boolean", "object", "array",
                                              "string", "number",  "integer"};

/* --- parts ---------------------------------------------------------------------------------------------- */

static struct index_key key_of_part(const void *context, uint32_t number)
{
    const struct compiler *c = context;
    return (struct index_key){&c->parts[number].schema, sizeof(struct json_value *)};
}

uint32_t schema_part(struct compiler *c, const struct json_value *schema)
{
    uint32_t number = index_find(&c->index, c, (struct index_key){&schema, sizeof schema});
    if (number != INDEX_NONE)
        return c->parts[number].start;
    if (schema->kind == JSON_TRUE)
        return c->any;
    uint32_t start = draft_node(&c->draft);
    if (!ARRAY_ROOM(c->parts, c->part_capacity, c->part_count)) {
        schema_fail_memory(c);
        return start;
    }
    c->parts[c->part_count] = (struct part){schema, start};
    if (!index_add(&c->index, c, (uint32_t)c->part_count))
        schema_fail_memory(c);
    c->part_count++;
    return start;
}

uint32_t schema_call(struct compiler *c, uint32_t source, uint32_t part)
{
    uint32_t end = draft_node(&c->draft);
    draft_call(&c->draft, source, part, end);
    return end;
}

/* --- references ----------------------------------------------------------------------------------------- */

/* Copies one token of a JSON pointer, up to '/' or the end, to token[0..size), decoded. Returns the rest of
 * the pointer. */
static const char *decode_pointer(const char *text, char *token, size_t size)
{
    size_t length = 0;
    for (; *text && *text != '/'; text++) {
        char byte = *text;
        if (byte == '~' && (text[1] == '0' || text[1] == '1'))
            byte = *++text == '0' ? '~' : '/';
        if (length + 1 < size)
            token[length++] = byte;
    }
    token[length] = '\0';
    return text;
}

static const struct json_value *item_of(const struct json_value *value, const char *token)
{
    uint64_t number;
    if (!value || value->kind != JSON_ARRAY)
        return json_member(value, token);
    if (!string_to_u64(token, 10, &number))
        return NULL;
    value = value->first;
    for (; value && number > 0; number--)
        value = value->next;
    return value;
}

static bool compile_reference(struct compiler *c, const struct json_value *reference, uint32_t start)
{
    const char *text = json_text_of(reference), *at;
    const struct json_value *target = c->root;
    char token[256];
    /* The limit bounds the time: each reference needs a linear search. */
    if (++c->reference_count > MAX_REFERENCES)
        return schema_fail(c, JOULE_UNSUPPORTED, "more than %d $ref", MAX_REFERENCES);
    if (!text || text[0] != '#' || (text[1] && text[1] != '/'))
        return schema_fail(c, JOULE_UNSUPPORTED, "$ref '%.80s' does not begin with '#/'", text ? text : "");
    for (at = text + 1; *at && target;) {
        at = decode_pointer(at + 1, token, sizeof token);
        target = item_of(target, token);
    }
    if (!target)
        return schema_fail(c, JOULE_INVALID, "$ref '%.80s' names no schema", text);
    draft_empty(&c->draft, start, schema_part(c, target));
    return true;
}

/* --- arrays --------------------------------------------------------------------------------------------- */

bool schema_compile_array(struct compiler *c, const struct keywords *k, uint32_t start)
{
    struct draft *d = &c->draft;
    uint64_t min = 0, max = UINT64_MAX, count = 0;
    const struct json_value *items = k->of[KEY_ITEMS];
    if (!schema_read_count(c, k, KEY_MIN_ITEMS, &min) || !schema_read_count(c, k, KEY_MAX_ITEMS, &max))
        return false;
    if (items && items->kind == JSON_ARRAY)
        return schema_fail(c, JOULE_UNSUPPORTED, "items is an array, which is not supported");
    uint32_t item = items ? schema_part(c, items) : c->any;
    uint32_t opened = draft_node(d), end = draft_node(d), closing = draft_node(d);
    draft_bytes(d, start, '[', '[', opened);
    draft_bytes(d, part_space(d, closing, c->newline), ']', ']', end);
    draft_final(d, end);
    if (min == 0)
        draft_empty(d, opened, closing);
    if (max == 0 || min > max)
        return true;
    uint32_t before = part_space(d, opened, c->newline);
    for (count = 1; d->status == JOULE_OK; count++) {
        uint32_t after = schema_call(c, before, item), comma = draft_node(d);
        if (count >= min)
            draft_empty(d, after, closing);
        if (count == max)
            return true;
        draft_bytes(d, after, ',', ',', comma);
        if (count >= min && max == UINT64_MAX) {
            draft_empty(d, part_space(d, comma, c->newline), before);
            return true;
        }
        before = part_space(d, comma, c->newline);
    }
    return true;
}

/* --- schemas -------------------------------------------------------------------------------------------- */

/* Sets the bit of the type that `value` names. Returns false, with a message, if it names no type. */
static bool read_type(struct compiler *c, const struct json_value *value, unsigned *types)
{
    const char *name = json_text_of(value);
    for (size_t i = 0; name && i < TYPES; i++)
        if (strcmp(type_names[i], name) == 0) {
            *types |= 1u << i;
            return true;
        }
    return schema_fail(c, JOULE_INVALID, "'%.40s' is not a type", name ? name : "");
}

/* Reads `type`. If it is absent, sets the types to which the other keywords apply; 0: any type. */
static bool read_types(struct compiler *c, const struct keywords *k, unsigned *types)
{
    const struct json_value *type = k->of[KEY_TYPE];
    *types = 0;
    if (type && type->kind != JSON_ARRAY)
        return read_type(c, type, types);
    for (const struct json_value *item = type ? type->first : NULL; item; item = item->next)
        if (!read_type(c, item, types))
            return false;
    if (type)
        return *types != 0 || schema_fail(c, JOULE_INVALID, "type is an empty array");
    if (k->of[KEY_PROPERTIES] || k->of[KEY_REQUIRED] || k->of[KEY_ADDITIONAL])
        *types |= 1u << TYPE_OBJECT;
    if (k->of[KEY_ITEMS] || k->of[KEY_MIN_ITEMS] || k->of[KEY_MAX_ITEMS])
        *types |= 1u << TYPE_ARRAY;
    if (k->of[KEY_MIN_LENGTH] || k->of[KEY_MAX_LENGTH])
        *types |= 1u << TYPE_STRING;
    return true;
}

static bool compile_type(struct compiler *c, const struct keywords *k, enum type type, uint32_t start)
{
    struct draft *d = &c->draft;
    uint64_t min = 0, max = UINT64_MAX;
    switch (type) {
    case TYPE_OBJECT:
        return schema_compile_object(c, k, start);
    case TYPE_ARRAY:
        return schema_compile_array(c, k, start);
    case TYPE_STRING:
        if (!schema_read_count(c, k, KEY_MIN_LENGTH, &min) || !schema_read_count(c, k, KEY_MAX_LENGTH, &max))
            return false;
        if (min == 0 && max == UINT64_MAX)
            draft_empty(d, start, c->of_type[TYPE_STRING]);
        else if (min <= max)
            draft_final(d, part_string(d, start, min, max));
        return true;
    default:
        draft_empty(d, start, c->of_type[type]);
        return true;
    }
}

static bool compile_alternatives(struct compiler *c, const struct keywords *k, enum keyword key,
                                 uint32_t start)
{
    const struct json_value *list = k->of[key];
    size_t count = 0;
    if (!schema_expect_only(c, k, key))
        return false;
    if (list->kind != JSON_ARRAY || !list->first)
        return schema_fail(c, JOULE_INVALID, "%s is not an array of schemas", schema_keyword_names[key]);
    for (const struct json_value *item = list->first; item; item = item->next) {
        draft_empty(&c->draft, start, schema_part(c, item));
        count++;
    }
    if (key == KEY_ALL_OF && count > 1)
        return schema_fail(c, JOULE_UNSUPPORTED, "allOf with more than one schema is not supported");
    if (count > MAX_ALTERNATIVES)
        return schema_fail(c, JOULE_UNSUPPORTED, "%s has more than %d schemas", schema_keyword_names[key],
                           MAX_ALTERNATIVES);
    return true;
}

/* Compiles a schema into the part that begins at `start`. */
static bool compile_schema(struct compiler *c, const struct json_value *schema, uint32_t start)
{
    static const enum keyword alternatives[] = {KEY_ANY_OF, KEY_ONE_OF, KEY_ALL_OF};
    struct keywords k;
    unsigned types;
    if (schema->kind == JSON_FALSE)
        return true; /* no value satisfies it */
    if (schema->kind == JSON_TRUE) {
        draft_empty(&c->draft, start, c->any);
        return true;
    }
    if (schema->kind != JSON_OBJECT)
        return schema_fail(c, JOULE_INVALID, "'%.80s' is neither an object nor a boolean",
                           schema->name ? schema->name : "a schema");
    if (!schema_read_keywords(c, schema, &k))
        return false;
    if (k.of[KEY_REF])
        return schema_expect_only(c, &k, KEY_REF) && compile_reference(c, k.of[KEY_REF], start);
    for (size_t i = 0; i < sizeof alternatives / sizeof *alternatives; i++)
        if (k.of[alternatives[i]])
            return compile_alternatives(c, &k, alternatives[i], start);
    if (!read_types(c, &k, &types))
        return false;
    if (k.of[KEY_ENUM] || k.of[KEY_CONST])
        return schema_compile_literals(c, &k, types ? types : UINT32_MAX, start);
    if (types == 0)
        draft_empty(&c->draft, start, c->any);
    for (size_t i = 0; i < TYPES; i++)
        if ((types & 1u << i) && !compile_type(c, &k, (enum type)i, start))
            return false;
    return true;
}

/* --- the whole ------------------------------------------------------------------------------------------ */

/* Adds the parts of any value, and of any value of each type. */
static bool compile_types(struct compiler *c)
{
    static const struct keywords none = {0};
    struct draft *d = &c->draft;
    c->newline = part_newline(d);
    c->any = draft_node(d);
    for (size_t i = 0; i < TYPES; i++) {
        c->of_type[i] = draft_node(d);
        if (i != TYPE_INTEGER) /* integers are numbers */
            draft_empty(d, c->any, c->of_type[i]);
    }
    draft_final(d, draft_literal(d, c->of_type[TYPE_NULL], "null", 4));
    draft_final(d, draft_literal(d, c->of_type[TYPE_BOOLEAN], "true", 4));
    draft_final(d, draft_literal(d, c->of_type[TYPE_BOOLEAN], "false", 5));
    draft_final(d, part_string(d, c->of_type[TYPE_STRING], 0, UINT64_MAX));
    draft_final(d, part_number(d, c->of_type[TYPE_NUMBER], false));
    draft_final(d, part_number(d, c->of_type[TYPE_INTEGER], true));
    return schema_compile_array(c, &none, c->of_type[TYPE_ARRAY]) &&
           schema_compile_object(c, &none, c->of_type[TYPE_OBJECT]);
}

/* Returns true if a byte can begin a text. There is none if the alternatives fill the state before the first
 * byte. */
static bool can_begin(const struct grammar *grammar)
{
    struct grammar_state state;
    grammar_begin(grammar, &state);
    for (uint32_t i = 0; i < state.thread_count; i++) {
        const struct grammar_node *node = &grammar->nodes[state.threads[i].node];
        if (node->first_byte < node->first_other)
            return true;
    }
    return false;
}

/* Compiles the root, or any object if it is NULL. */
static joule_status compile(struct compiler *c, struct grammar **out_grammar)
{
    joule_status status = JOULE_OK;
    c->index.key_of = key_of_part;
    bool is_ok = compile_types(c);
    uint32_t start = c->root && is_ok ? schema_part(c, c->root) : c->of_type[TYPE_OBJECT];
    for (size_t i = 0; i < c->part_count && !c->has_failed && c->draft.status == JOULE_OK; i++) {
        struct part part = c->parts[i]; /* the array may move */
        compile_schema(c, part.schema, part.start);
    }
    if (c->has_failed)
        status = c->error->status;
    else
        status = draft_finish(&c->draft, start, out_grammar, c->error);
    if (*out_grammar && !can_begin(*out_grammar)) {
        grammar_free(*out_grammar);
        *out_grammar = NULL;
        schema_fail(c, JOULE_UNSUPPORTED, "more than %d nested alternatives begin at one place",
                    GRAMMAR_MAX_THREADS);
        status = c->error->status;
    }
    draft_free(&c->draft);
    index_free(&c->index);
    free(c->parts);
    arena_free(&c->arena);
    return status;
}

joule_status grammar_new(const char *schema, size_t size, struct grammar **out_grammar,
                         joule_error *out_error)
{
    joule_error error = {0};
    struct compiler c = {.error = &error};
    *out_grammar = NULL;
    if (size > MAX_SIZE)
        return error_set(out_error, JOULE_UNSUPPORTED, CANNOT "it has more than %d bytes", MAX_SIZE);
    char *copy = malloc(size + 1);
    joule_status status = JOULE_NO_MEMORY;
    if (copy) {
        memcpy(copy, schema, size);
        c.root = json_parse(&c.arena, copy, size, "JSON schema", &error);
        status = error.status;
    }
    if (c.root)
        status = compile(&c, out_grammar);
    else
        arena_free(&c.arena);
    if (!copy)
        error_set(&error, JOULE_NO_MEMORY, CANNOT "out of memory");
    free(copy);
    return status == JOULE_OK ? status : error_set(out_error, status, "%s", error.message);
}

joule_status grammar_new_object(struct grammar **out_grammar, joule_error *out_error)
{
    joule_error error = {0};
    struct compiler c = {.error = &error};
    *out_grammar = NULL;
    joule_status status = compile(&c, out_grammar);
    return status == JOULE_OK ? status : error_set(out_error, status, "%s", error.message);
}
