/* joulec/verdict/change_tally.c - see change_tally.h. */
#include "joulec/verdict/change_tally.h"

#include <math.h>
#include <string.h>
#include "joulec/source/place.h"
#include "joulec/trips/figure_words.h"
#include "joulec/verdict/comparison_words.h"

/* --- rows ----------------------------------------------------------------------------------------------- */

/* Returns the rank of a row; rows with higher ranks come first in the table. Growth over the limit has the
 * highest rank, followed by undecided changes, other changes, new functions and functions that are gone. */
static int rank_of(const struct change_row *row)
{
    static const int ranks[CHANGES] = {
        [CHANGE_OVER] = 4, [CHANGE_UNDECIDED] = 3, [CHANGE_MORE] = 2, [CHANGE_LESS] = 2, [CHANGE_NEW] = 1};
    return row->is_gone ? 0 : ranks[row->change];
}

/* Returns the size of a change: the absolute logarithm of its ratio, or 0 if the ratio is unknown. */
static double size_of(const struct change_row *row)
{
    return isnan(row->ratio) ? 0 : fabs(log(row->ratio));
}

static bool is_before(const struct change_row *a, const struct change_row *b)
{
    int left = rank_of(a), right = rank_of(b);
    return left != right ? left > right : size_of(a) > size_of(b);
}

/* Inserts the row in the order of is_before. If the table is full, drops the last row and increments
 * left_out. */
static void insert_row(struct change_tally *tally, const struct change_row *row)
{
    size_t at = tally->row_count;
    while (at && is_before(row, &tally->rows[at - 1]))
        at--;
    tally->left_out += tally->row_count == MAX_CHANGE_ROWS;
    if (at == MAX_CHANGE_ROWS)
        return;
    size_t last = tally->row_count < MAX_CHANGE_ROWS ? tally->row_count : MAX_CHANGE_ROWS - 1;
    memmove(tally->rows + at + 1, tally->rows + at, (last - at) * sizeof *tally->rows);
    tally->rows[at] = *row;
    tally->row_count = last + 1;
}

static void add_function(struct change_tally *tally, const struct judged *judged, size_t index)
{
    const struct function_result *r = &judged->analysis->results[index];
    const struct growth *c = &judged->comparisons->of[index];
    const char *file = r->function->place.file;
    char from[sizeof tally->rows->file];
    struct change_row row = {.change = c->change,
                             .before = c->before ? c->before->joules[BOUND_EST] : NAN,
                             .now = r->judgement.joules.est,
                             .ratio = c->ratio,
                             .low = c->low,
                             .high = c->high,
                             .line = r->function->place.line};
    tally->counts[c->change]++;
    tally->renamed += c->is_renamed;
    if ((c->change == CHANGE_NONE && !c->is_renamed) || c->change == CHANGE_UNKNOWN)
        return;
    string_copy(row.name, sizeof row.name, r->function->name);
    string_copy(row.old_name, sizeof row.old_name, c->is_renamed && c->before ? c->before->name : "");
    string_copy(row.file, sizeof row.file,
                file ? source_from(judged->root, file, from, sizeof from) : judged->source);
    insert_row(tally, &row);
}

static void add_gone(struct change_tally *tally, const struct baseline_unit *unit,
                     const struct baseline_function *f)
{
    struct change_row row = {.is_gone = true,
                             .before = f->joules[BOUND_EST],
                             .now = NAN,
                             .ratio = NAN,
                             .low = NAN,
                             .high = NAN,
                             .line = f->line};
    tally->gone++;
    string_copy(row.name, sizeof row.name, f->name);
    string_copy(row.file, sizeof row.file, f->file ? f->file : unit->program);
    insert_row(tally, &row);
}

void change_tally_add(struct change_tally *tally, const struct judged *judged)
{
    const struct comparisons *c = judged->comparisons;
    for (size_t i = 0; c && i < judged->analysis->result_count; i++)
        add_function(tally, judged, i);
    for (size_t i = 0; c && i < c->gone_count; i++)
        add_gone(tally, c->unit, c->gone[i]);
}

