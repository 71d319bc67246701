/* infer/engine/sampler.c - see sampler.h. */
#include "forge/infer/engine/sampler_state.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/abi.h"
#include "base/array.h"
#include "base/error.h"
#include "forge/infer/engine/sampling_filters.h"

#define SAMPLING_SIZE_1 SIZE_UP_TO(forge_sampling, biases)
#define GREEDY_BELOW    1e-5
#define MAX_BIASES      65536
#define MAX_TEMPERATURE 100
#define MAX_REPETITION  100
#define MAX_PENALTY     2
#define MAX_BIAS        100

/* --- options -------------------------------------------------------------------------------------------- */

forge_sampling forge_sampling_default(void)
{
    return (forge_sampling){
        .struct_size = sizeof(forge_sampling), .temperature = 1, .top_p = 1, .repetition_penalty = 1};
}

/* Sets the message that an option is out of range. Returns JOULE_INVALID. */
static joule_status fail_range(joule_error *out_error, const char *name, double value, const char *range)
{
    return error_set(out_error, JOULE_INVALID, "cannot use the sampling options: %s is %g, and must be %s",
                     name, value, range);
}

static bool is_between(double value, double low, double high)
{
    return value >= low && value <= high; /* false for NaN */
}

static joule_status check_biases(const forge_sampling *o, size_t vocabulary, joule_error *out_error)
{
    if (o->bias_count > MAX_BIASES)
        return error_set(out_error, JOULE_INVALID,
                         "cannot use the sampling options: there are %" PRIu32
                         " biases, but at most %d are allowed",
                         o->bias_count, MAX_BIASES);
    if (o->bias_count > 0 && !o->biases)
        return error_set(out_error, JOULE_INVALID,
                         "cannot use the sampling options: bias_count is %" PRIu32 ", but biases is NULL",
                         o->bias_count);
    for (uint32_t i = 0; i < o->bias_count; i++) {
        const forge_logit_bias *bias = &o->biases[i];
        if (bias->token < 0 || (size_t)bias->token >= vocabulary)
            return error_set(out_error, JOULE_INVALID,
                             "cannot use the sampling options: biases[%" PRIu32 "].token is %" PRId32
                             ", but the vocabulary has %zu tokens",
                             i, bias->token, vocabulary);
        if (!is_between((double)bias->bias, -MAX_BIAS, MAX_BIAS))
            return error_set(out_error, JOULE_INVALID,
                             "cannot use the sampling options: biases[%" PRIu32
                             "].bias is %g, and must be -100 to 100",
                             i, (double)bias->bias);
    }
    return JOULE_OK;
}

static joule_status read_options(const forge_sampling *given, size_t vocabulary, forge_sampling *o,
                                 joule_error *out_error)
{
    joule_status status = abi_read(o, sizeof *o, SAMPLING_SIZE_1, given);
    if (status != JOULE_OK)
        return error_set(out_error, status, "cannot use the sampling options: %s",
                         status == JOULE_INVALID ? "set struct_size to sizeof(forge_sampling)"
                                                 : "an option is set that this library does not know");
    if (vocabulary == 0 || vocabulary > INT32_MAX)
        return error_set(out_error, JOULE_INVALID,
                         "cannot use the sampling options: the vocabulary has %zu tokens, not 1 to %d",
                         vocabulary, INT32_MAX);
    if (o->order != FORGE_ORDER_TEMPERATURE_FIRST && o->order != FORGE_ORDER_TEMPERATURE_LAST)
        return fail_range(out_error, "order", (double)o->order, "0 or 1");
    if (!is_between(o->temperature, 0, MAX_TEMPERATURE))
        return fail_range(out_error, "temperature", o->temperature, "0 to 100");
    if (!is_between(o->top_p, DBL_MIN, 1))
        return fail_range(out_error, "top_p", o->top_p, "above 0, up to 1");
    if (!is_between(o->min_p, 0, 1))
        return fail_range(out_error, "min_p", o->min_p, "0 to 1");
    if (!is_between(o->repetition_penalty, 1.0 / MAX_REPETITION, MAX_REPETITION))
        return fail_range(out_error, "repetition_penalty", o->repetition_penalty, "0.01 to 100");
    if (!is_between(o->presence_penalty, -MAX_PENALTY, MAX_PENALTY))
        return fail_range(out_error, "presence_penalty", o->presence_penalty, "-2 to 2");
    if (!is_between(o->frequency_penalty, -MAX_PENALTY, MAX_PENALTY))
        return fail_range(out_error, "frequency_penalty", o->frequency_penalty, "-2 to 2");
    if (o->top_k < -1)
        return fail_range(out_error, "top_k", o->top_k, "-1 or more");
    return check_biases(o, vocabulary, out_error);
}

