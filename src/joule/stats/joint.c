/* joule/stats/joint.c - see joint.h. */
#include "joule/stats/joint.h"

#include <math.h>
#include "joule/stats/distribution.h"

#define PI        3.14159265358979324
#define POINTS    128 /* of the integral over the direction of the two means */
#define ESTIMATED 0.5 /* degrees of freedom that the estimated directions need; see joint_p */

/* Returns the square of the largest cosine of the angles between a direction and those of the tests.
 * tests: [count], points at distance 1 in these directions */
static double largest_projection(const double (*tests)[2], size_t count, double direction)
{
    double x = cos(direction), y = sin(direction), largest = 1e-300;
    for (size_t i = 0; i < count; i++) {
        double projection = tests[i][0] * x + tests[i][1] * y;
        largest = fmax(largest, projection * projection);
    }
    return largest;
}

/* The direction of the two means is uniform. The probability that their distance from 0, with the estimated
 * scatter as the unit, exceeds d is (1 + d^2 / freedom)^(-n / 2). Here n is `freedom` if the estimate is
 * common to all directions (F distribution with 2 and n degrees of freedom), and freedom - 1 if each
 * direction has its own (Hotelling, "The generalization of Student's ratio", 1931). The truth is in between,
 * because the angles are estimates and are taken as known. */
double joint_p(const double *angles, size_t count, double p, double freedom)
{
    double tests[JOINT_MAX_TESTS][2], t = -student_quantile(p / 2, freedom), sum = 0;
    if (isnan(t) || count < 2 || count > JOINT_MAX_TESTS || p <= 0)
        return isnan(t) || count > JOINT_MAX_TESTS ? NAN : p;
    for (size_t i = 0; i < count; i++) {
        tests[i][0] = cos(angles[i]);
        tests[i][1] = sin(angles[i]);
    }
    for (int i = 0; i < POINTS; i++) {
        double squared = t * t / largest_projection(tests, count, (i + 0.5) * PI / POINTS);
        sum += exp(-(freedom - ESTIMATED) / 2 * log1p(squared / freedom));
    }
    return fmin(fmax(sum / POINTS, p), fmin(1, (double)count * p));
}
