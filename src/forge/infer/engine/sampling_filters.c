/* infer/engine/sampling_filters.c - see sampling_filters.h. */
#include "forge/infer/engine/sampling_filters.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LEVELS = 3, DIGITS = 1 << 13, GROUP = 16 };
static const unsigned digit_shift[LEVELS] = {19, 9, 0};

#define P_TOLERANCE 1e-6 /* larger than the rounding errors of single-precision probabilities */

bool filter_is_finite(const float *logits, size_t count)
{
    int32_t any = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t bits;
        memcpy(&bits, &logits[i], sizeof bits);
        any |= (bits & INT32_MAX) >= 0x7f800000; /* NaN and infinity have all bits of the exponent */
    }
    return !any;
}

/* --- exponentials --------------------------------------------------------------------------------------- */

/* Replaces 16 numbers x[i] <= 0 by exp(x[i]), with a relative error below 3e-7; 0 below exp(-87). The
 * length of the loop is constant, so that compilers vectorise it. exp(x) = 2^n exp(r),
 * with |r| <= log(2) / 2. */
static inline void exponentiate(float x[GROUP])
{
    const float round_magic = 0x1.8p23f; /* adding it rounds to a whole number */
    for (size_t i = 0; i < GROUP; i++) {
        float limited = x[i] < -87 ? -87 : x[i];
        float shifted = limited * 0x1.715476p+0f + round_magic;
        float n = shifted - round_magic;
        float r = limited - n * 0x1.62e4p-1f - n * 0x1.7f7d1cp-20f; /* log(2) in two parts */
        float sum = 1 / 720.0f;
        sum = sum * r + 1 / 120.0f;
        sum = sum * r + 1 / 24.0f;
        sum = sum * r + 1 / 6.0f;
        sum = sum * r + 1 / 2.0f;
        sum = sum * r + 1;
        sum = sum * r + 1;
        uint32_t bits, power;
        memcpy(&power, &shifted, sizeof power);
        memcpy(&bits, &sum, sizeof bits);
        bits += power << 23; /* the low bits of `shifted` are n */
        memcpy(&sum, &bits, sizeof sum);
        x[i] = x[i] < -87 ? 0 : sum;
    }
}

/* --- order of the logits -------------------------------------------------------------------------------- */

/* Maps a logit to an integer with the same order. The integer is signed, because SSE2 compares signed
 * numbers. */
static inline int32_t key_of(float logit)
{
    int32_t bits;
    memcpy(&bits, &logit, sizeof bits);
    return bits ^ (bits >> 31 & INT32_MAX);
}

static float logit_of(int32_t key)
{
    int32_t bits = key ^ (key >> 31 & INT32_MAX);
    float logit;
    memcpy(&logit, &bits, sizeof logit);
    return logit;
}

/* Returns true if the block may have a logit of at least `limit`. */
static bool can_contain(const struct filter_logits *logits, size_t block, float limit)
{
    return !logits->maxima || logits->maxima[block] >= limit;
}

static size_t end_of_block(const struct filter_logits *logits, size_t first)
{
    return first + FILTER_BLOCK < logits->count ? first + FILTER_BLOCK : logits->count;
}

/* --- radix selection ------------------------------------------------------------------------------------ */

/* State of one radix selection. Each token has an amount: 1, or if is_weighted, exp((logit - max) * scale).
 * The selection finds the shortest list of first tokens, in their order, whose amounts add up to a given sum.
 * It converts logits to integer keys. At each level it finds the next bits of the key of the list's last
 * token: a digit. The candidates are the tokens whose keys are still possible for this last token. */
struct selection {
    const struct filter_logits *logits;
    bool is_weighted;
    float scale;
    int32_t low, high; /* range of the candidates' keys */
    int32_t base;      /* the smallest key with digit 0 at the current level */
    double before;     /* sum of the amounts of the tokens before the candidates */
    double sums[DIGITS];
};

