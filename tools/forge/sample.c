/* tools/forge/sample.c - see sample.h. Note: for each new token the network computes the whole context
 * again. */
#include "sample.h"

#include <forge/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "task.h"
#include "visible_text.h"

#define SAMPLE_STREAM UINT32_C(0x73616d70) /* no other random stream of the seed has this number */

struct sampler {
    forge_program *program;
    forge_instance *instance;
    forge_tensor seen; /* input of the program: [1, context] */
    uint32_t *tokens;  /* all tokens so far */
    size_t count;
};

static joule_status begin(struct trainee *t, struct sampler *s, unsigned count, joule_error *error)
{
    int64_t context = t->options.context;
    forge_dtype dtype = forge_text_tokens(t->text).dtype;
    forge_shape shape = forge_shape_of(1, context);
    s->tokens = calloc((size_t)count + 1, sizeof *s->tokens);
    if (!s->tokens)
        return error_set(error, JOULE_NO_MEMORY, "cannot write a sample of %u tokens: out of memory", count);
    forge_builder *b = forge_builder_new();
    forge_value seen = forge_input(b, "tokens", dtype, shape);
    forge_value logits = t->model->build(&t->options, t->classes, b, seen, false);
    forge_output(b, "logits", forge_cast(b, FORGE_F64, logits));
    joule_status status = trainee_load(t, b, &s->program, &s->instance, error);
    return status == JOULE_OK ? forge_tensor_new(dtype, &shape, &s->seen, error) : status;
}

static void end(struct sampler *s)
{
    forge_instance_free(s->instance);
    forge_program_free(s->program);
    forge_buffer_release(s->seen.buffer);
    free(s->tokens);
}

/* Returns the token of a newline, or 0 if no token is a newline. */
static uint32_t first_token(const struct trainee *t)
{
    char bytes[4];
    for (uint32_t token = 0; token < (uint64_t)t->classes; token++)
        if (forge_text_decode(t->text, token, bytes) == 1 && bytes[0] == '\n')
            return token;
    return 0;
}

/* Returns the token at which the cumulative probability exceeds u (0 to 1). temperature 0: the likeliest
 * token. */
static uint32_t draw(const double *logits, size_t count, double temperature, double u)
{
    size_t best = 0, i = 0;
    double sum = 0, passed = 0;
    for (size_t k = 0; k < count; k++)
        best = logits[k] > logits[best] ? k : best;
    if (!(temperature > 0))
        return (uint32_t)best;
    for (size_t k = 0; k < count; k++)
        sum += exp((logits[k] - logits[best]) / temperature);
    for (; i + 1 < count; i++) {
        passed += exp((logits[i] - logits[best]) / temperature) / sum;
        if (u < passed)
            break;
    }
    return (uint32_t)i;
}

/* Copies the last tokens to the input and returns their number. The input after these tokens keeps old
 * values. They do not affect the logits, because the model is causal. */
static size_t set_last_tokens(struct sampler *s)
{
    size_t context = (size_t)s->seen.shape.dims[1], count = s->count < context ? s->count : context;
    const uint32_t *last = s->tokens + s->count - count;
    uint8_t *narrow = forge_tensor_data(&s->seen);
    uint16_t *wide = forge_tensor_data(&s->seen);
    for (size_t i = 0; i < count; i++)
        if (s->seen.dtype == FORGE_U8)
            narrow[i] = (uint8_t)last[i];
        else
            wide[i] = (uint16_t)last[i];
    return count;
}

static joule_status add_token(struct trainee *t, struct sampler *s, double temperature, joule_error *error)
{
    float u;
    forge_tensor logits;
    size_t at = set_last_tokens(s) - 1;
    joule_status status = forge_instance_set(s->instance, "tokens", &s->seen, error);
    if (status == JOULE_OK)
        status = forge_instance_run(s->instance, error);
    if (status == JOULE_OK)
        status = forge_instance_get(s->instance, "logits", &logits, error);
    if (status != JOULE_OK)
        return status;
    forge_random_uniform(&(forge_random){.key = t->options.seed, .stream = SAMPLE_STREAM}, s->count, 1, &u);
    size_t classes = (size_t)t->classes;
    s->tokens[s->count++] =
        draw((const double *)forge_tensor_data(&logits) + at * classes, classes, temperature, (double)u);
    return JOULE_OK;
}

/* --- text output ---------------------------------------------------------------------------------------- */

/* Returns the text of the tokens, which the caller frees with free(). NULL: out of memory. */
static char *decode_tokens(const struct trainee *t, const struct sampler *s)
{
    size_t size = 0;
    char *bytes = malloc(4 * s->count), *text = malloc(VISIBLE_SIZE * 4 * s->count + 1);
    for (size_t i = 1; bytes && text && i < s->count; i++) /* skips the newline that the sample began with */
        size += forge_text_decode(t->text, s->tokens[i], bytes + size);
    if (bytes && text)
        text[visible_text(bytes, size, text)] = '\0';
    free(bytes);
    if (bytes)
        return text;
    free(text);
    return NULL;
}

joule_status sample_text(struct trainee *t, unsigned count, double temperature, char **out_text,
                         joule_error *error)
{
    struct sampler s = {0};
    joule_status status = begin(t, &s, count, error);
    if (status == JOULE_OK)
        s.tokens[s.count++] = first_token(t);
    for (unsigned i = 0; status == JOULE_OK && i < count; i++)
        status = add_token(t, &s, temperature, error);
    if (status == JOULE_OK && !(*out_text = decode_tokens(t, &s)))
        status =
            error_set(error, JOULE_NO_MEMORY, "cannot write a sample of %u tokens: out of memory", count);
    end(&s);
    return status;
}
