/* joule/stats/distribution.c - see distribution.h. */
#include "joule/stats/distribution.h"

#include <float.h>
#include <math.h>

#define PI 3.14159265358979323846
/* More degrees of freedom are treated as infinitely many. */
#define NORMAL_FREEDOM 1e8

double normal_cdf(double z)
{
    return erfc(-z / sqrt(2)) / 2;
}

/* Returns the standard normal density at z. */
static double normal_density(double z)
{
    return exp(-z * z / 2) / sqrt(2 * PI);
}

/* Returns the normal quantile of 0 < p <= 0.5: Abramowitz and Stegun 26.2.23, improved by steps of Halley's
 * method, each of which triples the number of correct digits. */
static double normal_lower_quantile(double p)
{
    double t = sqrt(-2 * log(p));
    double z =
        (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
    for (int i = 0; i < 3; i++) {
        double step = (normal_cdf(z) - p) / normal_density(z);
        z -= step / (1 + z * step / 2);
    }
    return z;
}

double normal_quantile(double p)
{
    if (!(p >= 0 && p <= 1))
        return NAN;
    if (p == 0 || p == 1)
        return p == 0 ? -INFINITY : INFINITY;
    return p <= 0.5 ? normal_lower_quantile(p) : -normal_lower_quantile(1 - p);
}

/* Returns Gamma(x + 1/2) / Gamma(x), x > 0: the recurrence up to 16, then the asymptotic series of its
 * logarithm (from DLMF 5.11.8).
 * Note: lgamma would lose digits for large x, and sets a global variable. */
static double gamma_half_ratio(double x)
{
    double factor = 1;
    while (x < 16) {
        factor *= x / (x + 0.5);
        x++;
    }
    double r = 1 / x, r2 = r * r;
    double series =
        r * (-1.0 / 8 + r2 * (1.0 / 192 + r2 * (-1.0 / 640 + r2 * (17.0 / 14336 - r2 * 31.0 / 18432))));
    return factor * sqrt(x) * exp(series);
}

/* Returns the continued fraction of the incomplete beta function I_x(a, b), DLMF 8.17.22, without the factor
 * in front of it, by the modified method of Lentz. Needs x < (a + 1) / (a + b + 2) to converge fast. */
static double beta_fraction(double x, double a, double b)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
    double value = d;
    for (int m = 1; m < 100000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        value *= c * d;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        value *= c * d;
        if (fabs(c * d - 1) < DBL_EPSILON)
            break;
    }
    return value;
}

/* Returns Student's t density at t. */
static double student_density(double t, double freedom)
{
    double log_kernel = -(freedom + 1) / 2 * log1p(t * t / freedom);
    return gamma_half_ratio(freedom / 2) / sqrt(PI * freedom) * exp(log_kernel);
}

/* Returns the probability that a variate exceeds t >= 0: I_x(freedom / 2, 1/2) / 2 with x = freedom /
 * (freedom + t^2), or 1/2 minus the complement if that converges faster. The factors in front of both
 * fractions are multiples of the density. */
static double student_tail(double t, double freedom)
{
    double a = freedom / 2, x = 1 / (1 + t * t / freedom), rest = 1 / (1 + freedom / (t * t));
    double scale = student_density(t, freedom) * t;
    if (!(t > 0) || x == 0)
        return t > 0 ? 0 : 0.5;
    if (x < (a + 1) / (a + 2.5))
        return scale / freedom * beta_fraction(x, a, 0.5);
    return 0.5 - scale * beta_fraction(rest, 0.5, a);
}

double student_cdf(double t, double freedom)
{
    if (isnan(t) || !(freedom > 0))
        return NAN;
    if (freedom > NORMAL_FREEDOM)
        return normal_cdf(t);
    return t < 0 ? student_tail(-t, freedom) : 1 - student_tail(t, freedom);
}

/* Returns the t >= 0 that is exceeded with probability p, 0 < p <= 0.5. Newton's method on the logarithm of
 * the tail, with bisection if a step leaves the bracket. */
static double student_upper_quantile(double p, double freedom)
{
    double low = 0, high = 1;
    while (student_tail(high, freedom) > p) {
        low = high;
        high *= 2;
    }
    double t = low;
    for (int i = 0; i < 200; i++) {
        double tail = student_tail(t, freedom);
        *(tail > p ? &low : &high) = t;
        double next = t + log(tail / p) * tail / student_density(t, freedom);
        if (!(next > low && next < high))
            next = low + (high - low) / 2;
        if (fabs(next - t) <= 4 * DBL_EPSILON * next)
            return next;
        t = next;
    }
    return t;
}

double student_quantile(double p, double freedom)
{
    if (!(p >= 0 && p <= 1) || !(freedom > 0))
        return NAN;
    if (freedom > NORMAL_FREEDOM || p == 0 || p == 1)
        return normal_quantile(p);
    if (p == 0.5)
        return 0;
    return p < 0.5 ? -student_upper_quantile(p, freedom) : student_upper_quantile(1 - p, freedom);
}
