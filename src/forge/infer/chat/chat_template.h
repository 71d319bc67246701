/* infer/chat/chat_template.h - renders a chat template at a given time. */
#ifndef FORGE_INFER_CHAT_TEMPLATE_H
#define FORGE_INFER_CHAT_TEMPLATE_H

#include <time.h>
#include <forge/chat.h>
#include "base/json.h"

/* The arguments of forge_chat_render, and variables that only some templates print. */
struct chat {
    const forge_chat_message *messages;
    size_t count;
    bool adds_generation_prompt;
    const char *bos, *eos; /* NULL: not defined in the template */
    struct tm now;         /* the time that strftime_now prints */
    /* The variables "tools" and "documents": arrays of objects; NULL: none. */
    const struct json_value *tools, *documents;
    /* [count]: objects with further members of the messages, such as "tool_calls"; NULL: none. Members with
     * the names "role" and "content" are ignored. */
    const struct json_value *const *members;
};

/* Renders a conversation. Results and errors are those of forge_chat_render. */
joule_status chat_template_render(const char *template_text, const struct chat *chat, char **out_text,
                                  joule_error *out_error);
/* Renders a conversation with the current time, which it writes to chat->now. template_text, family: as in
 * forge_chat_render. */
joule_status chat_template_render_now(const char *template_text, const char *family, struct chat *chat,
                                      char **out_text, joule_error *out_error);
/* Returns the template of a built-in family, or NULL. */
const char *chat_template_of_family(const char *family);

#endif
