/* joulec/source/marks.c - see marks.h. Matches keywords of the source to the loops of the optimized code.
 *
 * Note: a loop's place is a line and a column, but all loops that one macro expands to have the same place.
 * So columns distinguish the loops of a line only if the line has as many distinct columns as keywords.
 */
#include "joulec/source/marks.h"

#include <string.h>
#include <sys/stat.h>

#define MAX_IN_LINE 16

/* The loops of a function that begin on one line, and the keywords there. */
struct line {
    const struct marks_keyword *keywords[MAX_IN_LINE];
    size_t keyword_count;
    size_t loops[MAX_IN_LINE]; /* outer loops first */
    size_t loop_count;
    unsigned columns[MAX_IN_LINE]; /* distinct columns, ascending */
    size_t column_count;
    bool has_mark, is_full;
};

/* Returns true if both paths lead to the same file, because they may be relative to different folders. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat left, right;
    if (!a || !b)
        return false;
    if (strcmp(a, b) == 0)
        return true;
    return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
           left.st_ino == right.st_ino;
}

/* Returns the first keyword on this line or a later line. Returns the end of the list if there is none. */
static const struct marks_keyword *first_in_line(const struct marks *marks, unsigned line)
{
    size_t low = 0, high = marks->keyword_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (marks->keywords[middle].line < line)
            low = middle + 1;
        else
            high = middle;
    }
    return marks->keywords + low;
}

/* Adds the keywords on the line of `place` to `out`, except labels. */
static void add_keywords(const struct marks *marks, const struct source_place *place, struct line *out)
{
    const struct marks_keyword *end = marks->keywords + marks->keyword_count;
    for (const struct marks_keyword *k = first_in_line(marks, place->line); k < end && k->line == place->line;
         k++) {
        if (k->is_label || !is_same_file(k->file, place->file))
            continue;
        out->has_mark = out->has_mark || k->mark != MARK_NONE;
        out->is_full = out->is_full || out->keyword_count == MAX_IN_LINE;
        if (!out->is_full)
            out->keywords[out->keyword_count++] = k;
    }
}

static void add_column(struct line *out, unsigned column)
{
    size_t at = 0;
    while (at < out->column_count && out->columns[at] < column)
        at++;
    if (at < out->column_count && out->columns[at] == column)
        return;
    memmove(out->columns + at + 1, out->columns + at, (out->column_count - at) * sizeof *out->columns);
    out->columns[at] = column;
    out->column_count++;
}

static bool is_at(const struct loop *loop, const struct source_place *place)
{
    return loop->has_own_place && loop->place.line == place->line && loop->place.file &&
           strcmp(loop->place.file, place->file) == 0;
}

static void add_loops(const struct loops *loops, const struct source_place *place, struct line *out)
{
    for (size_t i = 0; i < loops->count; i++) {
        if (!is_at(&loops->list[i], place))
            continue;
        out->is_full = out->is_full || out->loop_count == MAX_IN_LINE;
        if (out->is_full)
            return;
        out->loops[out->loop_count++] = i;
        add_column(out, loops->list[i].place.column);
    }
}

/* Returns the keyword of line->loops[nth]; NULL: it is ambiguous. */
static const struct marks_keyword *keyword_of(const struct line *line, const struct loops *loops, size_t nth)
{
    if (line->is_full)
        return NULL;
    if (line->keyword_count == 1)
        return line->keywords[0];
    if (line->column_count == line->keyword_count)
        for (size_t i = 0; i < line->column_count; i++)
            if (line->columns[i] == loops->list[line->loops[nth]].place.column)
                return line->keywords[i];
    bool is_one_macro = line->column_count == 1 && line->loop_count == line->keyword_count;
    return is_one_macro ? line->keywords[nth] : NULL;
}

static void set_unclear(const struct line *line, bool *out_is_unclear)
{
    for (size_t i = 0; i < line->keyword_count; i++)
        if (line->keywords[i]->mark != MARK_NONE)
            out_is_unclear[line->keywords[i]->mark] = true;
}

