/* joule/cost/fit.c - fits the speeds of a core; see fit.h.
 *
 * Each unknown is a factor: a typical latency is multiplied by it, a typical rate is divided by it. A weak
 * prior of 1 keeps the factors that no kernel depends on at 1.
 * Note: a cycle is defined as the latency of a dependent addition, so this latency is not an unknown.
 */
#include "joule/cost/fit.h"

#include <math.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/cost/fit_errors.h"
#include "joule/cost/nnls.h"

/* Standard deviations. KERNEL: of a kernel's cycles about the model, in addition to the spread of its
 * repeats. The others are priors of factors: of the core, of caches and memory, and of overlap (assumed; many
 * kernels outweigh them). */
#define KERNEL_LOG_SD 0.1
#define CORE_SD       0.7
#define LINES_SD      1.5
#define OVERLAP_SD    0.5

#define MIN_FACTOR 0.05 /* minimum of a factor */
#define STEPS      60   /* maximum number of linear steps */
#define HALVES     12   /* maximum halvings of one step */
#define SETTLED    1e-6 /* the search ends if the squares decrease by a smaller part */
#define SLOPE      1e-4 /* change of a factor for a numeric derivative */

#define MAX_UNSTEADY 0.1 /* maximum part of kernels that are unusable because of their spread */

const char *fit_family_name(enum fit_family family)
{
    static const char *const names[FIT_FAMILIES] = {
        "idle", "chains", "units", "vectors", "branches", "caches", "line mixes", "int mixes", "float mixes"};
    return (unsigned)family < FIT_FAMILIES ? names[family] : "unknown";
}

/* --- unknowns ------------------------------------------------------------------------------------------- */

enum unknown_kind { IS_RATE, IS_LATENCY, IS_OVERLAP };

/* One unknown of the fit. */
struct unknown {
    enum unknown_kind kind;
    int feature;
    double sd; /* prior standard deviation of the factor */
};

/* The problem: kernels, the typical core, and the unknowns. */
struct search {
    const struct fit_kernel *kernels;
    size_t count;
    const struct cost_core *typical;
    struct unknown unknowns[NNLS_MAX];
    size_t unknown_count;
};

/* Returns true if a kernel has cycles that are steady enough for the fit. */
static bool is_used(const struct fit_kernel *kernel)
{
    return kernel->family != FIT_IDLE && kernel->cycles > 0 && kernel->cycles_log_sd <= FIT_MAX_SPREAD;
}

/* Returns true if a used kernel depends on the rate of a feature. */
static bool determines_rate(const struct search *s, int feature)
{
    bool determines = false;
    for (size_t i = 0; i < s->count; i++)
        determines |= is_used(&s->kernels[i]) && s->kernels[i].work.amount[feature] > 0;
    return determines && s->typical->per_cycle[feature] > 0;
}

/* Returns true if a used kernel depends on the latency of a feature. */
static bool determines_latency(const struct search *s, int feature)
{
    bool determines = false;
    for (size_t i = 0; i < s->count; i++)
        determines |= is_used(&s->kernels[i]) &&
                      (s->kernels[i].chain[feature] > 0 ||
                       (feature == COST_MISPREDICTS && s->kernels[i].work.amount[feature] > 0));
    return determines && s->typical->latency[feature] > 0 && feature != COST_INT_OPS;
}

static void add_unknown(struct search *s, enum unknown_kind kind, int feature, double sd)
{
    if (s->unknown_count < NNLS_MAX)
        s->unknowns[s->unknown_count++] = (struct unknown){kind, feature, sd};
}

static void list_unknowns(struct search *s)
{
    for (int i = COST_UOPS; i <= COST_DRAM_LINES; i++) {
        double sd = i >= COST_MISPREDICTS ? LINES_SD : CORE_SD;
        if (determines_rate(s, i))
            add_unknown(s, IS_RATE, i, sd);
        if (determines_latency(s, i))
            add_unknown(s, IS_LATENCY, i, sd);
    }
    add_unknown(s, IS_OVERLAP, 0, OVERLAP_SD);
}

/* Fills *out: the typical core with the factors x applied. */
static void make_core(const struct search *s, const double *x, struct cost_core *out)
{
    *out = *s->typical;
    for (size_t i = 0; i < s->unknown_count; i++) {
        const struct unknown *u = &s->unknowns[i];
        if (u->kind == IS_RATE)
            out->per_cycle[u->feature] /= x[i];
        else if (u->kind == IS_LATENCY)
            out->latency[u->feature] *= x[i];
        else
            out->overlap = fmax(1, out->overlap * x[i]);
    }
}

/* --- steps ---------------------------------------------------------------------------------------------- */

double fit_cycles(const struct cost_core *core, const struct fit_kernel *kernel)
{
    struct cost_flow flow = {0, kernel->streamed};
    for (int i = 0; i < COST_FEATURES; i++)
        if (kernel->chain[i] > 0)
            flow.chain_cycles += kernel->chain[i] * core->latency[i];
    return cost_core_cycles(core, &kernel->work, &flow).est;
}

