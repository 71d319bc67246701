/* infer/jinja.h - the subset of the template language Jinja that chat templates use.
 *
 * A template is parsed to a tree of nodes, which is then evaluated. Whitespace is treated as Hugging Face
 * treats it (trim_blocks and lstrip_blocks), and values behave as in Python. The template comes from a model
 * file, so it is not trusted: steps, memory and depth are limited.
 * Note: no maintained C library for Jinja exists (July 2026); those for C++ and Rust need a second run time.
 *
 * Functions that fail call jinja_fail, which keeps the first failure, and return an undefined value, false or
 * NULL. Callers test jinja->has_failed where it matters. All memory but buffers is in the arena.
 */
#ifndef FORGE_INFER_JINJA_H
#define FORGE_INFER_JINJA_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <joule/base.h>
#include "base/arena.h"

enum {
    JINJA_MAX_TEMPLATE = 1 << 20, /* size of a template in bytes */
    JINJA_MAX_STEPS = 20000000,   /* nodes evaluated; long texts and lists count as several */
    JINJA_MAX_MEMORY = 64 << 20,  /* bytes; in addition, JINJA_COPIES times the size of the conversation */
    JINJA_COPIES = 16,
    JINJA_MAX_DEPTH = 400,    /* of nested expressions, blocks, macro calls and lists */
    JINJA_MAX_RANGE = 100000, /* items of range(), as in Jinja's sandbox */
    JINJA_PARAMETERS = 4,     /* of a filter, test, method or function */
};

/* Text that need not be terminated. */
struct span {
    const char *bytes;
    size_t size;
};
#define SPAN(literal) ((struct span){literal, sizeof(literal) - 1})

struct jinja;
struct node;

/* --- values --------------------------------------------------------------------------------------------- */

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
        struct span string; /* of VALUE_UNDEFINED: the name that is not defined, for messages */
        struct list *list;
        struct dict *dict; /* of VALUE_DICT and VALUE_NAMESPACE */
        struct loop *loop;
        struct macro *macro;
        const struct builtin *function;
        struct method *method;
    };
};

/* LIST_LAZY: the result of map, select and similar filters. It counts as true even if it is empty, because it
 * is a generator in Python. */
enum list_kind { LIST_PLAIN, LIST_TUPLE, LIST_LAZY };

struct list {
    enum list_kind kind;
    struct value *items;
    size_t count, capacity;
};

struct pair {
    struct value key, value;
};

/* A dictionary in order of insertion. A search is linear, and is charged as steps. */
struct dict {
    struct pair *pairs;
    size_t count, capacity;
};

/* Variables of a block, and the blocks around it. */
struct scope {
    struct scope *parent;
    struct dict variables;
    bool is_captured; /* a macro was defined in it */
};

struct loop {
    const struct list *items;
    size_t index;
    unsigned depth;
};

struct macro {
    const struct node *node;
    struct scope *scope; /* where it was defined */
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
    struct value (*call_any)(struct jinja *jinja, const struct arguments *arguments); /* instead of `call` */
};

/* A method with its object. */
struct method {
    const struct builtin *builtin;
    struct value self;
};

/* --- tree ----------------------------------------------------------------------------------------------- */

enum node_kind {
    /* expressions */
    NODE_CONSTANT,  /* constant */
    NODE_NAME,      /* text */
    NODE_LIST,      /* items */
    NODE_TUPLE,     /* items */
    NODE_DICT,      /* items: NODE_PAIR */
    NODE_PAIR,      /* left: right */
    NODE_ATTRIBUTE, /* left.text */
    NODE_INDEX,     /* left[right] */
    NODE_SLICE,     /* left[right:other:third]; NULL: not given */
    NODE_CALL,      /* left(items); items: NODE_ARGUMENT */
    NODE_ARGUMENT,  /* text = left; without text: positional. Also a macro's parameter; left: its default */
    NODE_FILTER,    /* left | text(items); left is NULL in a block */
    NODE_TEST,      /* left is text(items) */
    NODE_NOT,       /* not left */
    NODE_NEGATE,    /* -left */
    NODE_POSITIVE,  /* +left */
    NODE_AND,       /* left and right */
    NODE_OR,        /* left or right */
    NODE_CONDITION, /* right if left else other; other may be NULL */
    NODE_BINARY,    /* left text right */
    NODE_COMPARE,   /* left, items: NODE_OPERAND */
    NODE_OPERAND,   /* text left */
    /* statements */
    NODE_TEXT,     /* text */
    NODE_OUTPUT,   /* {{ left }} */
    NODE_IF,       /* items: NODE_BRANCH */
    NODE_BRANCH,   /* if left (NULL: else): items */
    NODE_FOR,      /* for left in right if third: items, else: other */
    NODE_SET,      /* left = right; without right: left = items, filtered by other */
    NODE_MACRO,    /* macro text(other): items */
    NODE_FILTERED, /* filter other: items */
    NODE_WITH,     /* with other (list of NODE_SET): items */
    NODE_GROUP,    /* items */
    NODE_BREAK,
    NODE_CONTINUE,
};

