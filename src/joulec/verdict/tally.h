/* joulec/verdict/tally.h - sums up many translation units: functions, verdicts, and the functions that take
 * most joules.
 *
 * Note: it holds no pointers, so that a process can pass it to another one.
 */
#ifndef JOULEC_TALLY_H
#define JOULEC_TALLY_H

#include "joulec/verdict/change_tally.h"
#include "joulec/verdict/findings.h"

#define TALLY_LARGEST 10

struct tally_row {
    double low, est, high; /* joules of a call */
    enum verdict verdict;
    unsigned line;
    char name[96], file[160]; /* cut where they are longer */
};

struct tally {
    size_t functions, budgets, bad_budgets;
    size_t verdicts[VERDICT_VIOLATED + 1];
    struct tally_row rows[TALLY_LARGEST]; /* most joules first */
    size_t row_count;
    joule_class cls;             /* class of the prices */
    char table[48];              /* name of the price table; empty: nothing was added */
    struct change_tally changes; /* differences from a stored report */
};

void tally_add(struct tally *tally, const struct judged *judged);
void tally_merge(struct tally *tally, const struct tally *more);

/* Contents of the summary. */
struct tally_page {
    const struct tally *tally;
    size_t files;                    /* sources that were checked */
    size_t refused, broken, not_c;   /* sources that were not checked */
    size_t foreign;                  /* sources checked without options that clang does not know */
    const char *unknown;             /* one of these options */
    const struct baseline *baseline; /* stored report with which functions were compared; NULL: none */
};
void tally_print(const void *page, struct text *out);

#endif
