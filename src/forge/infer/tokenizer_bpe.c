/* infer/tokenizer_bpe.c - byte-level BPE. */
#include "forge/infer/tokenizer.h"

#include <string.h>
#include "base/error.h"

joule_status bpe_init(forge_tokenizer *tokenizer, joule_error *out_error)
{
    (void)tokenizer;
    return error_set(out_error, JOULE_UNSUPPORTED,
                     "cannot open a tokenizer: byte-level BPE is not supported");
}

void bpe_free(struct bpe *bpe)
{
    (void)bpe;
}

joule_status bpe_encode(struct encoder *encoder, const char *text, size_t size, bool is_first)
{
    (void)is_first;
    return encoder_add_bytes(encoder, text, size);
}

size_t bpe_decode_token(struct bytes token, char *out_bytes)
{
    memcpy(out_bytes, token.data, token.size);
    return token.size;
}
