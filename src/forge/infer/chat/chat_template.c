/* infer/chat/chat_template.c - renders conversations with chat templates, which are Jinja. */
#include "forge/infer/chat/chat_template.h"
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "forge/infer/chat/jinja.h"

/* --- families ------------------------------------------------------------------------------------------ */

/* The beginning of a loop over messages, for families whose format has no system message. The text of a
 * system message is put between `before` and `after`, and added in front of the next user message. */
#define TAKES_SYSTEM(before, after)                                                                          \
    "{%- set ns = namespace(system='') -%}"                                                                  \
    "{%- for message in messages -%}"                                                                        \
    "{%- set content = message.content or '' -%}"                                                            \
    "{%- if message.role == 'system' -%}"                                                                    \
    "{%- set ns.system = " before " + content + " after " -%}"                                               \
    "{%- continue -%}"                                                                                       \
    "{%- endif -%}"                                                                                          \
    "{%- if message.role == 'user' -%}"                                                                      \
    "{%- set content = ns.system + content -%}"                                                              \
    "{%- set ns.system = '' -%}"                                                                             \
    "{%- endif -%}"

static const char chatml[] =
    "{%- for message in messages -%}"
    "{{- '<|im_start|>' + message.role + '\n' + (message.content or '') + '<|im_end|>\n' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%}";

static const char llama2[] = TAKES_SYSTEM(
    "'<<SYS>>\n'", "'\n<</SYS>>\n\n'") "{%- if message.role == 'user' -%}"
                                       "{{- bos_token ~ '[INST] ' ~ content.strip() ~ ' [/INST]' -}}"
                                       "{%- else -%}"
                                       "{{- ' ' ~ content.strip() ~ ' ' ~ eos_token -}}"
                                       "{%- endif -%}"
                                       "{%- endfor -%}";

static const char llama3[] = "{{- bos_token -}}"
                             "{%- for message in messages -%}"
                             "{{- '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' -}}"
                             "{{- (message.content or '').strip() + '<|eot_id|>' -}}"
                             "{%- endfor -%}"
                             "{%- if add_generation_prompt -%}"
                             "{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' -}}"
                             "{%- endif -%}";

static const char mistral[] =
    "{{- bos_token -}}" TAKES_SYSTEM("''", "'\n\n'") "{%- if message.role == 'user' -%}"
                                                     "{{- '[INST] ' + content + ' [/INST]' -}}"
                                                     "{%- else -%}"
                                                     "{{- ' ' ~ content ~ eos_token -}}"
                                                     "{%- endif -%}"
                                                     "{%- endfor -%}";

static const char zephyr[] =
    "{%- for message in messages -%}"
    "{{- '<|' ~ message.role ~ '|>\n' ~ (message.content or '') ~ eos_token ~ '\n' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|assistant|>\n' -}}{%- endif -%}";

static const char gemma[] = "{{- bos_token -}}" TAKES_SYSTEM(
    "''", "'\n\n'") "{%- set role = 'model' if message.role == 'assistant' else message.role -%}"
                    "{{- '<start_of_turn>' + role + '\n' + content.strip() + '<end_of_turn>\n' -}}"
                    "{%- endfor -%}"
                    "{%- if add_generation_prompt -%}{{- '<start_of_turn>model\n' -}}{%- endif -%}";

static const char phi3[] = "{%- for message in messages -%}"
                           "{{- '<|' + message.role + '|>\n' + (message.content or '') + '<|end|>\n' -}}"
                           "{%- endfor -%}"
                           "{%- if add_generation_prompt -%}{{- '<|assistant|>\n' -}}{%- endif -%}";

enum { MAX_MARKERS = 4 };

/* A family: its template, markers that all of its templates contain, and markers that none of them
 * contains. */
static const struct family {
    const char *name, *template_text;
    const char *present[MAX_MARKERS], *absent[MAX_MARKERS];
} families[] = {
    {"chatml", chatml, {"<|im_start|>", "<|im_end|>"}, {"<|im_sep|>"}},
    {"llama2", llama2, {"[INST]", "[/INST]", "<<SYS>>"}},
    {"llama3", llama3, {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}},
    {"mistral", mistral, {"[INST]", "[/INST]"}, {"<<SYS>>", "[SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]"}},
    {"zephyr",
     zephyr,
     {"<|user|>\\n", "<|assistant|>", "eos_token"},
     {"<|end|>", "[gMASK]", "<|end_of_text|>"}},
    {"gemma", gemma, {"<start_of_turn>", "<end_of_turn>"}},
    {"phi3", phi3, {"<|user|>", "<|assistant|>", "<|end|>"}, {"<|start|>", "[gMASK]"}},
};
enum { FAMILIES = sizeof families / sizeof *families };

const char *chat_template_of_family(const char *family)
{
    for (size_t i = 0; i < FAMILIES; i++)
        if (strcmp(family, families[i].name) == 0)
            return families[i].template_text;
    return NULL;
}

static bool has_markers(const struct family *family, const char *text)
{
    for (size_t i = 0; i < MAX_MARKERS; i++)
        if ((family->present[i] && !strstr(text, family->present[i])) ||
            (family->absent[i] && strstr(text, family->absent[i])))
            return false;
    return true;
}

const char *forge_chat_family_of(const char *template_text)
{
    const char *found = NULL;
    for (size_t i = 0; template_text && i < FAMILIES; i++) {
        if (!has_markers(&families[i], template_text))
            continue;
        if (found)
            return NULL;
        found = families[i].name;
    }
    return found;
}