joule_status sampling_check(const forge_sampling *options, size_t vocabulary, joule_error *out_error)
{
    forge_sampling own;
    return read_options(options, vocabulary, &own, out_error);
}

/* --- new, free ------------------------------------------------------------------------------------------ */

static struct index_key key_of_count(const void *context, uint32_t number)
{
    const struct sampler *sampler = context;
    return (struct index_key){&sampler->counts[number].token, sizeof(int32_t)};
}

joule_status sampler_new(const forge_sampling *options, size_t vocabulary, struct sampler **out_sampler,
                         joule_error *out_error)
{
    forge_sampling own;
    *out_sampler = NULL;
    joule_status status = read_options(options, vocabulary, &own, out_error);
    if (status != JOULE_OK)
        return status;
    struct sampler *sampler = calloc(1, sizeof *sampler);
    if (sampler) {
        sampler->maxima = calloc((vocabulary + FILTER_BLOCK - 1) / FILTER_BLOCK, sizeof *sampler->maxima);
        if (own.bias_count > 0)
            sampler->biases = calloc(own.bias_count, sizeof *sampler->biases);
    }
    if (!sampler || !sampler->maxima || (own.bias_count > 0 && !sampler->biases)) {
        sampler_free(sampler);
        return error_set(out_error, JOULE_NO_MEMORY, "cannot create a sampler: out of memory");
    }
    if (own.bias_count > 0)
        memcpy(sampler->biases, own.biases, own.bias_count * sizeof *sampler->biases);
    own.biases = sampler->biases;
    sampler->options = own;
    sampler->vocabulary = vocabulary;
    sampler->index.key_of = key_of_count;
    sampler->has_penalties =
        own.repetition_penalty != 1 || own.presence_penalty != 0 || own.frequency_penalty != 0;
    *out_sampler = sampler;
    return JOULE_OK;
}

void sampler_free(struct sampler *sampler)
{
    if (!sampler)
        return;
    index_free(&sampler->index);
    free(sampler->counts);
    free(sampler->history);
    free(sampler->biases);
    free(sampler->maxima);
    free(sampler);
}

/* --- counts --------------------------------------------------------------------------------------------- */

/* Returns the index of the token's entry in s->counts, and adds an entry if the token has none. INDEX_NONE:
 * out of memory. */
static uint32_t count_of(struct sampler *s, int32_t token)
{
    uint32_t number = index_find(&s->index, s, (struct index_key){&token, sizeof token});
    if (number != INDEX_NONE)
        return number;
    if (!ARRAY_ROOM(s->counts, s->count_capacity, s->count_count))
        return INDEX_NONE;
    number = (uint32_t)s->count_count;
    s->counts[number] = (struct token_count){.token = token};
    if (!index_add(&s->index, s, number))
        return INDEX_NONE;
    s->count_count++;
    return number;
}

bool sampler_add_token(struct sampler *s, int32_t token, bool is_prompt)
{
    if (!s->has_penalties || token < 0 || (size_t)token >= s->vocabulary)
        return true;
    if (!is_prompt && !ARRAY_ROOM(s->history, s->history_capacity, s->history_count))
        return false;
    uint32_t number = count_of(s, token);
    if (number == INDEX_NONE)
        return false;
    if (is_prompt) {
        s->counts[number].in_prompt++;
    } else {
        s->counts[number].in_output++;
        s->history[s->history_count++] = number;
    }
    return true;
}

void sampler_remove_tokens(struct sampler *s, size_t count)
{
    for (; count > 0 && s->history_count > 0; count--)
        s->counts[s->history[--s->history_count]].in_output--;
}

/* --- probabilities -------------------------------------------------------------------------------------- */

