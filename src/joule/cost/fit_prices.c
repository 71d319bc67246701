/* joule/cost/fit_prices.c - fits the prices of a table; see fit.h.
 *
 * Typical prices are first scaled to this machine. Each unknown is then a factor on the prices of a group of
 * features.
 * Note: nearly every micro-operation counts in COST_UOPS and in exactly one class. So the kernels hardly show
 * which part of its energy belongs to which of the two prices. Features that cannot be separated form a
 * group, in which the ratios of prices remain typical.
 */
#include "joule/cost/fit.h"

#include <math.h>
#include <stdlib.h>
#include "base/error.h"
#include "joule/cost/fit_errors.h"
#include "joule/cost/nnls.h"

#define KERNEL_LOG_SD 0.02 /* in addition to the spread of repeats */
#define PRICE_SD      3    /* sd of the prior of a factor; with this value the prior hardly matters */
#define MIN_JOULES    1e-13
#define MAX_CONDITION 1e5 /* limit of nnls_condition; relative errors grow with its square root */
#define MIN_GROUPS    4

/* The problem: kernels, scaled typical prices, and groups of features. */
struct pricing {
    const struct fit_kernel *kernels;
    size_t count;
    double price[COST_FEATURES]; /* typical, scaled to this machine */
    int group[COST_FEATURES];    /* group of each feature; -1: no kernel uses the feature */
    size_t group_count;
};

/* Returns true if a kernel has joules that are steady enough for the fit. */
static bool is_used(const struct fit_kernel *kernel)
{
    return kernel->joules > 0 && kernel->joules_log_sd <= FIT_MAX_SPREAD;
}

/* Returns the amount of a feature in a kernel: measured if it is a time or cycles, otherwise counted. */
static double amount_of(const struct fit_kernel *kernel, int feature)
{
    if (feature == COST_PACKAGE_SECONDS)
        return kernel->seconds;
    if (feature == COST_CYCLES)
        return kernel->family == FIT_IDLE ? 0 : kernel->cycles;
    return kernel->work.amount[feature];
}

/* Returns the joules of a kernel at these prices. */
static double joules_by(const struct fit_kernel *kernel, const double *price)
{
    double joules = 0;
    for (int i = 0; i < COST_FEATURES; i++)
        if (amount_of(kernel, i) > 0)
            joules += amount_of(kernel, i) * price[i];
    return joules;
}

/* --- unknowns ------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the median ratio of measured to typical joules; NaN: no kernel. */
static double median_ratio(const struct pricing *p)
{
    double ratios[FIT_MAX_KERNELS];
    size_t known = 0;
    for (size_t i = 0; i < p->count; i++)
        if (is_used(&p->kernels[i]))
            ratios[known++] = p->kernels[i].joules / joules_by(&p->kernels[i], p->price);
    qsort(ratios, known, sizeof *ratios, by_value);
    return known ? ratios[known / 2] : NAN;
}

static void list_groups(struct pricing *p, const struct cost_table *typical)
{
    for (int i = 0; i < COST_FEATURES; i++) {
        bool has_kernel = false;
        for (size_t k = 0; k < p->count; k++)
            has_kernel |= is_used(&p->kernels[k]) && amount_of(&p->kernels[k], i) > 0;
        p->group[i] = has_kernel ? (int)p->group_count++ : -1;
        p->price[i] = typical->joules[i] > 0 ? typical->joules[i] : MIN_JOULES;
    }
    double scale = median_ratio(p);
    for (int i = 0; i < COST_FEATURES; i++)
        p->price[i] *= scale;
}

static void fill(const struct pricing *p, const struct fit_kernel *kernel, double *out_row)
{
    double weight = 1 / hypot(KERNEL_LOG_SD, kernel->joules_log_sd);
    for (size_t i = 0; i < p->group_count; i++)
        out_row[i] = 0;
    for (int i = 0; i < COST_FEATURES; i++)
        if (p->group[i] >= 0)
            out_row[p->group[i]] += weight * amount_of(kernel, i) * p->price[i] / kernel->joules;
}

/* Builds the problem. without: a family to leave out. */
static void make_problem(const struct pricing *p, enum fit_family without, struct nnls *out)
{
    double row[NNLS_MAX];
    nnls_begin(out, p->group_count);
    for (size_t i = 0; i < p->count; i++) {
        if (!is_used(&p->kernels[i]) || p->kernels[i].family == without)
            continue;
        fill(p, &p->kernels[i], row);
        nnls_add(out, row, 1 / hypot(KERNEL_LOG_SD, p->kernels[i].joules_log_sd));
    }
}

static void add_prior(struct nnls *problem)
{
    for (size_t i = 0; i < problem->count; i++) {
        double row[NNLS_MAX] = {0};
        row[i] = 1.0 / PRICE_SD;
        nnls_add(problem, row, 1.0 / PRICE_SD);
    }
}

/* Fits the factors of all groups from the kernels of all families but one. Returns false if the fit fails. */
static bool solve(const struct pricing *p, enum fit_family without, double *out_x, struct nnls *out_problem)
{
    make_problem(p, without, out_problem);
    add_prior(out_problem);
    return nnls_solve(out_problem, out_x);
}

static bool find_factors(const void *of, enum fit_family without, double *out_x)
{
    struct nnls problem;
    return solve(of, without, out_x, &problem);
}

