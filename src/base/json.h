/* base/json.h - parses JSON into a tree of values, and queries it.
 *
 * Note: queries accept NULL and values of any kind. For a wrong kind they return NULL, NaN or false. So a
 * path through an unknown text needs no checks.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <joule/base.h>
#include "base/arena.h"

#define JSON_MAX_DEPTH 64 /* maximum nesting of brackets */

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* A value of the tree. */
struct json_value {
    enum json_kind kind;
    const char *name;                      /* name of an object's member; else NULL */
    const char *text;                      /* decoded text of a string, digits of a number; else NULL */
    const struct json_value *first, *next; /* first item of an array or object; next item of the parent */
};

/* Parses text[0..size). The text is modified in place and must outlive the tree. Returns the root, in memory
 * of `arena`. Returns NULL on failure, with a message that begins with `what`. INVALID: the text is not JSON,
 * is nested deeper than JSON_MAX_DEPTH, or has a string with a NUL. NO_MEMORY: out of memory. */
const struct json_value *json_parse(struct arena *arena, char *text, size_t size, const char *what,
                                    joule_error *out_error);

/* Returns the member of an object with this name. NULL: there is none, or more than one, which is
 * ambiguous. */
const struct json_value *json_member(const struct json_value *object, const char *name);
/* Returns the text of a string, or NULL. */
const char *json_text_of(const struct json_value *value);
/* Returns the number that a number, a string ("49.0") or an object with a unit ({"value": 10, "unit": "W"})
 * contains. NaN: any other value, or too large for a double. */
double json_double_of(const struct json_value *value);
/* Like json_double_of, for a whole number without sign, fraction and exponent. Exact up to 2^64 - 1. Returns
 * false, without changing *out_value, for other values. */
bool json_u64_of(const struct json_value *value, uint64_t *out_value);

#endif
