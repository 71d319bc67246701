/* infer/tokenizer/tokenizer_config.c - reads tokenizer_config.json of Hugging Face: special tokens and the
 * chat template. */
#include <stdlib.h>
#include <string.h>
#include "forge/core/random_access_file.h"
#include "forge/infer/tokenizer/tokenizer_json.h"

enum { MAX_FILE = 64 << 20 }; /* bytes */
#define CONFIG_NAME "tokenizer_config.json"

/* Texts of special tokens, for files without tokenizer_config.json. */
static const char *const bos_names[] = {"<s>", "<|begin_of_text|>", "<bos>", NULL};
static const char *const eos_names[] = {"</s>", "<|end_of_text|>", "<|endoftext|>", "<eos>", NULL};

/* Returns the first control token with one of the names, or -1. */
static int32_t find_control(const struct json_tokenizer *reading, const char *const *names)
{
    for (; *names; names++) {
        int32_t token = json_tokenizer_find(reading, *names);
        if (token >= 0 && reading->vocabulary->types[token] == TOKEN_CONTROL)
            return token;
    }
    return -1;
}

/* Sets *id to the token that the member `name` names: a text, or an object with the text. Any other value
 * leaves *id unchanged. */
static joule_status read_id(struct json_tokenizer *reading, const struct json_value *config, const char *name,
                            int32_t *id)
{
    const struct json_value *value = json_member(config, name), *content = json_member(value, "content");
    const char *text = json_text_of(content ? content : value);
    if (!text)
        return JOULE_OK;
    *id = json_tokenizer_find(reading, text);
    return *id >= 0 ? JOULE_OK
                    : json_tokenizer_fail(reading, JOULE_INVALID,
                                          CONFIG_NAME ": %s is '%.60s', which is not a token", name, text);
}

/* Returns the chat template; NULL: none. `value` is the text itself, or a list of named texts, of which the
 * one named "default" is used. */
static const char *find_template(const struct json_value *value)
{
    const char *first = NULL;
    if (!value || value->kind != JSON_ARRAY)
        return json_text_of(value);
    for (const struct json_value *item = value->first; item; item = item->next) {
        const char *text = json_text_of(json_member(item, "template"));
        if (text && json_is_text(json_member(item, "name"), "default"))
            return text;
        first = first ? first : text;
    }
    return first;
}

static joule_status read_config(struct json_tokenizer *reading, const struct json_value *config)
{
    struct vocabulary *v = reading->vocabulary;
    const struct {
        const char *name;
        int32_t *id;
    } ids[] = {{"bos_token", &v->bos}, {"eos_token", &v->eos}, {"pad_token", &v->padding}};
    joule_status status = JOULE_OK;
    for (size_t i = 0; i < sizeof ids / sizeof *ids && status == JOULE_OK; i++)
        status = read_id(reading, config, ids[i].name, ids[i].id);
    v->adds_bos = json_flag(json_member(config, "add_bos_token"), v->adds_bos) && v->bos >= 0;
    v->adds_eos = json_flag(json_member(config, "add_eos_token"), v->adds_eos) && v->eos >= 0;
    const char *template = find_template(json_member(config, "chat_template"));
    if (template) /* the arena keeps the file, which contains the text */
        v->chat_template = template;
    return status;
}

/* Returns the path of tokenizer_config.json in the folder of the file, or NULL if out of memory. */
static char *config_path(struct json_tokenizer *reading)
{
    const char *slash = strrchr(reading->path, '/');
    size_t folder = slash ? (size_t)(slash + 1 - reading->path) : 0;
    char *path = arena_alloc(reading->arena, folder + sizeof CONFIG_NAME);
    if (path) {
        memcpy(path, reading->path, folder);
        memcpy(path + folder, CONFIG_NAME, sizeof CONFIG_NAME);
    }
    return path;
}

joule_status json_read_config(struct json_tokenizer *reading)
{
    struct vocabulary *v = reading->vocabulary;
    struct arena tree = {0};
    joule_error error = {0};
    char *text, *path = config_path(reading);
    size_t size;
    if (!path)
        return json_tokenizer_fail(reading, JOULE_NO_MEMORY, "%s", "out of memory");
    joule_status status = file_read_all(path, MAX_FILE, reading->arena, &text, &size, &error);
    if (status == JOULE_OK) {
        const struct json_value *config = json_parse(&tree, text, size, path, &error);
        status = config ? read_config(reading, config) : error.status;
    }
    if (status == JOULE_ABSENT)
        status = JOULE_OK;
    else if (error.status != JOULE_OK)
        error_set(reading->error, status, "%s", error.message);
    arena_free(&tree);
    if (v->bos < 0)
        v->bos = find_control(reading, bos_names);
    if (v->eos < 0)
        v->eos = find_control(reading, eos_names);
    return status;
}
