/* joulec/report/function_report_html.c - prints an HTML page: the source with a bar on each line for its
 * share of the function's joules.
 *
 * The page needs no script and loads no other file. Note: the joules of a block, including its calls, appear
 * on the line where the block begins. A line that belongs to several functions shows the function with most
 * joules on this line.
 */
#include "joulec/report/function_report.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"
#include "joulec/source/place.h"
#include "joulec/source/whole_file.h"
#include "joulec/trips/figure_words.h"

static const char head[] =
    "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\n"
    "<title>joulec</title><style>\n"
    ":root{color-scheme:light "
    "dark;--line:#8884;--heat:#e08a2e;--good:#2e8b57;--bad:#c9362b;--middling:#b07d10}\n"
    "body{font:14px/1.45 system-ui,sans-serif;max-width:84rem;margin:2rem auto;padding:0 1rem;"
    "font-variant-numeric:tabular-nums}\n"
    "h2{font-size:1.2rem;margin:2rem 0 .2rem}p{margin:.2rem 0 .8rem;opacity:.7}\n"
    "table{border-collapse:collapse;width:100%}td{padding:0 .5rem;white-space:nowrap;vertical-align:top}\n"
    "td.n{text-align:right;opacity:.5;user-select:none}td.r{text-align:right}\n"
    "td.c{font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap;width:100%;tab-size:4}\n"
    "td.b{min-width:7rem}td.b i{display:block;height:.8rem;margin:.2rem 0;background:var(--heat)}\n"
    "tr.f td{padding:.7rem .5rem .2rem;border-top:1px solid var(--line);white-space:normal}\n"
    ".proved,.likely{color:var(--good)}.undecided{color:var(--middling)}"
    ".likely_violated,.violated,.bad{color:var(--bad)}\n"
    "@media(max-width:40rem){td.t{display:none}td.b{min-width:3rem}}\n"
    "</style>\n";

/* Joules and executions of a source line, in one call of a function. */
struct line {
    const struct function_result *begins; /* function that is defined on this line; NULL: none */
    const struct function_result *of;     /* function to which the following figures belong */
    double joules, times;
    double copied; /* minimum number of executions of an inlined block; 0: no block is inlined here */
};

/* State of the page: the lines of the source with their figures. */
struct page {
    struct text *out;
    const struct judged *judged;
    struct line *lines; /* [0]: unused */
    size_t count;
    char path[PATH_MAX]; /* absolute path of the source */
};

/* --- collecting joules by line -------------------------------------------------------------------------- */

/* Returns the line of a place; NULL if the place is in another file. */
static struct line *line_of(struct page *p, const struct source_place *place)
{
    char path[PATH_MAX];
    if (!place->file || !place->line || place->line >= p->count ||
        !source_absolute(p->judged->root, place->file, path, sizeof path) || strcmp(path, p->path) != 0)
        return NULL;
    return &p->lines[place->line];
}

/* Returns the mean number of executions of a block in one call. */
static double runs_of(const struct function_result *r, uint32_t block)
{
    int32_t loop = r->loops.innermost[block];
    return r->sum.blocks[block].frequency * (loop < 0 ? 1 : r->sum.runs[loop].iterations);
}

/* Sums the joules of one function's blocks by line in own[]. Then stores each sum in p->lines if it exceeds
 * the joules that are stored there. own: [p->count], zero on entry and on exit. */
static void add_blocks(struct page *p, const struct function_result *r, struct line *own)
{
    for (uint32_t b = 0; b < r->function->block_count; b++) {
        const struct block *block = &r->function->blocks[b];
        struct line *line = line_of(p, &block->own_place);
        double runs = line ? runs_of(r, b) : 0;
        if (!(runs > 0))
            continue;
        struct line *sum = own + (line - p->lines);
        sum->joules += runs * r->sum.blocks[b].joules[BOUND_EST];
        if (source_place_order(&block->place, &block->own_place) == 0)
            sum->times = fmax(sum->times, runs);
        else /* in an inlined loop, a block runs more often than the line of the call */
            sum->copied = sum->copied > 0 ? fmin(sum->copied, runs) : runs;
    }
    for (uint32_t b = 0; b < r->function->block_count; b++) {
        struct line *line = line_of(p, &r->function->blocks[b].own_place);
        struct line *sum = line ? own + (line - p->lines) : NULL;
        if (!sum)
            continue;
        if (sum->joules > line->joules) {
            line->of = r;
            line->joules = sum->joules;
            line->times = sum->times > 0 ? sum->times : sum->copied;
        }
        *sum = (struct line){0};
    }
}