void change_tally_add_gone(struct change_tally *tally, const struct baseline_unit *unit)
{
    for (size_t i = 0; i < unit->function_count; i++)
        add_gone(tally, unit, &unit->functions[i]);
}

void change_tally_merge(struct change_tally *tally, const struct change_tally *more)
{
    for (int i = 0; i < CHANGES; i++)
        tally->counts[i] += more->counts[i];
    tally->gone += more->gone;
    tally->renamed += more->renamed;
    tally->left_out += more->left_out;
    for (size_t i = 0; i < more->row_count; i++)
        insert_row(tally, &more->rows[i]);
}

bool change_tally_differs(const struct change_tally *tally)
{
    return tally->row_count > 0;
}

/* --- printing ------------------------------------------------------------------------------------------- */

static void add_count(struct text *out, const char **between, size_t count, const char *what)
{
    if (count)
        text_printf(out, "%s%zu %s", *between, count, what);
    *between = count ? ", " : *between;
}

static void add_counts(struct text *out, const struct change_tally *t, double fail_over)
{
    char over[32], undecided[48];
    const char *between = "";
    string_print(over, sizeof over, "over %s", ratio_words(1 + fail_over).text);
    string_print(undecided, sizeof undecided, "that may be %s", over);
    add_count(out, &between, t->counts[CHANGE_OVER], over);
    add_count(out, &between, t->counts[CHANGE_UNDECIDED], undecided);
    add_count(out, &between, t->counts[CHANGE_MORE], "more");
    add_count(out, &between, t->counts[CHANGE_LESS], "less");
    add_count(out, &between, t->counts[CHANGE_NONE], "the same");
    add_count(out, &between, t->counts[CHANGE_NEW], "new");
    add_count(out, &between, t->gone, "gone");
    add_count(out, &between, t->renamed, "renamed");
    add_count(out, &between, t->counts[CHANGE_UNKNOWN], "unknown");
    text_add(out, between[0] ? "\n" : "no function\n");
}

static void add_row(struct text *out, const struct change_row *row)
{
    static const char *const names[CHANGES] = {
        [CHANGE_OVER] = "over", [CHANGE_UNDECIDED] = "undecided", [CHANGE_NEW] = "new"};
    char change[64] = "";
    if (!isnan(row->ratio))
        string_print(change, sizeof change, "%s", ratio_words(row->ratio).text);
    if (row->low > 0 && row->high > row->low)
        string_print(change + strlen(change), sizeof change - strlen(change), " (%s to %s)",
                     ratio_words(row->low).text, ratio_words(row->high).text);
    text_printf(out, "  %10s  %10s  %-36s  %-9s  %s",
                isnan(row->before) ? "-" : figure_words(row->before, JOULE_DIMENSION_ENERGY).text,
                isnan(row->now) ? "-" : figure_words(row->now, JOULE_DIMENSION_ENERGY).text, change,
                row->is_gone         ? "gone"
                : row->old_name[0]   ? "renamed"
                : names[row->change] ? names[row->change]
                                     : "",
                row->name);
    if (row->old_name[0])
        text_printf(out, ", was %s", row->old_name);
    if (row->line)
        text_printf(out, "  %s:%u", row->file, row->line);
    text_add(out, "\n");
}

void change_tally_print(const void *page, struct text *out)
{
    const struct change_page *p = page;
    const struct change_tally *t = p->tally;
    text_printf(out, "compared with %s: ", p->baseline->path);
    add_counts(out, t, p->baseline->fail_over);
    if (!t->row_count)
        return;
    text_printf(out, "  %10s  %10s  %-36s  %-9s  %s\n", "before", "now", "change (90 %)", "", "function");
    for (size_t i = 0; i < t->row_count; i++)
        add_row(out, &t->rows[i]);
    if (t->left_out)
        text_printf(out, "  and %zu more; --energy-report lists all\n", t->left_out);
}
