/* joulec/source/statement.h - tracks the open loops at a place in C text, and where their statements end.
 *
 * A loop's body is one statement: braces, or up to a semicolon. Note: if a loop's whole body is an `if` with
 * braces, the loop is taken to extend to the next semicolon, slightly too far.
 */
#ifndef JOULEC_STATEMENT_H
#define JOULEC_STATEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct statement;

/* The open loops at the current position. */
struct statements {
    struct statement *open; /* open loops, inner ones last */
    size_t count, room;
    bool is_out_of_memory; /* an allocation failed, so `open` is incomplete */
    /* Called with the number of each loop that ends. */
    void (*end)(void *context, uint32_t number);
    void *context;
};

#define STATEMENT_WORD 'w' /* stands for any word, number or string */

/* Begins a loop at its keyword. number: the caller's number of the loop. braces: number of open braces at the
 * keyword. */
void statements_begin(struct statements *statements, uint32_t number, size_t braces, bool is_do);
/* Reads a punctuation character or STATEMENT_WORD. braces: number of open braces, without the character
 * itself. */
void statements_take(struct statements *statements, char sign, size_t braces);
/* Returns true if a `while` at this depth of braces may end a `do`. *out_must: true if it cannot be anything
 * else. */
bool statements_may_end_do(const struct statements *statements, size_t braces, bool *out_must);
/* Makes the current `while` end the innermost `do`: the next semicolon then ends that loop. Returns the
 * number of the loop. */
uint32_t statements_end_do(struct statements *statements);
void statements_free(struct statements *statements);

#endif
