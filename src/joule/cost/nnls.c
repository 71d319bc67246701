/* joule/cost/nnls.c - see nnls.h. */
#include "joule/cost/nnls.h"

#include <math.h>
#include <string.h>

#define PIVOT  1e-13 /* relative to the squared length of a column; smaller values are rounding errors */
#define SWEEPS 60    /* maximum number of Jacobi sweeps */

void nnls_begin(struct nnls *problem, size_t count)
{
    memset(problem, 0, sizeof *problem);
    problem->count = count;
}

void nnls_add(struct nnls *problem, const double *row, double value)
{
    for (size_t i = 0; i < problem->count; i++) {
        for (size_t k = 0; k < problem->count; k++)
            problem->gram[i][k] += row[i] * row[k];
        problem->moment[i] += row[i] * value;
    }
    problem->squares += value * value;
    problem->rows++;
}

/* --- the free unknowns ---------------------------------------------------------------------------------- */

/* The free unknowns (not fixed at 0), with the factorised matrix. */
struct part {
    size_t count, of[NNLS_MAX];        /* indices of the free unknowns */
    double factor[NNLS_MAX][NNLS_MAX]; /* lower Cholesky factor: [count, count] */
};

/* Factorises the Gram matrix of the free unknowns. An unknown that depends linearly on earlier ones is
 * omitted from `part`. */
static void factorise(const struct nnls *problem, const bool *is_free, struct part *part)
{
    part->count = 0;
    for (size_t i = 0; i < problem->count; i++) {
        if (!is_free[i])
            continue;
        size_t row = part->count;
        double remaining = problem->gram[i][i];
        for (size_t k = 0; k < row; k++) {
            double sum = problem->gram[i][part->of[k]];
            for (size_t m = 0; m < k; m++)
                sum -= part->factor[row][m] * part->factor[k][m];
            part->factor[row][k] = sum / part->factor[k][k];
            remaining -= part->factor[row][k] * part->factor[row][k];
        }
        if (!(remaining > PIVOT * problem->gram[i][i]))
            continue;
        part->factor[row][row] = sqrt(remaining);
        part->of[part->count++] = i;
    }
}

/* Solves for the free unknowns with the Cholesky factor. right, out: [part->count] */
static void solve_part(const struct part *part, const double *right, double *out)
{
    double y[NNLS_MAX];
    for (size_t i = 0; i < part->count; i++) {
        y[i] = right[i];
        for (size_t k = 0; k < i; k++)
            y[i] -= part->factor[i][k] * y[k];
        y[i] /= part->factor[i][i];
    }
    for (size_t i = part->count; i-- > 0;) {
        out[i] = y[i];
        for (size_t k = i + 1; k < part->count; k++)
            out[i] -= part->factor[k][i] * out[k];
        out[i] /= part->factor[i][i];
    }
}

/* Solves for the free unknowns, with any sign; the others are 0. */
static void solve_free(const struct nnls *problem, const bool *is_free, double *out_x)
{
    struct part part;
    double right[NNLS_MAX] = {0}, found[NNLS_MAX] = {0};
    factorise(problem, is_free, &part);
    for (size_t i = 0; i < part.count; i++)
        right[i] = problem->moment[part.of[i]];
    solve_part(&part, right, found);
    for (size_t i = 0; i < problem->count; i++)
        out_x[i] = 0;
    for (size_t i = 0; i < part.count; i++)
        out_x[part.of[i]] = found[i];
}

/* --- non-negative solution ------------------------------------------------------------------------------ */

/* Returns the unknown fixed at 0 whose release would reduce the squares most; problem->count: none. */
static size_t find_best_release(const struct nnls *problem, const bool *is_free, const bool *is_barred,
                                const double *x)
{
    size_t released = problem->count;
    double max = 0;
    for (size_t i = 0; i < problem->count; i++) {
        double length = sqrt(problem->gram[i][i]), pull = problem->moment[i];
        for (size_t k = 0; k < problem->count; k++)
            pull -= problem->gram[i][k] * x[k];
        if (is_free[i] || is_barred[i] || !(length > 0) || !(pull / length > max))
            continue;
        if (pull / length > 1e-10 * sqrt(problem->squares)) {
            max = pull / length;
            released = i;
        }
    }
    return released;
}

/* Moves x towards `goal` until the first unknown reaches 0, and fixes that unknown at 0. Returns true if x
 * reached the goal. */
static bool move_towards(const struct nnls *problem, bool *is_free, double *x, const double *goal)
{
    double part = 1;
    size_t first = problem->count;
    for (size_t i = 0; i < problem->count; i++)
        if (is_free[i] && goal[i] <= 0 && x[i] <= part * (x[i] - goal[i])) {
            part = x[i] > goal[i] ? x[i] / (x[i] - goal[i]) : 0;
            first = i;
        }
    for (size_t i = 0; i < problem->count; i++)
        x[i] += is_free[i] ? part * (goal[i] - x[i]) : 0;
    if (first == problem->count)
        return true;
    is_free[first] = false;
    x[first] = 0;
    return false;
}

