/* tools/forge/answer.c - see answer.h. */
#include "answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "interrupt.h"
#include "visible_text.h"

/* --- text ----------------------------------------------------------------------------------------------- */

bool stops_check(const struct option_list *stops, const char *subcommand)
{
    for (size_t i = 0; i < stops->count; i++)
        if (!*stops->items[i]) {
            complain(subcommand, "--stop takes a text, not an empty one");
            return false;
        }
    return true;
}

/* Returns the offset of the first stop text at or after `from`, or the text's size. */
static size_t find_stop(const struct answer *a, const struct option_list *stops, size_t from)
{
    size_t first = a->size;
    for (size_t i = 0; stops && i < stops->count; i++) {
        const char *found = memmem(a->text + from, a->size - from, stops->items[i], strlen(stops->items[i]));
        if (found && (size_t)(found - a->text) < first)
            first = (size_t)(found - a->text);
    }
    return first;
}

/* Returns the size of the longest end of the text with which a stop text begins. */
static size_t pending_size(const struct answer *a, const struct option_list *stops)
{
    size_t longest = 0;
    for (size_t i = 0; stops && i < stops->count; i++) {
        size_t length = strlen(stops->items[i]);
        for (size_t n = length - 1; n > longest; n--)
            if (n <= a->size && memcmp(a->text + a->size - n, stops->items[i], n) == 0)
                longest = n;
    }
    return longest;
}

static size_t longest_stop(const struct option_list *stops)
{
    size_t longest = 0;
    for (size_t i = 0; stops && i < stops->count; i++)
        longest = strlen(stops->items[i]) > longest ? strlen(stops->items[i]) : longest;
    return longest;
}

/* Prints the text up to `end`. */
static void print_until(struct answer *a, const struct question *q, size_t end)
{
    if (!q->is_quiet && end > a->printed)
        visible_text_print(a->text + a->printed, end - a->printed);
    a->printed = end > a->printed ? end : a->printed;
}

/* Appends text, and prints all of it except the end that may be the beginning of a stop text. */
static joule_status add_text(struct answer *a, const struct question *q, const char *bytes, size_t size,
                             joule_error *error)
{
    if (size == 0)
        return JOULE_OK;
    if (size > a->capacity - a->size) {
        size_t capacity = 2 * a->capacity + size + 256;
        char *larger = realloc(a->text, capacity);
        if (!larger)
            return error_set(error, JOULE_NO_MEMORY, "cannot store the answer: out of memory");
        a->text = larger;
        a->capacity = capacity;
    }
    memcpy(a->text + a->size, bytes, size);
    size_t longest = longest_stop(q->stops), from = a->size > longest ? a->size - longest : 0;
    a->size += size;
    size_t stop = find_stop(a, q->stops, from);
    a->has_stop = stop < a->size;
    a->size = stop;
    print_until(a, q, a->has_stop ? stop : stop - pending_size(a, q->stops));
    return JOULE_OK;
}

/* --- computation ---------------------------------------------------------------------------------------- */

static joule_status take(struct answer *a, const struct language_model *m, const struct question *q,
                         const forge_engine_event *event, joule_error *error)
{
    if (event->end == FORGE_END_FAILED)
        return error_set(error, JOULE_FAILED, "%s", event->failure);
    if (event->end != FORGE_END_NONE) {
        a->last = *event;
        return JOULE_OK;
    }
    if (a->has_stop)
        return JOULE_OK;
    if (!ARRAY_ROOM(a->tokens, a->token_capacity, a->token_count))
        return error_set(error, JOULE_NO_MEMORY, "cannot store the answer: out of memory");
    a->tokens[a->token_count++] = event->token;
    return add_text(a, q, a->piece, forge_text_stream_add(&a->stream, m->tokenizer, event->token, a->piece),
                    error);
}

static joule_status run(struct language_model *m, const struct question *q, uint64_t id, struct answer *a,
                        joule_error *error)
{
    joule_status status;
    forge_engine_event event = {.struct_size = sizeof event};
    while ((status = forge_engine_step(m->engine, error)) == JOULE_OK) {
        while (status == JOULE_OK && forge_engine_next(m->engine, &event) == JOULE_OK)
            status = take(a, m, q, &event, error);
        if (status != JOULE_OK)
            return status;
        if (interrupted_by || a->has_stop || ferror(stdout))
            forge_engine_cancel(m->engine, id);
    }
    return status == JOULE_ABSENT ? JOULE_OK : status;
}

static void mark_unknown(joule_quantity *joules)
{
    if (joules->cls == JOULE_CLASS_NONE)
        joules->value = joules->low = joules->high = NAN;
}

joule_status answer_compute(struct language_model *m, const struct question *q, struct answer *out_answer,
                            joule_error *out_error)
{
    uint64_t id;
    char end[4];
    const forge_request request = {.struct_size = sizeof request,
                                   .max_tokens = q->max_tokens,
                                   .prompt = q->prompt,
                                   .prompt_count = q->prompt_count,
                                   .sampling = q->sampling,
                                   .max_joules = q->max_joules};
    *out_answer = (struct answer){.stream.has_begun = q->continues,
                                  .piece = malloc(forge_tokenizer_max_text(m->tokenizer))};
    if (!out_answer->piece)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot compute an answer: out of memory");
    joule_status status = forge_engine_add(m->engine, &request, &id, out_error);
    if (status == JOULE_OK)
        status = run(m, q, id, out_answer, out_error);
    if (status == JOULE_OK && !out_answer->has_stop)
        status = add_text(out_answer, q, end, forge_text_stream_end(&out_answer->stream, end), out_error);
    print_until(out_answer, q, out_answer->size);
    mark_unknown(&out_answer->last.joules);
    mark_unknown(&out_answer->last.prefill_joules);
    mark_unknown(&out_answer->last.decode_joules);
    return status;
}

void answer_free(struct answer *answer)
{
    free(answer->text);
    free(answer->tokens);
    free(answer->piece);
    *answer = (struct answer){0};
}