/* --- loops without a place of their own ----------------------------------------------------------------- */

static bool is_in(const struct marks_keyword *keyword, const struct source_place *place)
{
    return keyword->line <= place->line && place->line <= keyword->last_line &&
           is_same_file(keyword->file, place->file);
}

/* Whether a keyword can belong to a given loop. FREE: no loop has the keyword's place. TAKEN: a loop with the
 * keyword's place contains the given loop, or is contained in it. TAKEN_ELSEWHERE: only loops that are not
 * nested with the given loop have the keyword's place. */
enum standing { FREE, TAKEN, TAKEN_ELSEWHERE };

/* Returns true if one of the two loops contains the other. */
static bool is_nested(const struct loops *loops, size_t a, size_t b)
{
    size_t outer = a < b ? a : b, inner = a < b ? b : a;
    for (int32_t at = loops->list[inner].parent; at >= 0; at = loops->list[at].parent)
        if ((size_t)at == outer)
            return true;
    return false;
}

/* Returns the standing of the keyword for `loop`. Two nested loops cannot both belong to one keyword. Loops
 * that are not nested may be copies of one loop. */
static enum standing standing_of(const struct marks_keyword *keyword, const struct loops *loops, size_t loop)
{
    enum standing standing = FREE;
    for (size_t i = 0; i < loops->count && standing != TAKEN && !keyword->is_label; i++)
        if (loops->list[i].has_own_place && loops->list[i].place.line == keyword->line &&
            is_same_file(keyword->file, loops->list[i].place.file))
            standing = is_nested(loops, i, loop) ? TAKEN : TAKEN_ELSEWHERE;
    return standing;
}

/* Returns true if a loop without a place of its own may belong to the keyword: the loop begins and ends
 * within the keyword's statement. *out: the keyword's standing for the loop. */
static bool may_be_of(const struct marks_keyword *keyword, const struct loops *loops, size_t loop,
                      enum standing *out)
{
    const struct source_place *place = &loops->list[loop].place, *last = &loops->list[loop].last;
    if (!is_in(keyword, place) || (last->file && !is_in(keyword, last)))
        return false;
    *out = standing_of(keyword, loops, loop);
    return *out != TAKEN;
}

/* Returns the mark of a loop whose place LLVM has dropped, for example because the loop contains a `break`.
 * The loop may belong to any keyword whose statement contains it, because the places of other loops may be
 * missing, too. If these keywords have different marks, returns MARK_NONE, because a wrong bound is worse
 * than none. */
static uint32_t mark_around(const struct marks *marks, const struct loops *loops, size_t loop,
                            bool *out_is_unclear)
{
    const struct marks_keyword *end = marks->keywords + marks->keyword_count, *first = NULL;
    unsigned line = loops->list[loop].place.line;
    bool has_free = false, is_one = !loops->list[loop].may_be_two;
    enum standing standing;
    for (const struct marks_keyword *k = marks->keywords; k < end && k->line <= line; k++) {
        if (!may_be_of(k, loops, loop, &standing))
            continue;
        has_free = has_free || standing == FREE;
        first = first ? first : k;
        is_one = is_one && k->mark == first->mark;
    }
    if (!has_free || is_one)
        return has_free ? first->mark : MARK_NONE;
    for (const struct marks_keyword *k = marks->keywords; k < end && k->line <= line; k++)
        if (k->mark != MARK_NONE && may_be_of(k, loops, loop, &standing))
            out_is_unclear[k->mark] = true;
    return MARK_NONE;
}

/* --- merged loops --------------------------------------------------------------------------------------- */

static bool is_around(const struct marks_keyword *keyword, const struct marks_keyword *other)
{
    struct source_place begin = {other->file, other->line, 0};
    return is_in(keyword, &begin);
}

/* Returns true if a loop that LLVM may have merged from two loops may belong to a second keyword. A keyword
 * may be the second one if no loop of the same nest has its place, and if its statement contains `own` or
 * lies in the statement of `own`. Sets the marks of such keywords to unclear. */