/* Replaces logits by their amounts. */
static void make_amounts(const struct selection *s, float logits[GROUP])
{
    for (size_t i = 0; i < GROUP; i++)
        logits[i] = s->is_weighted ? (logits[i] - s->logits->max) * s->scale : 0;
    if (s->is_weighted)
        exponentiate(logits);
    else
        for (size_t i = 0; i < GROUP; i++)
            logits[i] = 1;
}

/* Adds the amounts of a group's candidates to the sums of the digits of their keys. The first loop has no
 * branches and a constant length, so that compilers vectorise it. */
static void add_group(struct selection *s, const float logits[GROUP], unsigned shift)
{
    float amounts[GROUP];
    uint32_t digits[GROUP], is_candidate[GROUP], has_candidate = 0;
    for (size_t i = 0; i < GROUP; i++) {
        int32_t key = key_of(logits[i]);
        digits[i] = ((uint32_t)key - (uint32_t)s->base) >> shift;
        is_candidate[i] = (key >= s->low) & (key <= s->high);
        has_candidate |= is_candidate[i];
        amounts[i] = logits[i];
    }
    if (!has_candidate)
        return;
    make_amounts(s, amounts);
    for (size_t i = 0; i < GROUP; i++)
        if (is_candidate[i])
            s->sums[digits[i]] += (double)amounts[i];
}

static void add_block(struct selection *s, size_t block, unsigned shift)
{
    size_t first = block * FILTER_BLOCK, end = end_of_block(s->logits, first), i = first;
    float last[GROUP];
    for (; i + GROUP <= end; i += GROUP)
        add_group(s, s->logits->values + i, shift);
    if (i < end) {
        for (size_t k = 0; k < GROUP; k++)
            last[k] = i + k < end ? s->logits->values[i + k] : -INFINITY;
        add_group(s, last, shift);
    }
}

static void add_level(struct selection *s, unsigned shift)
{
    memset(s->sums, 0, sizeof s->sums);
    for (size_t block = 0; block * FILTER_BLOCK < s->logits->count; block++)
        if (!s->logits->maxima || key_of(s->logits->maxima[block]) >= s->low)
            add_block(s, block, shift);
}

/* Finds the digit at which the sum reaches `target`, and makes its tokens the candidates. Each level rounds
 * its sums differently. If rounding keeps the sum below `target`, the last digit with tokens is taken. */
static void choose_digit(struct selection *s, unsigned shift, double target)
{
    double before = s->before;
    uint32_t chosen = 0;
    for (uint32_t digit = DIGITS; digit-- > 0;) {
        if (s->sums[digit] == 0)
            continue;
        chosen = digit;
        s->before = before;
        before += s->sums[digit];
        if (before >= target)
            break;
    }
    s->base = (int32_t)((uint32_t)s->base + (chosen << shift));
    int32_t last = (int32_t)((uint32_t)s->base + ((UINT32_C(1) << shift) - 1));
    s->low = s->base > s->low ? s->base : s->low;
    s->high = last < s->high ? last : s->high;
}

/* Finds the logit of the last token that is needed for a sum of amounts of *target. If is_share, *target is a
 * fraction of the sum of all amounts, and is replaced by its product with that sum. Tokens below `limit` do
 * not count. Returns false if all tokens within the limit are needed. */
static bool select_logit(struct selection *s, float limit, double *target, bool is_share, float *out_logit)
{
    s->low = key_of(limit);
    s->high = INT32_MAX;
    s->base = INT32_MIN;
    for (unsigned level = 0; level < LEVELS; level++) {
        add_level(s, digit_shift[level]);
        if (level == 0) {
            double total = 0;
            for (size_t digit = 0; digit < DIGITS; digit++)
                total += s->sums[digit];
            *target *= is_share ? total : 1;
            if (*target >= total)
                return false;
        }
        choose_digit(s, digit_shift[level], *target);
    }
    *out_logit = logit_of(s->base);
    return true;
}

/* Several tokens may have the smallest kept logit, `last`. Keeps the first of them until the sum reaches
 * `target`, and sets the logits of the others to -INFINITY. */
