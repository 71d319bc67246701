/* tools/forge/serve_reply_json.c - writes replies and the events of streams as JSON; see serve_reply.h. */
#include <math.h>
#include <string.h>
#include "base/json_writer.h"
#include "serve_reply.h"

/* Maximum number of bytes of a token in lists of log-probabilities; longer tokens are cut. */
#define MAX_TOKEN_TEXT 1024

/* --- energy and usage ----------------------------------------------------------------------------------- */

static bool is_known(joule_quantity q)
{
    return q.cls != JOULE_CLASS_NONE && isfinite(q.value);
}

/* Adds a quantity to a sum. If the quantity is unknown, the sum becomes unknown. The bounds are added, too,
 * so the interval of the sum contains the true value with a probability of at least 90 %. */
static void add(joule_quantity *sum, joule_quantity q)
{
    if (!is_known(q)) {
        *sum = (joule_quantity){.value = NAN, .low = NAN, .high = NAN};
        return;
    }
    sum->value += q.value;
    sum->low += q.low;
    sum->high += q.high;
    if (sum->cls < q.cls && isfinite(sum->value))
        sum->cls = q.cls;
}

static void print_energy(struct json *json, const struct reply *reply)
{
    joule_quantity joules = {0}, prefill = {0}, decode = {0};
    uint64_t tokens = 0;
    double budget = 0;
    bool is_limited = false;
    for (size_t i = 0; i < reply->job->count; i++) {
        const forge_engine_event *last = &reply->job->choices[i].last;
        add(&joules, last->joules);
        add(&prefill, last->prefill_joules);
        add(&decode, last->decode_joules);
        tokens += reply->answers[i].token_count;
        budget += last->budget_joules;
        is_limited = is_limited || last->end == FORGE_END_ENERGY;
    }
    bool has_joules = is_known(joules);
    pthread_mutex_lock(&reply->server->lock);
    const char *source = reply->server->metrics.facts.energy_source;
    pthread_mutex_unlock(&reply->server->lock);
    json_open(json, "energy", '{');
    json_double(json, "joules", has_joules ? joules.value : NAN);
    json_double(json, "low", has_joules ? joules.low : NAN);
    json_double(json, "high", has_joules ? joules.high : NAN);
    json_string(json, "class", has_joules ? joule_class_name(joules.cls) : NULL);
    json_string(json, "source", has_joules ? source : NULL);
    json_double(json, "prefill_joules", is_known(prefill) ? prefill.value : NAN);
    json_double(json, "decode_joules", is_known(decode) ? decode.value : NAN);
    json_double(json, "joules_per_token", has_joules && tokens ? joules.value / (double)tokens : NAN);
    json_double(json, "budget_joules", budget > 0 ? budget : NAN);
    json_string(json, "limited_by", is_limited ? "max_joules" : NULL);
    json_close(json, '}');
}

static void print_usage(struct json *json, const struct reply *reply)
{
    uint64_t answers = 0, cached = 0;
    for (size_t i = 0; i < reply->job->count; i++) {
        answers += reply->answers[i].token_count;
        if (reply->has_ended[i] && i % reply->options.n == 0)
            cached += reply->job->choices[i].last.cached_tokens;
    }
    json_open(json, "usage", '{');
    json_integer(json, "prompt_tokens", (int64_t)reply->prompt_tokens);
    json_integer(json, "completion_tokens", (int64_t)answers);
    json_integer(json, "total_tokens", (int64_t)(reply->prompt_tokens + answers));
    json_open(json, "prompt_tokens_details", '{');
    json_integer(json, "cached_tokens", (int64_t)cached);
    json_close(json, '}');
    json_close(json, '}');
}

/* --- log-probabilities ---------------------------------------------------------------------------------- */

/* Writes the text of a token. Returns its size, at most MAX_TOKEN_TEXT. */
static size_t token_text(const struct reply_text *answer, int32_t token, char out[MAX_TOKEN_TEXT])
{
    size_t size = forge_detokenize(answer->tokenizer, &token, 1,
                                   FORGE_DETOKENIZE_CONTROL | FORGE_DETOKENIZE_CONTINUE, out, MAX_TOKEN_TEXT);
    return size < MAX_TOKEN_TEXT ? size : MAX_TOKEN_TEXT;
}