static bool gather(struct page *p, struct arena *arena)
{
    const struct analysis *a = p->judged->analysis;
    p->lines = arena_alloc(arena, (p->count + 1) * sizeof *p->lines);
    struct line *own = arena_alloc(arena, (p->count + 1) * sizeof *own);
    if (!p->lines || !own)
        return false;
    for (size_t i = 0; i < a->result_count; i++) {
        struct line *first = line_of(p, &a->results[i].function->place);
        if (first && !first->begins)
            first->begins = &a->results[i];
        add_blocks(p, &a->results[i], own);
    }
    return true;
}

/* --- printing ------------------------------------------------------------------------------------------- */

/* Adds text with HTML escapes. Replaces each byte that is not valid UTF-8 by U+FFFD. */
static void add_escaped(struct text *out, const char *words, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t bytes = string_utf8_length(words + i, length - i);
        if (words[i] == '<' || words[i] == '&')
            text_add(out, words[i] == '<' ? "&lt;" : "&amp;");
        else if (bytes)
            text_add_bytes(out, words + i, bytes);
        else
            text_add(out, "\xef\xbf\xbd");
        i += bytes ? bytes : 1;
    }
}

static void add_function(const struct page *p, const struct function_result *r)
{
    const struct judgement *j = &r->judgement;
    text_add(p->out, "<tr class=f><td><td colspan=4><b>");
    add_escaped(p->out, r->function->name, strlen(r->function->name));
    text_printf(p->out, "</b> %s a call (%s, 90 %%), %s, quality %c",
                figure_words(j->joules.est, JOULE_DIMENSION_ENERGY).text,
                range_words(j->joules.low, j->joules.high, JOULE_DIMENSION_ENERGY).text,
                figure_words(j->seconds.est, JOULE_DIMENSION_TIME).text, j->quality);
    if (r->budget_words) {
        text_add(p->out, "; ");
        add_escaped(p->out, r->budget_words, strlen(r->budget_words));
        text_printf(p->out, ": <span class=%s>%s</span>", r->bad_column ? "bad" : verdict_name(j->worst),
                    r->bad_column ? "invalid" : verdict_name(j->worst));
    }
    text_add(p->out, "\n");
}

static void add_line(const struct page *p, size_t number, const char *words, size_t length)
{
    static const struct line nothing = {0};
    const struct line *line = number < p->count && p->lines ? &p->lines[number] : &nothing;
    if (line->begins)
        add_function(p, line->begins);
    text_printf(p->out, "<tr><td class=n>%zu<td class=\"r t\">", number);
    if (line->of) {
        double all = line->of->judgement.joules.est;
        text_printf(p->out, "%.4g &times;<td class=r>%s<td class=b><i style=\"width:%.1f%%\"></i>",
                    line->times, figure_words(line->joules, JOULE_DIMENSION_ENERGY).text,
                    all > 0 ? fmin(100, 100 * line->joules / all) : 0);
    } else {
        text_add(p->out, "<td><td>");
    }
    text_add(p->out, "<td class=c>");
    add_escaped(p->out, words, length);
    text_add(p->out, "\n");
}

static void add_source(struct page *p, const char *source)
{
    struct arena arena = {0};
    size_t number = 1;
    p->count = 2;
    for (const char *c = source; *c; c++)
        p->count += *c == '\n';
    if (!gather(p, &arena))
        text_add(p->out, "<p>Cannot show the joules of the lines: out of memory.</p>\n");
    text_add(p->out, "<table>\n");
    while (*source) {
        size_t length = strcspn(source, "\n");
        add_line(p, number++, source, length);
        source += length + (source[length] == '\n');
    }
    text_add(p->out, "</table>\n");
    arena_free(&arena);
}

void report_html_begin(const void *nothing, struct text *out)
{
    (void)nothing;
    text_add(out, head);
}

void report_html(const void *judged, struct text *out)
{
    const struct judged *j = judged;
    const struct target *target = &j->analysis->target;
    struct page page = {.out = out, .judged = j};
    text_add(out, "<h2>");
    add_escaped(out, j->source, strlen(j->source));
    text_printf(out, "</h2><p>Joules per call of each function, for core %s and table %s (%s). ",
                target->core.id, target->table.id, joule_class_name(target->table.cls));
    text_add(out, "The bar of a line shows its share, including calls.</p>\n");
    bool is_named = j->root && source_absolute(j->root, j->source, page.path, sizeof page.path);
    size_t size;
    char *source = is_named ? whole_source_file(page.path, &size) : NULL;
    if (source)
        add_source(&page, source);
    else
        text_add(out, "<p>Cannot read the source.</p>\n");
    free(source);
}
