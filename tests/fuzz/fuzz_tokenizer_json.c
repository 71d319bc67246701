/* Fuzz target: tokenizer.json files of Hugging Face. Reading and using the tokenizer must not crash or leak.
 * Checks that errors have messages, and that all tokens have a text. */
#include "tokenizer_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_tokenizer_file(tokenizer_json_read, data, size);
}
