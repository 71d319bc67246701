/* joulec/verdict/verdict.c - see verdict.h. */
#include "joulec/verdict/verdict.h"

#include <math.h>

/* Standard deviation of the logarithm of joules, due to the values of operands. Pallister and others (2015)
 * measured an effect of 15 % of a chip's power. */
#define DATA_LOG_SD 0.1
/* Standard deviation of the logarithm of the number of cache lines for known addresses, because caches are
 * not exactly LRU. */
#define LINES_LOG_SD 0.3
/* Low and high are extremes over paths, trip counts and orders of work. The logarithm of the true value is
 * assumed to be uniform between the estimate and each extreme. So the distance from the estimate to the 5 %
 * or 95 % point is this part of the distance to the extreme. */
#define WAY_TO_END 0.9
#define SURE       0.9  /* minimum probability for the verdict likely */
#define VACUOUS    1000 /* ratio of a limit to a figure's upper end above which the limit is vacuous */
#define VAGUE      1e4  /* ratio of an interval's ends above which a figure is vague */
/* Normal quantile for proofs: at most one proof in ten thousand is wrong. With the quantile of intervals
 * (Z90), up to one proof in twenty would be wrong for budgets at the ends of intervals. */
#define Z_PROOF 3.7190164854556804

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {"none",      "proved",          "likely",
                                        "undecided", "likely_violated", "violated"};
    return (unsigned)verdict < sizeof names / sizeof *names ? names[verdict] : "none";
}

/* --- figures -------------------------------------------------------------------------------------------- */

static double log_ratio(double a, double b)
{
    return a > 0 && b > 0 ? log(a / b) : 0;
}

/* Returns a figure computed from three values at middle prices. The values may be in any order, because power
 * is highest where time is lowest. log_sd: standard deviation of the logarithm of the error that the values
 * share. proof_log_sd: like log_sd, but for min and max, which serve proofs. It also includes the error of
 * time, for which the values contain only the margin of a 90 % interval. */
static struct figure make_figure(const double value[BOUNDS], double log_sd, double proof_log_sd)
{
    double est = value[BOUND_EST], far = exp(Z_PROOF * proof_log_sd);
    double low = fmin(fmin(value[BOUND_LOW], value[BOUND_HIGH]), est);
    double high = fmax(fmax(value[BOUND_LOW], value[BOUND_HIGH]), est);
    double down = hypot(WAY_TO_END * log_ratio(est, low), Z90 * log_sd),
           up = hypot(WAY_TO_END * log_ratio(high, est), Z90 * log_sd);
    return (struct figure){.low = low > 0 ? est * exp(-down) : 0,
                           .est = est,
                           .high = est * exp(up),
                           .min = low / far,
                           .max = high * far};
}

static double normal_below(double z)
{
    return 0.5 * erfc(-z / sqrt(2));
}

/* Limits probabilities to 1e-4 ... 1 - 1e-4, because no model is more accurate in its tails. */
static double supported(double probability)
{
    return fmin(fmax(round(1e4 * probability) / 1e4, 1e-4), 1 - 1e-4);
}

static double probability_within(const struct figure *figure, double limit)
{
    if (isnan(figure->est) || isnan(figure->high))
        return NAN;
    double distance = log_ratio(limit, figure->est);
    double side = distance < 0 ? log_ratio(figure->est, figure->low) : log_ratio(figure->high, figure->est);
    if (figure->est <= 0)
        return supported(1);
    return supported(side > 0 ? normal_below(Z90 * distance / side) : limit >= figure->est);
}

static double table_log_sd(const struct target *target, const struct cost_features *work)
{
    struct estimate total = cost_of(&target->table, work).total;
    return total.value > 0 ? estimate_sd(&total) / total.value : 0;
}

/* Parts of the joules, each 0 to 1, that have an additional error. */
struct parts {
    /* cache lines from beyond L1; `low` and `high` already cover the uncertainty of the level */
    double lines;
    double time; /* cycles and idle package; `low` and `high` already cover the error of time in intervals */
};

static struct parts parts_of(const struct target *target, const struct cost_features *work)
{
    struct cost cost = cost_of(&target->table, work);
    double all = cost.total.value,
           time = cost.part[COST_CYCLES].value + cost.part[COST_PACKAGE_SECONDS].value;
    double lines =
        cost.part[COST_L2_LINES].value + cost.part[COST_L3_LINES].value + cost.part[COST_DRAM_LINES].value;
    return all > 0 ? (struct parts){lines / all, time / all} : (struct parts){0, 0};
}

