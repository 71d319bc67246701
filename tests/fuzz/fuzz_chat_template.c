/* Fuzz target: chat templates. Any template must give a text or a message, within the limits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "forge/infer/chat/chat_template.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the values in a JSON text, in memory of `arena`. */
static const struct json_value *parse(struct arena *arena, const char *text)
{
    size_t size = strlen(text);
    char *copy = arena_copy(arena, text, size);
    require(copy != NULL);
    return json_parse(arena, copy, size, "tools", NULL);
}

static joule_status render(const char *template_text, char **out_text, joule_error *error)
{
    static const char tools[] =
        "[{\"type\":\"function\",\"function\":{\"name\":\"\xc3\xa9\\n\",\"x\":[1,-2.5e9,"
        "true,null,{}]}},{}]";
    static const char calls[] =
        "{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":\"<\"}}}]}";
    struct arena arena = {0};
    static const forge_chat_message messages[] = {
        {"system", "Be \xc3\xa9 brief."}, {"user", " Hi\n"}, {"assistant", "\xff<x>"}, {"user", NULL}};
    const struct json_value *members[4] = {NULL, NULL, parse(&arena, calls), NULL};
    struct chat chat = {messages, 4, true, "<s>", NULL, {.tm_mday = 1}, parse(&arena, tools), NULL, members};
    joule_status status = chat_template_render(template_text, &chat, out_text, error);
    arena_free(&arena);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    joule_error error = {0};
    char *text = NULL, *copy = malloc(size + 1); /* exact size: sanitizers detect reads beyond the end */
    require(copy != NULL);
    memcpy(copy, data, size);
    copy[size] = '\0';
    joule_status status = render(copy, &text, &error);
    require(status == error.status);
    require(status == JOULE_OK || status == JOULE_INVALID || status == JOULE_UNSUPPORTED);
    require((status == JOULE_OK) == (text != NULL));
    forge_chat_family_of(copy);
    free(text);
    free(copy);
    return 0;
}
