/* generate.c - continues a text with a language model, and prints the joules of the answer.
 *
 * MODEL is a GGUF file, a folder of Hugging Face, or a file of llama2.c, which needs a TOKENIZER. The engine
 * could answer further requests at the same time; each would end with its own joules.
 *
 *     cc generate.c $(pkg-config --cflags --libs forge) -o generate && ./generate MODEL PROMPT [TOKENIZER]
 */
#include <forge/engine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 100 };

struct session {
    forge_device *device;
    forge_model *model;
    const forge_tokenizer *tokenizer;
    forge_engine *engine;
    int32_t *prompt; /* [prompt_count] tokens */
    size_t prompt_count;
    char *text; /* memory for the text of one token */
    joule_error error;
};

static joule_status fail(struct session *s, const char *message)
{
    snprintf(s->error.message, sizeof s->error.message, "%s", message);
    return JOULE_FAILED;
}

static joule_status open_model(struct session *s, const char *path, const char *tokenizer_path)
{
    joule_status status = forge_device_open("cpu", &s->device, &s->error);
    if (status == JOULE_OK)
        status = forge_model_open(path, tokenizer_path, &s->model, &s->error);
    if (status != JOULE_OK)
        return status;
    s->tokenizer = forge_model_tokenizer(s->model);
    if (!s->tokenizer)
        return fail(s, "the model has no vocabulary: add a file with its tokenizer");
    return forge_engine_new(s->model, s->device, NULL, &s->engine, &s->error);
}

/* Adds a request for the most likely answer. */
static joule_status ask(struct session *s, const char *text)
{
    uint64_t id;
    size_t capacity = strlen(text) + 8; /* a token stands for at least one byte; and tokens at the ends */
    s->prompt = malloc(capacity * sizeof *s->prompt);
    s->text = malloc(forge_tokenizer_max_text(s->tokenizer));
    if (!s->prompt || !s->text)
        return fail(s, "out of memory");
    joule_status status = forge_tokenize(s->tokenizer, text, strlen(text), FORGE_TOKENIZE_ADD_ENDS, s->prompt,
                                         capacity, &s->prompt_count, &s->error);
    if (status == JOULE_OK && s->prompt_count > capacity)
        return fail(s, "the prompt has too many tokens");
    if (status != JOULE_OK)
        return status;
    forge_request request = {.struct_size = sizeof request,
                             .prompt = s->prompt,
                             .prompt_count = s->prompt_count,
                             .sampling = forge_sampling_default(),
                             .max_tokens = MAX_TOKENS};
    request.sampling.temperature = 0;
    return forge_engine_add(s->engine, &request, &id, &s->error);
}

static void print_energy(const forge_engine_event *end)
{
    printf("\n%u tokens in %.2f s, ", end->answer_tokens, end->prefill_seconds + end->decode_seconds);
    if (end->joules.cls == JOULE_CLASS_NONE)
        printf("energy unknown\n");
    else
        printf("%.3g J (%.2g to %.2g, %s)\n", end->joules.value, end->joules.low, end->joules.high,
               joule_class_name(end->joules.cls));
}

/* Computes steps until the request has ended. */
static joule_status answer(struct session *s)
{
    joule_status status;
    forge_engine_event event = {.struct_size = sizeof event};
    forge_text_stream stream = {.has_begun = true}; /* the answer continues the prompt */
    while ((status = forge_engine_step(s->engine, &s->error)) == JOULE_OK)
        while (forge_engine_next(s->engine, &event) == JOULE_OK) {
            size_t size = event.end == FORGE_END_NONE
                              ? forge_text_stream_add(&stream, s->tokenizer, event.token, s->text)
                              : forge_text_stream_end(&stream, s->text);
            fwrite(s->text, 1, size, stdout);
            fflush(stdout);
            if (event.end == FORGE_END_FAILED)
                return fail(s, event.failure);
            if (event.end != FORGE_END_NONE)
                print_energy(&event);
        }
    return status == JOULE_ABSENT ? JOULE_OK : status; /* absent: there is no request any more */
}

int main(int argc, char **argv)
{
    struct session s = {0};
    joule_status status = argc == 3 || argc == 4 ? JOULE_OK : fail(&s, "usage: MODEL PROMPT [TOKENIZER]");
    if (status == JOULE_OK)
        status = open_model(&s, argv[1], argv[3]);
    if (status == JOULE_OK)
        status = ask(&s, argv[2]);
    if (status == JOULE_OK)
        status = answer(&s);
    if (status != JOULE_OK)
        fprintf(stderr, "generate: %s\n", s.error.message);
    forge_engine_free(s.engine);
    forge_model_free(s.model);
    forge_device_close(s.device);
    free(s.prompt);
    free(s.text);
    return status != JOULE_OK;
}
