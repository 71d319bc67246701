/* infer/tokenizer/tokenizer_open.c - opens the tokenizer in a file. The first bytes determine the file's
 * format. */
#include "forge/infer/tokenizer/tokenizer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "forge/core/random_access_file.h"
#include "forge/infer/model/model_file.h"
#include "forge/infer/tokenizer/tokenizer_read.h"

/* --- formats -------------------------------------------------------------------------------------------- */

enum { FIRST_BYTES = 64 };

/* Returns true if the first byte that is not white space is '{'. */
static bool is_json(const char *bytes, size_t size)
{
    size_t i = 0;
    while (i < size && memchr(" \t\r\n", bytes[i], 4))
        i++;
    return i < size && bytes[i] == '{';
}

/* Returns true for the beginning of a SentencePiece model: field 1 is a piece, and the first field of a piece
 * is its text. */
static bool is_sentencepiece(const char *bytes, size_t size)
{
    return size > 3 && bytes[0] == 0x0a && (bytes[2] == 0x0a || ((bytes[1] & 0x80) && bytes[3] == 0x0a));
}

/* Reads the vocabulary of a file. The first bytes determine the format. */
static joule_status read_vocabulary(struct model_file *model, const char *path, joule_error *error)
{
    struct file file;
    char bytes[FIRST_BYTES];
    joule_status status = file_open(&file, path, error);
    if (status != JOULE_OK)
        return status;
    size_t size = file.size < sizeof bytes ? (size_t)file.size : sizeof bytes;
    status = file_read(&file, 0, bytes, size, error);
    file_close(&file);
    if (status != JOULE_OK)
        return status;
    if (size >= 4 && memcmp(bytes, "GGUF", 4) == 0)
        return gguf_read_vocabulary(model, path, error);
    if (is_sentencepiece(bytes, size))
        return sentencepiece_read(&model->arena, &model->vocabulary, path, error);
    if (is_json(bytes, size))
        return tokenizer_json_read(&model->arena, &model->vocabulary, path, error);
    return llama2c_read_vocabulary(model, path, error);
}

joule_status forge_tokenizer_open(const char *path, forge_tokenizer **out_tokenizer, joule_error *out_error)
{
    if (!path || !out_tokenizer)
        return error_set(out_error, JOULE_INVALID, "cannot open a tokenizer: %s is NULL",
                         path ? "out_tokenizer" : "path");
    struct model_file *file = calloc(1, sizeof *file);
    if (!file)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot read %s: out of memory", path);
    forge_tokenizer *tokenizer = NULL;
    joule_error error = {0};
    joule_status status = read_vocabulary(file, path, &error);
    if (status != JOULE_OK)
        error_set(out_error, status, "%s", error.message);
    else if ((status = tokenizer_new(&file->vocabulary, &tokenizer, &error)) != JOULE_OK)
        error_set(out_error, status, "%s: %s", path, error.message);
    if (status == JOULE_OK) {
        tokenizer->file = file;
        *out_tokenizer = tokenizer;
    } else {
        model_file_close(file);
    }
    return status;
}