/* Returns the weight of a kernel in the sum of squares. */
static double weight_of(const struct fit_kernel *kernel)
{
    return 1 / hypot(KERNEL_LOG_SD, kernel->cycles_log_sd);
}

/* Returns the weighted sum of squared errors. without: a family to leave out. */
static double squares_at(const struct search *s, enum fit_family without, const double *x)
{
    double squares = 0;
    struct cost_core core;
    make_core(s, x, &core);
    for (size_t i = 0; i < s->count; i++) {
        const struct fit_kernel *k = &s->kernels[i];
        if (!is_used(k) || k->family == without)
            continue;
        double miss = weight_of(k) * log(fit_cycles(&core, k) / k->cycles);
        squares += miss * miss;
    }
    for (size_t i = 0; i < s->unknown_count; i++) {
        double miss = (x[i] - 1) / s->unknowns[i].sd;
        squares += miss * miss;
    }
    return squares;
}

/* Linearises the problem around x. The unknowns of *out are the factors minus MIN_FACTOR, so that no factor
 * falls below MIN_FACTOR. */
static void linearise(const struct search *s, enum fit_family without, const double *x, struct nnls *out)
{
    struct cost_core core, near[NNLS_MAX];
    double row[NNLS_MAX], moved[NNLS_MAX];
    make_core(s, x, &core);
    for (size_t j = 0; j < s->unknown_count; j++) {
        for (size_t i = 0; i < s->unknown_count; i++)
            moved[i] = x[i] + (i == j ? SLOPE : 0);
        make_core(s, moved, &near[j]);
    }
    nnls_begin(out, s->unknown_count);
    for (size_t i = 0; i < s->count; i++) {
        const struct fit_kernel *k = &s->kernels[i];
        if (!is_used(k) || k->family == without)
            continue;
        double weight = weight_of(k), cycles = fit_cycles(&core, k), value = weight * log(k->cycles / cycles);
        for (size_t j = 0; j < s->unknown_count; j++) {
            row[j] = weight * log(fit_cycles(&near[j], k) / cycles) / SLOPE;
            value += row[j] * (x[j] - MIN_FACTOR);
        }
        nnls_add(out, row, value);
    }
    for (size_t j = 0; j < s->unknown_count; j++) {
        for (size_t i = 0; i < s->unknown_count; i++)
            row[i] = i == j ? 1 / s->unknowns[j].sd : 0;
        nnls_add(out, row, (1 - MIN_FACTOR) / s->unknowns[j].sd);
    }
}

/* Moves x towards `goal`; halves the step until the sum of squares decreases. Returns false if no step gives
 * a relevant decrease. */
static bool step(const struct search *s, enum fit_family without, const double *goal, double *x,
                 double *squares)
{
    double part = 1;
    for (int half = 0; half < HALVES; half++, part /= 2) {
        double tried[NNLS_MAX];
        for (size_t i = 0; i < s->unknown_count; i++)
            tried[i] = x[i] + part * (goal[i] - x[i]);
        double now = squares_at(s, without, tried);
        if (!(now < *squares))
            continue;
        bool is_relevant = now < *squares * (1 - SETTLED);
        for (size_t i = 0; i < s->unknown_count; i++)
            x[i] = tried[i];
        *squares = now;
        return is_relevant;
    }
    return false;
}

/* Searches for the best factors. Returns false if the search does not converge. */
static bool search(const struct search *s, enum fit_family without, double *out_x, struct nnls *out_last)
{
    double goal[NNLS_MAX], squares;
    for (size_t i = 0; i < s->unknown_count; i++)
        out_x[i] = 1;
    squares = squares_at(s, without, out_x);
    for (int i = 0; i < STEPS; i++) {
        linearise(s, without, out_x, out_last);
        if (!nnls_solve(out_last, goal))
            return false;
        for (size_t j = 0; j < s->unknown_count; j++)
            goal[j] += MIN_FACTOR;
        if (!step(s, without, goal, out_x, &squares))
            return isfinite(squares);
    }
    return isfinite(squares);
}

/* --- errors --------------------------------------------------------------------------------------------- */

static bool find_factors(const void *of, enum fit_family without, double *out_x)
{
    struct nnls last;
    return search(of, without, out_x, &last);
}

static void compute_cycle_errors(const void *of, const double *x, double *out_errors)
{
    const struct search *s = of;
    struct cost_core core;
    make_core(s, x, &core);
    for (size_t i = 0; i < s->count; i++)
        out_errors[i] =
            is_used(&s->kernels[i]) ? log(fit_cycles(&core, &s->kernels[i]) / s->kernels[i].cycles) : NAN;
}

/* --- result --------------------------------------------------------------------------------------------- */

