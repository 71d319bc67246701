/* Fuzz target: models of SentencePiece. Reading and using the tokenizer must not crash or leak. Checks
 * that errors have messages, and that all tokens have a text. */
#include "file.h"
#include "forge/infer/tokenizer/tokenizer.h"
#include "forge/infer/tokenizer/tokenizer_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const forge_tokenizer *tokenizer)
{
    static const char text[] = " a ab <s> \xc3\xa9\xff 12 \xe2\x96\x81 aaaa";
    int32_t ids[256];
    char out[8];
    size_t count;
    joule_status status = forge_tokenize(tokenizer, text, sizeof text, 3, ids, 256, &count, NULL);
    require(status == JOULE_OK || status == JOULE_INVALID);
    for (size_t i = 0; status == JOULE_OK && i < count && i < 256; i++) {
        require(ids[i] >= 0 && (size_t)ids[i] < forge_tokenizer_count(tokenizer));
        require(forge_detokenize(tokenizer, &ids[i], 1, 1, out, sizeof out) <=
                forge_tokenizer_max_text(tokenizer));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct vocabulary vocabulary;
    forge_tokenizer *tokenizer = NULL;
    joule_error error = {0};
    joule_status status = sentencepiece_read(&arena, &vocabulary, fuzz_file(data, size), &error);
    if (status == JOULE_OK)
        status = tokenizer_new(&vocabulary, &tokenizer, &error);
    require(status == JOULE_OK || status == JOULE_INVALID || status == JOULE_UNSUPPORTED);
    require(error.status == status && (status == JOULE_OK) == (error.message[0] == '\0'));
    if (tokenizer)
        use(tokenizer);
    forge_tokenizer_free(tokenizer);
    arena_free(&arena);
    return 0;
}