static void apply_biases_and_penalties(const struct sampler *s, float *logits)
{
    const forge_sampling *o = &s->options;
    float repetition = (float)o->repetition_penalty;
    for (uint32_t i = 0; i < o->bias_count; i++)
        logits[s->biases[i].token] += s->biases[i].bias;
    for (size_t i = 0; i < s->count_count; i++) {
        const struct token_count *count = &s->counts[i];
        float *logit = &logits[count->token];
        if (count->in_prompt > 0 || count->in_output > 0)
            *logit = *logit > 0 ? *logit / repetition : *logit * repetition;
        if (count->in_output > 0)
            *logit -= (float)(count->in_output * o->frequency_penalty + o->presence_penalty);
    }
}

/* Cleans one block of logits: replaces +INFINITY by FLT_MAX, NaN by -INFINITY, and -0 by 0 (by adding 0).
 * Returns the block's maximum. */
static float clean_block(float *logits, size_t count)
{
    float lanes[8] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < count; i++) {
        float logit = logits[i] + 0.0f;
        logit = logit > FLT_MAX ? FLT_MAX : logit;
        logit = logit >= -FLT_MAX ? logit : -INFINITY; /* NaN as well */
        logits[i] = logit;
        lanes[i % 8] = logit > lanes[i % 8] ? logit : lanes[i % 8];
    }
    for (size_t i = 1; i < 8; i++)
        lanes[0] = lanes[i] > lanes[0] ? lanes[i] : lanes[0];
    return lanes[0];
}

static void apply_mask(float *logits, size_t count, uint32_t word)
{
    if (word == UINT32_MAX)
        return;
    for (size_t i = 0; i < count; i++)
        logits[i] = word >> i & 1 ? logits[i] : -INFINITY;
}

/* Applies the mask, cleans all logits, and sets the maxima of the blocks. Returns the maximum of all. */
static float prepare(struct sampler *s, float *logits, const uint32_t *mask)
{
    float max = -INFINITY;
    for (size_t first = 0; first < s->vocabulary; first += FILTER_BLOCK) {
        size_t count = s->vocabulary - first < FILTER_BLOCK ? s->vocabulary - first : FILTER_BLOCK;
        for (size_t i = 0; mask && i < count; i += 32)
            apply_mask(logits + first + i, count - i < 32 ? count - i : 32, mask[(first + i) / 32]);
        float block_max = count == FILTER_BLOCK ? clean_block(logits + first, FILTER_BLOCK)
                                                : clean_block(logits + first, count);
        s->maxima[first / FILTER_BLOCK] = block_max;
        max = block_max > max ? block_max : max;
    }
    return max;
}

/* Sets the probability of the first token with the largest logit to 1, and all others to 0. */
static void choose_most_likely(const struct sampler *s, float *logits, float max)
{
    size_t token = 0;
    while (s->maxima[token / FILTER_BLOCK] < max)
        token += FILTER_BLOCK;
    while (logits[token] < max)
        token++;
    memset(logits, 0, s->vocabulary * sizeof *logits);
    logits[token] = 1;
}

bool sampler_probabilities(struct sampler *s, float *logits, const uint32_t *mask)
{
    const forge_sampling *o = &s->options;
    apply_biases_and_penalties(s, logits);
    float max = prepare(s, logits, mask);
    if (max == -INFINITY)
        return false;
    if (o->temperature < GREEDY_BELOW) {
        choose_most_likely(s, logits, max);
        return true;
    }
    bool is_first = o->order == FORGE_ORDER_TEMPERATURE_FIRST;
    float inverse = (float)(1 / o->temperature), scale = is_first ? inverse : 1;
    struct filter_logits view = {logits, s->maxima, s->vocabulary, max};
    float limit = FILTER_NONE;
    if (is_first && o->min_p > 0)
        limit = filter_min_p(&view, limit, o->min_p, scale);
    if (o->top_k > 0)
        limit = filter_top_k(&view, limit, (size_t)o->top_k);
    if (o->top_p < 1)
        limit = filter_top_p(&view, limit, o->top_p, scale);
    if (!is_first && o->min_p > 0)
        limit = filter_min_p(&view, limit, o->min_p, scale);
    filter_finish(&view, limit, inverse);
    return true;
}
