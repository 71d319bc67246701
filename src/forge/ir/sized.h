/* ir/sized.h - a program with numbers for its symbols.
 *
 * Note: only sized_init allocates memory. Run a program only at sizes that sized_check has accepted. In a
 * program from a file, a view may be inside its buffer at some sizes and outside it at others.
 */
#ifndef FORGE_IR_SIZED_H
#define FORGE_IR_SIZED_H

#include "forge/ir/program.h"

/* The values of a program's sizes, and the attributes at these sizes. */
struct sized {
    const forge_program *program;
    int64_t *values;         /* one for each entry of the program's dim table */
    const void **attributes; /* one for each launch */
    unsigned char *bytes;    /* copies of the attributes that contain symbols */
    bool *has_symbols;       /* one for each launch: true if its attributes or operands contain symbols */
};

/* Initialises `sized` with the largest sizes; call sized_fill next. The program's dim table, attributes and
 * bindings must have been checked. Returns false if out of memory. Call sized_free in any case. */
bool sized_init(struct sized *sized, const forge_program *program);
void sized_free(struct sized *sized);
/* Computes the values of all expressions, and the attributes at these sizes, from the values of the symbols.
 * Returns false if a size is too large. */
bool sized_fill(struct sized *sized);
/* Checks that launches stay within their buffers, match infer.c, and write nothing that they read through
 * another view. If `all` is false, launches without symbols are skipped, because program_check has already
 * checked them. Returns JOULE_INVALID, with the reason, if a check fails. */
joule_status sized_check(const struct sized *sized, bool all, joule_error *out_error);

/* Returns a binding's view, with data NULL. *out_offset_bytes gets the view's offset from the start of its
 * buffer. */
struct view sized_view(const struct sized *sized, const struct program_binding *binding,
                       uint64_t *out_offset_bytes);
/* Returns launch i, whose operands are `views`: first the inputs, then the outputs. The caller fills in the
 * views, and keeps them as long as the launch is used. */
struct launch sized_launch(const struct sized *sized, size_t i, const struct view *views);

#endif