bool nnls_solve(const struct nnls *problem, double *out_x)
{
    bool is_free[NNLS_MAX] = {false}, is_barred[NNLS_MAX] = {false};
    double goal[NNLS_MAX];
    for (size_t i = 0; i < problem->count; i++)
        out_x[i] = 0;
    for (size_t round = 0; round < 10 * NNLS_MAX; round++) {
        size_t released = find_best_release(problem, is_free, is_barred, out_x);
        if (released == problem->count)
            return isfinite(nnls_residual(problem, out_x));
        is_free[released] = true;
        solve_free(problem, is_free, goal);
        /* releasing this unknown gains nothing: the gradient was a rounding error */
        if (goal[released] <= 0) {
            is_free[released] = false;
            is_barred[released] = true;
            continue;
        }
        memset(is_barred, 0, sizeof is_barred);
        while (!move_towards(problem, is_free, out_x, goal))
            solve_free(problem, is_free, goal);
    }
    return false;
}

double nnls_residual(const struct nnls *problem, const double *x)
{
    double residual = problem->squares;
    for (size_t i = 0; i < problem->count; i++) {
        double product = 0;
        for (size_t k = 0; k < problem->count; k++)
            product += problem->gram[i][k] * x[k];
        residual += x[i] * (product - 2 * problem->moment[i]);
    }
    return residual > 0 || isnan(residual) ? residual : 0;
}

void nnls_errors(const struct nnls *problem, const double *x, double *out_sd)
{
    bool is_free[NNLS_MAX];
    struct part part;
    for (size_t i = 0; i < problem->count; i++) {
        is_free[i] = x[i] > 0;
        out_sd[i] = problem->gram[i][i] > 0 ? 1 / sqrt(problem->gram[i][i]) : INFINITY;
    }
    factorise(problem, is_free, &part);
    for (size_t i = 0; i < part.count; i++) {
        double unit[NNLS_MAX] = {0}, column[NNLS_MAX];
        unit[i] = 1;
        solve_part(&part, unit, column);
        out_sd[part.of[i]] = sqrt(column[i]);
    }
}

/* --- condition ------------------------------------------------------------------------------------------ */

/* A symmetric matrix m, and its eigenvectors. of: indices of its unknowns. */
struct symmetric {
    size_t count, of[NNLS_MAX];
    double m[NNLS_MAX][NNLS_MAX], vectors[NNLS_MAX][NNLS_MAX];
};

/* Fills *s with the Gram matrix for columns scaled to length 1. Columns of length 0 are omitted. */
static void scale(const struct nnls *problem, struct symmetric *s)
{
    s->count = 0;
    for (size_t i = 0; i < problem->count; i++)
        if (problem->gram[i][i] > 0)
            s->of[s->count++] = i;
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->count; k++) {
            size_t a = s->of[i], b = s->of[k];
            s->m[i][k] = problem->gram[a][b] / sqrt(problem->gram[a][a] * problem->gram[b][b]);
            s->vectors[i][k] = i == k;
        }
}

/* Makes the element (p, q) 0 by a Jacobi rotation. */
static void rotate(struct symmetric *s, size_t p, size_t q)
{
    double(*m)[NNLS_MAX] = s->m, theta = (m[q][q] - m[p][p]) / (2 * m[p][q]);
    double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), sine = t * c;
    for (size_t k = 0; k < s->count; k++) {
        double a = m[k][p], b = m[k][q];
        m[k][p] = c * a - sine * b;
        m[k][q] = sine * a + c * b;
    }
    for (size_t k = 0; k < s->count; k++) {
        double a = m[p][k], b = m[q][k], v = s->vectors[k][p], w = s->vectors[k][q];
        m[p][k] = c * a - sine * b;
        m[q][k] = sine * a + c * b;
        s->vectors[k][p] = c * v - sine * w;
        s->vectors[k][q] = sine * v + c * w;
    }
}

/* Computes the eigenvalues, on the diagonal of m, and the eigenvectors. */
static void diagonalise(struct symmetric *s)
{
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double off = 0;
        for (size_t p = 0; p < s->count; p++)
            for (size_t q = p + 1; q < s->count; q++) {
                off += s->m[p][q] * s->m[p][q];
                if (fabs(s->m[p][q]) > 1e-300)
                    rotate(s, p, q);
            }
        if (!(off > 1e-28))
            return;
    }
}

double nnls_condition(const struct nnls *problem, size_t out_pair[2])
{
    struct symmetric s;
    size_t min = 0, first = 0, second = 0;
    double max = 0;
    scale(problem, &s);
    diagonalise(&s);
    out_pair[0] = out_pair[1] = 0;
    if (s.count < 2)
        return 1;
    for (size_t i = 0; i < s.count; i++) {
        max = fmax(max, s.m[i][i]);
        if (s.m[i][i] < s.m[min][min])
            min = i;
    }
    /* The pair consists of the two unknowns with the largest components of opposite sign in the eigenvector
     * of the smallest eigenvalue. */
    for (size_t i = 0; i < s.count; i++)
        if (fabs(s.vectors[i][min]) > fabs(s.vectors[first][min]))
            first = i;
    double sign = copysign(1, s.vectors[first][min]);
    second = first == 0;
    for (size_t i = 0; i < s.count; i++)
        if (i != first && sign * s.vectors[i][min] < sign * s.vectors[second][min])
            second = i;
    out_pair[0] = s.of[first];
    out_pair[1] = s.of[second];
    double smallest = s.m[min][min];
    return smallest > 1e-15 * max ? max / smallest : INFINITY;
}
