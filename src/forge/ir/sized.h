/* ir/sized.h - a program with numbers for its symbols.
 *
 * Note: only sized_init allocates. Run only sizes that sized_check has accepted: in a program from a file,
 * views may stay inside their buffers at some sizes and leave them at others.
 */
#ifndef FORGE_IR_SIZED_H
#define FORGE_IR_SIZED_H

#include "forge/ir/program.h"

struct sized {
    const forge_program *program;
    int64_t *values;         /* one for each entry of the program's dim table */
    const void **attributes; /* one for each launch */
    unsigned char *bytes;    /* copies of the attributes that contain symbols */
    bool *has_symbols;       /* one for each launch: attributes or operands contain symbols */
};

/* Begins with the largest sizes; call sized_fill next. The program's dim table, attributes and bindings must
 * have been checked. Returns false if out of memory. Call sized_free in any case. */
bool sized_init(struct sized *sized, const forge_program *program);
void sized_free(struct sized *sized);
/* Computes all other values from those of the symbols. Returns false if a size is too large. */
bool sized_fill(struct sized *sized);
/* Checks that launches stay within their buffers, match infer.c, and write nothing that they read through
 * another view. all: also check launches without symbols, which cannot have changed since program_check. */
joule_status sized_check(const struct sized *sized, bool all, joule_error *out_error);

/* Returns a binding's view with data NULL, and its offset from the start of its buffer, in bytes. */
struct view sized_view(const struct sized *sized, const struct program_binding *binding,
                       uint64_t *out_offset_bytes);
/* Returns a launch with these views: the inputs, then the outputs. The caller fills them in. */
struct launch sized_launch(const struct sized *sized, size_t i, const struct view *views);

#endif
