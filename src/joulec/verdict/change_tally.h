/* joulec/verdict/change_tally.h - counts the functions that differ from a stored report, and lists those that
 * differ most.
 *
 * Note: the tally contains no pointers, so that a process can send it to another process.
 */
#ifndef JOULEC_CHANGE_TALLY_H
#define JOULEC_CHANGE_TALLY_H

#include "joulec/verdict/findings.h"

#define MAX_CHANGE_ROWS 20

/* One line of the table: a function that differs. */
struct change_row {
    enum change change;
    bool is_gone;       /* the function no longer exists; `change` is then not valid */
    double before, now; /* joules of a call; NaN: unknown, because the function is new or gone */
    double ratio, low, high;
    unsigned line;
    char name[96], file[160], old_name[96]; /* names that are too long are truncated */
};

/* Counts of changes, and the most important rows. */
struct change_tally {
    size_t counts[CHANGES];
    size_t gone, renamed;
    struct change_row rows[MAX_CHANGE_ROWS]; /* functions that differ, most important first */
    size_t row_count;
    size_t left_out; /* number of functions that differ and were dropped because `rows` is full */
};

/* Adds the functions of one file. Does nothing if there is no comparison with a stored report. */
void change_tally_add(struct change_tally *tally, const struct judged *judged);
/* Counts all functions of `unit` as gone. unit: a file of the stored report that no longer exists. */
void change_tally_add_gone(struct change_tally *tally, const struct baseline_unit *unit);
/* Adds the counts and rows of `more` to `tally`. */
void change_tally_merge(struct change_tally *tally, const struct change_tally *more);
/* Returns true if any function differs. */
bool change_tally_differs(const struct change_tally *tally);

/* Arguments of change_tally_print. */
struct change_page {
    const struct change_tally *tally;
    const struct baseline *baseline;
};
/* Prints the table as text. page: a struct change_page. */
void change_tally_print(const void *page, struct text *out);

#endif
