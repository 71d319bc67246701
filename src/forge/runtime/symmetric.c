/* runtime/symmetric.c - see symmetric.h. */
#include "forge/runtime/symmetric.h"

#include <math.h>
#include <string.h>

static double dot(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

bool symmetric_factor(double *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double *row = a + i * n;
        for (size_t j = 0; j < i; j++)
            row[j] = (row[j] - dot(row, a + j * n, j)) / a[j * n + j];
        double pivot = row[i] - dot(row, row, i);
        if (!(pivot > 0 && isfinite(pivot)))
            return false;
        row[i] = sqrt(pivot);
    }
    return true;
}

void symmetric_solve(const double *l, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (x[i] - dot(l + i * n, x, i)) / l[i * n + i];
    for (size_t i = n; i-- > 0;) {
        x[i] /= l[i * n + i];
        for (size_t j = 0; j < i; j++)
            x[j] -= l[i * n + j] * x[i];
    }
}

void symmetric_inverse(const double *l, size_t n, double *out_inverse)
{
    memset(out_inverse, 0, n * n * sizeof *out_inverse);
    for (size_t i = 0; i < n; i++) {
        out_inverse[i * n + i] = 1;
        symmetric_solve(l, n, out_inverse + i * n);
    }
}

double symmetric_log_determinant(const double *l, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += 2 * log(l[i * n + i]);
    return sum;
}

double symmetric_form(const double *a, size_t n, const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] * a[i * n + i] * y[i];
        for (size_t j = 0; j < i; j++)
            sum += a[i * n + j] * (x[i] * y[j] + x[j] * y[i]);
    }
    return sum;
}

void symmetric_apply(const double *a, size_t n, const double *x, double *out)
{
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        out[i] += dot(a + i * n, x, i + 1);
        for (size_t j = 0; j < i; j++)
            out[j] += a[i * n + j] * x[i];
    }
}
