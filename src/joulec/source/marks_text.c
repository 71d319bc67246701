/* joulec/source/marks_text.c - see marks.h. Reads marks and keywords of loops from preprocessed source.
 *
 * Note: this code does not parse C. It counts braces, to find functions, and distinguishes the `while` that
 * ends a `do` from one that begins a loop.
 */
#include <joule/base.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/string.h"
#include "joulec/source/constant.h"
#include "joulec/source/labels.h"
#include "joulec/source/marks.h"
#include "joulec/source/statement.h"

#define MAX_LOOK_AHEAD 4096
#define NO_LINE        UINT32_MAX /* line of a keyword that is ignored */

/* A part of the text. It is not terminated by a NUL. */
struct span {
    const char *at;
    size_t length;
};

/* Kind of the text between a mark and its loop, which the reader skips. */
enum between { BETWEEN_NOTHING, BETWEEN_GROUP, BETWEEN_LABEL };

/* State of the reader: the position in the text, and the constructs that contain this position. */
struct reading {
    struct marks *out;
    const char *at, *end;
    struct span file;      /* file name in the last line marker, still escaped */
    struct span kept_file; /* escaped file name whose unescaped form is `kept` */
    const char *kept;      /* unescaped copy in the arena; NULL: none */
    unsigned line;
    size_t mark_room, keyword_room;
    size_t depth; /* open braces */
    struct statements loops;
    struct labels labels; /* labels of the current function */
    bool is_goto;         /* the last word was `goto` */
    uint32_t waiting;     /* mark whose loop has not been read yet; MARK_NONE: none */
    enum between between;
    unsigned group_depth;
    bool is_out_of_memory;
};

/* --- characters ----------------------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f' || c == '\v' || c == '\r';
}

static bool is(struct span word, const char *text)
{
    return strlen(text) == word.length && memcmp(word.at, text, word.length) == 0;
}

static void skip_blanks(struct span *line)
{
    while (line->length && is_blank(*line->at)) {
        line->at++;
        line->length--;
    }
}

static struct span take_word(struct span *line)
{
    skip_blanks(line);
    struct span word = {line->at, 0};
    while (word.length < line->length && is_word(line->at[word.length]))
        word.length++;
    line->at += word.length;
    line->length -= word.length;
    return word;
}

/* --- line markers --------------------------------------------------------------------------------------- */

/* Returns the file name of the last line marker, unescaped; NULL: unknown. */
static const char *file_here(struct reading *r)
{
    if (r->kept && r->kept_file.length == r->file.length &&
        memcmp(r->kept_file.at, r->file.at, r->file.length) == 0)
        return r->kept;
    char *name = r->file.length ? arena_alloc(&r->out->arena, r->file.length + 1) : NULL;
    size_t length = 0;
    for (size_t i = 0; name && i < r->file.length; i++) {
        i += r->file.at[i] == '\\' && i + 1 < r->file.length;
        name[length++] = r->file.at[i];
    }
    r->is_out_of_memory = r->is_out_of_memory || (r->file.length && !name);
    r->kept_file = r->file;
    return r->kept = name;
}

/* Reads a line marker, such as: # 12 "file.c" 1. The marker states file and number of the next line. */
static void take_place(struct reading *r, struct span line)
{
    unsigned number = 0;
    struct span digits = take_word(&line);
    for (size_t i = 0; i < digits.length; i++) {
        if (digits.at[i] < '0' || digits.at[i] > '9' || number > 200000000)
            return;
        number = number * 10 + (unsigned)(digits.at[i] - '0');
    }
    skip_blanks(&line);
    if (!digits.length)
        return;
    r->line = number ? number - 1 : 0; /* the end of this line adds 1 */
    if (!line.length || *line.at != '"')
        return;
    r->file = (struct span){line.at + 1, 0};
    while (r->file.length + 1 < line.length && r->file.at[r->file.length] != '"')
        r->file.length += 1 + (r->file.at[r->file.length] == '\\' && r->file.length + 2 < line.length);
}

/* --- marks ---------------------------------------------------------------------------------------------- */

static const char *copy_words(struct reading *r, const char *words, size_t length)
{
    const char *kept = arena_copy(&r->out->arena, words, length);
    r->is_out_of_memory = r->is_out_of_memory || !kept;
    return kept ? kept : "";
}

static void fault(struct reading *r, uint32_t mark, const char *words)
{
    if (!r->out->list[mark].fault)
        r->out->list[mark].fault = copy_words(r, words, strlen(words));
}

