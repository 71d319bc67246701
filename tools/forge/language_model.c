/* tools/forge/language_model.c - see language_model.h. */
#include "language_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "base/file.h"

enum { PAGE_SIZE = 16 };

size_t language_options_add(struct language_options *o, struct option *rows)
{
    rows[0] =
        (struct option){"tokenizer",   0,      OPTION_TEXT,
                        &o->tokenizer, "FILE", "file with the vocabulary, for models whose file has none"};
    rows[1] =
        (struct option){"threads",   't', OPTION_COUNT,
                        &o->threads, "N", "number of threads (default: all CPUs allowed to the process)"};
    rows[2] =
        (struct option){"cache-type",
                        0,
                        OPTION_TEXT,
                        &o->cache_type,
                        "TYPE",
                        "type of stored keys and values: f32, f16, bf16 or q8_0 (default: f32 for a model "
                        "in f32, otherwise f16)"};
    rows[3] = (struct option){"no-repack",
                              0,
                              OPTION_FLAG,
                              &o->keeps_weights_mapped,
                              NULL,
                              "read weights from the mapped file instead of from a copy: uses less memory, "
                              "but is slower"};
    return LANGUAGE_ROWS;
}

/* --- model ---------------------------------------------------------------------------------------------- */

joule_status language_model_open(struct language_model *m, const struct language_options *o,
                                 joule_error *out_error)
{
    *m = (struct language_model){.path = o->model, .facts.struct_size = sizeof m->facts};
    joule_status status = forge_model_open(o->model, o->tokenizer, &m->model, out_error);
    if (status != JOULE_OK)
        return status;
    m->tokenizer = forge_model_tokenizer(m->model);
    forge_model_query(m->model, &m->facts);
    return JOULE_OK;
}

static joule_status read_cache_type(const char *name, forge_dtype *out_dtype, joule_error *out_error)
{
    *out_dtype = FORGE_DTYPE_NONE;
    if (!name)
        return JOULE_OK;
    *out_dtype = forge_dtype_from_name(name);
    if (*out_dtype == FORGE_F32 || *out_dtype == FORGE_F16 || *out_dtype == FORGE_BF16 ||
        *out_dtype == FORGE_Q8_0)
        return JOULE_OK;
    return error_set(out_error, JOULE_INVALID, "--cache-type takes f32, f16, bf16 or q8_0, not '%s'", name);
}

/* Sets the size of the cache so that all sequences of a step can have the maximum length. The additional page
 * is needed to admit a request. */
static void set_cache_size(forge_engine_options *o)
{
    if (!o->max_length || o->cache_tokens)
        return;
    o->page_size = PAGE_SIZE;
    o->cache_tokens =
        (uint64_t)o->max_batch_size * ((o->max_length + PAGE_SIZE - 1) / PAGE_SIZE + 1) * PAGE_SIZE +
        PAGE_SIZE;
}

joule_status language_model_start(struct language_model *m, const struct language_options *o,
                                  const forge_engine_options *engine, joule_error *out_error)
{
    forge_engine_options options = *engine;
    set_cache_size(&options);
    options.keeps_weights_mapped = o->keeps_weights_mapped;
    joule_status status = read_cache_type(o->cache_type, &options.cache_dtype, out_error);
    if (status == JOULE_OK)
        status = forge_device_open("cpu", &m->device, out_error);
    if (status == JOULE_OK)
        status = forge_device_set_threads(m->device, o->threads, out_error);
    if (status == JOULE_OK)
        status = forge_engine_new(m->model, m->device, &options, &m->engine, out_error);
    return status;
}

void language_model_close(struct language_model *m)
{
    forge_engine_free(m->engine);
    forge_device_close(m->device);
    forge_model_free(m->model);
    *m = (struct language_model){0};
}

joule_status language_model_need_tokenizer(const struct language_model *m, joule_error *out_error)
{
    if (m->tokenizer)
        return JOULE_OK;
    return error_set(out_error, JOULE_INVALID,
                     "cannot use %s: the file has no vocabulary; name a file that has it with --tokenizer",
                     m->path);
}

/* --- text ----------------------------------------------------------------------------------------------- */

joule_status text_to_tokens(const forge_tokenizer *tokenizer, const char *text, size_t size, uint32_t flags,
                            int32_t **out_tokens, size_t *out_count, joule_error *out_error)
{
    size_t capacity = size + 8; /* usually enough, because most tokens have at least one byte */
    int32_t *tokens = NULL;
    for (;;) {
        int32_t *larger = realloc(tokens, capacity * sizeof *tokens);
        joule_status status = JOULE_NO_MEMORY;
        if (larger) {
            tokens = larger;
            status = forge_tokenize(tokenizer, text, size, flags, tokens, capacity, out_count, out_error);
        } else {
            error_set(out_error, status, "cannot convert %zu bytes of text to tokens: out of memory", size);
        }
        if (status != JOULE_OK) {
            free(tokens);
            return status;
        }
        if (*out_count <= capacity)
            break;
        capacity = *out_count;
    }
    *out_tokens = tokens;
    return JOULE_OK;
}

joule_status prompt_to_tokens(const forge_tokenizer *tokenizer, const char *text, size_t size, uint32_t flags,
                              int32_t **out_tokens, size_t *out_count, joule_error *out_error)
{
    size_t plain_count;
    joule_status status = text_to_tokens(tokenizer, text, size, flags | FORGE_TOKENIZE_ADD_ENDS, out_tokens,
                                         out_count, out_error);
    if (status != JOULE_OK || *out_count == 0)
        return status;
    /* Removes an EOS token that was added at the end, because the answer continues the text. */
    bool has_bos = (*out_tokens)[0] == forge_tokenizer_bos(tokenizer);
    bool has_eos = (*out_tokens)[*out_count - 1] == forge_tokenizer_eos(tokenizer) && *out_count > has_bos;
    status =
        has_eos ? forge_tokenize(tokenizer, text, size, flags, NULL, 0, &plain_count, out_error) : JOULE_OK;
    if (status != JOULE_OK) {
        free(*out_tokens);
        *out_tokens = NULL;
    } else if (has_eos && *out_count > plain_count) {
        (*out_count)--;
    }
    return status;
}

static char *read_standard_input(size_t *out_size)
{
    size_t size = 0, capacity = 0;
    char *text = NULL;
    for (ssize_t count = 1; count > 0; size += (size_t)count) {
        if (capacity - size < 4096) {
            char *larger = capacity < MAX_INPUT ? realloc(text, capacity = 2 * capacity + 8192) : NULL;
            if (!larger) {
                errno = capacity < MAX_INPUT ? ENOMEM : EFBIG;
                free(text);
                return NULL;
            }
            text = larger;
        }
        count = read(STDIN_FILENO, text + size, capacity - size);
        if (count < 0) {
            free(text);
            return NULL;
        }
    }
    *out_size = size;
    return text;
}

joule_status input_read(const char *path, char **out_text, size_t *out_size, joule_error *out_error)
{
    *out_text = path ? file_read_whole(path, FILE_REGULAR | FILE_PIPE | FILE_DEVICE, MAX_INPUT, out_size)
                     : read_standard_input(out_size);
    if (*out_text)
        return JOULE_OK;
    return error_set(out_error, status_of_errno(errno), "cannot read %s: %s", path ? path : "standard input",
                     file_reason(errno));
}
