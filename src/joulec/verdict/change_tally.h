/* joulec/verdict/change_tally.h - counts the functions that differ from a stored report, and keeps those that
 * differ most.
 *
 * Note: it holds no pointers, so that a process can pass it to another one.
 */
#ifndef JOULEC_CHANGE_TALLY_H
#define JOULEC_CHANGE_TALLY_H

#include "joulec/verdict/findings.h"

#define MAX_CHANGE_ROWS 20

struct change_row {
    enum change change;
    bool is_gone;       /* `change` is not valid then */
    double before, now; /* joules of a call; NaN: new, or gone */
    double ratio, low, high;
    unsigned line;
    char name[96], file[160], old_name[96]; /* cut where they are longer */
};

struct change_tally {
    size_t counts[CHANGES];
    size_t gone, renamed;
    struct change_row rows
        [MAX_CHANGE_ROWS]; /* the most important first; functions that did not change are not among them */
    size_t row_count;
    size_t left_out; /* number of rows that did not fit */
};

/* Adds the functions of one file; does nothing without a comparison. */
void change_tally_add(struct change_tally *tally, const struct judged *judged);
/* Adds all functions of a file of the stored report that was not judged. */
void change_tally_add_gone(struct change_tally *tally, const struct baseline_unit *unit);
void change_tally_merge(struct change_tally *tally, const struct change_tally *more);
/* Returns true if any function differs. */
bool change_tally_differs(const struct change_tally *tally);

struct change_page {
    const struct change_tally *tally;
    const struct baseline *baseline;
};
/* Prints the table as text. */
void change_tally_print(const void *page, struct text *out);

#endif