/* Merges the group `dropped` into the group `kept`. */
static void merge(struct pricing *p, int kept, int dropped)
{
    for (int i = 0; i < COST_FEATURES; i++) {
        if (p->group[i] == dropped)
            p->group[i] = kept;
        if (p->group[i] > dropped)
            p->group[i]--;
    }
    p->group_count--;
}

/* Merges groups until the kernels can separate the prices of the remaining groups. */
static joule_status separate(struct pricing *p, joule_error *error)
{
    struct nnls problem;
    size_t pair[2];
    for (;;) {
        make_problem(p, FIT_FAMILIES, &problem);
        if (nnls_condition(&problem, pair) <= MAX_CONDITION)
            return JOULE_OK;
        if (p->group_count <= MIN_GROUPS)
            return error_set(error, JOULE_UNSUPPORTED,
                             "the joules of the kernels are too similar to separate their prices: the "
                             "fit is rejected; try --full");
        merge(p, (int)(pair[0] < pair[1] ? pair[0] : pair[1]), (int)(pair[0] < pair[1] ? pair[1] : pair[0]));
    }
}

/* --- result --------------------------------------------------------------------------------------------- */

static void set_prices(const struct pricing *p, const double *x, double out_price[COST_FEATURES])
{
    for (int i = 0; i < COST_FEATURES; i++)
        out_price[i] = p->group[i] >= 0 ? x[p->group[i]] * p->price[i] : 0;
}

static void compute_joule_errors(const void *of, const double *x, double *out_errors)
{
    const struct pricing *p = of;
    double price[COST_FEATURES];
    set_prices(p, x, price);
    for (size_t i = 0; i < p->count; i++)
        out_errors[i] =
            is_used(&p->kernels[i]) ? log(joules_by(&p->kernels[i], price) / p->kernels[i].joules) : NAN;
}

static void set_terms(const struct pricing *p, const struct nnls *problem, const double *x,
                      struct cost_prices *out)
{
    double sd[NNLS_MAX], freedom = fmax(1, (double)problem->rows - 2 * (double)problem->count);
    double excess = sqrt(nnls_residual(problem, x) / freedom);
    nnls_errors(problem, x, sd);
    for (int i = 0; i < COST_FEATURES; i++) {
        int group = p->group[i];
        out->joules[i] = (struct cost_term){NAN, NAN, NAN};
        if (group < 0)
            continue;
        double far = Z90 * excess * sd[group];
        out->joules[i].value = x[group] * p->price[i];
        out->joules[i].low = fmax(0, x[group] - far) * p->price[i];
        out->joules[i].high = (x[group] + far) * p->price[i];
    }
}

/* Checks that prices rise from near to far caches, and from simple to complex operations, within their
 * errors. */
static joule_status check_order(const struct cost_prices *prices, joule_error *error)
{
    static const enum cost_feature pairs[][2] = {{COST_L2_LINES, COST_L3_LINES},
                                                 {COST_L3_LINES, COST_DRAM_LINES},
                                                 {COST_L2_LINES, COST_DRAM_LINES},
                                                 {COST_INT_MULS, COST_INT_DIVS},
                                                 {COST_FP_OPS, COST_FP_DIVS}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct cost_term *less = &prices->joules[pairs[i][0]], *more = &prices->joules[pairs[i][1]];
        if (less->low > more->high)
            return error_set(error, JOULE_UNSUPPORTED,
                             "%s cost %.3g J and %s %.3g J, which is not plausible: the fit is rejected; "
                             "try again when the machine is quiet",
                             cost_feature_name(pairs[i][0]), less->value, cost_feature_name(pairs[i][1]),
                             more->value);
    }
    return JOULE_OK;
}

static joule_status check_repeats(const struct fit_kernel *kernels, size_t count, joule_error *error)
{
    size_t known = 0, used = 0;
    for (size_t i = 0; i < count; i++) {
        known += !isnan(kernels[i].joules);
        used += is_used(&kernels[i]);
    }
    if (used >= 2 * MIN_GROUPS && 10 * used >= 9 * known)
        return JOULE_OK;
    return error_set(
        error, JOULE_UNSUPPORTED,
        "of %zu kernels, only %zu have joules that agree within 10 %% between repeats: other work "
        "runs on this machine, or the sensor is too slow; stop the other work, or try --full",
        known, used);
}

joule_status fit_prices(const struct fit_kernel *kernels, size_t count, const struct cost_table *typical,
                        struct cost_prices *out, struct fit_errors *out_errors, joule_error *out_error)
{
    struct pricing p = {.kernels = kernels, .count = count};
    double x[NNLS_MAX];
    struct nnls problem;
    *out = (struct cost_prices){.cls = JOULE_CLASS_NONE};
    if (count > FIT_MAX_KERNELS)
        return error_set(out_error, JOULE_INVALID, "cannot fit more than %d kernels", FIT_MAX_KERNELS);
    joule_status status = check_repeats(kernels, count, out_error);
    if (status != JOULE_OK)
        return status;
    list_groups(&p, typical);
    status = separate(&p, out_error);
    if (status != JOULE_OK)
        return status;
    struct fit_method method = {&p, find_factors, compute_joule_errors};
    if (!solve(&p, FIT_FAMILIES, x, &problem) || !fit_find_errors(&method, kernels, count, x, out_errors))
        return error_set(out_error, JOULE_UNSUPPORTED,
                         "no prices fit the joules of the kernels: the fit is rejected");
    set_terms(&p, &problem, x, out);
    out->log_sd = out_errors->log_sd;
    status = fit_check_errors(out_errors, out_error);
    return status == JOULE_OK ? check_order(out, out_error) : status;
}
