/* joulec/verdict/tally.h - counts the functions and verdicts of many translation units, and lists the
 * functions that take most joules.
 *
 * Note: the tally contains no pointers, so that a process can send it to another process.
 */
#ifndef JOULEC_TALLY_H
#define JOULEC_TALLY_H

#include "joulec/verdict/change_tally.h"
#include "joulec/verdict/findings.h"

#define TALLY_LARGEST 10

/* One line of the table: a function whose joules of a call are known. */
struct tally_row {
    double low, est, high; /* joules of a call */
    enum verdict verdict;
    unsigned line;
    char name[96], file[160]; /* names that are too long are truncated */
};

/* Sums over translation units. All zeros: nothing was added yet. */
struct tally {
    size_t functions, budgets, bad_budgets;
    size_t verdicts[VERDICT_VIOLATED + 1];
    struct tally_row rows[TALLY_LARGEST]; /* most joules first */
    size_t row_count;
    joule_class cls;             /* class of the prices */
    char table[48];              /* name of the price table; empty: nothing was added */
    struct change_tally changes; /* differences from a stored report */
};

/* Adds the functions of one translation unit, and their changes from the stored report. */
void tally_add(struct tally *tally, const struct judged *judged);
/* Adds the counts and rows of `more` to `tally`. */
void tally_merge(struct tally *tally, const struct tally *more);

/* Contents of the summary. */
struct tally_page {
    const struct tally *tally;
    size_t files; /* number of sources that were checked */
    /* Numbers of sources that were not checked: rejected by clang, invalid entry, not in C. */
    size_t refused, broken, not_c;
    size_t foreign;      /* number of sources that were checked without options unknown to clang */
    const char *unknown; /* one of the options that clang does not know */
    const struct baseline *baseline; /* stored report with which functions were compared; NULL: none */
};
/* Prints the summary as text. page: a struct tally_page. */
void tally_print(const void *page, struct text *out);

#endif
