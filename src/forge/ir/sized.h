/* ir/sized.h - a program with numbers in place of its symbols.
 *
 * Owns the numbers, and attributes in which they stand. Newcomers: only sized_init allocates. What sized_check has not accepted
 * must not run: a file may hold expressions that leave their buffers at some sizes and not at others.
 */
#ifndef FORGE_IR_SIZED_H
#define FORGE_IR_SIZED_H

#include "forge/ir/program.h"

struct sized {
    const forge_program *program;
    int64_t *values;         /* of each of the program's dims */
    const void **attributes; /* of each launch */
    unsigned char *bytes;    /* of those with symbols */
    bool *has_symbols;       /* each launch, in attributes or operands */
};

/* At the largest sizes, not filled in. The program's dims and places must be known to be sound. False: no memory; sized_free
 * then, too. */
bool sized_init(struct sized *sized, const forge_program *program);
void sized_free(struct sized *sized);
/* After the values of symbols were set: fills in all others. False: at these sizes something is too large. */
bool sized_fill(struct sized *sized);
/* Whether launches stay within their buffers, are what infer.c makes of their operands, and write nothing that they read in
 * another way. `all`: also those without symbols, where nothing can have changed since program_check. */
joule_status sized_check(const struct sized *sized, bool all, joule_error *out_error);

/* A binding's view, without an address, and how far from its buffer's start that is. */
struct view sized_view(const struct sized *sized, const struct program_binding *binding,
                       uint64_t *out_offset_bytes);
/* Its views are yet to be given: inputs, then outputs. */
struct launch sized_launch(const struct sized *sized, size_t i, const struct view *views);

#endif
