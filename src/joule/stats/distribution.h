/* joule/stats/distribution.h - the normal distribution and Student's t distribution.
 *
 * For 1 to 10^6 degrees of freedom, the relative error of a lower tail is below 10^-10, down to
 * probabilities of 10^-100. Arguments that are NaN or out of range give NaN.
 */
#ifndef JOULE_STATS_DISTRIBUTION_H
#define JOULE_STATS_DISTRIBUTION_H

/* Returns the probability that a standard normal variate is at most z. */
double normal_cdf(double z);
/* Returns the z with normal_cdf(z) = p; -INFINITY for 0, INFINITY for 1. */
double normal_quantile(double p);

/* Returns the probability that a variate of Student's t distribution is at most t. freedom: degrees of
 * freedom, any real number > 0; above 10^8, the normal distribution is used. Formula: incomplete beta
 * function, DLMF 8.17.22. */
double student_cdf(double t, double freedom);
/* Returns the t with student_cdf(t, freedom) = p; -INFINITY for 0, INFINITY for 1. */
double student_quantile(double p, double freedom);

#endif