/* Reads "(1, 10)". Returns JOULE_INVALID, with a message in *error, if it is not a pair of bounds. */
static joule_status read_bounds(struct span line, struct mark *out, joule_error *error)
{
    size_t end;
    skip_blanks(&line);
    *error = (joule_error){.message = "(min, max) is missing"};
    if (!line.length || *line.at != '(')
        return JOULE_INVALID;
    line = (struct span){line.at + 1, line.length - 1};
    if (constant_read(line.at, line.length, &out->low, &end, error) != JOULE_OK)
        return JOULE_INVALID;
    line = (struct span){line.at + end, line.length - end};
    *error = (joule_error){.message = "it needs two values"};
    if (!line.length || *line.at != ',')
        return JOULE_INVALID;
    line = (struct span){line.at + 1, line.length - 1};
    if (constant_read(line.at, line.length, &out->high, &end, error) != JOULE_OK)
        return JOULE_INVALID;
    line = (struct span){line.at + end, line.length - end};
    *error = (joule_error){.message = "it needs two values"};
    bool is_closed = line.length && *line.at == ')';
    line = (struct span){line.at + is_closed, line.length - is_closed};
    skip_blanks(&line);
    return is_closed && !line.length ? JOULE_OK : JOULE_INVALID;
}

static void check_bounds(struct reading *r, uint32_t mark, struct span words)
{
    struct mark *m = &r->out->list[mark];
    joule_error error;
    char message[sizeof error.message + 64];
    if (read_bounds(words, m, &error) != JOULE_OK)
        string_print(message, sizeof message, "%s: min and max must be numbers, or macros for numbers",
                     error.message);
    else if (m->low < 0)
        string_print(message, sizeof message, "min is %lld, but must be at least 0", (long long)m->low);
    else if (m->high < m->low)
        string_print(message, sizeof message, "min %lld is above max %lld", (long long)m->low,
                     (long long)m->high);
    else
        return;
    fault(r, mark, message);
}

static void end_waiting(struct reading *r, const char *before, struct span word)
{
    char message[160];
    if (r->waiting == MARK_NONE)
        return;
    string_print(message, sizeof message, "it is before %s%.*s%s: write it directly before for, while or do",
                 before, (int)(word.length < 64 ? word.length : 64), word.at, word.length ? "'" : "");
    fault(r, r->waiting, message);
    r->waiting = MARK_NONE;
}

/* Reads the rest of a line after `#pragma joule`. */
static void take_mark(struct reading *r, struct span line)
{
    struct marks *out = r->out;
    end_waiting(r, "another JOULE_LOOP", (struct span){"", 0});
    if (!ARRAY_ROOM(out->list, r->mark_room, out->count)) {
        r->is_out_of_memory = true;
        return;
    }
    skip_blanks(&line);
    uint32_t mark = (uint32_t)out->count++;
    out->list[mark] = (struct mark){.place = {file_here(r), r->line, 0},
                                    .words = copy_words(r, line.at, line.length < 200 ? line.length : 200)};
    if (!is(take_word(&line), "loop"))
        fault(r, mark, "unknown pragma; expected loop(min, max)");
    else
        check_bounds(r, mark, line);
    if (!r->depth)
        fault(r, mark, "it is outside a function: write it directly before a loop");
    r->waiting = r->depth ? mark : MARK_NONE;
    r->between = BETWEEN_NOTHING;
}

/* Reads a line that begins with '#'. */
static void take_directive(struct reading *r, struct span line)
{
    struct span rest = {line.at + 1, line.length - 1}, behind;
    skip_blanks(&rest);
    behind = rest;
    struct span word = take_word(&behind);
    if (is(word, "pragma")) {
        if (is(take_word(&behind), "joule"))
            take_mark(r, behind);
    } else {
        take_place(r, is(word, "line") ? behind : rest);
    }
}

/* --- tokens --------------------------------------------------------------------------------------------- */

/* Returns true if a semicolon follows the condition of the current `while`. The `while` then ends the
 * preceding `do`, whose body has no braces. */
static bool ends_here(const struct reading *r)
{
    const char *at = r->at, *limit = r->end - r->at > MAX_LOOK_AHEAD ? r->at + MAX_LOOK_AHEAD : r->end;
    size_t depth = 0;
    for (; at < limit; at++) {
        depth += *at == '(';
        if (*at == ')' && depth && --depth == 0)
            break;
    }
    for (at += at < limit; at < limit && (is_blank(*at) || *at == '\n');)
        at++;
    return at < limit && *at == ';';
}

