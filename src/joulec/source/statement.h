/* joulec/source/statement.h - tracks which loops are open at a position in C text, and where they end.
 *
 * A loop's body is one statement: it ends at the closing brace, or at a semicolon. Note: if the whole body is
 * an `if` with braces, the end is assumed at the next semicolon, which is slightly too late.
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
    /* Called for each loop that ends, with the loop's number. */
    void (*end)(void *context, uint32_t number);
    void *context;
};

#define STATEMENT_WORD 'w' /* stands for any word, number or string */

/* Begins a loop at its keyword. number: the caller's number of the loop. braces: number of open braces at the
 * keyword. */
void statements_begin(struct statements *statements, uint32_t number, size_t braces, bool is_do);
/* Processes a punctuation character or STATEMENT_WORD. braces: number of open braces around the character. If
 * the character is a brace, it is not counted itself. */
void statements_take(struct statements *statements, char sign, size_t braces);
/* Returns true if a `while` at this depth of braces may end a `do`. Sets *out_must to true if it certainly
 * ends one. */
bool statements_may_end_do(const struct statements *statements, size_t braces, bool *out_must);
/* Treats the current `while` as the end of the innermost `do`: the next semicolon then ends this loop.
 * Returns the number of the loop. */
uint32_t statements_end_do(struct statements *statements);
void statements_free(struct statements *statements);

#endif
