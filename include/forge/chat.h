/* forge/chat.h - conversations as the text that a language model expects.
 *
 * A model's file contains a chat template, a program in the language Jinja. The subset that chat templates
 * use is supported, with Hugging Face's settings. Templates are not trusted: their steps, memory and depth
 * are limited.
 */
#ifndef FORGE_CHAT_H
#define FORGE_CHAT_H

#include <forge/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A message. Both texts are UTF-8. The layout never changes. */
typedef struct forge_chat_message {
    const char *role;    /* "system", "user" or "assistant"; a template may accept others */
    const char *content; /* NULL: none */
} forge_chat_message;

/* Writes `count` messages as one text. template_text: a Jinja template; NULL: the built-in template of
 * `family`. family: "chatml", "llama2", "llama3", "mistral", "zephyr", "gemma" or "phi3"; ignored if
 * template_text is given. adds_generation_prompt: the text ends with the beginning of the assistant's answer.
 * bos, eos: texts of the model's tokens for the beginning and the end of a text, which templates may print;
 * NULL: no such token. *out_text: the caller frees it with free(). JOULE_INVALID: the template is malformed,
 * fails or exceeds a limit; or the template refuses the conversation, and the message contains its reason; or
 * the family does not exist. JOULE_UNSUPPORTED: the template uses a construct outside of the subset; the
 * message names the line and the construct. */
FORGE_API joule_status forge_chat_render(const char *template_text, const char *family,
                                         const forge_chat_message *messages, size_t count,
                                         bool adds_generation_prompt, const char *bos, const char *eos,
                                         char **out_text, joule_error *out_error);

/* Returns the family whose markers a template contains, or NULL if it contains markers of no family or of
 * several families. Use this family if forge_chat_render returns JOULE_UNSUPPORTED for the template. The name
 * is in static storage. template_text: NULL is allowed. */
FORGE_API const char *forge_chat_family_of(const char *template_text);

#ifdef __cplusplus
}
#endif
#endif
