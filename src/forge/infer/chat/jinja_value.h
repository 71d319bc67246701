/* infer/chat/jinja_value.h - values of templates, which behave as in Python, and operations on text.
 *
 * Functions that fail call jinja_fail (jinja.h), and return an undefined value, false or NULL. All memory is
 * in the arena of the evaluation, except buffers. */
#ifndef FORGE_INFER_JINJA_VALUE_H
#define FORGE_INFER_JINJA_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { JINJA_PARAMETERS = 4 }; /* maximum number of parameters of a filter, test, method or function */

struct jinja;
struct node;

/* Text that need not be terminated. */
struct span {
    const char *bytes;
    size_t size;
};
#define SPAN(literal) ((struct span){literal, sizeof(literal) - 1})

/* Text that grows on the heap. */
struct buffer {
    char *bytes;
    size_t size, capacity;
};

/* --- values -------------------------------------------------------------------------------------------- */

/* VALUE_ABSENT: an argument that is not given; it is never the value of an expression. */
enum value_kind {
    VALUE_UNDEFINED,
    VALUE_ABSENT,
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_STRING,
    VALUE_LIST,
    VALUE_DICT,
    VALUE_NAMESPACE, /* like a dict, but compared by identity */
    VALUE_LOOP,
    VALUE_MACRO,
    VALUE_FUNCTION,
    VALUE_METHOD,
};

struct value {
    enum value_kind kind;
    union {
        bool truth;
        int64_t integer;
        double number;
        struct span string; /* for VALUE_UNDEFINED: the name that is not defined, for messages */
        struct list *list;
        struct dict *dict; /* for VALUE_DICT and VALUE_NAMESPACE */
        struct loop *loop;
        struct macro *macro;
        const struct builtin *function;
        struct method *method;
    };
};

/* LIST_LAZY: the result of map, select and similar filters. It counts as true even if it is empty, because
 * it is a generator in Python. */
enum list_kind { LIST_PLAIN, LIST_TUPLE, LIST_LAZY };

struct list {
    enum list_kind kind;
    struct value *items;
    size_t count, capacity;
};

struct pair {
    struct value key, value;
};

/* A dictionary in order of insertion. A search is linear, and its comparisons count as steps. */
struct dict {
    struct pair *pairs;
    size_t count, capacity;
};

/* The variables of a block. parent: the scope of the enclosing block. */
struct scope {
    struct scope *parent;
    struct dict variables;
    bool is_captured; /* a macro was defined in this block, so the scope must not be reused */
};

struct loop {
    const struct list *items;
    size_t index;
    unsigned depth;
};

struct macro {
    const struct node *node;
    struct scope *scope; /* scope in which the macro was defined */
};

/* Arguments of a call. */
struct arguments {
    const struct value *positional;
    size_t count;
    const struct dict *named;
};

/* A filter, test, method or function. `self`: the filtered or tested value, or the object of the method.
 * `arguments`: JINJA_PARAMETERS values in the order of `parameters`. */
struct builtin {
    const char *name;
    struct value (*call)(struct jinja *jinja, struct value self, const struct value *arguments);
    const char *parameters[JINJA_PARAMETERS];
    unsigned required; /* number of parameters without a default */
    /* NULL, or called instead of `call`. */
    struct value (*call_any)(struct jinja *jinja, const struct arguments *arguments);
};

/* A method with its object. */
struct method {
    const struct builtin *builtin;
    struct value self;
};

/* --- operations of values ------------------------------------------------------------------------------ */

static inline struct value value_none(void)
{
    return (struct value){.kind = VALUE_NONE};
}

static inline struct value value_bool(bool truth)
{
    return (struct value){.kind = VALUE_BOOL, .truth = truth};
}

static inline struct value value_int(int64_t integer)
{
    return (struct value){.kind = VALUE_INT, .integer = integer};
}

static inline struct value value_float(double number)
{
    return (struct value){.kind = VALUE_FLOAT, .number = number};
}

static inline struct value value_span(struct span string)
{
    return (struct value){.kind = VALUE_STRING, .string = string};
}