static struct cost_term term_of(double value, double log_sd)
{
    return (struct cost_term){value, value * exp(-Z90 * log_sd), value * exp(Z90 * log_sd)};
}

static void set_speeds(const struct search *s, const double *x, const struct nnls *last,
                       struct cost_speeds *out)
{
    const struct cost_term none = {NAN, NAN, NAN};
    double sd[NNLS_MAX], excess = squares_at(s, FIT_FAMILIES, x) / (double)last->rows;
    struct cost_core core;
    make_core(s, x, &core);
    nnls_errors(last, x, sd);
    *out = (struct cost_speeds){.hz = none, .overlap = none};
    for (int i = 0; i < COST_FEATURES; i++)
        out->per_cycle[i] = out->latency[i] = none;
    for (size_t i = 0; i < s->unknown_count; i++) {
        const struct unknown *u = &s->unknowns[i];
        double log_sd = fmin(sd[i] * sqrt(fmax(1, excess)), u->sd) / x[i];
        if (u->kind == IS_RATE)
            out->per_cycle[u->feature] = term_of(core.per_cycle[u->feature], log_sd);
        else if (u->kind == IS_LATENCY)
            out->latency[u->feature] = term_of(core.latency[u->feature], log_sd);
        else
            out->overlap = term_of(core.overlap, log_sd);
    }
    out->latency[COST_INT_OPS] = (struct cost_term){1, 1, 1};
}

/* --- plausibility --------------------------------------------------------------------------------------- */

static joule_status check_repeats(const struct fit_kernel *kernels, size_t count, joule_error *error)
{
    size_t unsteady = 0, worst = 0, known = 0;
    for (size_t i = 0; i < count; i++) {
        if (kernels[i].family == FIT_IDLE || !(kernels[i].cycles > 0))
            continue;
        known++;
        unsteady += !(kernels[i].cycles_log_sd <= FIT_MAX_SPREAD);
        if (kernels[i].cycles_log_sd > kernels[worst].cycles_log_sd || !(kernels[worst].cycles > 0))
            worst = i;
    }
    if (!known)
        return error_set(error, JOULE_INVALID, "no kernel was timed");
    if ((double)unsteady <= MAX_UNSTEADY * (double)known)
        return JOULE_OK;
    return error_set(
        error, JOULE_UNSUPPORTED,
        "repeats of %zu of %zu kernels differ by more than 10 %% (largest: '%s', %.0f %%): other work "
        "runs on this machine; stop it and try again",
        unsteady, known, kernels[worst].name, 100 * kernels[worst].cycles_log_sd);
}

/* Checks that latencies rise from near to far caches, and from simple to complex operations. */
static joule_status check_order(const struct cost_speeds *speeds, joule_error *error)
{
    static const enum cost_feature orders[][5] = {{COST_L2_LINES, COST_L3_LINES, COST_DRAM_LINES, 0},
                                                  {COST_INT_OPS, COST_INT_MULS, COST_INT_DIVS, 0},
                                                  {COST_FP_OPS, COST_FP_DIVS, 0}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        int last = 0;
        for (const enum cost_feature *at = orders[i]; *at; at++) {
            double before = last ? speeds->latency[last].value : 0, now = speeds->latency[*at].value;
            if (before > now || now <= 0)
                return error_set(
                    error, JOULE_UNSUPPORTED,
                    "%s take %.3g cycles and %s %.3g, which is not plausible: the fit is rejected; "
                    "try again when the machine is quiet",
                    cost_feature_name(*at), now,
                    last ? cost_feature_name((enum cost_feature)last) : "nothing", before);
            if (!isnan(now))
                last = *at;
        }
    }
    return JOULE_OK;
}

joule_status fit_speeds(const struct fit_kernel *kernels, size_t count, const struct cost_core *typical,
                        struct cost_speeds *out, struct fit_errors *out_errors, joule_error *out_error)
{
    struct search s = {.kernels = kernels, .count = count, .typical = typical};
    double x[NNLS_MAX];
    struct nnls last;
    if (count > FIT_MAX_KERNELS)
        return error_set(out_error, JOULE_INVALID, "cannot fit more than %d kernels", FIT_MAX_KERNELS);
    joule_status status = check_repeats(kernels, count, out_error);
    if (status != JOULE_OK)
        return status;
    list_unknowns(&s);
    struct fit_method method = {&s, find_factors, compute_cycle_errors};
    if (!search(&s, FIT_FAMILIES, x, &last) || !fit_find_errors(&method, kernels, count, x, out_errors))
        return error_set(out_error, JOULE_UNSUPPORTED,
                         "no core fits the times of the kernels: the fit is rejected");
    set_speeds(&s, x, &last, out);
    out->log_sd = out_errors->log_sd;
    status = fit_check_errors(out_errors, out_error);
    return status == JOULE_OK ? check_order(out, out_error) : status;
}
