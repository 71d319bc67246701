/* joule/stats/holm.h - corrects p-values of many tests: Holm, "A simple sequentially rejective multiple test
 * procedure", 1979.
 *
 * If tests with a corrected p-value of at most 0.05 are called significant, the probability of one or more
 * false ones among them is at most 0.05, whatever the dependence between the tests.
 */
#ifndef JOULE_STATS_HOLM_H
#define JOULE_STATS_HOLM_H

#include <stddef.h>

/* Replaces the p-values of a family by corrected ones. The k-th smallest of m values is multiplied by
 * (m - k + 1). A result is at least as large as the results of smaller values, and at most 1. NaN values
 * are not counted and stay NaN. p: [count]; scratch: [2 * count] */
void holm_correct(double *p, size_t count, double *scratch);

#endif