struct node {
    enum node_kind kind;
    uint32_t line;
    struct span text;
    struct value constant;
    struct node *left, *right, *third, *other;
    struct node *items, *next; /* next: in the parent's list */
};

/* --- state ---------------------------------------------------------------------------------------------- */

/* Text that grows on the heap. */
struct buffer {
    char *bytes;
    size_t size, capacity;
};

/* An evaluation. Initialise it with jinja_begin. */
struct jinja {
    struct arena arena;
    joule_error *error;
    bool has_failed;
    uint32_t line; /* of the node that is parsed or evaluated */
    int64_t steps_left;
    size_t memory_left;
    unsigned depth;
    enum { JINJA_RUNS, JINJA_BREAKS, JINJA_CONTINUES } flow; /* of the innermost loop */
    struct scope *scope;                                     /* innermost */
    struct loop *loop;                                       /* innermost; NULL: none */
    struct buffer *out;
    struct tm now; /* result of strftime_now */
};

/* Begins an evaluation; input_size: size of the conversation in bytes. The caller calls jinja_end. */
void jinja_begin(struct jinja *jinja, size_t input_size, joule_error *error);
void jinja_end(struct jinja *jinja);

/* Records a failure, unless there is one already. The message names the current line. Returns an undefined
 * value. */
struct value jinja_fail(struct jinja *jinja, joule_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Fails with "NAME is undefined" and returns true if a value is undefined. */
bool jinja_is_undefined(struct jinja *jinja, struct value value);
/* Counts `steps`. Returns false, and fails, if the limit is reached. */
bool jinja_charge(struct jinja *jinja, size_t steps);
/* Enter and leave a level of recursion. jinja_enter returns false, and fails, if the limit is reached; the
 * level must not be left then. */
bool jinja_enter(struct jinja *jinja);
void jinja_leave(struct jinja *jinja);
/* Returns zeroed memory in the arena; NULL if out of memory or beyond the limit. */
void *jinja_alloc(struct jinja *jinja, size_t size);

/* Appends to a buffer. Returns false if it failed. */
bool buffer_add(struct jinja *jinja, struct buffer *buffer, const char *bytes, size_t size);
bool buffer_add_span(struct jinja *jinja, struct buffer *buffer, struct span span);
/* Frees the buffer, also after a failure, and returns its text as a string in the arena. */
struct value buffer_take(struct jinja *jinja, struct buffer *buffer);

/* --- steps of the work ---------------------------------------------------------------------------------- */

enum token_kind {
    TOKEN_END,
    TOKEN_DATA,   /* text outside of {{ }} and {% %} */
    TOKEN_OUTPUT, /* {{ */
    TOKEN_OUTPUT_END,
    TOKEN_BLOCK, /* {% */
    TOKEN_BLOCK_END,
    TOKEN_NAME,
    TOKEN_STRING, /* text is decoded */
    TOKEN_INT,
    TOKEN_FLOAT,
    TOKEN_OPERATOR,
};

struct token {
    enum token_kind kind;
    uint32_t line;
    struct span text;
    int64_t integer;
    double number;
};

/* Splits a template into tokens, which end with TOKEN_END. Returns the tokens, in the arena, or NULL. */
const struct token *jinja_lex(struct jinja *jinja, const char *text, size_t size);

/* A parser. `token` is the next token. */
struct parser {
    struct jinja *jinja;
    const struct token *token;
};
/* Parses a template. Returns a NODE_GROUP, or NULL if it failed. */
struct node *jinja_parse(struct jinja *jinja, const struct token *tokens);

/* Parse an expression, or a tuple without parentheses. Return NULL if they failed. */
struct node *jinja_parse_expression(struct parser *parser);
struct node *jinja_parse_tuple(struct parser *parser, bool allows_condition);
/* Parses the filters that follow `left`, with or without the first '|'. */
struct node *jinja_parse_filters(struct parser *parser, struct node *left, bool has_bar);
/* Parses the targets of for and set: names, possibly in parentheses, or a namespace's attribute. */
struct node *jinja_parse_target(struct parser *parser);
/* Parses the parameters of a macro in parentheses. */
struct node *jinja_parse_parameters(struct parser *parser);
struct node *jinja_new_node(struct parser *parser, enum node_kind kind);
/* Returns true, and skips the token, if the next token is this name or this operator. */
bool jinja_skip_name(struct parser *parser, const char *name);
bool jinja_skip_operator(struct parser *parser, const char *text);
bool jinja_is_operator(const struct token *token, const char *text);
bool jinja_is_name(const struct token *token, const char *name);
/* Fails because of the next token: "expected WHAT". Returns NULL. */
struct node *jinja_parse_fail(struct parser *parser, const char *expected);

/* Evaluates statements; the text is appended to jinja->out. */
void jinja_run(struct jinja *jinja, const struct node *statements);
/* Evaluates an expression. */
struct value jinja_eval(struct jinja *jinja, const struct node *node);
/* Calls a macro, function or method. */
struct value jinja_call(struct jinja *jinja, struct value callee, const struct arguments *arguments);
/* Calls a macro. */
struct value jinja_call_macro(struct jinja *jinja, const struct macro *macro,
                              const struct arguments *arguments);
/* Applies a filter node to a value. */
struct value jinja_filter(struct jinja *jinja, const struct node *node, struct value self);
/* Calls a builtin: assigns the arguments to its parameters. */
struct value jinja_call_builtin(struct jinja *jinja, const struct builtin *builtin, struct value self,
                                const struct arguments *arguments);
/* Returns an attribute (object.name) or an item (object[key]), undefined if there is none. */
struct value jinja_attribute(struct jinja *jinja, struct value object, struct span name);
struct value jinja_item(struct jinja *jinja, struct value object, struct value key);
/* Returns object[start:stop:step]; VALUE_NONE: not given. */
struct value jinja_slice(struct jinja *jinja, struct value object, const struct value bounds[3]);
/* Return the result of an operator, by its text ("+", "not in"). */
struct value jinja_binary(struct jinja *jinja, struct span operator_text, struct value a, struct value b);
bool jinja_compare(struct jinja *jinja, struct span operator_text, struct value a, struct value b);

/* Find a builtin by its name, or return NULL. The methods are those of a kind of value. */
const struct builtin *jinja_find_filter(struct span name);
const struct builtin *jinja_find_list_filter(struct span name);
const struct builtin *jinja_find_test(struct span name);
const struct builtin *jinja_find_function(struct span name);
const struct builtin *jinja_find_method(enum value_kind kind, struct span name);
const struct builtin *jinja_find(const struct builtin *table, size_t count, struct span name);
#define JINJA_FIND(table, name) jinja_find(table, sizeof(table) / sizeof *(table), name)

/* --- operations of values ------------------------------------------------------------------------------- */

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

/* Returns the number of bytes of a text that a message shows. */
static inline int span_shown(struct span span)
{
    return span.size < 60 ? (int)span.size : 60;
}

/* Returns true if a value is a bool or an int, and its number. */
static inline bool value_is_whole(struct value value, int64_t *out_integer)
{
    if (value.kind == VALUE_INT)
        *out_integer = value.integer;
    else if (value.kind == VALUE_BOOL)
        *out_integer = value.truth;
    return value.kind == VALUE_INT || value.kind == VALUE_BOOL;
}

/* Returns true if a value is given and true. */
bool value_truth(struct value value);
const char *value_kind_name(struct value value);
/* Returns true if values are equal as in Python (1 == 1.0 == true). */
bool value_equal(struct jinja *jinja, struct value a, struct value b);
/* Returns a number below, equal to or above 0. Fails if the values have no order. */
int value_compare(struct jinja *jinja, struct value a, struct value b);
/* Returns true if a value is a bool, int or float, and its number. */
bool value_is_number(struct value value, double *out_number);

/* Returns an empty list, or one with the items of an iterable value (the characters of a string, the keys of a
 * dict). They fail if the value is not iterable. The list is the value's own if it is one, and must not be
 * changed. An undefined value has no items. */
struct list *list_new(struct jinja *jinja, enum list_kind kind);
const struct list *value_items(struct jinja *jinja, struct value value);
bool list_add(struct jinja *jinja, struct list *list, struct value value);
struct value value_list(struct list *list);

struct dict *dict_new(struct jinja *jinja);
struct value value_dict(struct dict *dict);
/* Returns the value of a key, or NULL. */
struct value *dict_find(struct jinja *jinja, const struct dict *dict, struct value key);
struct value *dict_find_name(struct jinja *jinja, const struct dict *dict, struct span name);
/* Sets a key to a value; an existing key keeps its place. */
bool dict_set(struct jinja *jinja, struct dict *dict, struct value key, struct value value);

/* Appends the text of a value, as {{ }} prints it. */
void value_print(struct jinja *jinja, struct buffer *out, struct value value);
/* Returns the text of a value; a string is returned as it is. */
struct span value_text(struct jinja *jinja, struct value value);
/* Appends a value as JSON; indent < 0: on one line. */
struct json_style {
    bool is_ascii, sorts_keys;
    struct span indent; /* of a level; bytes NULL: on one line */
    struct span item_separator, key_separator;
};
void value_print_json(struct jinja *jinja, struct buffer *out, struct value value,
                      const struct json_style *style, unsigned level);

/* --- text, which is UTF-8; each invalid byte counts as one character ------------------------------------- */

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
/* Returns the upper or lower case of a letter of Latin-1, Latin Extended-A, Greek or Cyrillic; other letters
 * are returned unchanged. */
uint32_t code_case(uint32_t code, bool is_upper);
bool code_is_letter(uint32_t code);
/* Removes the characters of `characters` (bytes NULL: white space) at the ends. */
struct span span_strip(struct span span, struct span characters, bool at_start, bool at_end);
/* Returns the offset in bytes of a part, or SIZE_MAX. */
size_t span_find(struct span span, struct span part);
int span_compare(struct span a, struct span b);

#endif
