/* joulec/report/function_report_c.c - prints the preprocessed source with the joules of functions and loops
 * in comments above them.
 *
 * File and line are known from the preprocessor's line markers. Note: a line marker is added after each
 * comment, so that compilers still report the line numbers of the source.
 */
#include "joulec/report/function_report.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "joulec/source/place.h"
#include "joulec/trips/figure_words.h"

/* A comment that is printed above a line. */
struct remark {
    const struct source_place *place;
    const struct function_result *result;
    int32_t loop;    /* index of the loop; -1: the function itself */
    uint32_t number; /* position in the order in which remarks were found */
};

/* State of the output: the current position in the source, and the remarks. */
struct page {
    struct text *out;
    const struct judged *judged;
    struct remark *remarks; /* sorted by line */
    size_t count;
    const char *name; /* file name as in the last marker, with quotes; NULL: no marker yet */
    size_t name_length;
    bool is_system;      /* the file is a system header, whose warnings clang hides */
    char path[PATH_MAX]; /* absolute path of the file; "": unknown */
    unsigned line;
};

/* --- remarks -------------------------------------------------------------------------------------------- */

static int by_line(const void *a, const void *b)
{
    const struct remark *x = a, *y = b;
    if (x->place->line != y->place->line)
        return x->place->line < y->place->line ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void add_remark(struct page *p, const struct function_result *result, int32_t loop)
{
    const struct source_place *place = loop < 0 ? &result->function->place : &result->loops.list[loop].place;
    bool is_own = loop < 0 || result->loops.list[loop].has_own_place;
    if (place->file && place->line && is_own) {
        p->remarks[p->count] = (struct remark){place, result, loop, (uint32_t)p->count};
        p->count++;
    }
}

static bool find_remarks(struct page *p, struct arena *arena)
{
    const struct analysis *a = p->judged->analysis;
    size_t capacity = 1;
    for (size_t i = 0; i < a->result_count; i++)
        capacity += 1 + a->results[i].loops.count;
    p->remarks = arena_alloc(arena, capacity * sizeof *p->remarks);
    if (!p->remarks)
        return false;
    for (size_t i = 0; i < a->result_count; i++) {
        add_remark(p, &a->results[i], -1);
        for (size_t k = 0; k < a->results[i].loops.count; k++)
            add_remark(p, &a->results[i], (int32_t)k);
    }
    qsort(p->remarks, p->count, sizeof *p->remarks, by_line);
    return true;
}

static void print_function(struct text *out, const struct function_result *r)
{
    const struct judgement *j = &r->judgement;
    text_printf(out, "%s: %s a call (%s), %s", r->function->name,
                figure_words(j->joules.est, JOULE_DIMENSION_ENERGY).text,
                range_words(j->joules.low, j->joules.high, JOULE_DIMENSION_ENERGY).text,
                figure_words(j->seconds.est, JOULE_DIMENSION_TIME).text);
    if (r->budget_words)
        text_printf(out, "; budget: %s", r->bad_column ? "invalid" : verdict_name(j->worst));
}

static void print_loop(struct text *out, const struct analysis *analysis, const struct remark *remark)
{
    const struct trips *trips = &remark->result->trips[remark->loop];
    double each = amounts_joules(&analysis->target, &remark->result->sum.loops[remark->loop], BOUND_EST);
    text_printf(
        out, "loop in %s: %s, %s; %s of a call", remark->result->function->name,
        trips_class_name(trips->total_cls), trips_words(&trips->iterations).text,
        figure_words(each * remark->result->sum.runs[remark->loop].entries, JOULE_DIMENSION_ENERGY).text);
}

/* --- the text ------------------------------------------------------------------------------------------- */

/* Reads a line marker, such as: # 12 "file.c" 1 3. Returns false if the line is not a marker. */
static bool read_marker(struct page *p, const char *line, size_t length)
{
    char *end, name[PATH_MAX];
    size_t copied = 0;
    if (length < 4 || line[0] != '#' || line[1] != ' ' || line[2] < '0' || line[2] > '9')
        return false;
    p->line = (unsigned)strtoul(line + 2, &end, 10);
    if (end + 2 > line + length || end[0] != ' ' || end[1] != '"')
        return false;
    const char *c = end + 2, *last = line + length;
    for (; c < last && *c != '"'; c++) {
        c += *c == '\\' && c + 1 < last;
        if (copied + 1 < sizeof name)
            name[copied++] = *c;
    }
    name[copied] = '\0';
    p->name = end + 1;
    p->name_length = (size_t)(c < last ? c + 1 - p->name : c - p->name);
    p->is_system = c < last && memchr(c, '3', (size_t)(last - c));
    if (!p->judged->root || !source_absolute(p->judged->root, name, p->path, sizeof p->path))
        p->path[0] = '\0';
    return true;
}

static bool is_here(const struct page *p, const struct remark *remark)
{
    char path[PATH_MAX];
    return p->path[0] && source_absolute(p->judged->root, remark->place->file, path, sizeof path) &&
           strcmp(path, p->path) == 0;
}

static const struct remark *first_of_line(const struct page *p)
{
    size_t low = 0, high = p->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->remarks[middle].place->line < p->line)
            low = middle + 1;
        else
            high = middle;
    }
    return p->remarks + low;
}

static void add_remarks(const struct page *p)
{
    bool has_any = false;
    const struct remark *end = p->remarks + p->count;
    for (const struct remark *r = first_of_line(p); r < end && r->place->line == p->line; r++) {
        if (!is_here(p, r))
            continue;
        has_any = true;
        text_add(p->out, "/* joule: ");
        if (r->loop < 0)
            print_function(p->out, r->result);
        else
            print_loop(p->out, p->judged->analysis, r);
        text_add(p->out, " */\n");
    }
    if (!has_any)
        return;
    text_printf(p->out, "# %u ", p->line);
    text_add_bytes(p->out, p->name, p->name_length);
    text_add(p->out, p->is_system ? " 3\n" : "\n");
}

static void copy_text(struct page *p)
{
    for (const char *line = p->judged->text; *line;) {
        size_t length = strcspn(line, "\n");
        bool is_marker = read_marker(p, line, length);
        if (!is_marker)
            add_remarks(p);
        text_add_bytes(p->out, line, length);
        text_add(p->out, "\n");
        p->line += !is_marker;
        line += length + (line[length] == '\n');
    }
}

void report_c(const void *judged, struct text *out)
{
    struct arena arena = {0};
    struct page page = {.out = out, .judged = judged};
    if (!find_remarks(&page, &arena))
        text_add(out, "/* joule: cannot add comments: out of memory */\n");
    copy_text(&page);
    arena_free(&arena);
}