static void find_figures(const struct target *target, const struct amounts *call,
                         const struct cost_cooling *cooling, bool is_sustained, struct judgement *out)
{
    double joules[BOUNDS], seconds[BOUNDS], watts[BOUNDS], kelvin[BOUNDS];
    const struct cost_features *est = &call->of[BOUND_EST];
    for (int b = 0; b < BOUNDS; b++) {
        joules[b] = amounts_joules(target, call, (enum bound)b);
        seconds[b] = call->of[b].amount[COST_CYCLES] / target->core.hz;
        watts[b] = seconds[b] > 0 ? joules[b] / seconds[b] : 0;
    }
    struct parts parts = parts_of(target, est);
    double lines = LINES_LOG_SD * parts.lines, data = hypot(lines, DATA_LOG_SD);
    double prices = table_log_sd(target, est), time = hypot(target->core.log_sd, target->core.hz_log_sd);
    double common = hypot(prices, data);
    out->joules = make_figure(joules, common, hypot(common, time * parts.time));
    out->seconds = make_figure(seconds, hypot(time, lines), hypot(time, lines));
    common = hypot(prices, DATA_LOG_SD);
    out->watts = make_figure(watts, common, hypot(common, time * (1 - parts.time)));
    struct estimate power = estimate_make(watts[BOUND_EST], target->table.cls, 0, CAUSE_NONE, 0);
    struct estimate rise = cost_cooling_rise(cooling, &power, is_sustained ? INFINITY : seconds[BOUND_EST]);
    for (int b = 0; b < BOUNDS; b++)
        kelvin[b] = is_sustained ? (watts[BOUND_EST] > 0 ? rise.value * watts[b] / watts[BOUND_EST] : 0)
                                 : (joules[BOUND_EST] > 0 ? rise.value * joules[b] / joules[BOUND_EST] : 0);
    double rise_log_sd = rise.value > 0 ? estimate_sd(&rise) / rise.value : 0;
    out->kelvin = make_figure(kelvin, hypot(common, rise_log_sd), hypot(common, rise_log_sd));
}

/* Widens the range of power if calls may take several paths. Work is known only for the paths with least and
 * most joules, and other paths may have less or more watts. No path draws less than an idle core. */
static void widen_power(const struct target *target, const struct cost_cooling *cooling, bool is_sustained,
                        struct judgement *j)
{
    struct cost_features second = {.version = COST_VERSION};
    sum_set_time(target, &second, target->core.hz);
    double log_sd = hypot(table_log_sd(target, &second), target->core.hz_log_sd);
    double watts = cost_joules(&target->table, &second) * exp(-Z_PROOF * log_sd);
    struct estimate power = estimate_make(watts, target->table.cls, 0, CAUSE_NONE, 0);
    struct estimate rise =
        cost_cooling_rise(cooling, &power, is_sustained ? INFINITY : j->joules.min / watts);
    double rise_log_sd = rise.value > 0 ? estimate_sd(&rise) / rise.value : 0;
    j->watts.min = fmin(watts, j->watts.min);
    j->kelvin.min = fmin(rise.value * exp(-Z_PROOF * rise_log_sd), j->kelvin.min);
    j->watts.max = j->kelvin.max = NAN;
}

/* Removes upper ends if loops have no bound or if some work has no figure, because a guess is no bound. */
static void remove_work_ends(struct judgement *j, bool is_sustained)
{
    if (!is_sustained)
        j->kelvin.high = j->kelvin.max = NAN;
    j->joules.high = j->joules.max = j->seconds.high = j->seconds.max = NAN;
}

/* Removes both ends of watts and kelvin if some work has no figure. The time of this work is unknown, so it
 * may lower watts and kelvin. */
static void remove_power_ends(struct judgement *j)
{
    struct figure *figures[] = {&j->watts, &j->kelvin};
    for (int i = 0; i < 2; i++)
        *figures[i] = (struct figure){NAN, figures[i]->est, NAN, NAN, NAN};
}

/* --- verdicts ------------------------------------------------------------------------------------------- */

/* Which verdicts the evidence for a figure allows. */
struct grounds {
    bool can_prove;
    bool is_open;   /* a part of the work has no bounds at all */
    bool has_guess; /* all work has bounds, but the likely value between them is guessed */
};

static enum verdict verdict_of(const struct figure *figure, double limit, double probability,
                               const struct grounds *grounds)
{
    if (figure->min > limit)
        return VERDICT_VIOLATED;
    /* the probability is NaN if the table lacks prices for some of the work */
    if (grounds->is_open || isnan(probability))
        return VERDICT_UNDECIDED;
    if (probability <= 0.5)
        return grounds->has_guess ? VERDICT_UNDECIDED : VERDICT_LIKELY_VIOLATED;
    if (grounds->can_prove && figure->max <= limit)
        return VERDICT_PROVED;
    return probability >= SURE ? VERDICT_LIKELY : VERDICT_UNDECIDED;
}

