/* tools/forge/serve_options.c - see serve_options.h. */
#include "serve_options.h"

#include <string.h>
#include <sys/random.h>
#include "serve_schema.h"

#define MAX_N           128
#define MAX_STOP_TOKENS 128
#define MAX_BIASES      1024

/* --- sampling ------------------------------------------------------------------------------------------- */

/* Reads "logit_bias": {"TOKEN": BIAS}. */
static bool read_biases(const struct fields *fields, int64_t vocabulary, struct arena *arena,
                        forge_sampling *out)
{
    static const char name[] = "logit_bias";
    const struct json_value *value = field_find(fields, name);
    uint32_t count = 0;
    if (!value)
        return true;
    if (value->kind != JSON_OBJECT)
        return failure_set(fields->failure, name, "'logit_bias' must be an object");
    for (const struct json_value *item = value->first; item; item = item->next)
        if (++count > MAX_BIASES)
            return failure_set(fields->failure, name, "'logit_bias' has more than %d tokens", MAX_BIASES);
    forge_logit_bias *biases = arena_alloc(arena, count * sizeof *biases);
    if (!biases)
        return failure_set_no_memory(fields->failure);
    for (const struct json_value *item = value->first; item; item = item->next) {
        uint64_t token;
        double bias = item->kind == JSON_NUMBER ? json_double_of(item) : 1e9;
        if (!string_to_u64(item->name, 10, &token) || token >= (uint64_t)vocabulary)
            return failure_set(fields->failure, name, "'logit_bias' must map tokens from 0 to %lld to biases",
                               (long long)vocabulary - 1);
        if (!(bias >= -100 && bias <= 100))
            return failure_set(fields->failure, name, "the biases of 'logit_bias' must be from -100 to 100");
        biases[out->bias_count++] = (forge_logit_bias){(int32_t)token, (float)bias};
    }
    out->biases = biases;
    return true;
}

static bool read_sampling(const struct fields *fields, int64_t vocabulary, struct arena *arena,
                          forge_sampling *out)
{
    int64_t seed, top_k = 0;
    *out = forge_sampling_default();
    if (getrandom(&out->seed, sizeof out->seed, 0) != sizeof out->seed)
        return failure_set_status(fields->failure, 500, "server_error", NULL, "no random bytes");
    seed = (int64_t)out->seed;
    bool is_ok = field_number(fields, "temperature", 0, 100, &out->temperature) &&
                 field_number(fields, "top_p", 0, 1, &out->top_p) &&
                 field_number(fields, "min_p", 0, 1, &out->min_p) &&
                 field_integer(fields, "top_k", -1, INT32_MAX, &top_k) &&
                 field_number(fields, "repeat_penalty", 0.01, 100, &out->repetition_penalty) &&
                 field_number(fields, "repetition_penalty", 0.01, 100, &out->repetition_penalty) &&
                 field_number(fields, "presence_penalty", -2, 2, &out->presence_penalty) &&
                 field_number(fields, "frequency_penalty", -2, 2, &out->frequency_penalty) &&
                 field_integer(fields, "seed", INT64_MIN, INT64_MAX, &seed) &&
                 read_biases(fields, vocabulary, arena, out);
    out->seed = (uint64_t)seed;
    out->top_k = (int32_t)top_k;
    if (is_ok && out->top_p <= 0)
        return failure_set(fields->failure, "top_p", "'top_p' must be above 0");
    return is_ok;
}

/* --- ends of answers ------------------------------------------------------------------------------------ */

static bool add_stop(const struct fields *fields, const struct json_value *value, struct arena *arena,
                     struct answer_options *out)
{
    static const char name[] = "stop";
    size_t size = value->kind == JSON_STRING ? strlen(value->text) : 0;
    if (value->kind != JSON_STRING || size == 0 || size > MAX_STOP_BYTES)
        return failure_set(fields->failure, name, "'stop' must contain strings of 1 to %d bytes",
                           MAX_STOP_BYTES);
    if (out->stop_count == MAX_STOPS)
        return failure_set(fields->failure, name, "'stop' must contain at most %d strings", MAX_STOPS);
    const char *copy = arena_copy(arena, value->text, size);
    if (!copy)
        return failure_set_no_memory(fields->failure);
    out->stops[out->stop_count] = copy;
    out->stop_sizes[out->stop_count++] = size;
    if (size > out->max_stop_bytes)
        out->max_stop_bytes = size;
    return true;
}

