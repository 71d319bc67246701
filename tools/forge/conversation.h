/* tools/forge/conversation.h - the messages of a chat, and their tokens. */
#ifndef FORGE_CONVERSATION_H
#define FORGE_CONVERSATION_H

#include <forge/chat.h>
#include "language_model.h"

struct conversation {
    const struct language_model *model;
    const char *template_text; /* NULL: the built-in template of `family` */
    const char *family;        /* NULL: unknown */
    char *bos, *eos;           /* texts of these tokens; NULL: none */
    /* [count]; the conversation owns the contents, except that of a system message. */
    forge_chat_message *messages;
    size_t count, capacity;
    bool has_system; /* message 0 has the role "system" */
};

/* Begins a conversation with the template of `family`; NULL: the model's template. system: content of a
 * system message, which must outlive the conversation; NULL: none. JOULE_INVALID: the model has no
 * template. */
joule_status conversation_begin(struct conversation *c, const struct language_model *model,
                                const char *family, const char *system, joule_error *out_error);
void conversation_end(struct conversation *c);

/* Adds a message; `size` bytes of `content` are copied. */
joule_status conversation_add(struct conversation *c, const char *role, const char *content, size_t size,
                              joule_error *out_error);
/* conversation_clear removes all messages except the system message. conversation_remove_last removes the
 * last message. */
void conversation_clear(struct conversation *c);
void conversation_remove_last(struct conversation *c);

/* Returns the tokens of all messages and of the beginning of an answer. Removes the oldest turns until there
 * are at most `max_count` tokens. *out_removed: number of removed turns. JOULE_INVALID: the last message
 * alone is too long; it is not removed. The caller frees *out_tokens with free(). */
joule_status conversation_tokens(struct conversation *c, size_t max_count, int32_t **out_tokens,
                                 size_t *out_count, size_t *out_removed, joule_error *out_error);

#endif