static bool is_utf8(const char *bytes, size_t size)
{
    for (size_t i = 0, length; i < size; i += length)
        if (!(length = string_utf8_length(bytes + i, size - i)))
            return false;
    return true;
}

/* Adds the text of a token as a string, with a comma before it if needed. Bytes that are not UTF-8 are
 * written in OpenAI's form, for example "bytes:\xe2\x80". is_key: the string is a key. */
static void add_token(struct json *json, const struct reply_text *answer, int32_t token, bool is_key)
{
    char text[MAX_TOKEN_TEXT], name[MAX_TOKEN_TEXT];
    size_t size = token_text(answer, token, text);
    if (!is_utf8(text, size)) {
        struct text out;
        text_init(&out, name, sizeof name);
        text_add(&out, "bytes:");
        for (size_t i = 0; i < size && i < 200; i++)
            text_printf(&out, "\\x%02x", (unsigned char)text[i]);
        size = out.length;
        memcpy(text, name, size);
    }
    if (json->follows)
        text_add(json->out, ",");
    json_quote(json->out, text, size);
    if (is_key)
        text_add(json->out, ":");
    json->follows = !is_key;
}

/* Writes the logprobs of a completion: four lists with an entry per token. */
static void print_completion_logprobs(struct json *json, const struct reply_text *answer)
{
    const struct token_events *tokens = &answer->tokens;
    size_t offset = answer->sent_characters;
    json_open(json, "logprobs", '{');
    json_open(json, "text_offset", '[');
    for (size_t i = 0; i < tokens->count; i++) {
        char text[MAX_TOKEN_TEXT];
        json_integer(json, NULL, (int64_t)offset);
        size_t size = forge_detokenize(answer->tokenizer, &tokens->list[i].token, 1,
                                       FORGE_DETOKENIZE_CONTINUE, text, sizeof text);
        for (size_t k = 0; k < size && k < sizeof text; k++)
            offset += ((unsigned char)text[k] & 0xc0) != 0x80;
    }
    json_close(json, ']');
    json_open(json, "token_logprobs", '[');
    for (size_t i = 0; i < tokens->count; i++)
        json_double(json, NULL, (double)tokens->list[i].logprob);
    json_close(json, ']');
    json_open(json, "tokens", '[');
    for (size_t i = 0; i < tokens->count; i++)
        add_token(json, answer, tokens->list[i].token, false);
    json_close(json, ']');
    json_open(json, "top_logprobs", '[');
    for (size_t i = 0; i < tokens->count; i++) {
        const struct token_event *event = &tokens->list[i];
        if (isnan(event->logprob)) {
            json_null(json, NULL);
            continue;
        }
        json_open(json, NULL, '{');
        for (size_t k = 0; k < event->top_count; k++) {
            const forge_token_logprob *top = &tokens->tops[event->top_first + k];
            add_token(json, answer, top->token, true);
            json_double(json, NULL, (double)top->logprob);
        }
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void print_token(struct json *json, const struct reply_text *answer, int32_t token, float logprob)
{
    char text[MAX_TOKEN_TEXT];
    size_t size = token_text(answer, token, text);
    if (json->follows)
        text_add(json->out, ",");
    text_add(json->out, "{\"token\":");
    json->follows = false;
    json_quote(json->out, text, size);
    json->follows = true;
    json_double(json, "logprob", (double)logprob);
    json_open(json, "bytes", '[');
    for (size_t i = 0; i < size; i++)
        json_integer(json, NULL, (unsigned char)text[i]);
    json_close(json, ']');
}

static void print_chat_logprobs(struct json *json, const struct reply_text *answer)
{
    const struct token_events *tokens = &answer->tokens;
    json_open(json, "logprobs", '{');
    json_open(json, "content", '[');
    for (size_t i = 0; i < tokens->count; i++) {
        const struct token_event *event = &tokens->list[i];
        print_token(json, answer, event->token, event->logprob);
        json_open(json, "top_logprobs", '[');
        for (size_t k = 0; k < event->top_count; k++) {
            const forge_token_logprob *top = &tokens->tops[event->top_first + k];
            print_token(json, answer, top->token, top->logprob);
            json_close(json, '}');
        }
        json_close(json, ']');
        json_close(json, '}');
    }
    json_close(json, ']');
    json_null(json, "refusal");
    json_close(json, '}');
}

static void print_logprobs(struct json *json, const struct reply *reply, const struct reply_text *answer)
{
    if (!reply->options.reports_logprobs)
        json_null(json, "logprobs");
    else if (reply->is_chat)
        print_chat_logprobs(json, answer);
    else
        print_completion_logprobs(json, answer);
}

/* --- whole replies -------------------------------------------------------------------------------------- */

/* Adds `size` bytes of text as the member `key`. */
static void add_text(struct json *json, const char *key, const char *bytes, size_t size)
{
    if (json->follows)
        text_add(json->out, ",");
    text_printf(json->out, "\"%s\":", key);
    json_quote(json->out, bytes ? bytes : "", size);
    json->follows = true;
}

static void print_head(struct json *json, const struct reply *reply, const char *object)
{
    json_open(json, NULL, '{');
    json_string(json, "id", reply->id);
    json_string(json, "object", object);
    json_integer(json, "created", reply->created_s);
    json_string(json, "model", reply->server->name);
}

void reply_print(const void *context, struct text *out)
{
    const struct reply *reply = context;
    struct json json = {.out = out};
    print_head(&json, reply, reply->is_chat ? "chat.completion" : "text_completion");
    json_open(&json, "choices", '[');
    for (size_t i = 0; i < reply->job->count; i++) {
        const struct reply_text *answer = &reply->answers[i];
        json_open(&json, NULL, '{');
        json_integer(&json, "index", (int64_t)i);
        if (reply->is_chat) {
            json_open(&json, "message", '{');
            json_string(&json, "role", "assistant");
            add_text(&json, "content", answer->text.list, answer->text.length);
            json_null(&json, "refusal");
            json_close(&json, '}');
        } else {
            add_text(&json, "text", answer->text.list, answer->text.length);
        }
        print_logprobs(&json, reply, answer);
        json_string(&json, "finish_reason", answer->finish_reason);
        json_string(&json, "stop_reason", answer->stop);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    print_usage(&json, reply);
    print_energy(&json, reply);
    json_close(&json, '}');
}

/* --- events of streams ---------------------------------------------------------------------------------- */

static void print_delta(struct json *json, const struct chunk *chunk, const struct reply_text *answer)
{
    json_open(json, "delta", '{');
    if (chunk->kind == CHUNK_ROLE) {
        json_string(json, "role", "assistant");
        json_string(json, "content", "");
    } else if (chunk->kind == CHUNK_TEXT) {
        add_text(json, "content", answer->text.list, reply_text_ready(answer));
    }
    json_close(json, '}');
}

static void print_choice(struct json *json, const struct chunk *chunk)
{
    const struct reply *reply = chunk->reply;
    const struct reply_text *answer = &reply->answers[chunk->index];
    bool is_end = chunk->kind == CHUNK_END;
    json_open(json, NULL, '{');
    json_integer(json, "index", (int64_t)chunk->index);
    if (reply->is_chat)
        print_delta(json, chunk, answer);
    else
        add_text(json, "text", answer->text.list, reply_text_ready(answer));
    if (reply->is_chat && chunk->kind != CHUNK_TEXT)
        json_null(json, "logprobs");
    else
        print_logprobs(json, reply, answer);
    json_string(json, "finish_reason", is_end ? answer->finish_reason : NULL);
    if (is_end)
        json_string(json, "stop_reason", answer->stop);
    json_close(json, '}');
}

void chunk_print(const void *context, struct text *out)
{
    const struct chunk *chunk = context;
    const struct reply *reply = chunk->reply;
    struct json json = {.out = out};
    text_add(out, "data: ");
    print_head(&json, reply, reply->is_chat ? "chat.completion.chunk" : "text_completion");
    json_open(&json, "choices", '[');
    if (chunk->kind != CHUNK_USAGE)
        print_choice(&json, chunk);
    json_close(&json, ']');
    if (chunk->kind == CHUNK_USAGE || reply->options.has_continuous_usage)
        print_usage(&json, reply);
    else if (reply->options.includes_usage)
        json_null(&json, "usage");
    if (chunk->is_last)
        print_energy(&json, reply);
    json_close(&json, '}');
    text_add(out, "\n\n");
}
