/* tools/forge/serve_chat.c - reads requests of /v1/chat/completions. */
#include <stdlib.h>
#include <string.h>
#include "forge/infer/chat/chat_template.h"
#include "serve_endpoints.h"
#include "serve_tokens.h"
#include "serve_tools.h"

#define MAX_MESSAGES   4096
#define MAX_NAME_BYTES 256

/* --- messages ------------------------------------------------------------------------------------------- */

/* Returns the text of a part {"type": "text", "text": "..."}, or NULL. */
static const char *text_of_part(const struct json_value *part)
{
    const char *type = json_text_of(json_member(part, "type"));
    return type && strcmp(type, "text") == 0 ? json_text_of(json_member(part, "text")) : NULL;
}

/* Joins the parts of a content. Returns NULL with a failure. */
static const char *join_parts(const struct call *call, const struct json_value *content, size_t i,
                              struct arena *arena)
{
    size_t size = 0, at = 0;
    for (const struct json_value *part = content->first; part; part = part->next) {
        const char *text = text_of_part(part);
        if (!text) {
            failure_set(call->failure, "messages",
                        "part of 'messages[%zu].content' is not a text: only text is "
                        "supported",
                        i);
            return NULL;
        }
        size += strlen(text);
    }
    char *joined = arena_alloc(arena, size + 1);
    if (!joined) {
        failure_set_no_memory(call->failure);
        return NULL;
    }
    for (const struct json_value *part = content->first; part; part = part->next) {
        size_t length = strlen(text_of_part(part));
        memcpy(joined + at, text_of_part(part), length);
        at += length;
    }
    return joined;
}

/* Reads message `i`. *bytes: adds the size of its text. *out_members: see struct chat. */
static bool read_message(const struct call *call, const struct json_value *value, size_t i,
                         struct arena *arena, size_t *bytes, forge_chat_message *out,
                         const struct json_value **out_members)
{
    const char *role = json_text_of(json_member(value, "role"));
    const struct json_value *content = json_member(value, "content");
    const char *text = json_text_of(content);
    if (!role || !*role || strlen(role) > 64)
        return failure_set(call->failure, "messages", "'messages[%zu].role' must be a string", i);
    if (content && content->kind == JSON_ARRAY && !(text = join_parts(call, content, i, arena)))
        return false;
    if (!text && content && content->kind != JSON_NULL)
        return failure_set(call->failure, "messages",
                           "'messages[%zu].content' must be a string or an array of text parts", i);
    *bytes += text ? strlen(text) : 0;
    if (!message_members_read(call, value, i, arena, bytes, out_members))
        return false;
    if (!check_text_size(call->server, *bytes, "messages", call->failure))
        return false;
    out->role = strcmp(role, "developer") == 0 ? "system" : role;
    out->content = text ? control_tokens_divide(call->server->control_tokens, text, arena) : NULL;
    if (text && !out->content)
        return failure_set_no_memory(call->failure);
    return text || strcmp(role, "assistant") == 0 ||
           failure_set(call->failure, "messages", "'messages[%zu].content' is missing", i);
}

/* Sets the messages of `chat`, and their members. */
static bool read_messages(const struct call *call, struct arena *arena, struct chat *chat)
{
    const struct fields fields = {call->body, call->failure};
    const struct json_value *value = field_find(&fields, "messages");
    size_t count = 0, bytes = 0;
    if (!value)
        return failure_set(call->failure, "messages", "'messages' is missing");
    if (value->kind != JSON_ARRAY || !value->first)
        return failure_set(call->failure, "messages", "'messages' must be an array of at least one message");
    for (const struct json_value *item = value->first; item; item = item->next)
        count++;
    if (count > MAX_MESSAGES)
        return failure_set(call->failure, "messages", "'messages' has more than %d messages", MAX_MESSAGES);
    forge_chat_message *messages = arena_alloc(arena, count * sizeof *messages);
    const struct json_value **members = arena_alloc(arena, count * sizeof *members);
    chat->messages = messages;
    chat->members = members;
    if (!messages || !members)
        return failure_set_no_memory(call->failure);
    for (const struct json_value *item = value->first; item; item = item->next, chat->count++)
        if (!read_message(call, item, chat->count, arena, &bytes, &messages[chat->count],
                          &members[chat->count]))
            return false;
    return true;
}

/* --- the template --------------------------------------------------------------------------------------- */

/* Writes the text of a token to out, or returns NULL if there is no such token. */
static const char *name_of(const forge_tokenizer *tokenizer, int32_t token, char out[MAX_NAME_BYTES])
{
    size_t size = token < 0 ? 0
                            : forge_detokenize(tokenizer, &token, 1,
                                               FORGE_DETOKENIZE_CONTROL | FORGE_DETOKENIZE_CONTINUE, out,
                                               MAX_NAME_BYTES - 1);
    if (size == 0 || size >= MAX_NAME_BYTES)
        return NULL;
    out[size] = '\0';
    return out;
}

/* Renders the conversation with the template of --chat-template; without this option, with the model's
 * template. If the model's template is not supported, uses the built-in template of its family. */