/* Returns true if `(0)` or `(false)` follows. */
static bool is_false_condition(const struct reading *r)
{
    const char *at = r->at, *limit = r->end - r->at > MAX_LOOK_AHEAD ? r->at + MAX_LOOK_AHEAD : r->end;
    int64_t value;
    size_t end;
    joule_error error;
    while (at < limit && (is_blank(*at) || *at == '\n'))
        at++;
    if (at == limit || *at != '(')
        return false;
    struct span rest = {at + 1, (size_t)(limit - at - 1)}, word = rest;
    if (is(take_word(&word), "false"))
        return word.length && *word.at == ')';
    return constant_read(rest.at, rest.length, &value, &end, &error) == JOULE_OK && value == 0 &&
           end < rest.length && rest.at[end] == ')';
}

/* Returns true if the current `while` ends a `do`. Ignores the keyword of a `do ... while (0)` without a
 * mark. Macros use this form to combine statements, so it is not a loop. */
static bool ends_do(struct reading *r)
{
    bool must;
    if (!statements_may_end_do(&r->loops, r->depth, &must) || (!must && !ends_here(r)))
        return false;
    struct marks_keyword *keyword = &r->out->keywords[statements_end_do(&r->loops)];
    if (keyword->mark == MARK_NONE && is_false_condition(r))
        keyword->line = NO_LINE;
    return true;
}

static void end_loop(void *context, uint32_t keyword)
{
    struct reading *r = context;
    r->out->keywords[keyword].last_line = r->line;
}

/* Adds a keyword and sets *out_number to its index. Returns false if out of memory. */
static bool add_keyword(struct reading *r, unsigned line, uint32_t mark, bool is_label, uint32_t *out_number)
{
    struct marks *out = r->out;
    if (!ARRAY_ROOM(out->keywords, r->keyword_room, out->keyword_count)) {
        r->is_out_of_memory = true;
        return false;
    }
    *out_number = (uint32_t)out->keyword_count++;
    out->keywords[*out_number] = (struct marks_keyword){file_here(r), line, 0, *out_number, mark, is_label};
    return true;
}

static void begin_loop(struct reading *r, bool is_do)
{
    uint32_t number;
    if (!add_keyword(r, r->line, r->waiting, false, &number))
        return;
    statements_begin(&r->loops, number, r->depth, is_do);
    r->waiting = MARK_NONE;
}

/* Returns true if a colon follows the word. */
static bool is_label(const struct reading *r, struct span word)
{
    const char *next = r->at;
    while (next < r->end && is_blank(*next))
        next++;
    return next < r->end && *next == ':' && !(*word.at >= '0' && *word.at <= '9');
}

/* Processes the target of a goto. A goto back to a label begins a loop there, or extends the label's loop. */
static void take_goto(struct reading *r, struct span word)
{
    struct label *label = labels_find(&r->labels, word.at, word.length);
    if (label && (label->loop != LABEL_NO_LOOP || add_keyword(r, label->line, MARK_NONE, true, &label->loop)))
        end_loop(r, label->loop);
}

static void take_label(struct reading *r, struct span word)
{
    if (r->is_goto)
        take_goto(r, word);
    else if (r->depth && is_label(r, word) && !labels_add(&r->labels, word.at, word.length, r->line))
        r->is_out_of_memory = true;
    r->is_goto = is(word, "goto");
}

/* Returns true if a word is allowed between a mark and its loop, as part of a label or an attribute. */
static bool is_allowed_between(struct reading *r, struct span word)
{
    if (is(word, "__attribute__") || is(word, "__attribute"))
        r->between = BETWEEN_GROUP;
    else if (is(word, "case") || is_label(r, word))
        r->between = BETWEEN_LABEL;
    else
        return is(word, "__extension__");
    r->group_depth = 0;
    return true;
}

static void take_source_word(struct reading *r, struct span word)
{
    take_label(r, word);
    bool is_do = is(word, "do");
    bool is_loop =
        r->between == BETWEEN_NOTHING && (is_do || is(word, "for") || (is(word, "while") && !ends_do(r)));
    if (is_loop)
        begin_loop(r, is_do);
    else
        statements_take(&r->loops, STATEMENT_WORD, r->depth);
    if (!is_loop && r->waiting != MARK_NONE && r->between == BETWEEN_NOTHING && !is_allowed_between(r, word))
        end_waiting(r, "'", word);
}

/* Skips one character between a mark and its loop. The skipped part ends at the closing parenthesis, or at
 * the colon. */
