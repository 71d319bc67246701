/* tools/forge/serve_text.c - see serve_text.h. */
#include "serve_text.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"

/* --- bytes ---------------------------------------------------------------------------------------------- */

bool bytes_reserve(struct bytes *bytes, size_t size)
{
    return array_reserve((void **)&bytes->list, &bytes->capacity, bytes->length + size, 1);
}

bool bytes_add(struct bytes *bytes, const char *added, size_t size)
{
    if (!bytes_reserve(bytes, size + 1))
        return false;
    memcpy(bytes->list + bytes->length, added, size);
    bytes->length += size;
    return true;
}

bool bytes_print(struct bytes *bytes, page_print_fn print, const void *context)
{
    size_t room = 256;
    for (;;) {
        struct text text;
        if (!bytes_reserve(bytes, room + 1))
            return false;
        room = bytes->capacity - bytes->length;
        text_init(&text, bytes->list + bytes->length, room);
        print(context, &text);
        if (text.length < room) {
            bytes->length += text.length;
            return true;
        }
        room = text.length + 1;
    }
}

/* --- stop strings --------------------------------------------------------------------------------------- */

/* Finds the first stop string in text[from..size). Returns its position, or `size`. */
static size_t find_stop(const struct answer_options *options, const char *text, size_t size, size_t from,
                        const char **out_stop)
{
    size_t first = size;
    for (size_t i = 0; i < options->stop_count; i++) {
        const char *found = memmem(text + from, size - from, options->stops[i], options->stop_sizes[i]);
        if (!found || (size_t)(found - text) >= first)
            continue;
        first = (size_t)(found - text);
        *out_stop = options->stops[i];
    }
    return first;
}

/* Returns the size of the longest suffix of the text that is the beginning of a stop string. */
static size_t count_held(const struct answer_options *options, const char *text, size_t size)
{
    size_t max = options->max_stop_bytes ? options->max_stop_bytes - 1 : 0;
    for (size_t held = max < size ? max : size; held > 0; held--)
        for (size_t i = 0; i < options->stop_count; i++)
            if (held < options->stop_sizes[i] && memcmp(text + size - held, options->stops[i], held) == 0)
                return held;
    return 0;
}

/* --- answers -------------------------------------------------------------------------------------------- */

void reply_text_begin(struct reply_text *answer, const forge_tokenizer *tokenizer,
                      const struct answer_options *options, bool continues_text)
{
    *answer =
        (struct reply_text){.tokenizer = tokenizer, .options = options, .stream.has_begun = continues_text};
}

static void finish(struct reply_text *answer, const char *reason)
{
    answer->held = 0;
    answer->discards = true;
    answer->finish_reason = reason;
}

/* Searches for stop strings in the text from position `from` on, which was just added. */
static void check_stops(struct reply_text *answer, size_t from)
{
    const struct answer_options *options = answer->options;
    if (!options->stop_count || answer->token_count < options->min_tokens)
        return;
    struct bytes *text = &answer->text;
    size_t searched = from > answer->held ? from - answer->held : 0;
    size_t end = find_stop(options, text->list, text->length, searched, &answer->stop);
    if (end < text->length) {
        text->length = end;
        finish(answer, "stop");
    } else {
        answer->held = count_held(options, text->list + searched, text->length - searched);
    }
}

static bool add_token(struct reply_text *answer, const struct token_events *events, size_t i)
{
    const struct token_event *event = &events->list[i];
    if (answer->options->reports_logprobs && !token_events_copy(&answer->tokens, events, i))
        return false;
    if (event->is_prompt)
        return true;
    if (!bytes_reserve(&answer->text, forge_tokenizer_max_text(answer->tokenizer) + 1))
        return false;
    size_t from = answer->text.length;
    answer->token_count++;
    answer->text.length += forge_text_stream_add(&answer->stream, answer->tokenizer, event->token,
                                                 answer->text.list + answer->text.length);
    check_stops(answer, from);
    return true;
}

bool reply_text_take(struct reply_text *answer, struct token_events *events)
{
    bool is_ok = true;
    /* If max_tokens is 0, the engine computes one token, which is dropped here. */
    uint32_t max = answer->options->has_max_tokens ? answer->options->max_tokens : UINT32_MAX;
    for (size_t i = 0; is_ok && i < events->count && !answer->discards; i++)
        if (events->list[i].is_prompt || answer->token_count < max)
            is_ok = add_token(answer, events, i);
    events->count = events->top_count = 0;
    return is_ok;
}

bool reply_text_finish(struct reply_text *answer, forge_end reason)
{
    if (answer->finish_reason) /* a stop string ended the answer */
        return true;
    if (!bytes_reserve(&answer->text, 8))
        return false;
    size_t from = answer->text.length;
    answer->text.length += forge_text_stream_end(&answer->stream, answer->text.list + answer->text.length);
    check_stops(answer, from);
    if (!answer->finish_reason)
        finish(answer, reason == FORGE_END_TOKEN ? "stop" : "length");
    return true;
}

size_t reply_text_ready(const struct reply_text *answer)
{
    return answer->text.length - answer->held;
}

void reply_text_drop_ready(struct reply_text *answer)
{
    size_t ready = reply_text_ready(answer);
    for (size_t i = 0; i < ready; i++)
        answer->sent_characters += ((unsigned char)answer->text.list[i] & 0xc0) != 0x80;
    if (answer->held)
        memmove(answer->text.list, answer->text.list + ready, answer->held);
    answer->text.length = answer->held;
    answer->tokens.count = answer->tokens.top_count = 0;
}

void reply_text_end(struct reply_text *answer)
{
    free(answer->text.list);
    token_events_free(&answer->tokens);
}
