/* base/json.h - a text of JSON as a tree of values.
 *
 * Owns the tree, and the questions that readers of other programs' output ask of it. What the text must be is json_reader's.
 * Newcomers: every question may be asked of NULL and of a value of another kind, and is then answered with "unknown": NULL,
 * NaN or false; so a path through a text of any form needs no checks on the way.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <joule/base.h>
#include "base/arena.h"

#define JSON_MOST_DEPTH 64 /* brackets within brackets */

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_value {
    enum json_kind kind;
    const char *name; /* of an object's member; else NULL */
    const char *text; /* of a string, decoded; of a number, as it was written; else NULL */
    const struct json_value *first,
        *next; /* of an array or object the first item; of an item the one behind it */
};

/* The value that is all of text[0..size), which is changed and must outlive the tree. NULL, with a message that begins with
 * `what`: INVALID for what is no JSON, or deeper than JSON_MOST_DEPTH, or has a string with a NUL in it; NO_MEMORY. */
const struct json_value *json_parse(struct arena *arena, char *text, size_t size, const char *what,
                                    joule_error *out_error);

/* The member of an object with this name. NULL: there is none, or more than one, so that nobody knows which is meant. */
const struct json_value *json_member(const struct json_value *object, const char *name);
/* The text of a string; NULL: it is none. */
const char *json_text_of(const struct json_value *value);
/* A number; or one that stands in a string ("49.0"), or in an object with its unit ({"value": 10, "unit": "W"}). NaN: it is
 * none of them, or beyond a double. */
double json_double_of(const struct json_value *value);
/* The same without sign, fraction and exponent, exact up to 2^64 - 1; false, and *out_value left alone, for others. */
bool json_u64_of(const struct json_value *value, uint64_t *out_value);

#endif
