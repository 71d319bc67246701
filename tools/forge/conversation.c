/* tools/forge/conversation.c - see conversation.h. */
#include "conversation.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"

/* Returns the text of a special token, which the caller frees with free(); NULL: none. */
static char *token_text(const forge_tokenizer *tokenizer, int32_t token)
{
    const uint32_t flags = FORGE_DETOKENIZE_CONTROL | FORGE_DETOKENIZE_CONTINUE;
    if (token < 0)
        return NULL;
    size_t size = forge_detokenize(tokenizer, &token, 1, flags, NULL, 0);
    char *text = calloc(size + 1, 1);
    if (text)
        forge_detokenize(tokenizer, &token, 1, flags, text, size);
    return text;
}

static joule_status no_memory(joule_error *out_error)
{
    return error_set(out_error, JOULE_NO_MEMORY, "cannot store the conversation: out of memory");
}

joule_status conversation_begin(struct conversation *c, const struct language_model *model,
                                const char *family, const char *system, joule_error *out_error)
{
    const forge_tokenizer *tokenizer = model->tokenizer;
    *c = (struct conversation){.model = model, .family = family};
    if (!family)
        c->template_text = forge_tokenizer_chat_template(tokenizer);
    if (!family && !c->template_text)
        return error_set(
            out_error, JOULE_INVALID,
            "cannot use %s: the model has no chat template; name its family with --chat-template",
            model->path);
    c->bos = token_text(tokenizer, forge_tokenizer_bos(tokenizer));
    c->eos = token_text(tokenizer, forge_tokenizer_eos(tokenizer));
    if (!system)
        return JOULE_OK;
    if (!ARRAY_ROOM(c->messages, c->capacity, c->count))
        return no_memory(out_error);
    c->messages[c->count++] = (forge_chat_message){"system", system};
    c->has_system = true;
    return JOULE_OK;
}

void conversation_end(struct conversation *c)
{
    conversation_clear(c);
    free(c->messages);
    free(c->bos);
    free(c->eos);
    *c = (struct conversation){0};
}

joule_status conversation_add(struct conversation *c, const char *role, const char *content, size_t size,
                              joule_error *out_error)
{
    char *copy = strndup(size ? content : "", size);
    if (!copy || !ARRAY_ROOM(c->messages, c->capacity, c->count)) {
        free(copy);
        return no_memory(out_error);
    }
    c->messages[c->count++] = (forge_chat_message){role, copy};
    return JOULE_OK;
}

void conversation_remove_last(struct conversation *c)
{
    if (c->count > c->has_system)
        free((void *)(uintptr_t)c->messages[--c->count].content);
}

void conversation_clear(struct conversation *c)
{
    while (c->count > c->has_system)
        conversation_remove_last(c);
}

/* Removes the oldest turn: a message of the user and its answer. Returns false if only the last message is
 * left. */
static bool remove_oldest(struct conversation *c)
{
    size_t first = c->has_system, turn = 2;
    if (c->count < first + turn + 1)
        return false;
    for (size_t i = first; i < first + turn; i++)
        free((void *)(uintptr_t)c->messages[i].content);
    c->count -= turn;
    memmove(c->messages + first, c->messages + first + turn, (c->count - first) * sizeof *c->messages);
    return true;
}

/* --- tokens --------------------------------------------------------------------------------------------- */

/* Renders the conversation. If the model's template is not supported, this and all later calls use the
 * built-in template of its family. */
static joule_status render(struct conversation *c, char **out_text, joule_error *out_error)
{
    joule_status status = forge_chat_render(c->template_text, c->family, c->messages, c->count, true, c->bos,
                                            c->eos, out_text, out_error);
    const char *family = status == JOULE_UNSUPPORTED ? forge_chat_family_of(c->template_text) : NULL;
    if (!c->template_text || !family)
        return status;
    complain("chat", "%s; the template of the family %s is used instead", out_error->message, family);
    c->template_text = NULL;
    c->family = family;
    return forge_chat_render(NULL, family, c->messages, c->count, true, c->bos, c->eos, out_text, out_error);
}

static joule_status tokens_of(struct conversation *c, int32_t **out_tokens, size_t *out_count,
                              joule_error *out_error)
{
    char *text;
    const forge_tokenizer *tokenizer = c->model->tokenizer;
    joule_status status = render(c, &text, out_error);
    if (status != JOULE_OK)
        return status;
    /* Does not add BOS if the template has printed it, as many templates do. */
    bool has_bos = c->bos && *c->bos && string_starts(text, c->bos);
    status = (has_bos ? text_to_tokens : prompt_to_tokens)(
        tokenizer, text, strlen(text), FORGE_TOKENIZE_READ_CONTROL, out_tokens, out_count, out_error);
    free(text);
    return status;
}

joule_status conversation_tokens(struct conversation *c, size_t max_count, int32_t **out_tokens,
                                 size_t *out_count, size_t *out_removed, joule_error *out_error)
{
    *out_removed = 0;
    for (;;) {
        joule_status status = tokens_of(c, out_tokens, out_count, out_error);
        if (status != JOULE_OK || *out_count <= max_count)
            return status;
        free(*out_tokens);
        *out_tokens = NULL;
        if (!remove_oldest(c))
            return error_set(out_error, JOULE_INVALID,
                             "the message has %zu tokens with its template, but at most %zu fit", *out_count,
                             max_count);
        ++*out_removed;
    }
}
