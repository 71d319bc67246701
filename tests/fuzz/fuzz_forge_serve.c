/* Fuzz target: the body of a request to `forge serve`. Checks that any bytes give either options within
 * their ranges, or an error that has a status and a message. */
#include <string.h>
#include "require.h"
#include "serve_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VOCABULARY = 512 };

static void check_options(const struct answer_options *o)
{
    const forge_sampling *s = &o->sampling;
    require(o->n >= 1 && o->stop_count <= MAX_STOPS && o->max_joules >= 0);
    require(s->temperature >= 0 && s->top_p > 0 && s->top_p <= 1 && s->min_p >= 0 && s->min_p <= 1);
    require(s->repetition_penalty >= 0.01 && s->top_k >= -1);
    for (size_t i = 0; i < o->stop_count; i++)
        require(o->stop_sizes[i] > 0 && o->stop_sizes[i] <= o->max_stop_bytes &&
                strlen(o->stops[i]) == o->stop_sizes[i]);
    for (size_t i = 0; i < o->stop_token_count; i++)
        require(o->stop_tokens[i] >= 0 && o->stop_tokens[i] < VOCABULARY);
    for (size_t i = 0; i < s->bias_count; i++)
        require(s->biases[i].token >= 0 && s->biases[i].token < VOCABULARY && s->biases[i].bias >= -100 &&
                s->biases[i].bias <= 100);
    require(!o->includes_usage || o->streams);
}

/* The first byte is the length of the header X-Max-Joules, which follows; the rest is the body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct failure failure = {0};
    struct answer_options options;
    joule_error error = {0};
    size_t header_size = size && data[0] < size ? data[0] : 0;
    char *header = header_size ? strndup((const char *)data + 1, header_size) : NULL;
    size_t skipped = size ? 1 + header_size : 0;
    char *body = malloc(size - skipped + 1);
    require(body != NULL);
    memcpy(body, data + skipped, size - skipped);
    const struct json_value *root = json_parse(&arena, body, size - skipped, "body", &error);
    const struct fields fields = {root, &failure};
    if (root && answer_options_read(&fields, header, VOCABULARY, &arena, &options))
        check_options(&options);
    else
        require(!root || (failure.status >= 400 && failure.message[0]));
    char answer[2048];
    struct text text;
    text_init(&text, answer, sizeof answer);
    failure_print(&failure, &text);
    require(text.length < 8192);
    arena_free(&arena);
    free(body);
    free(header);
    return 0;
}