static struct limit judge_limit(const struct figure *figure, double limit, const struct grounds *grounds,
                                struct judgement *out)
{
    struct limit result = {.limit = limit, .probability = NAN, .verdict = VERDICT_NONE};
    if (isnan(limit))
        return result;
    if (!grounds->is_open) /* for open work, the probability would be that of a guess */
        result.probability = probability_within(figure, limit);
    result.verdict = verdict_of(figure, limit, result.probability, grounds);
    if (grounds->has_guess && result.verdict == VERDICT_UNDECIDED)
        result.probability = NAN;
    if (result.verdict > out->worst)
        out->worst = result.verdict;
    result.is_vacuous = out->basis <= BASIS_BOUNDED && limit > VACUOUS * figure->high;
    return result;
}

void judge(const struct target *target, const struct function_sum *sum, const struct cost_cooling *cooling,
           const struct budget_text *budget, struct judgement *out)
{
    static const char qualities[] = {[BASIS_EXACT] = 'A',
                                     [BASIS_BOUNDED] = 'B',
                                     [BASIS_OBSERVED] = 'C',
                                     [BASIS_OPEN] = 'D',
                                     [BASIS_MISSING] = 'E'};
    enum basis basis = sum->basis;
    joule_class cls = target->table.cls;
    /* nothing can be proved with assumed prices */
    bool is_measured = cls == JOULE_CLASS_MEASURED || cls == JOULE_CLASS_DERIVED;
    struct grounds grounds = {is_measured && basis <= BASIS_BOUNDED, basis >= BASIS_OPEN, sum->has_guess};
    *out = (struct judgement){.basis = basis, .quality = is_measured ? qualities[basis] : 'E'};
    find_figures(target, &sum->call, cooling, budget && budget->is_sustained, out);
    if (sum->is_variable)
        widen_power(target, cooling, budget && budget->is_sustained, out);
    if (basis == BASIS_MISSING)
        remove_power_ends(out);
    out->is_vague = basis == BASIS_OPEN && out->joules.high > VAGUE * out->joules.low;
    if (basis >= BASIS_OPEN)
        remove_work_ends(out, budget && budget->is_sustained);
    if (sum->has_guess && out->quality < qualities[BASIS_OPEN])
        out->quality = qualities[BASIS_OPEN];
    out->quality = out->is_vague ? 'E' : out->quality;
    struct budget_text none = {NAN, NAN, NAN, false, false};
    const struct budget_text *b = budget ? budget : &none;
    out->joules_limit = judge_limit(&out->joules, b->max_joules, &grounds, out);
    out->watts_limit = judge_limit(&out->watts, b->max_watts, &grounds, out);
    grounds.can_prove = false; /* the cooler was not measured */
    out->kelvin_limit = judge_limit(&out->kelvin, b->max_temp_delta_kelvin, &grounds, out);
}

static struct limit unknown_limit(double limit)
{
    return (struct limit){limit, NAN, isnan(limit) ? VERDICT_NONE : VERDICT_UNDECIDED, false};
}

void judge_unknown(const struct budget_text *budget, struct judgement *out)
{
    static const struct figure unknown = {NAN, NAN, NAN, NAN, NAN};
    struct budget_text none = {NAN, NAN, NAN, false, false};
    const struct budget_text *b = budget ? budget : &none;
    *out = (struct judgement){.joules = unknown,
                              .seconds = unknown,
                              .watts = unknown,
                              .kelvin = unknown,
                              .joules_limit = unknown_limit(b->max_joules),
                              .watts_limit = unknown_limit(b->max_watts),
                              .kelvin_limit = unknown_limit(b->max_temp_delta_kelvin),
                              .worst = budget ? VERDICT_UNDECIDED : VERDICT_NONE,
                              .basis = BASIS_MISSING,
                              .quality = 'E'};
}

void judge_elsewhere(struct judgement *j)
{
    struct limit *limits[] = {&j->joules_limit, &j->watts_limit, &j->kelvin_limit};
    for (int i = 0; i < 3; i++)
        *limits[i] = unknown_limit(limits[i]->limit);
    j->worst = j->worst == VERDICT_NONE ? VERDICT_NONE : VERDICT_UNDECIDED;
    j->quality = 'E';
}

void judge_at_least(struct judgement *j)
{
    struct limit *limits[] = {&j->joules_limit, &j->watts_limit, &j->kelvin_limit};
    for (int i = 0; i < 3; i++) {
        limits[i]->is_vacuous = false;
        if (limits[i]->verdict == VERDICT_PROVED)
            limits[i]->verdict = VERDICT_LIKELY;
    }
    if (j->worst == VERDICT_PROVED)
        j->worst = VERDICT_LIKELY;
}