/* --- rendering ----------------------------------------------------------------------------------------- */

static void define(struct jinja *jinja, const char *name, struct value value)
{
    if (!jinja->has_failed)
        dict_set(jinja, &jinja->scope->variables, value_span(span_of(name)), value);
}

/* Adds the members of an object to a message, except those that the message has. */
static void add_members(struct jinja *jinja, struct dict *message, const struct json_value *members)
{
    for (const struct json_value *item = members->first; item && !jinja->has_failed; item = item->next)
        if (strcmp(item->name, "role") != 0 && strcmp(item->name, "content") != 0)
            dict_set(jinja, message, value_span(span_of(item->name)), jinja_read_json(jinja, item));
}

/* Returns the messages as a list of dicts. */
static struct value list_messages(struct jinja *jinja, const struct chat *chat)
{
    struct list *list = list_new(jinja, LIST_PLAIN);
    for (size_t i = 0; i < chat->count && !jinja->has_failed; i++) {
        const forge_chat_message *message = &chat->messages[i];
        struct dict *dict = dict_new(jinja);
        if (!message->role)
            return jinja_fail(jinja, JOULE_INVALID, "message %zu has no role", i);
        dict_set(jinja, dict, value_span(SPAN("role")), value_span(span_of(message->role)));
        dict_set(jinja, dict, value_span(SPAN("content")),
                 message->content ? value_span(span_of(message->content)) : value_none());
        if (chat->members && chat->members[i])
            add_members(jinja, dict, chat->members[i]);
        list_add(jinja, list, value_dict(dict));
    }
    return value_list(list);
}

static struct value read_optional(struct jinja *jinja, const struct json_value *json)
{
    return json ? jinja_read_json(jinja, json) : value_none();
}

/* Defines the variables that Hugging Face's libraries define. */
static void define_all(struct jinja *jinja, const struct chat *chat)
{
    jinja->scope = jinja_alloc(jinja, sizeof *jinja->scope);
    define(jinja, "messages", list_messages(jinja, chat));
    define(jinja, "add_generation_prompt", value_bool(chat->adds_generation_prompt));
    define(jinja, "tools", read_optional(jinja, chat->tools));
    define(jinja, "documents", read_optional(jinja, chat->documents));
    if (chat->bos)
        define(jinja, "bos_token", value_span(span_of(chat->bos)));
    if (chat->eos)
        define(jinja, "eos_token", value_span(span_of(chat->eos)));
}

static size_t size_of_json(const struct json_value *json)
{
    size_t size = 64;
    size += json->name ? strlen(json->name) : 0;
    size += json->text ? strlen(json->text) : 0;
    for (const struct json_value *item = json->first; item; item = item->next)
        size += size_of_json(item);
    return size;
}

static size_t size_of(const struct chat *chat)
{
    size_t size = 64 * chat->count;
    for (size_t i = 0; i < chat->count; i++) {
        size += chat->messages[i].content ? strlen(chat->messages[i].content) : 0;
        size += chat->members && chat->members[i] ? size_of_json(chat->members[i]) : 0;
    }
    size += chat->tools ? size_of_json(chat->tools) : 0;
    return size + (chat->documents ? size_of_json(chat->documents) : 0);
}

joule_status chat_template_render(const char *template_text, const struct chat *chat, char **out_text,
                                  joule_error *out_error)
{
    struct jinja jinja;
    struct buffer out = {0};
    joule_error error = {0};
    jinja_begin(&jinja, size_of(chat), &error);
    jinja.now = chat->now;
    jinja.out = &out;
    define_all(&jinja, chat);
    const struct token *tokens =
        jinja.has_failed ? NULL : jinja_lex(&jinja, template_text, strlen(template_text));
    const struct node *tree = tokens ? jinja_parse(&jinja, tokens) : NULL;
    if (tree)
        jinja_run(&jinja, tree);
    else
        jinja_fail(&jinja, JOULE_INVALID,
                   "the template is malformed"); /* no effect after an earlier failure */
    buffer_add(&jinja, &out, "", 1);             /* the terminator */
    jinja_end(&jinja);
    if (jinja.has_failed) {
        free(out.bytes);
        return error_set(out_error, error.status, "%s", error.message);
    }
    *out_text = out.bytes;
    return JOULE_OK;
}

joule_status forge_chat_render(const char *template_text, const char *family,
                               const forge_chat_message *messages, size_t count, bool adds_generation_prompt,
                               const char *bos, const char *eos, char **out_text, joule_error *out_error)
{
    struct chat chat = {messages, count, adds_generation_prompt, bos, eos, {0}, NULL, NULL, NULL};
    if (!out_text || (count && !messages))
        return error_set(out_error, JOULE_INVALID, "cannot render a conversation: an argument is NULL");
    return chat_template_render_now(template_text, family, &chat, out_text, out_error);
}

joule_status chat_template_render_now(const char *template_text, const char *family, struct chat *chat,
                                      char **out_text, joule_error *out_error)
{
    time_t now = time(NULL);
    if (!template_text && family)
        template_text = chat_template_of_family(family);
    if (!template_text)
        return error_set(out_error, JOULE_INVALID, "cannot render a conversation: %s%.40s",
                         family ? "there is no built-in family " : "neither a template nor a family is given",
                         family ? family : "");
    localtime_r(&now, &chat->now);
    return chat_template_render(template_text, chat, out_text, out_error);
}
