/* joulec/source/marks.h - JOULE_LOOP in the source: how often loops run, as the programmer says.
 *
 * Owns finding `#pragma joule loop(min, max)` in what clang's preprocessor writes, the keyword that each one stands before,
 * and the loops that the optimiser made of it.
 * Newcomers: that may be none (the loop was unrolled) or several (it was inlined, or split). So a mark is tied to a keyword of
 * the source, never to the next loop that is left: that may be another one.
 */
#ifndef JOULEC_MARKS_H
#define JOULEC_MARKS_H

#include "joulec/module/loops.h"

#define MARK_NONE UINT32_MAX

struct mark {
    struct source_place place; /* its column is not known */
    int64_t low, high;         /* runs of the body, whenever the loop is reached; 0 <= low <= high */
    const char *words;         /* as it stands: "loop(1, 10)" */
    const char *fault;         /* what is wrong with it, and what to do; NULL: it stands before a loop */
};

/* `for`, `while` or `do`, or a label to which a goto leads back. */
struct marks_keyword {
    const char *file;         /* NULL: unknown */
    unsigned line, last_line; /* its own, and where its loop ends */
    uint32_t order;           /* in the text */
    uint32_t mark;            /* MARK_NONE: it has none */
    bool is_label;            /* what LLVM makes of it has no place of its own */
};

struct marks {
    struct arena arena;
    struct mark *list; /* as they stand */
    size_t count;
    struct marks_keyword *keywords; /* by line, then as they stand; none where there is no mark */
    size_t keyword_count;
};

/* Reads all of text[0..size), as clang -E wrote it. False: memory was used up, and *out is empty. */
bool marks_read(const char *text, size_t size, struct marks *out_marks);
void marks_free(struct marks *marks);
/* Whether a file can hold one at all: a quick look. */
bool marks_are_possible(const char *text, size_t size);

/* Which mark each loop of a function is under, MARK_NONE: none; in out[0..loops->count). out_is_unclear[mark] is set where it
 * cannot be told which of the loops of a line the mark is for, and then none of them has it, or whether a loop without a place of its own is under
 * it; never cleared. */
void marks_join(const struct marks *marks, const struct loops *loops, uint32_t *out, bool *out_is_unclear);

#endif
