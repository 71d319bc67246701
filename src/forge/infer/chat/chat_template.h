/* infer/chat/chat_template.h - renders a chat template at a given time. */
#ifndef FORGE_INFER_CHAT_TEMPLATE_H
#define FORGE_INFER_CHAT_TEMPLATE_H

#include <time.h>
#include <forge/chat.h>

/* The arguments of forge_chat_render. */
struct chat {
    const forge_chat_message *messages;
    size_t count;
    bool adds_generation_prompt;
    const char *bos, *eos; /* NULL: not defined in the template */
    struct tm now;         /* the time that strftime_now prints */
};

/* Renders a conversation. Results and errors are those of forge_chat_render. */
joule_status chat_template_render(const char *template_text, const struct chat *chat, char **out_text,
                                  joule_error *out_error);
/* Returns the template of a built-in family, or NULL. */
const char *chat_template_of_family(const char *family);

#endif