static joule_status render(const struct server *server, struct chat *chat, char **out_text,
                           joule_error *error)
{
    char bos_text[MAX_NAME_BYTES], eos_text[MAX_NAME_BYTES];
    const forge_tokenizer *tokenizer = server->language.tokenizer;
    const char *family = server->settings->chat_template,
               *own = family ? NULL : forge_tokenizer_chat_template(tokenizer);
    chat->bos = name_of(tokenizer, forge_tokenizer_bos(tokenizer), bos_text);
    chat->eos = name_of(tokenizer, forge_tokenizer_eos(tokenizer), eos_text);
    joule_status status = chat_template_render_now(own, family, chat, out_text, error);
    if (status == JOULE_UNSUPPORTED && own && (family = forge_chat_family_of(own)))
        status = chat_template_render_now(NULL, family, chat, out_text, error);
    chat->bos = chat->eos = NULL;
    return status;
}

static bool fail_render(const struct call *call, const joule_error *error)
{
    return error->status == JOULE_NO_MEMORY ? failure_set_no_memory(call->failure)
                                            : failure_set(call->failure, "messages", "%s", error->message);
}

/* Checks that the text changes if the variable `name` is absent. Otherwise the model would not know of the
 * tools or documents. variable: a member of `chat`. */
static bool check_is_printed(const struct call *call, struct chat *chat, const struct json_value **variable,
                             const char *name, const char *text)
{
    joule_error error = {0};
    const struct json_value *value = *variable;
    char *other = NULL;
    if (!value)
        return true;
    *variable = NULL;
    bool is_printed = render(call->server, chat, &other, &error) != JOULE_OK || strcmp(text, other) != 0;
    *variable = value;
    free(other);
    return is_printed || failure_set(call->failure, name,
                                     "the chat template of this model does not use '%s'; describe them in a "
                                     "message instead",
                                     name);
}

/* Sets *out_text to the text of the conversation. The caller frees it with free(). */
static bool read_text(const struct call *call, struct arena *arena, char **out_text)
{
    struct chat chat = {.adds_generation_prompt = true};
    joule_error error = {0};
    if (!read_messages(call, arena, &chat) || !tools_read(call, arena, &chat.tools) ||
        !documents_read(call, arena, &chat.documents))
        return false;
    if (render(call->server, &chat, out_text, &error) != JOULE_OK)
        return fail_render(call, &error);
    return check_is_printed(call, &chat, &chat.tools, "tools", *out_text) &&
           check_is_printed(call, &chat, &chat.documents, "documents", *out_text);
}

static bool read_conversation(const struct call *call, struct reply *reply)
{
    struct arena *arena = &reply->job->arena, texts = {0};
    const struct server *server = call->server;
    struct prompt prompt = {0};
    char *text = NULL;
    if (!server->settings->chat_template && !forge_tokenizer_chat_template(server->language.tokenizer))
        return failure_set(call->failure, NULL,
                           "the model has no chat template; start the server with --chat-template FAMILY");
    bool is_ok = read_text(call, &texts, &text);
    if (is_ok)
        is_ok = tokens_of_template(server, text, arena, &prompt.tokens, &prompt.count, call->failure);
    free(text);
    arena_free(&texts);
    if (is_ok && prompt.count == 0)
        return failure_set(call->failure, "messages", "the conversation has no text");
    return is_ok && reply_set_prompts(reply, &prompt, 1, call->failure);
}

/* --- requests ------------------------------------------------------------------------------------------- */

/* Refuses fields that are not supported and would change the answer. */
static bool check_unsupported(const struct call *call)
{
    static const char *const names[] = {"functions", "audio", NULL};
    const struct fields fields = {call->body, call->failure};
    for (const char *const *name = names; *name; name++) {
        const struct json_value *value = field_find(&fields, *name);
        if (value && !(value->kind == JSON_ARRAY && !value->first))
            return failure_set(call->failure, *name, "'%s' is not supported", *name);
    }
    return true;
}

static bool read_options(const struct call *call, struct reply *reply)
{
    const struct fields fields = {call->body, call->failure};
    struct answer_options *options = &reply->options;
    if (!call_read_options(call, reply))
        return false;
    bool is_ok = field_u32(&fields, "max_tokens", 0, INT32_MAX, &options->max_tokens) &&
                 field_u32(&fields, "max_completion_tokens", 0, INT32_MAX, &options->max_tokens) &&
                 field_bool(&fields, "logprobs", &options->reports_logprobs) &&
                 field_u32(&fields, "top_logprobs", 0, FORGE_MAX_LOGPROBS, &options->logprobs) &&
                 check_unsupported(call);
    options->has_max_tokens =
        field_find(&fields, "max_tokens") || field_find(&fields, "max_completion_tokens");
    if (is_ok && options->logprobs && !options->reports_logprobs)
        return failure_set(call->failure, "top_logprobs", "'top_logprobs' needs 'logprobs': true");
    return is_ok;
}

struct reply *chat_read(const struct call *call)
{
    struct reply *reply = reply_new(call->server, true, call->failure);
    if (reply && read_options(call, reply) && read_conversation(call, reply))
        return reply;
    reply_free(reply);
    return NULL;
}
