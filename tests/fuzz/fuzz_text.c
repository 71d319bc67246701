/* Fuzz target: texts to train on. Reading must not crash or leak. Checks that tokens represent the whole text
 * and that windows lie within it. */
#include <string.h>
#include <forge/data.h>
#include "file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t token_at(const forge_tensor *tokens, size_t i)
{
    uint32_t token = 0;
    size_t bytes = forge_dtype_block_bytes(tokens->dtype);
    memcpy(&token, (const char *)forge_tensor_data(tokens) + i * bytes, bytes);
    return token;
}

/* Checks that the tokens represent the input bytes. */
static void check_spelling(const forge_text *text, const uint8_t *data, size_t size)
{
    forge_tensor tokens = forge_text_tokens(text);
    size_t at = 0, count = forge_tensor_elements(&tokens);
    for (size_t i = 0; i < count; i++) {
        char bytes[4];
        uint32_t token = token_at(&tokens, i);
        require(token < forge_text_vocabulary(text));
        size_t length = forge_text_decode(text, token, bytes);
        require(length >= 1 && length <= 4 && length <= size - at && memcmp(bytes, data + at, length) == 0);
        at += length;
    }
    require(at == size);
}

static void check_windows(const forge_text *text, uint32_t context)
{
    forge_tensor tokens = forge_text_tokens(text);
    for (int is_validation = 0; is_validation < 2; is_validation++) {
        forge_dataset *windows = NULL;
        if (forge_dataset_text(text, is_validation, context, &windows, NULL) != JOULE_OK)
            continue;
        forge_tensor column = forge_dataset_column(windows, 0);
        require(forge_dataset_examples(windows) >= 1);
        require(forge_dataset_examples(windows) + context <= forge_tensor_elements(&tokens));
        require(column.shape.dims[1] == (forge_dim)context + 1);
        forge_dataset_free(windows);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    forge_text_kind kind = data[0] & 1 ? FORGE_TEXT_BYTES : FORGE_TEXT_CHARACTERS;
    uint32_t context = data[1];
    forge_text *text = NULL;
    joule_error error = {0};
    joule_status status = forge_text_read(fuzz_file(data + 2, size - 2), kind, &text, &error);
    require((status == JOULE_OK) == (error.message[0] == '\0'));
    if (status != JOULE_OK)
        return 0;
    /* The bytes 0x1f 0x8b mark a gzip file, whose text was decompressed and therefore differs from the
     * input. */
    if (size < 4 || data[2] != 0x1f || data[3] != 0x8b)
        check_spelling(text, data + 2, size - 2);
    check_windows(text, context);
    forge_text_free(text);
    return 0;
}
