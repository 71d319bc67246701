/* joulec/source/statement.h - where the statements of loops end, from the words and signs of C.
 *
 * Owns the loops that are open at a place in the text. Newcomers: what is behind `for (...)` is one statement, in braces or up to
 * a semicolon. An `if` in braces that is all of a loop counts up to the next semicolon: a little too far.
 */
#ifndef JOULEC_STATEMENT_H
#define JOULEC_STATEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct statement;

struct statements {
    struct statement *open; /* of loops, inner ones last */
    size_t count, room;
    bool is_short; /* of memory */
    /* Called with the number of each loop that ends. */
    void (*end)(void *context, uint32_t number);
    void *context;
};

#define STATEMENT_WORD 'w' /* any word, number or string */

/* A loop begins at its keyword. */
void statements_begin(struct statements *statements, uint32_t number, size_t braces, bool is_do);
/* A sign, or STATEMENT_WORD. braces: how many are open, this one not counted. */
void statements_take(struct statements *statements, char sign, size_t braces);
/* Whether a `while` may be that of a `do`, between as many braces; *out_must: it can be nothing else. */
bool statements_may_end_do(const struct statements *statements, size_t braces, bool *out_must);
/* It is, and what follows it ends that loop, whose number this is. */
uint32_t statements_end_do(struct statements *statements);
void statements_free(struct statements *statements);

#endif
