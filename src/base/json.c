/* base/json.c - see json.h.
 *
 * The parser keeps open brackets in an array instead of recursing, because an untrusted text determines the
 * depth.
 */
#include "base/json.h"

#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/json_reader.h"
#include "base/string.h"

/* --- building the tree ---------------------------------------------------------------------------------- */

/* An array or object whose closing bracket has not been read yet. */
struct open_value {
    struct json_value *value;
    const struct json_value **end; /* where the pointer to its next item is stored */
    size_t count;
};

/* State of one json_parse. */
struct parser {
    struct arena *arena;
    struct json_reader reader;
    struct open_value open[JSON_MAX_DEPTH];
    size_t depth;
};

/* Reads an opening bracket into `value` and pushes it. Returns false if brackets are nested too deep. */
static bool open_brackets(struct parser *m, struct json_value *value, char bracket)
{
    if (m->depth == JSON_MAX_DEPTH)
        return json_fail(&m->reader, json_place(&m->reader), "brackets are nested deeper than %d",
                         JSON_MAX_DEPTH);
    json_enter(&m->reader, bracket);
    value->kind = bracket == '{' ? JSON_OBJECT : JSON_ARRAY;
    m->open[m->depth++] = (struct open_value){.value = value, .end = &value->first};
    return true;
}

/* Reads a number into `value`. Returns false if it is malformed (message set) or out of memory. */
static bool read_number(struct parser *m, struct json_value *value)
{
    size_t length;
    const char *digits = json_number(&m->reader, &length);
    value->kind = JSON_NUMBER;
    return digits && (value->text = arena_copy(m->arena, digits, length)) != NULL;
}

/* Reads null, false or true into `value`. Returns false, with a message, for anything else. */
static bool read_word(struct parser *m, struct json_value *value)
{
    static const struct {
        const char *word;
        enum json_kind kind;
    } words[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (json_word(&m->reader, words[i].word)) {
            value->kind = words[i].kind;
            return true;
        }
    return json_fail_expected(&m->reader, "a value");
}

/* Reads the start of any value: all of a scalar, or the opening bracket of an array or object. Returns false
 * on an error. If no message is set, the error is lack of memory. */
static bool read_value(struct parser *m, struct json_value *value)
{
    char c = json_peek(&m->reader);
    if (c == '{' || c == '[')
        return open_brackets(m, value, c);
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(m, value);
    if (c != '"')
        return read_word(m, value);
    value->kind = JSON_STRING;
    value->text = json_read_string(&m->reader);
    return value->text != NULL;
}

/* Reads one more item of the innermost brackets, or their end. Returns false on an error. If no message is
 * set, the error is lack of memory. */
static bool step(struct parser *m)
{
    struct open_value *open = &m->open[m->depth - 1];
    bool is_object = open->value->kind == JSON_OBJECT;
    if (!json_more(&m->reader, is_object ? '}' : ']', &open->count)) {
        m->depth--;
        return !m->reader.has_failed;
    }
    struct json_value *item = arena_alloc(m->arena, sizeof *item);
    if (!item)
        return false;
    *open->end = item;
    open->end = &item->next;
    return (!is_object || (item->name = json_name(&m->reader)) != NULL) && read_value(m, item);
}

const struct json_value *json_parse(struct arena *arena, char *text, size_t size, const char *what,
                                    joule_error *out_error)
{
    struct parser m = {.arena = arena,
                       .reader = {.path = what, .text = text, .size = size, .error = out_error}};
    struct json_value *root = arena_alloc(arena, sizeof *root);
    bool is_ok = root && read_value(&m, root);
    while (is_ok && m.depth > 0)
        is_ok = step(&m);
    if (is_ok && json_end(&m.reader))
        return root;
    if (!m.reader.has_failed)
        error_set(out_error, JOULE_NO_MEMORY, "%s: out of memory", what);
    return NULL;
}

/* --- queries -------------------------------------------------------------------------------------------- */

const struct json_value *json_member(const struct json_value *object, const char *name)
{
    const struct json_value *found = NULL;
    if (!object || object->kind != JSON_OBJECT)
        return NULL;
    for (const struct json_value *member = object->first; member; member = member->next)
        if (strcmp(member->name, name) == 0) {
            if (found)
                return NULL;
            found = member;
        }
    return found;
}

const char *json_text_of(const struct json_value *value)
{
    return value && value->kind == JSON_STRING ? value->text : NULL;
}

/* Returns the text of a number or a string. For an object, uses its member "value". Returns NULL for other
 * values. The tree owns the text. */
static const char *digits_of(const struct json_value *value)
{
    if (value && value->kind == JSON_OBJECT)
        value = json_member(value, "value");
    return value && (value->kind == JSON_NUMBER || value->kind == JSON_STRING) ? value->text : NULL;
}

double json_double_of(const struct json_value *value)
{
    double number;
    const char *digits = digits_of(value);
    return digits && string_to_double(digits, &number) ? number : NAN;
}

bool json_u64_of(const struct json_value *value, uint64_t *out_value)
{
    const char *digits = digits_of(value);
    return digits && string_to_u64(digits, 10, out_value);
}