static bool read_stops(const struct fields *fields, struct arena *arena, struct answer_options *out)
{
    const struct json_value *value = field_find(fields, "stop");
    if (!value || value->kind == JSON_STRING)
        return !value || !*value->text || add_stop(fields, value, arena, out); /* OpenAI ignores "" */
    if (value->kind != JSON_ARRAY)
        return failure_set(fields->failure, "stop", "'stop' must be a string or an array of strings");
    for (const struct json_value *item = value->first; item; item = item->next)
        if (!add_stop(fields, item, arena, out))
            return false;
    return true;
}

static bool read_stop_tokens(const struct fields *fields, int64_t vocabulary, struct arena *arena,
                             struct answer_options *out)
{
    static const char name[] = "stop_token_ids";
    const struct json_value *value = field_find(fields, name);
    if (!value)
        return true;
    out->stop_tokens = arena_alloc(arena, MAX_STOP_TOKENS * sizeof *out->stop_tokens);
    if (!out->stop_tokens)
        return failure_set_no_memory(fields->failure);
    if (value->kind != JSON_ARRAY)
        return failure_set(fields->failure, name, "'stop_token_ids' must be an array of tokens");
    for (const struct json_value *item = value->first; item; item = item->next) {
        int64_t token;
        if (out->stop_token_count == MAX_STOP_TOKENS || !json_integer_of(item, 0, vocabulary - 1, &token))
            return failure_set(fields->failure, name,
                               "'stop_token_ids' must contain at most %d tokens from 0 to %lld",
                               MAX_STOP_TOKENS, (long long)vocabulary - 1);
        out->stop_tokens[out->stop_token_count++] = (int32_t)token;
    }
    return true;
}

/* --- other fields --------------------------------------------------------------------------------------- */

static bool read_budget(const struct fields *fields, const char *header, double *out)
{
    double value = 0;
    if (header && (!string_to_double(header, &value) || !(value > 0 && value <= 1e9)))
        return failure_set(fields->failure, "X-Max-Joules",
                           "the header X-Max-Joules must be a number above 0");
    if (!field_number(fields, "max_joules", 0, 1e9, &value))
        return false;
    if (value <= 0 && field_find(fields, "max_joules"))
        return failure_set(fields->failure, "max_joules", "'max_joules' must be above 0");
    *out = value;
    return true;
}

static bool read_stream(const struct fields *fields, struct answer_options *out)
{
    const struct json_value *options = field_find(fields, "stream_options");
    struct fields members = {options, fields->failure};
    if (!field_bool(fields, "stream", &out->streams))
        return false;
    if (options && options->kind != JSON_OBJECT)
        return failure_set(fields->failure, "stream_options", "'stream_options' must be an object");
    if (options && !out->streams)
        return failure_set(fields->failure, "stream_options", "'stream_options' needs 'stream': true");
    return !options || (field_bool(&members, "include_usage", &out->includes_usage) &&
                        field_bool(&members, "continuous_usage_stats", &out->has_continuous_usage));
}

static bool read_salt(const struct fields *fields, struct arena *arena, struct answer_options *out)
{
    const char *salt = NULL;
    if (!field_text(fields, "cache_salt", &salt))
        return false;
    if (salt && !(out->cache_salt = arena_copy(arena, salt, strlen(salt))))
        return failure_set_no_memory(fields->failure);
    return true;
}

bool answer_options_read(const struct fields *fields, const char *max_joules_header, int64_t vocabulary,
                         struct arena *arena, struct answer_options *out)
{
    int64_t priority = 0;
    *out = (struct answer_options){.n = 1};
    bool is_ok = read_sampling(fields, vocabulary, arena, &out->sampling) &&
                 field_u32(fields, "n", 1, MAX_N, &out->n) &&
                 field_u32(fields, "min_tokens", 0, INT32_MAX, &out->min_tokens) &&
                 field_bool(fields, "ignore_eos", &out->ignores_end) &&
                 field_integer(fields, "priority", INT32_MIN, INT32_MAX, &priority) &&
                 read_stops(fields, arena, out) && read_stop_tokens(fields, vocabulary, arena, out) &&
                 read_budget(fields, max_joules_header, &out->max_joules) && read_stream(fields, out) &&
                 response_format_read(fields, arena, out) && read_salt(fields, arena, out);
    out->priority = (int32_t)priority;
    return is_ok;
}