static void limit_ties(const struct selection *s, float last, double target)
{
    float amounts[GROUP] = {last};
    double sum = s->before;
    make_amounts(s, amounts);
    for (size_t block = 0; block * FILTER_BLOCK < s->logits->count; block++) {
        size_t first = block * FILTER_BLOCK, end = end_of_block(s->logits, first);
        if (!can_contain(s->logits, block, last))
            continue;
        for (size_t i = first; i < end; i++)
            if (s->logits->values[i] == last) {
                s->logits->values[i] = sum < target ? last : -INFINITY;
                sum += (double)amounts[0];
            }
    }
}

/* --- filters -------------------------------------------------------------------------------------------- */

static float filter(struct selection *s, float limit, double target, bool is_share)
{
    if (select_logit(s, limit, &target, is_share, &limit))
        limit_ties(s, limit, target);
    return limit;
}

float filter_top_k(const struct filter_logits *logits, float limit, size_t k)
{
    size_t blocks = (logits->count + FILTER_BLOCK - 1) / FILTER_BLOCK;
    struct selection selection = {.logits = logits};
    double target = (double)k;
    float bound;
    if (k >= logits->count)
        return limit;
    if (k < blocks) {
        /* The k-th largest of the blocks' maxima is a lower bound of the limit, because at least k tokens
         * have this logit or a larger one. So tokens with smaller logits need not be examined. */
        struct filter_logits maxima = {.values = logits->maxima, .count = blocks, .max = logits->max};
        if (select_logit(&(struct selection){.logits = &maxima}, limit, &target, false, &bound))
            limit = bound;
    }
    return filter(&selection, limit, target, false);
}

float filter_top_p(const struct filter_logits *logits, float limit, double p, float scale)
{
    struct selection selection = {.logits = logits, .is_weighted = true, .scale = scale};
    return filter(&selection, limit, p * (1 - P_TOLERANCE), true);
}

float filter_min_p(const struct filter_logits *logits, float limit, double p, float scale)
{
    return fmaxf(limit, (float)((double)logits->max + log(p) / (double)scale));
}

/* Replaces a group of logits by their weights, and logits below `limit` by 0. Returns the sum of the
 * weights. */
static double weigh_group(float logits[GROUP], float max, float limit, float scale)
{
    double sums[4] = {0};
    uint32_t is_any_kept = 0;
    for (size_t i = 0; i < GROUP; i++) {
        is_any_kept |= logits[i] >= limit;
        logits[i] = logits[i] >= limit ? (logits[i] - max) * scale : -INFINITY;
    }
    if (!is_any_kept) {
        memset(logits, 0, GROUP * sizeof *logits);
        return 0;
    }
    exponentiate(logits);
    for (size_t i = 0; i < GROUP; i++)
        sums[i % 4] += (double)logits[i];
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

static double weigh_block(const struct filter_logits *logits, size_t block, float limit, float scale)
{
    size_t first = block * FILTER_BLOCK, end = end_of_block(logits, first), i = first;
    float *values = logits->values, last[GROUP];
    double sum = 0;
    if (!can_contain(logits, block, limit)) {
        memset(values + first, 0, (end - first) * sizeof *values);
        return 0;
    }
    for (; i + GROUP <= end; i += GROUP)
        sum += weigh_group(values + i, logits->max, limit, scale);
    if (i < end) {
        for (size_t k = 0; k < GROUP; k++)
            last[k] = i + k < end ? values[i + k] : -INFINITY;
        sum += weigh_group(last, logits->max, limit, scale);
        memcpy(values + i, last, (end - i) * sizeof *values);
    }
    return sum;
}

void filter_finish(const struct filter_logits *logits, float limit, float scale)
{
    double total = 0;
    for (size_t block = 0; block * FILTER_BLOCK < logits->count; block++)
        total += weigh_block(logits, block, limit, scale);
    float factor = (float)(1 / total);
    for (size_t i = 0; i < logits->count; i++)
        logits->values[i] *= factor;
}
