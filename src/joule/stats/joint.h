/* joule/stats/joint.h - the p-value of the smallest of several dependent p-values.
 *
 * The tests are t tests of the same runs. Their statistics are combinations of two normal means, such as the
 * mean logarithms of energy and time. In coordinates in which the two means are independent with equal
 * variance, each statistic belongs to a direction. The cosine of the angle between two directions is the
 * correlation of their statistics.
 */
#ifndef JOULE_STATS_JOINT_H
#define JOULE_STATS_JOINT_H

#include <stddef.h>

#define JOINT_MAX_TESTS 4

/* Returns the probability that the smallest two-sided p-value of `count` tests is at most p if all their null
 * hypotheses are true. The result lies between p (equal directions) and count * p. NaN if p or freedom is
 * unknown. angles: [count], of the directions in radians; count: 1 to JOINT_MAX_TESTS; freedom: degrees of
 * freedom, > 0.
 * Note: for many degrees of freedom, the result is exact. For few, it is an approximation, because the
 * directions are estimates, too. If the result is 5 %, the true probability is 4.6 % to 5.3 % for 3 or more
 * degrees of freedom (test_compare_errors). */
double joint_p(const double *angles, size_t count, double p, double freedom);

#endif
