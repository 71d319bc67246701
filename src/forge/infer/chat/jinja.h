/* infer/chat/jinja.h - the subset of the template language Jinja that chat templates use.
 *
 * A template is parsed to a tree of nodes, which is then evaluated. Whitespace is treated as Hugging Face
 * treats it (trim_blocks and lstrip_blocks), and values behave as in Python. The template comes from a model
 * file, so it is not trusted: steps, memory and depth are limited. An evaluation needs up to 256 KiB of
 * stack.
 * Note: no maintained C library for Jinja exists (July 2026). Libraries for C++ and Rust would need a second
 * language runtime.
 *
 * Functions that fail call jinja_fail, which keeps the first failure, and return an undefined value, false or
 * NULL. Callers test jinja->has_failed where it matters. All memory is in the arena, except buffers. */
#ifndef FORGE_INFER_JINJA_H
#define FORGE_INFER_JINJA_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <joule/base.h>
#include "base/arena.h"
#include "forge/infer/chat/jinja_value.h"

enum {
    JINJA_MAX_TEMPLATE = 1 << 20, /* size of a template in bytes */
    /* Maximum number of evaluated nodes (long texts and lists count as several), and of bytes of memory.
     * JINJA_COPIES times the size of the conversation is added to both limits. */
    JINJA_MAX_STEPS = 2000000,
    JINJA_MAX_MEMORY = 64 << 20,
    JINJA_COPIES = 16,
    STEP_BYTES = 64,          /* bytes whose copy or comparison counts as one step */
    JINJA_MAX_DEPTH = 400,    /* maximum depth of nested expressions, blocks, macro calls and lists */
    JINJA_MAX_RANGE = 100000, /* items of range(), as in Jinja's sandbox */
};

struct json_value;

/* --- tree ---------------------------------------------------------------------------------------------- */

/* The kind of a node. Each comment shows the syntax of the node; the words left, right, third, other, text
 * and items stand for these members of struct node. */
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
    /* An argument: text=left, or only left if there is no text. A parameter of a macro: left is its
     * default. */
    NODE_ARGUMENT,
    NODE_FILTER,    /* left | text(items); left is NULL in {% filter %} and {% set %} blocks */
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
    NODE_BRANCH,   /* if left: items; left NULL: the else branch */
    NODE_FOR,      /* for left in right if third: items; else: other */
    NODE_SET,      /* left = right; if right is NULL: left = the text of items, filtered by other */
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

/* --- state --------------------------------------------------------------------------------------------- */

/* An evaluation. Initialise it with jinja_begin. */
struct jinja {
    struct arena arena;
    joule_error *error;
    bool has_failed;
    uint32_t line; /* line of the node that is parsed or evaluated */
    int64_t steps_left;
    size_t memory_left;
    unsigned depth;
    enum { JINJA_RUNS, JINJA_BREAKS, JINJA_CONTINUES } flow; /* state of the innermost loop */
    struct scope *scope;                                     /* innermost */
    struct loop *loop;                                       /* innermost; NULL: none */
    struct buffer *out;
    struct tm now; /* time that strftime_now prints */
};

/* Begins an evaluation; input_size: size of the conversation in bytes. The caller calls jinja_end. */
void jinja_begin(struct jinja *jinja, size_t input_size, joule_error *error);
void jinja_end(struct jinja *jinja);

/* Records a failure, unless there is one already. The message names the current line. Returns an undefined
 * value. */
struct value jinja_fail(struct jinja *jinja, joule_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* If a value is undefined, fails with "NAME is undefined" and returns true. */
bool jinja_is_undefined(struct jinja *jinja, struct value value);
/* Adds to the number of steps. If the limit is reached, fails and returns false. */
bool jinja_charge(struct jinja *jinja, size_t steps);
/* Enter and leave a level of recursion. If the limit is reached, jinja_enter fails and returns false; do not
 * call jinja_leave then. */
bool jinja_enter(struct jinja *jinja);
void jinja_leave(struct jinja *jinja);
/* Returns zeroed memory in the arena; NULL if out of memory, or if the limit is reached. */
void *jinja_alloc(struct jinja *jinja, size_t size);

/* Append to a buffer. Return false after a failure. */
bool buffer_add(struct jinja *jinja, struct buffer *buffer, const char *bytes, size_t size);
bool buffer_add_span(struct jinja *jinja, struct buffer *buffer, struct span span);
/* Frees the buffer, also after a failure, and returns its text as a string in the arena. */
struct value buffer_take(struct jinja *jinja, struct buffer *buffer);

/* --- lexing, parsing, evaluation ----------------------------------------------------------------------- */

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
/* Parses a template. Returns a NODE_GROUP, or NULL after a failure. */
struct node *jinja_parse(struct jinja *jinja, const struct token *tokens);

/* Parse an expression, or a tuple without parentheses. allows_condition: the items may be "a if b else c".
 * Return NULL after a failure. */
struct node *jinja_parse_expression(struct parser *parser);
struct node *jinja_parse_tuple(struct parser *parser, bool allows_condition);
/* Parses the filters that follow `left`, with or without the first '|'. */
struct node *jinja_parse_filters(struct parser *parser, struct node *left, bool has_bar);
/* Parses the targets of for and set: names, possibly in parentheses, or a namespace's attribute. */
struct node *jinja_parse_target(struct parser *parser);
/* Parses the parameters of a macro in parentheses. */
struct node *jinja_parse_parameters(struct parser *parser);
/* jinja_parse_unary parses an operand with its sign. jinja_parse_or parses an expression without "a if b else
 * c". */
struct node *jinja_parse_unary(struct parser *parser, bool has_filters);
struct node *jinja_parse_or(struct parser *parser);
/* Return a node without operands, with the operand `left`, or with two operands. Return NULL if an operand is
 * NULL. takes_text: the node gets the text of the next token, which is skipped. */
struct node *jinja_new_node(struct parser *parser, enum node_kind kind);
struct node *jinja_new_node_of(struct parser *parser, enum node_kind kind, struct node *left,
                               bool takes_text);
struct node *jinja_new_pair(struct parser *parser, enum node_kind kind, struct node *left,
                            struct node *right);
/* Return true and skip the next token if it is this name or this operator. */
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

/* Removes characters at the ends of a text, like span_strip. Counts the steps of this work. */
struct value jinja_strip(struct jinja *jinja, struct span text, struct span characters, bool at_start,
                         bool at_end);

/* Returns a JSON value of a request as a value of the template. Texts stay in the memory of `json`. */
struct value jinja_read_json(struct jinja *jinja, const struct json_value *json);

/* Return the builtin with this name, or NULL. jinja_find_method searches the methods of values of this kind.
 * jinja_find searches a table of `count` builtins. */
const struct builtin *jinja_find_filter(struct span name);
const struct builtin *jinja_find_list_filter(struct span name);
const struct builtin *jinja_find_test(struct span name);
const struct builtin *jinja_find_function(struct span name);
const struct builtin *jinja_find_method(enum value_kind kind, struct span name);
const struct builtin *jinja_find(const struct builtin *table, size_t count, struct span name);
#define JINJA_FIND(table, name) jinja_find(table, sizeof(table) / sizeof *(table), name)

#endif