static bool may_be_two(const struct marks *marks, const struct loops *loops, const struct marks_keyword *own,
                       size_t loop, bool *out_is_unclear)
{
    bool may = false;
    for (const struct marks_keyword *k = marks->keywords; k < marks->keywords + marks->keyword_count; k++) {
        if (k == own || !(is_around(k, own) || is_around(own, k)) || standing_of(k, loops, loop) == TAKEN)
            continue;
        may = true;
        if (k->mark != MARK_NONE)
            out_is_unclear[k->mark] = true;
    }
    return may;
}

/* Returns true if the loop is the outermost loop within the loop of a label. LLVM may have merged both loops
 * and used the place of the inner loop. */
static bool is_first_in(const struct marks_keyword *label, const struct loops *loops, size_t loop)
{
    for (int32_t at = loops->list[loop].parent; at >= 0; at = loops->list[at].parent)
        if (!loops->list[at].has_own_place || is_in(label, &loops->list[at].place))
            return false;
    return true;
}

static bool may_be_of_goto(const struct marks *marks, const struct loops *loops,
                           const struct marks_keyword *own, size_t loop)
{
    for (const struct marks_keyword *k = marks->keywords; k < marks->keywords + marks->keyword_count; k++)
        if (k->is_label && is_around(k, own) && is_first_in(k, loops, loop))
            return true;
    return false;
}

/* Returns true if the loop around `loop` has no place of its own, and its latch lies in the statement of
 * `loop`. LLVM has then used the place of the outer loop for the inner loop. */
static bool may_be_of_outer(const struct loops *loops, const struct marks_keyword *keyword, size_t loop)
{
    int32_t outer = loops->list[loop].parent;
    const struct source_place *last = outer < 0 ? NULL : &loops->list[outer].last;
    return last && last->file && !loops->list[outer].has_own_place && is_in(keyword, last);
}

/* Returns true if the keyword at the loop's place identifies the loop. Keywords of different functions are
 * not nested in the text, so a merged loop with inlined parts is never clear. */
static bool is_clear(const struct marks *marks, const struct loops *loops,
                     const struct marks_keyword *keyword, size_t loop, bool *out_is_unclear)
{
    if (loops->list[loop].has_inlined || may_be_of_goto(marks, loops, keyword, loop) ||
        may_be_of_outer(loops, keyword, loop))
        return false;
    return !loops->list[loop].may_be_two || !may_be_two(marks, loops, keyword, loop, out_is_unclear);
}

/* --- all loops of a function ---------------------------------------------------------------------------- */

static uint32_t mark_at(const struct marks *marks, const struct loops *loops, size_t loop,
                        bool *out_is_unclear)
{
    struct line line = {.has_mark = false};
    const struct source_place *place = &loops->list[loop].place;
    add_keywords(marks, place, &line);
    if (!line.has_mark && !loops->list[loop].may_be_two)
        return MARK_NONE;
    add_loops(loops, place, &line);
    size_t nth = 0;
    while (nth < line.loop_count && line.loops[nth] != loop)
        nth++;
    const struct marks_keyword *keyword = nth < line.loop_count ? keyword_of(&line, loops, nth) : NULL;
    if (keyword && is_clear(marks, loops, keyword, loop, out_is_unclear))
        return keyword->mark;
    set_unclear(&line, out_is_unclear);
    return MARK_NONE;
}

void marks_join(const struct marks *marks, const struct loops *loops, uint32_t *out, bool *out_is_unclear)
{
    for (size_t i = 0; i < loops->count; i++) {
        const struct loop *loop = &loops->list[i];
        out[i] = MARK_NONE;
        if (!marks->keyword_count || !loop->place.file)
            continue;
        uint32_t mark = loop->has_own_place ? mark_at(marks, loops, i, out_is_unclear)
                                            : mark_around(marks, loops, i, out_is_unclear);
        if (mark != MARK_NONE && !marks->list[mark].fault)
            out[i] = mark;
    }
}
