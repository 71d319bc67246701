/* infer/grammar/grammar_schema.h - the state of compiling a JSON schema, and the functions for its kinds of
 * values. */
#ifndef FORGE_INFER_GRAMMAR_SCHEMA_H
#define FORGE_INFER_GRAMMAR_SCHEMA_H

#include "base/arena.h"
#include "base/index.h"
#include "base/json.h"
#include "forge/infer/grammar/grammar_parts.h"

enum keyword {
    KEY_TYPE,
    KEY_ENUM,
    KEY_CONST,
    KEY_ANY_OF,
    KEY_ONE_OF,
    KEY_ALL_OF,
    KEY_REF,
    KEY_PROPERTIES,
    KEY_REQUIRED,
    KEY_ADDITIONAL,
    KEY_ITEMS,
    KEY_MIN_ITEMS,
    KEY_MAX_ITEMS,
    KEY_MIN_LENGTH,
    KEY_MAX_LENGTH,
    KEYWORDS
};
extern const char *const schema_keyword_names[KEYWORDS];

enum type { TYPE_NULL, TYPE_BOOLEAN, TYPE_OBJECT, TYPE_ARRAY, TYPE_STRING, TYPE_NUMBER, TYPE_INTEGER, TYPES };

/* The values of the keywords of one schema, by enum keyword; NULL: the keyword is absent. */
struct keywords {
    const struct json_value *of[KEYWORDS];
};

/* A schema with the node at which its part begins. */
struct part {
    const struct json_value *schema;
    uint32_t start;
};

struct compiler {
    struct arena arena;
    struct draft draft;
    const struct json_value *root;
    struct part *parts;
    size_t part_count, part_capacity;
    size_t reference_count;
    struct index index;           /* maps a schema to its number in parts */
    uint32_t newline;             /* the part that part_newline returned */
    uint32_t of_type[TYPES], any; /* starts of the parts for any value of each type, and for any value */
    joule_error *error;
    bool has_failed;
};

/* Sets the message "cannot compile the JSON schema: ...", unless an earlier failure has set one. Returns
 * false. schema_fail_memory: out of memory. */
bool schema_fail(struct compiler *c, joule_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool schema_fail_memory(struct compiler *c);

/* Lists the keywords of a schema. Returns false, with a message, if one is not supported or occurs twice. */
bool schema_read_keywords(struct compiler *c, const struct json_value *schema, struct keywords *out);
/* Returns false, with a message, if a schema has keywords that restrict values other than `key`. */
bool schema_expect_only(struct compiler *c, const struct keywords *k, enum keyword key);
/* Reads a whole number. If the keyword is absent, *value is unchanged. Returns false, with a message, if the
 * keyword has another kind of value. */
bool schema_read_count(struct compiler *c, const struct keywords *k, enum keyword key, uint64_t *value);

/* Returns the start of a schema's part. If the schema is new, its part is compiled later. */
uint32_t schema_part(struct compiler *c, const struct json_value *schema);
/* Adds a call of `part` from `source`. Returns the node after the call. */
uint32_t schema_call(struct compiler *c, uint32_t source, uint32_t part);
/* Adds the text of a value, and returns the node after it. */
uint32_t schema_compile_literal(struct compiler *c, uint32_t source, const struct json_value *value);
/* Compile enum or const, an array, or an object into the part that begins at `start`. types: bits of the
 * allowed types; values of enum and const with other types are left out. Return false, with a message, if a
 * keyword has a wrong value. */
bool schema_compile_literals(struct compiler *c, const struct keywords *k, unsigned types, uint32_t start);
bool schema_compile_array(struct compiler *c, const struct keywords *k, uint32_t start);
bool schema_compile_object(struct compiler *c, const struct keywords *k, uint32_t start);

#endif
