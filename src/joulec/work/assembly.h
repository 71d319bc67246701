/* joulec/work/assembly.h - the loops of a module in the assembly that clang makes of its code.
 *
 * Owns finding them again: clang writes each block's name behind its label, as a comment. Newcomers: a loop of one block may have
 * become several, where the machine has no instruction for a choice; such a one is not found.
 */
#ifndef JOULEC_ASSEMBLY_H
#define JOULEC_ASSEMBLY_H

#include "joulec/module/module.h"

/* A loop that consists of one block, loop->only_block. */
struct assembly_loop {
    const char *function;
    struct wide_loop *loop;
    const char *
        body; /* its instructions, a line each, with the jump back as the last; NULL: not found. In the assembly */
    size_t body_bytes;
};

/* The loops of a module that make no calls: all a round does is in the block. In `arena`; NULL: no memory. */
struct assembly_loop *assembly_loops(struct arena *arena, const struct module *module, size_t *out_count);
/* Finds the bodies in text[0..size), which need be nothing. Orders `loops` anew. */
void assembly_find(const char *text, size_t size, struct assembly_loop *loops, size_t count);

#endif
