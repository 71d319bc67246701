/* tools/forge/serve_tokenize.c - /tokenize and /detokenize, with the fields of vLLM and of llama-server. */
#include <stdlib.h>
#include <string.h>
#include "base/json_writer.h"
#include "serve_endpoints.h"
#include "serve_tokens.h"

struct tokens {
    const struct server *server;
    const int32_t *list;
    size_t count;
};

static void print_tokens(const void *context, struct text *out)
{
    const struct tokens *tokens = context;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_open(&json, "tokens", '[');
    for (size_t i = 0; i < tokens->count; i++)
        json_integer(&json, NULL, tokens->list[i]);
    json_close(&json, ']');
    json_integer(&json, "count", (int64_t)tokens->count);
    json_integer(&json, "max_model_len", (int64_t)tokens->server->max_length);
    json_close(&json, '}');
}

bool tokenize_answer(const struct call *call, struct bytes *out)
{
    const struct fields fields = {call->body, call->failure};
    struct arena arena = {0};
    struct tokens tokens = {.server = call->server};
    const char *text = NULL, *content = NULL;
    int32_t *list;
    if (!call_check_model(call) || !field_text(&fields, "prompt", &text) ||
        !field_text(&fields, "content", &content))
        return false;
    /* vLLM ("prompt") adds BOS and EOS by default; llama-server ("content") does not. */
    bool adds_ends = text != NULL;
    if (!text && !(text = content))
        return failure_set(call->failure, "prompt", "'prompt' is missing");
    if (!field_bool(&fields, "add_special_tokens", &adds_ends) ||
        !field_bool(&fields, "add_special", &adds_ends))
        return false;
    uint32_t flags = FORGE_TOKENIZE_READ_CONTROL | (adds_ends ? FORGE_TOKENIZE_ADD_ENDS : 0);
    bool is_ok = tokens_of_text(call->server, SIZE_MAX, text, strlen(text), flags, "prompt", &arena, &list,
                                &tokens.count, call->failure);
    tokens.list = list;
    if (is_ok && !bytes_print(out, print_tokens, &tokens))
        is_ok = failure_set_no_memory(call->failure);
    arena_free(&arena);
    return is_ok;
}

static void print_text(const void *context, struct text *out)
{
    const struct bytes *text = context;
    text_add(out, "{\"prompt\":");
    json_quote(out, text->list, text->length);
    text_add(out, ",\"content\":");
    json_quote(out, text->list, text->length);
    text_add(out, "}");
}

/* Reads the array "tokens" into memory of the arena. */
static bool read_tokens(const struct call *call, struct arena *arena, struct tokens *out)
{
    const struct fields fields = {call->body, call->failure};
    const struct json_value *value = field_find(&fields, "tokens");
    size_t count = 0;
    if (!value || value->kind != JSON_ARRAY)
        return failure_set(call->failure, "tokens", "'tokens' must be an array of tokens");
    for (const struct json_value *item = value->first; item; item = item->next)
        count++;
    int32_t *list = arena_alloc(arena, count * sizeof *list);
    if (!list)
        return failure_set_no_memory(call->failure);
    for (const struct json_value *item = value->first; item; item = item->next) {
        int64_t token;
        if (!json_integer_of(item, 0, call->server->language.facts.vocabulary - 1, &token))
            return failure_set(call->failure, "tokens", "'tokens' must contain whole numbers from 0 to %lld",
                               (long long)call->server->language.facts.vocabulary - 1);
        list[out->count++] = (int32_t)token;
    }
    out->list = list;
    return true;
}

bool detokenize_answer(const struct call *call, struct bytes *out)
{
    struct arena arena = {0};
    struct tokens tokens = {.server = call->server};
    struct bytes text = {0};
    bool is_ok = call_check_model(call) && read_tokens(call, &arena, &tokens);
    if (is_ok) {
        size_t size = forge_detokenize(call->server->language.tokenizer, tokens.list, tokens.count,
                                       FORGE_DETOKENIZE_CONTROL, NULL, 0);
        if (bytes_reserve(&text, size + 1))
            text.length = forge_detokenize(call->server->language.tokenizer, tokens.list, tokens.count,
                                           FORGE_DETOKENIZE_CONTROL, text.list, size);
        if (!text.list || !bytes_print(out, print_text, &text))
            is_ok = failure_set_no_memory(call->failure);
    }
    free(text.list);
    arena_free(&arena);
    return is_ok;
}