static inline bool span_is(struct span span, const char *text)
{
    return strlen(text) == span.size && memcmp(span.bytes, text, span.size) == 0;
}

static inline struct span span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

/* Returns the number of bytes of a text to print in a message: at most 60. */
static inline int span_shown(struct span span)
{
    return span.size < 60 ? (int)span.size : 60;
}

/* Returns true if a value is a bool or an int, and writes its number. */
static inline bool value_is_whole(struct value value, int64_t *out_integer)
{
    if (value.kind == VALUE_INT)
        *out_integer = value.integer;
    else if (value.kind == VALUE_BOOL)
        *out_integer = value.truth;
    return value.kind == VALUE_INT || value.kind == VALUE_BOOL;
}

/* Returns true if a value counts as true in Python; false for VALUE_ABSENT. */
bool value_truth(struct value value);
const char *value_kind_name(struct value value);
/* Returns true if values are equal as in Python (1 == 1.0 == true). */
bool value_equal(struct jinja *jinja, struct value a, struct value b);
/* Returns a number below, equal to or above 0. Fails if the values have no order. */
int value_compare(struct jinja *jinja, struct value a, struct value b);
/* Returns true if a value is a bool, int or float, and writes its number. */
bool value_is_number(struct value value, double *out_number);

/* list_new returns an empty list. value_items returns the items of an iterable value: the characters of a
 * string, the keys of a dict, or the list itself, which the caller must not change. An undefined value has no
 * items. value_items fails if the value is not iterable. */
struct list *list_new(struct jinja *jinja, enum list_kind kind);
const struct list *value_items(struct jinja *jinja, struct value value);
bool list_add(struct jinja *jinja, struct list *list, struct value value);
struct value value_list(struct list *list);

struct dict *dict_new(struct jinja *jinja);
struct value value_dict(struct dict *dict);
/* Return the value of a key, or NULL. */
struct value *dict_find(struct jinja *jinja, const struct dict *dict, struct value key);
struct value *dict_find_name(struct jinja *jinja, const struct dict *dict, struct span name);
/* Sets a key to a value; an existing key keeps its place. */
bool dict_set(struct jinja *jinja, struct dict *dict, struct value key, struct value value);

/* Appends the text of a value, as {{ }} prints it. */
void value_print(struct jinja *jinja, struct buffer *out, struct value value);
/* Returns the text of a value; a string is returned as it is. */
struct span value_text(struct jinja *jinja, struct value value);
/* The form of the JSON that value_print_json writes. */
struct json_style {
    bool is_ascii, sorts_keys;
    struct span indent; /* indentation of one level; bytes NULL: all on one line */
    struct span item_separator, key_separator;
};
void value_print_json(struct jinja *jinja, struct buffer *out, struct value value,
                      const struct json_style *style, unsigned level);

/* --- text, which is UTF-8; each invalid byte counts as one character ----------------------------------- */

/* Returns the size in bytes of the first character of a text that is not empty. */
size_t span_first(struct span span);
/* Returns the number of characters. */
size_t span_length(struct span span);
/* Returns the first character as a code point; invalid bytes as 0xdc00 + byte, as in Python. */
uint32_t span_code(struct span span, size_t *out_size);
/* Writes a code point as UTF-8. Returns its size in bytes. */
size_t code_encode(uint32_t code, char out[4]);
/* Returns true for Python's white space. */
bool code_is_space(uint32_t code);
/* Returns the upper or lower case of a letter of Latin-1, Latin Extended-A, Greek or Cyrillic; other
 * letters are returned unchanged. */
uint32_t code_case(uint32_t code, bool is_upper);
/* Returns true for a letter that has an upper and a lower case, or is lower case, in these alphabets. */
bool code_has_case(uint32_t code);
/* Removes the characters of `characters` (bytes NULL: white space) at the ends. */
struct span span_strip(struct span span, struct span characters, bool at_start, bool at_end);
/* Returns the offset in bytes of a part, or SIZE_MAX. */
size_t span_find(struct span span, struct span part);
int span_compare(struct span a, struct span b);

#endif
