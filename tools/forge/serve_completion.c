/* tools/forge/serve_completion.c - reads requests of /v1/completions. */
#include <stdlib.h>
#include <string.h>
#include "serve_endpoints.h"
#include "serve_tokens.h"

#define DEFAULT_MAX_TOKENS 16

/* --- prompts -------------------------------------------------------------------------------------------- */

static bool read_text_prompt(const struct call *call, const char *text, struct arena *arena,
                             struct prompt *out)
{
    *out = (struct prompt){.text_size = strlen(text)};
    out->has_text = out->text_size > 0;
    out->text = arena_copy(arena, text, out->text_size);
    if (!out->text)
        return failure_set_no_memory(call->failure);
    if (!check_text_size(call->server, out->text_size, "prompt", call->failure) ||
        !tokens_of_text(call->server, call->server->max_length, text, out->text_size,
                        FORGE_TOKENIZE_ADD_ENDS | FORGE_TOKENIZE_READ_CONTROL, "prompt", arena, &out->tokens,
                        &out->count, call->failure))
        return false;
    /* Removes EOS, because the answer continues the text. */
    if (out->count > 1 &&
        out->tokens[out->count - 1] == forge_tokenizer_eos(call->server->language.tokenizer))
        out->count--;
    return true;
}

/* Reads a prompt that is an array of tokens. */
static bool read_token_prompt(const struct call *call, const struct json_value *array, struct arena *arena,
                              struct prompt *out)
{
    const struct server *server = call->server;
    size_t count = 0;
    int64_t token;
    *out = (struct prompt){0};
    for (const struct json_value *item = array->first; item; item = item->next)
        count++;
    if (count >= server->max_length) {
        failure_set(call->failure, "prompt",
                    "the prompt has %zu tokens, but this server allows %zu with the answer", count,
                    server->max_length);
        call->failure->code = "context_length_exceeded";
        return false;
    }
    out->tokens = arena_alloc(arena, count * sizeof *out->tokens);
    if (!out->tokens)
        return failure_set_no_memory(call->failure);
    for (const struct json_value *item = array->first; item; item = item->next) {
        if (!json_integer_of(item, 0, server->language.facts.vocabulary - 1, &token))
            return failure_set(call->failure, "prompt",
                               "the tokens of 'prompt' must be whole numbers from 0 to %lld",
                               (long long)server->language.facts.vocabulary - 1);
        out->tokens[out->count++] = (int32_t)token;
    }
    size_t size = forge_detokenize(server->language.tokenizer, out->tokens, out->count, 0, NULL, 0);
    char *text = arena_alloc(arena, size + 1);
    if (!text)
        return failure_set_no_memory(call->failure);
    out->text_size = forge_detokenize(server->language.tokenizer, out->tokens, out->count, 0, text, size);
    out->text = text;
    out->has_text = size > 0;
    return true;
}

static bool read_prompt(const struct call *call, const struct json_value *value, struct arena *arena,
                        struct prompt *out)
{
    if (value->kind == JSON_STRING)
        return read_text_prompt(call, value->text, arena, out);
    if (value->kind == JSON_ARRAY && value->first)
        return read_token_prompt(call, value, arena, out);
    return failure_set(
        call->failure, "prompt",
        "'prompt' must be a string, an array of strings, an array of tokens, or an array of such arrays");
}

/* Reads "prompt", which is one prompt or an array of prompts. */
static bool read_prompts(const struct call *call, struct reply *reply)
{
    const struct fields fields = {call->body, call->failure};
    const struct json_value *value = field_find(&fields, "prompt");
    struct arena *arena = &reply->job->arena;
    size_t count = 1, capacity = (size_t)call->server->settings->engine.max_batch_size +
                                 call->server->settings->max_queue;
    if (!value)
        return failure_set(call->failure, "prompt", "'prompt' is missing");
    bool is_list = value->kind == JSON_ARRAY && value->first && value->first->kind != JSON_NUMBER;
    const struct json_value *item = is_list ? value->first : value;
    if (is_list) {
        for (count = 0; item; item = item->next)
            count++;
        item = value->first;
    }
    if (count > capacity)
        return failure_set(call->failure, "prompt",
                           "%zu prompts are more than this server accepts at once (%zu)", count, capacity);
    struct prompt *prompts = arena_alloc(arena, count * sizeof *prompts);
    if (!prompts)
        return failure_set_no_memory(call->failure);
    for (size_t i = 0; i < count; i++, item = item->next) {
        if (!read_prompt(call, item, arena, &prompts[i]))
            return false;
        if (prompts[i].count == 0)
            return failure_set(call->failure, "prompt", "the prompt is empty");
    }
    return reply_set_prompts(reply, prompts, count, call->failure);
}

/* --- requests ------------------------------------------------------------------------------------------- */

/* Refuses fields that are not supported and would change the answer. */
static bool check_unsupported(const struct call *call, const struct answer_options *options)
{
    const struct fields fields = {call->body, call->failure};
    uint32_t best_of = options->n;
    const char *suffix = NULL;
    if (!field_u32(&fields, "best_of", 1, INT32_MAX, &best_of) || !field_text(&fields, "suffix", &suffix))
        return false;
    if (best_of != options->n)
        return failure_set(call->failure, "best_of", "'best_of' is not supported, unless it equals 'n'");
    return !suffix || !*suffix || failure_set(call->failure, "suffix", "'suffix' is not supported");
}

static bool read_options(const struct call *call, struct reply *reply)
{
    const struct fields fields = {call->body, call->failure};
    struct answer_options *options = &reply->options;
    if (!call_read_options(call, reply))
        return false;
    options->max_tokens = DEFAULT_MAX_TOKENS;
    options->has_max_tokens = true;
    /* For completions, "logprobs" is the number of alternatives, not true or false as for chats. */
    options->reports_logprobs = field_find(&fields, "logprobs") != NULL;
    return field_u32(&fields, "max_tokens", 0, INT32_MAX, &options->max_tokens) &&
           field_u32(&fields, "logprobs", 0, FORGE_MAX_LOGPROBS, &options->logprobs) &&
           field_bool(&fields, "echo", &options->echoes) && check_unsupported(call, options);
}

struct reply *completion_read(const struct call *call)
{
    struct reply *reply = reply_new(call->server, false, call->failure);
    if (reply && read_options(call, reply) && read_prompts(call, reply))
        return reply;
    reply_free(reply);
    return NULL;
}
