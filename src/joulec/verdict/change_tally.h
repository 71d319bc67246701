/* joulec/verdict/change_tally.h - how many functions differ from a stored report, and which differ most.
 *
 * Note: it holds no pointers, so that a process can hand it to another.
 */
#ifndef JOULEC_CHANGE_TALLY_H
#define JOULEC_CHANGE_TALLY_H

#include "joulec/verdict/findings.h"

#define MAX_CHANGE_ROWS 20

struct change_row {
    enum change change;
    bool is_gone;       /* `change` has no meaning then */
    double before, now; /* joules of a call; NaN: it was not there, or is gone */
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
    size_t left_out; /* rows for which there was no room */
};

/* Adds the functions of one file; without a comparison nothing. */
void change_tally_add(struct change_tally *tally, const struct judged *judged);
/* Adds all functions of a file that is in the stored report and was not judged. */
void change_tally_add_gone(struct change_tally *tally, const struct baseline_unit *unit);
void change_tally_merge(struct change_tally *tally, const struct change_tally *more);
/* Whether anything differs. */
bool change_tally_differs(const struct change_tally *tally);

struct change_page {
    const struct change_tally *tally;
    const struct baseline *baseline;
};
/* The table, for people. */
void change_tally_print(const void *page, struct text *out);

#endif
