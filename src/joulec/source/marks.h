/* joulec/source/marks.h - finds JOULE_LOOP in preprocessed source, and the loops that each one bounds.
 *
 * Reads `#pragma joule loop(min, max)` and the keyword that follows, and matches keywords to the loops of the
 * optimized code. Note: the optimized code may contain no loop for a keyword (the loop was unrolled), or
 * several loops (it was inlined or split). So a mark belongs to a keyword of the source, and not to the next
 * loop of the optimized code.
 */
#ifndef JOULEC_MARKS_H
#define JOULEC_MARKS_H

#include "joulec/module/loops.h"

#define MARK_NONE UINT32_MAX

/* A JOULE_LOOP or `#pragma joule loop`. */
struct mark {
    struct source_place place; /* without a column */
    /* Bounds of the number of iterations per entry of the loop; 0 <= low <= high. */
    int64_t low, high;
    const char *words; /* text of the mark: "loop(1, 10)" */
    const char *fault; /* text of the error, with a hint; NULL: none */
};

/* A keyword `for`, `while` or `do`, or a label to which a goto leads back. */
struct marks_keyword {
    const char *file;         /* NULL: unknown */
    unsigned line, last_line; /* line of the keyword, and line where its loop ends */
    uint32_t order;           /* position in the text */
    uint32_t mark;            /* index of its mark; MARK_NONE: none */
    bool is_label;            /* it is a label; LLVM stores no place for its loop */
};

/* The marks and keywords of one text. */
struct marks {
    struct arena arena;
    struct mark *list; /* in order of the text */
    size_t count;
    struct marks_keyword *keywords; /* sorted by line, then by position; empty if there is no mark */
    size_t keyword_count;
};

/* Reads text[0..size), the output of clang -E, which is not needed afterwards. The caller frees *out_marks
 * with marks_free. Returns false if out of memory; *out_marks is then empty. */
bool marks_read(const char *text, size_t size, struct marks *out_marks);
void marks_free(struct marks *marks);
/* Returns false if the text cannot contain a mark. Much faster than marks_read. */
bool marks_are_possible(const char *text, size_t size);

/* Writes the mark of each loop of a function to out[0..loops->count); MARK_NONE: none. Sets
 * out_is_unclear[mark] to true if it is ambiguous to which of several loops the mark belongs. None of these
 * loops then gets the mark. The caller zeroes out_is_unclear[0..marks->count) before the first call. */
void marks_join(const struct marks *marks, const struct loops *loops, uint32_t *out, bool *out_is_unclear);

#endif
