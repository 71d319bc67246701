/* infer/engine/sampler_draw.c - random draws of tokens, rejection sampling of drafts, and log-probabilities;
 * see sampler.h. */
#include <forge/random.h>
#include <math.h>
#include "forge/infer/engine/sampler_state.h"

#define SAMPLER_STREAM UINT32_C(0x73616d70) /* "samp" */
enum { LANES = 8, BLOCK = 64 };

/* --- draws ---------------------------------------------------------------------------------------------- */

double sampler_uniform(const struct sampler *sampler, uint64_t position, uint32_t purpose)
{
    const uint64_t seed = sampler->options.seed;
    const uint32_t counter[4] = {(uint32_t)position, (uint32_t)(position >> 32), purpose, SAMPLER_STREAM};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t words[4];
    forge_philox4x32(counter, key, words);
    return (double)(((uint64_t)words[1] << 32 | words[0]) >> 11) * 0x1p-53;
}

/* Returns the sum of values [count], count <= BLOCK. The order of the additions is the same on all
 * processors. */
static double sum_block(const float *values, size_t count)
{
    double lanes[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            lanes[lane] += (double)values[i + lane];
    for (; i < count; i++)
        lanes[i % LANES] += (double)values[i];
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

static size_t block_size(size_t first, size_t count)
{
    return count - first < BLOCK ? count - first : BLOCK;
}

static double sum_all(const float *values, size_t count)
{
    double sum = 0;
    for (size_t first = 0; first < count; first += BLOCK)
        sum += sum_block(values + first, block_size(first, count));
    return sum;
}

/* Returns the first index in [first, end) at which the running sum, which begins with `sum`, exceeds
 * `bound`. If rounding prevents this, returns the last index with a positive value; -1: there is none. */
static int32_t find_in_block(const float *values, size_t first, size_t end, double sum, double bound)
{
    int32_t last = -1;
    for (size_t i = first; i < end; i++) {
        sum += (double)values[i];
        if (values[i] > 0) {
            last = (int32_t)i;
            if (sum > bound)
                break;
        }
    }
    return last;
}

/* Returns an index with a probability in proportion to its weight, or -1 if no weight is positive. */
static int32_t draw(const float *weights, size_t count, double uniform)
{
    double bound = uniform * sum_all(weights, count), sum = 0, sum_before = 0;
    size_t chosen = count; /* first index of the last block with positive weights */
    for (size_t first = 0; first < count && sum <= bound; first += BLOCK) {
        double after = sum + sum_block(weights + first, block_size(first, count));
        if (after > sum) {
            chosen = first;
            sum_before = sum;
        }
        sum = after;
    }
    return find_in_block(weights, chosen, chosen + block_size(chosen, count), sum_before, bound);
}

int32_t sampler_draw(const struct sampler *sampler, const float *probabilities, uint64_t position,
                     uint32_t purpose)
{
    return draw(probabilities, sampler->vocabulary, sampler_uniform(sampler, position, purpose));
}

/* --- drafts --------------------------------------------------------------------------------------------- */

/* Replaces the target's probabilities by max(0, target - draft). If nothing is left because of rounding,
 * leaves them unchanged. draft: NULL: `token` has probability 1. */
static void take_residual(float *target, const float *draft, int32_t token, size_t vocabulary)
{
    bool is_left = false;
    if (!draft) {
        for (size_t i = 0; i < vocabulary && !is_left; i++)
            is_left = target[i] > 0 && (int64_t)i != token;
        if (is_left && token >= 0 && (size_t)token < vocabulary)
            target[token] = 0;
        return;
    }
    for (size_t i = 0; i < vocabulary && !is_left; i++)
        is_left = target[i] > draft[i];
    for (size_t i = 0; i < vocabulary && is_left; i++)
        target[i] = target[i] > draft[i] ? target[i] - draft[i] : 0;
}

size_t sampler_accept(const struct sampler *s, float *target, const float *draft, const int32_t *tokens,
                      size_t count, uint64_t position, int32_t *out_tokens)
{
    for (size_t i = 0; i < count; i++, target += s->vocabulary) {
        const float *q = draft ? draft + i * s->vocabulary : NULL;
        bool is_known = tokens[i] >= 0 && (size_t)tokens[i] < s->vocabulary;
        double drafted = q && is_known ? (double)q[tokens[i]] : 1;
        double wanted = is_known ? (double)target[tokens[i]] : 0;
        if (sampler_uniform(s, position + i, SAMPLER_ACCEPT) * drafted < wanted) {
            out_tokens[i] = tokens[i];
            continue;
        }
        take_residual(target, q, tokens[i], s->vocabulary);
        out_tokens[i] = sampler_draw(s, target, position + i, SAMPLER_RESIDUAL);
        return i + 1;
    }
    out_tokens[count] = sampler_draw(s, target, position + count, SAMPLER_TOKEN);
    return count + 1;
}

/* --- log-probabilities ---------------------------------------------------------------------------------- */

static double log_of_sum(const float *logits, size_t count, float max)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        if (logits[i] > -INFINITY)
            sum += exp((double)logits[i] - (double)max);
    return (double)max + log(sum);
}

/* Inserts a token into top [count], whose entries are in descending order. */
static void insert(forge_token_logprob *top, size_t count, int32_t token, float logit)
{
    size_t at = count;
    for (; at > 0 && (top[at - 1].token < 0 || logit > top[at - 1].logprob); at--)
        if (at < count)
            top[at] = top[at - 1];
    if (at < count)
        top[at] = (forge_token_logprob){token, logit};
}

void sampler_logprobs(const float *logits, size_t vocabulary, int32_t token, float *out_logprob,
                      forge_token_logprob *out_top, size_t count)
{
    float max = -INFINITY;
    for (size_t i = 0; i < count; i++)
        out_top[i] = (forge_token_logprob){-1, -INFINITY};
    for (size_t i = 0; i < vocabulary; i++) {
        max = logits[i] > max ? logits[i] : max;
        if (count > 0 && (logits[i] > out_top[count - 1].logprob))
            insert(out_top, count, (int32_t)i, logits[i]);
    }
    double sum = isfinite(max) ? log_of_sum(logits, vocabulary, max) : NAN;
    bool is_known = token >= 0 && (size_t)token < vocabulary && logits[token] > -INFINITY && sum == sum;
    *out_logprob = is_known ? (float)((double)logits[token] - sum) : -INFINITY;
    for (size_t i = 0; i < count && out_top[i].token >= 0; i++)
        out_top[i].logprob = sum == sum ? (float)((double)out_top[i].logprob - sum) : -INFINITY;
}
