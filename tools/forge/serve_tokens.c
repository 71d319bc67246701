/* tools/forge/serve_tokens.c - see serve_tokens.h. */
#include "serve_tokens.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"

#define MAX_CONTROL_BYTES 256
#define MARK              "\xef\xb7\x90" /* U+FDD0, which is not a character */
#define REPLACEMENT       "\xef\xbf\xbd" /* U+FFFD */
#define MARK_BYTES        3

/* --- control tokens ------------------------------------------------------------------------------------- */

struct control_tokens {
    char **list; /* texts of control tokens, each of 2 bytes or more */
    size_t count, capacity;
};

/* Writes the text of a control token. Returns false if the token is not a control token. */
static bool control_text(const forge_tokenizer *tokenizer, int32_t token, char out[MAX_CONTROL_BYTES])
{
    uint32_t flags = FORGE_DETOKENIZE_CONTINUE;
    if (forge_detokenize(tokenizer, &token, 1, flags, NULL, 0) != 0)
        return false;
    size_t size =
        forge_detokenize(tokenizer, &token, 1, flags | FORGE_DETOKENIZE_CONTROL, out, MAX_CONTROL_BYTES - 1);
    if (size < 2 || size >= MAX_CONTROL_BYTES)
        return false;
    out[size] = '\0';
    return true;
}

struct control_tokens *control_tokens_new(const forge_tokenizer *tokenizer)
{
    struct control_tokens *tokens = calloc(1, sizeof *tokens);
    size_t count = tokens ? forge_tokenizer_count(tokenizer) : 0;
    for (size_t i = 0; i < count; i++) {
        char text[MAX_CONTROL_BYTES];
        if (!control_text(tokenizer, (int32_t)i, text))
            continue;
        if (!ARRAY_ROOM(tokens->list, tokens->capacity, tokens->count) ||
            !(tokens->list[tokens->count] = strdup(text))) {
            control_tokens_free(tokens);
            return NULL;
        }
        tokens->count++;
    }
    return tokens;
}

void control_tokens_free(struct control_tokens *tokens)
{
    if (!tokens)
        return;
    for (size_t i = 0; i < tokens->count; i++)
        free(tokens->list[i]);
    free(tokens->list);
    free(tokens);
}

static bool begins_control_token(const struct control_tokens *tokens, const char *text)
{
    for (size_t i = 0; i < tokens->count; i++)
        if (text[0] == tokens->list[i][0] && strncmp(text, tokens->list[i], strlen(tokens->list[i])) == 0)
            return true;
    return false;
}

char *control_tokens_divide(const struct control_tokens *tokens, const char *text, struct arena *arena)
{
    size_t size = 0, marks = 0;
    for (; text[size]; size++)
        marks += begins_control_token(tokens, text + size);
    char *copy = arena_alloc(arena, size + marks * MARK_BYTES + 1), *out = copy;
    for (size_t i = 0; copy && i < size; i++) {
        /* Removes marks from the user's text, because only the server may add marks. */
        if (strncmp(text + i, MARK, MARK_BYTES) == 0) {
            memcpy(out, REPLACEMENT, MARK_BYTES);
            out += MARK_BYTES;
            i += MARK_BYTES - 1;
            continue;
        }
        *out++ = text[i];
        if (!begins_control_token(tokens, text + i))
            continue;
        memcpy(out, MARK, MARK_BYTES);
        out += MARK_BYTES;
    }
    return copy;
}

/* --- tokens --------------------------------------------------------------------------------------------- */

/* Appends the tokens of a text to out[*count..capacity), and adds their number to *count. If *count exceeds
 * the capacity, the last tokens are missing. */
static bool append(const struct server *server, const char *text, size_t size, uint32_t flags, int32_t *out,
                   size_t capacity, size_t *count, struct failure *failure)
{
    size_t added, room = *count < capacity ? capacity - *count : 0;
    joule_error error = {0};
    if (forge_tokenize(server->language.tokenizer, text, size, flags, room ? out + *count : NULL, room,
                       &added, &error) != JOULE_OK)
        return failure_set_status(failure, 500, "server_error", NULL, "%s", error.message);
    *count += added;
    return true;
}

/* Returns the capacity for the tokens of a text: one more than max_tokens, to detect texts that are too long.
 * A short text needs less, because it cannot have so many tokens. */
static size_t capacity_for(size_t size, size_t max_tokens)
{
    return size + 16 < max_tokens ? size + 16 : max_tokens + 1;
}

static bool fail_too_long(struct failure *failure, const char *param, size_t max_tokens)
{
    failure_set(failure, param, "'%s' has more than %zu tokens, which is the maximum of this server", param,
                max_tokens);
    failure->code = "context_length_exceeded";
    return false;
}

bool check_text_size(const struct server *server, size_t size, const char *param, struct failure *failure)
{
    size_t token_bytes =
        forge_tokenizer_max_text(server->language.tokenizer); /* at least the size of the longest token */
    return size / token_bytes <= server->max_length || fail_too_long(failure, param, server->max_length);
}

bool tokens_of_text(const struct server *server, size_t max_tokens, const char *text, size_t size,
                    uint32_t flags, const char *param, struct arena *arena, int32_t **out_tokens,
                    size_t *out_count, struct failure *failure)
{
    size_t capacity = capacity_for(size, max_tokens);
    int32_t *tokens = arena_alloc(arena, capacity * sizeof *tokens);
    *out_tokens = tokens;
    *out_count = 0;
    if (!tokens)
        return failure_set_no_memory(failure);
    return append(server, text, size, flags, tokens, capacity, out_count, failure) &&
           (*out_count <= (capacity < max_tokens ? capacity : max_tokens) ||
            fail_too_long(failure, param, max_tokens));
}

/* Returns true if the model begins all texts with a BOS token. */
static bool begins_with_bos(const struct server *server)
{
    int32_t first = -1, bos = forge_tokenizer_bos(server->language.tokenizer);
    size_t count;
    return bos >= 0 &&
           forge_tokenize(server->language.tokenizer, "", 0, FORGE_TOKENIZE_ADD_ENDS, &first, 1, &count,
                          NULL) == JOULE_OK &&
           first == bos;
}

bool tokens_of_template(const struct server *server, char *text, struct arena *arena, int32_t **out_tokens,
                        size_t *out_count, struct failure *failure)
{
    size_t capacity = capacity_for(strlen(text), server->max_length) + 1, count = 1;
    int32_t *tokens = arena_alloc(arena, capacity * sizeof *tokens); /* the first element is for BOS */
    if (!tokens)
        return failure_set_no_memory(failure);
    bool is_ok = true;
    while (is_ok && text) {
        char *mark = strstr(text, MARK);
        is_ok = append(server, text, mark ? (size_t)(mark - text) : strlen(text), FORGE_TOKENIZE_READ_CONTROL,
                       tokens, capacity, &count, failure);
        text = mark ? mark + MARK_BYTES : NULL;
    }
    if (!is_ok)
        return false;
    if (count > capacity || count - 1 > server->max_length)
        return fail_too_long(failure, "messages", server->max_length);
    bool adds_bos = begins_with_bos(server) &&
                    (count < 2 || tokens[1] != forge_tokenizer_bos(server->language.tokenizer));
    if (adds_bos)
        tokens[0] = forge_tokenizer_bos(server->language.tokenizer);
    *out_tokens = adds_bos ? tokens : tokens + 1;
    *out_count = adds_bos ? count : count - 1;
    return true;
}
