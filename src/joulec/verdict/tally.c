/* joulec/verdict/tally.c - see tally.h. */
#include "joulec/verdict/tally.h"

#include <math.h>
#include <string.h>
#include "joulec/source/place.h"
#include "joulec/trips/figure_words.h"

/* Inserts the row into tally->rows, which are sorted by descending estimate. If there are already
 * TALLY_LARGEST rows, drops the row with the lowest estimate. */
static void insert_row(struct tally *tally, const struct tally_row *row)
{
    size_t at = tally->row_count;
    while (at && tally->rows[at - 1].est < row->est)
        at--;
    if (at == TALLY_LARGEST)
        return;
    size_t last = tally->row_count < TALLY_LARGEST ? tally->row_count : TALLY_LARGEST - 1;
    memmove(tally->rows + at + 1, tally->rows + at, (last - at) * sizeof *tally->rows);
    tally->rows[at] = *row;
    tally->row_count = last + 1;
}

/* Counts one function, its budget and its verdict. Inserts a row for the function if its joules are known. */
static void add_function(struct tally *tally, const struct judged *judged, const struct function_result *r)
{
    const struct figure *joules = &r->judgement.joules;
    char from[sizeof tally->rows->file];
    struct tally_row row = {joules->low, joules->est, joules->high, r->judgement.worst,
                            .line = r->function->place.line};
    tally->functions++;
    tally->budgets += r->budget_words != NULL;
    tally->bad_budgets += r->bad_column != 0;
    if (r->budget_words && !r->bad_column)
        tally->verdicts[r->judgement.worst]++;
    if (isnan(row.est))
        return;
    string_copy(row.name, sizeof row.name, r->function->name);
    const char *file = r->function->place.file;
    string_copy(row.file, sizeof row.file,
                file ? source_from(judged->root, file, from, sizeof from) : judged->source);
    insert_row(tally, &row);
}

void tally_add(struct tally *tally, const struct judged *judged)
{
    tally->cls = judged->analysis->target.table.cls;
    string_copy(tally->table, sizeof tally->table, judged->analysis->target.table.id);
    for (size_t i = 0; i < judged->analysis->result_count; i++)
        add_function(tally, judged, &judged->analysis->results[i]);
    change_tally_add(&tally->changes, judged);
}

void tally_merge(struct tally *tally, const struct tally *more)
{
    if (more->table[0]) {
        tally->cls = more->cls;
        string_copy(tally->table, sizeof tally->table, more->table);
    }
    tally->functions += more->functions;
    tally->budgets += more->budgets;
    tally->bad_budgets += more->bad_budgets;
    for (int i = 0; i <= VERDICT_VIOLATED; i++)
        tally->verdicts[i] += more->verdicts[i];
    for (size_t i = 0; i < more->row_count; i++)
        insert_row(tally, &more->rows[i]);
    change_tally_merge(&tally->changes, &more->changes);
}

/* --- printing ------------------------------------------------------------------------------------------- */

/* Adds "COUNT WHAT" to a list, unless count is 0. *between: text before the item. Before the first item, it
 * is the heading of the list. Sets *between to ", " when an item is added. */
static void add_count(struct text *out, const char **between, size_t count, const char *what)
{
    if (!count)
        return;
    text_printf(out, "%s%zu %s", *between, count, what);
    *between = ", ";
}

/* Adds the line with the number of budgets by verdict. Adds nothing if there are no budgets. */
static void add_verdicts(struct text *out, const struct tally *tally)
{
    static const char *const texts[] = {[VERDICT_PROVED] = "proved to be kept",
                                        [VERDICT_LIKELY] = "likely to be kept",
                                        [VERDICT_UNDECIDED] = "undecided",
                                        [VERDICT_LIKELY_VIOLATED] = "likely to be exceeded",
                                        [VERDICT_VIOLATED] = "exceeded"};
    const char *between = "budgets: ";
    for (int i = VERDICT_PROVED; i <= VERDICT_VIOLATED; i++)
        add_count(out, &between, tally->verdicts[i], texts[i]);
    add_count(out, &between, tally->verdicts[VERDICT_NONE], "without a limit");
    add_count(out, &between, tally->bad_budgets, "invalid");
    text_add(out, between[0] == ',' ? "\n" : "");
}

static void add_row(struct text *out, const struct tally_row *row)
{
    text_printf(out, "  %10s  %10s %s %-10s  %-15s  %s", figure_words(row->est, JOULE_DIMENSION_ENERGY).text,
                figure_words(row->low, JOULE_DIMENSION_ENERGY).text, isnan(row->high) ? "  " : "to",
                isnan(row->high) ? "and more" : figure_words(row->high, JOULE_DIMENSION_ENERGY).text,
                row->verdict == VERDICT_NONE ? "" : verdict_name(row->verdict), row->name);
    if (row->line)
        text_printf(out, "  %s:%u", row->file, row->line);
    text_add(out, "\n");
}

void tally_print(const void *page, struct text *out)
{
    const struct tally_page *p = page;
    const struct tally *t = p->tally;
    const char *between = "not checked: ";
    text_printf(out, "%zu C file%s, %zu function%s, %zu with a budget\n", p->files, p->files == 1 ? "" : "s",
                t->functions, t->functions == 1 ? "" : "s", t->budgets);
    add_verdicts(out, t);
    add_count(out, &between, p->refused, "rejected by clang");
    add_count(out, &between, p->broken, p->broken == 1 ? "invalid entry" : "invalid entries");
    add_count(out, &between, p->not_c, "not in C");
    text_add(out, between[0] == ',' ? "\n" : "");
    if (p->foreign)
        text_printf(out, "checked without options that clang does not know: %zu, such as %s\n", p->foreign,
                    p->unknown);
    if (p->baseline) {
        struct change_page changes = {&t->changes, p->baseline};
        text_add(out, "\n");
        change_tally_print(&changes, out);
    }
    if (!t->row_count)
        return;
    text_printf(out, "\nmost joules per call (%s, table %s)\n  %10s  %10s    %-10s  %-15s  %s\n",
                joule_class_name(t->cls), t->table, "estimate", "5 %", "95 %", "verdict", "function");
    for (size_t i = 0; i < t->row_count; i++)
        add_row(out, &t->rows[i]);
}
