/* Fuzz target: model files of llama2.c and their tokenizer files. The first byte is the number of the
 * input's last bytes that are the tokenizer file. Reading must not crash, leak, or allocate memory for data
 * that the file does not contain. */
#include <string.h>
#include "file.h"
#include "forge/infer/model/model_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *write_copy(const uint8_t *bytes, size_t size)
{
    FILE *out = fopen(fuzz_copy(), "wb");
    require(out && fwrite(bytes, 1, size, out) == size && fclose(out) == 0);
    return fuzz_copy();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    joule_error error = {0};
    struct model_file *file = NULL;
    size_t tokenizer = size ? data[0] : 0;
    if (size < 1 + tokenizer || (size >= 5 && memcmp(data + 1, "GGUF", 4) == 0))
        return 0;
    const char *path = fuzz_file(data + 1, size - 1 - tokenizer);
    const char *tokens = tokenizer ? write_copy(data + size - tokenizer, tokenizer) : NULL;
    joule_status status = model_file_open(path, tokens, &file, &error);
    require(status == JOULE_OK || status == JOULE_INVALID || status == JOULE_UNSUPPORTED);
    require((status == JOULE_OK) == (file != NULL) && (status == JOULE_OK) == (error.message[0] == '\0'));
    for (size_t i = 0; file && i < file->tensor_count; i++) {
        const struct model_tensor *tensor = &file->tensors[i];
        require(model_file_find(file, tensor->name) == tensor);
        unsigned char last;
        memcpy(&last, (const char *)tensor->data + tensor->size_bytes - 1, 1);
    }
    model_file_close(file);
    return 0;
}
