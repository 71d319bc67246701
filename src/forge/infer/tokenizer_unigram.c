/* infer/tokenizer_unigram.c - SentencePiece unigram. */
#include "forge/infer/tokenizer.h"

#include <string.h>
#include "base/error.h"

joule_status unigram_init(forge_tokenizer *tokenizer, joule_error *out_error)
{
    (void)tokenizer;
    return error_set(out_error, JOULE_UNSUPPORTED,
                     "cannot open a tokenizer: SentencePiece unigram is not supported");
}

void unigram_free(struct unigram *unigram)
{
    (void)unigram;
}

joule_status unigram_encode(struct encoder *encoder, const char *text, size_t size, bool is_first)
{
    (void)is_first;
    return encoder_add_bytes(encoder, text, size);
}