static void take_between(struct reading *r, char c)
{
    if (c == ';' || c == '{' || c == '}') {
        r->between = BETWEEN_NOTHING;
        end_waiting(r, "'", (struct span){&c, 1});
        return;
    }
    if (r->between == BETWEEN_LABEL) {
        r->between = c == ':' ? BETWEEN_NOTHING : BETWEEN_LABEL;
        return;
    }
    r->group_depth += c == '(' || c == '[';
    if ((c == ')' || c == ']') && r->group_depth && --r->group_depth == 0)
        r->between = BETWEEN_NOTHING;
}

static void take_sign(struct reading *r, char c)
{
    if (r->waiting != MARK_NONE && r->between == BETWEEN_NOTHING && c == '[')
        r->between = BETWEEN_GROUP;
    if (r->waiting != MARK_NONE && r->between == BETWEEN_NOTHING)
        end_waiting(r, "'", (struct span){&c, 1});
    if (r->between != BETWEEN_NOTHING)
        take_between(r, c);
    r->depth -= c == '}' && r->depth;
    statements_take(&r->loops, c, r->depth);
    r->depth += c == '{';
    r->labels.count = r->depth ? r->labels.count : 0;
}

/* Skips "..." or '...'. Stops at the end of the line if the quote is not closed. */
static void skip_quoted(struct reading *r)
{
    char quote = *r->at++;
    while (r->at < r->end && *r->at != quote && *r->at != '\n')
        r->at += 1 + (*r->at == '\\' && r->at + 1 < r->end && r->at[1] != '\n');
    if (r->at < r->end && *r->at == quote)
        r->at++;
    if (r->at > r->end)
        r->at = r->end;
    if (r->between == BETWEEN_NOTHING)
        end_waiting(r, "a string", (struct span){"", 0});
    statements_take(&r->loops, STATEMENT_WORD, r->depth);
}

static void take_token(struct reading *r)
{
    if (is_blank(*r->at)) {
        r->at++;
    } else if (*r->at == '"' || *r->at == '\'') {
        skip_quoted(r);
    } else if (is_word(*r->at)) {
        struct span word = {r->at, 0};
        bool is_number = *r->at >= '0' && *r->at <= '9';
        while (r->at < r->end && (is_word(*r->at) || (is_number && (*r->at == '\'' || *r->at == '.'))))
            r->at++;
        word.length = (size_t)(r->at - word.at);
        take_source_word(r, word);
    } else {
        take_sign(r, *r->at++);
    }
}

static void take_line(struct reading *r)
{
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at)), *start = r->at;
    const char *end = newline ? newline : r->end;
    while (start < end && is_blank(*start))
        start++;
    if (start < end && *start == '#') {
        r->at = end;
        take_directive(r, (struct span){start, (size_t)(end - start)});
    }
    while (r->at < end && !r->is_out_of_memory)
        take_token(r);
    r->at = newline ? newline + 1 : r->end;
    r->line++;
}

/* --- the whole text ------------------------------------------------------------------------------------- */

bool marks_are_possible(const char *text, size_t size)
{
    return size && memmem(text, size, "joule", strlen("joule"));
}

static int by_line(const void *a, const void *b)
{
    const struct marks_keyword *left = a, *right = b;
    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

/* Sorts the keywords by line. Drops ignored keywords, which come last in this order. */
static void sort_keywords(struct marks *out)
{
    if (!out->count)
        out->keyword_count = 0;
    if (out->keyword_count)
        qsort(out->keywords, out->keyword_count, sizeof *out->keywords, by_line);
    while (out->keyword_count && out->keywords[out->keyword_count - 1].line == NO_LINE)
        out->keyword_count--;
}

bool marks_read(const char *text, size_t size, struct marks *out_marks)
{
    *out_marks = (struct marks){0};
    if (!marks_are_possible(text, size))
        return true;
    struct reading r = {.out = out_marks, .at = text, .end = text + size, .line = 1, .waiting = MARK_NONE};
    r.loops = (struct statements){.end = end_loop, .context = &r};
    while (r.at < r.end && !r.is_out_of_memory)
        take_line(&r);
    end_waiting(&r, "the end of the file", (struct span){"", 0});
    statements_free(&r.loops);
    labels_free(&r.labels);
    r.is_out_of_memory = r.is_out_of_memory || r.loops.is_out_of_memory;
    if (r.is_out_of_memory)
        marks_free(out_marks);
    else
        sort_keywords(out_marks);
    return !r.is_out_of_memory;
}

void marks_free(struct marks *marks)
{
    free(marks->list);
    free(marks->keywords);
    arena_free(&marks->arena);
    *marks = (struct marks){0};
}
