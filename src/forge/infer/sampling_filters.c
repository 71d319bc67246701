/* infer/sampling_filters.c - see sampling_filters.h. */
#include "forge/infer/sampling_filters.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { LEVELS = 3, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, EXP_GROUP = 16, COPIES = 4 };
static const unsigned digit_shift[LEVELS] = {21, 10, 0};

#define P_TOLERANCE 1e-6 /* above the rounding errors of single-precision probabilities */

/* --- exponentials --------------------------------------------------------------------------------------- */

/* Replaces 16 numbers x[i] <= 0 by exp(x[i]), with a relative error below 3e-7; 0 below exp(-87). The length of
 * the loop is constant, so that compilers vectorise it. exp(x) = 2^n exp(r), with |r| <= log(2) / 2. */
static inline void exponentiate_group(float x[EXP_GROUP])
{
    const float round_magic = 0x1.8p23f; /* adding it rounds to a whole number */
    for (size_t i = 0; i < EXP_GROUP; i++) {
        float limited = x[i] < -87 ? -87 : x[i];
        float shifted = limited * 0x1.715476p+0f + round_magic;
        float n = shifted - round_magic;
        float r = limited - n * 0x1.62e4p-1f - n * 0x1.7f7d1cp-20f; /* log(2) in two parts */
        float sum = 1 / 5040.0f;
        sum = sum * r + 1 / 720.0f;
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

/* Replaces x [count] <= 0 by exp(x). Also changes x up to the next multiple of EXP_GROUP, within FILTER_BLOCK. */
static void exponentiate(float x[FILTER_BLOCK], size_t count)
{
    for (size_t first = 0; first < count; first += EXP_GROUP)
        exponentiate_group(x + first);
}

/* --- order of the tokens -------------------------------------------------------------------------------- */

/* Returns a number that has the order of the logits. */
static inline uint32_t key_of(float logit)
{
    uint32_t bits;
    memcpy(&bits, &logit, sizeof bits);
    return bits ^ (bits >> 31 ? UINT32_MAX : UINT32_C(1) << 31);
}

static float logit_of(uint32_t key)
{
    uint32_t bits = key ^ (key >> 31 ? UINT32_C(1) << 31 : UINT32_MAX);
    float logit;
    memcpy(&logit, &bits, sizeof logit);
    return logit;
}

static inline bool is_within(struct filter_limit limit, float logit, size_t token)
{
    return (logit > limit.logit) |
           ((logit == limit.logit) & ((int32_t)token <= limit.token)); /* no branches */
}

/* Returns false if no token of the block is within the limit. */
static bool can_contain(const struct filter_logits *logits, size_t block, struct filter_limit limit)
{
    return !logits->maxima || logits->maxima[block] >= limit.logit;
}

static size_t end_of_block(const struct filter_logits *logits, size_t first)
{
    return first + FILTER_BLOCK < logits->count ? first + FILTER_BLOCK : logits->count;
}

struct filter_limit filter_none(void)
{
    return (struct filter_limit){-FLT_MAX, INT32_MAX};
}

/* --- radix selection ------------------------------------------------------------------------------------ */

/* State of one selection. Each token has an amount: 1, or its weight exp((logit - max) * scale). The selection
 * finds the shortest beginning of the order of the tokens whose amounts reach a sum. */
struct selection {
    const struct filter_logits *logits;
    struct filter_limit limit;
    bool is_weighted;
    float scale;
    uint32_t prefix;             /* of the keys of the tokens that are candidates for the last one */
    double before;               /* sum of the amounts of the tokens before these candidates */
    double sums[COPIES][DIGITS]; /* copies, so that additions to one digit need not wait for each other */
};

/* Writes the weights of `count` logits, at most FILTER_BLOCK. */
static void make_weights(const struct selection *s, const float *logits, size_t count,
                         float out_weights[FILTER_BLOCK])
{
    for (size_t i = 0; i < count; i++)
        out_weights[i] = s->is_weighted ? (logits[i] - s->logits->max) * s->scale : 0;
    for (size_t i = count; i % EXP_GROUP != 0; i++)
        out_weights[i] = 0;
    exponentiate(out_weights, count);
}

/* The digits of a block's candidates, with their amounts. */
struct candidates {
    float amounts[FILTER_BLOCK + 1];
    uint16_t digits[FILTER_BLOCK + 1];
    size_t count;
};

static void collect_block(const struct selection *s, size_t block, unsigned level, struct candidates *out)
{
    float weights[FILTER_BLOCK];
    size_t first = block * FILTER_BLOCK, size = end_of_block(s->logits, first) - first, count = 0;
    const float *logits = s->logits->values + first;
    uint32_t limit = key_of(s->limit.logit), low = 0, high = UINT32_MAX;
    if (level > 0) {
        low = s->prefix << digit_shift[level - 1];
        high = low + (UINT32_MAX >> (32 - digit_shift[level - 1]));
    }
    unsigned shift = digit_shift[level], mask = level == 2 ? DIGITS / 2 - 1 : DIGITS - 1;
    int32_t last = s->limit.token < (int32_t)first ? -1 : s->limit.token - (int32_t)first;
    make_weights(s, logits, size, weights);
    for (size_t i = 0; i < size; i++) {
        uint32_t key = key_of(logits[i]);
        out->amounts[count] = weights[i];
        out->digits[count] = (uint16_t)(key >> shift & mask);
        /* without branches; the last condition is is_within */
        count += (key >= low) & (key <= high) & (key >= limit + ((int32_t)i > last));
    }
    out->count = count;
}

/* Adds the amounts of a block's candidates to the sums of the next digits of their keys. */
static void add_block(struct selection *s, size_t block, unsigned level)
{
    struct candidates c;
    collect_block(s, block, level, &c);
    for (size_t i = 0; i < c.count; i++)
        s->sums[i % COPIES][c.digits[i]] += (double)c.amounts[i];
}

static void add_level(struct selection *s, unsigned level)
{
    memset(s->sums, 0, sizeof s->sums);
    for (size_t block = 0; block * FILTER_BLOCK < s->logits->count; block++) {
        if (!can_contain(s->logits, block, s->limit))
            continue;
        if (level == 0 || !s->logits->maxima ||
            key_of(s->logits->maxima[block]) >> digit_shift[level - 1] >= s->prefix)
            add_block(s, block, level);
    }
    for (size_t copy = 1; copy < COPIES; copy++)
        for (size_t digit = 0; digit < DIGITS; digit++)
            s->sums[0][digit] += s->sums[copy][digit];
}

/* Finds the digit at which the sum reaches `target`. Sums of the levels have different rounding errors, so the
 * last digit with tokens is taken if the sum is not reached. */
static void choose_digit(struct selection *s, unsigned level, double target)
{
    double before = s->before;
    uint32_t chosen = 0;
    for (uint32_t digit = DIGITS; digit-- > 0;) {
        if (s->sums[0][digit] == 0)
            continue;
        chosen = digit;
        s->before = before;
        before += s->sums[0][digit];
        if (before >= target)
            break;
    }
    s->prefix = s->prefix << (level == 2 ? DIGIT_BITS - 1 : DIGIT_BITS) | chosen;
}

/* Returns the limit whose logit is that of the key `prefix`, with as many of the equal tokens as the sum
 * needs. */
static struct filter_limit choose_token(const struct selection *s, double target)
{
    struct filter_limit last = {logit_of(s->prefix), 0};
    float amount[FILTER_BLOCK];
    double sum = s->before;
    make_weights(s, &last.logit, 1, amount);
    for (size_t block = 0; block * FILTER_BLOCK < s->logits->count; block++) {
        size_t first = block * FILTER_BLOCK, end = end_of_block(s->logits, first);
        if (!can_contain(s->logits, block, last))
            continue;
        for (size_t i = first; i < end; i++)
            if (s->logits->values[i] == last.logit && is_within(s->limit, last.logit, i)) {
                last.token = (int32_t)i;
                sum += (double)amount[0];
                if (sum >= target)
                    return last;
            }
    }
    return last;
}

/* Returns the limit that keeps the first tokens whose amounts reach `target`, or this share of the sum of all
 * amounts. */
static struct filter_limit select_limit(struct selection *s, double target, bool is_share)
{
    for (unsigned level = 0; level < LEVELS; level++) {
        add_level(s, level);
        if (level == 0) {
            double total = 0;
            for (size_t digit = 0; digit < DIGITS; digit++)
                total += s->sums[0][digit];
            target *= is_share ? total : 1;
            if (target >= total)
                return s->limit;
        }
        choose_digit(s, level, target);
    }
    return choose_token(s, target);
}

/* --- filters -------------------------------------------------------------------------------------------- */

static struct filter_limit tighter(struct filter_limit a, struct filter_limit b)
{
    if (a.logit != b.logit)
        return a.logit > b.logit ? a : b;
    return a.token < b.token ? a : b;
}

struct filter_limit filter_top_k(const struct filter_logits *logits, struct filter_limit limit, size_t k)
{
    size_t blocks = (logits->count + FILTER_BLOCK - 1) / FILTER_BLOCK;
    if (k >= logits->count)
        return limit;
    if (k < blocks && logits->maxima) {
        /* At least k tokens are not below the k-th largest maximum, so tokens below it are not examined. */
        struct filter_logits maxima = {
            .values = (float *)logits->maxima, .count = blocks, .max = logits->max};
        struct filter_limit bound = filter_top_k(&maxima, filter_none(), k);
        limit = tighter(limit, (struct filter_limit){bound.logit, INT32_MAX});
    }
    struct selection selection = {.logits = logits, .limit = limit};
    return select_limit(&selection, (double)k, false);
}

struct filter_limit filter_top_p(const struct filter_logits *logits, struct filter_limit limit, double p,
                                 float scale)
{
    struct selection selection = {.logits = logits, .limit = limit, .is_weighted = true, .scale = scale};
    return select_limit(&selection, p * (1 - P_TOLERANCE), true);
}

struct filter_limit filter_min_p(const struct filter_logits *logits, struct filter_limit limit, double p,
                                 float scale)
{
    struct filter_limit bound = {(float)((double)logits->max + log(p) / (double)scale), INT32_MAX};
    return tighter(limit, bound);
}

void filter_finish(const struct filter_logits *logits, struct filter_limit limit, float scale)
{
    double total = 0;
    for (size_t block = 0; block * FILTER_BLOCK < logits->count; block++) {
        size_t first = block * FILTER_BLOCK, count = end_of_block(logits, first) - first;
        float weights[FILTER_BLOCK], *values = logits->values + first;
        double sums[4] = {0};
        if (!can_contain(logits, block, limit)) {
            memset(values, 0, count * sizeof *values);
            continue;
        }
        for (size_t i = count; i < FILTER_BLOCK; i++)
            weights[i] = -INFINITY;
        for (size_t i = 0; i < count; i++) {
            float power = (values[i] - logits->max) * scale;
            weights[i] = is_within(limit, values[i], first + i) ? power : -INFINITY;
        }
        exponentiate(weights, FILTER_BLOCK);
        for (size_t i = 0; i < FILTER_BLOCK; i++)
            sums[i % 4] += (double)weights[i];
        total += (sums[0] + sums[2]) + (sums[1] + sums[3]);
        memcpy(values, weights, count * sizeof *values);
    }
    float factor = (float)(1 / total);
    for (size_t block = 0; block * FILTER_BLOCK < logits->count; block++)
        if (can_contain(logits, block, limit))
            for (size_t i = block * FILTER_BLOCK; i < end_of_block(logits, block * FILTER_BLOCK); i++)
                logits->values[i] *= factor;
}
