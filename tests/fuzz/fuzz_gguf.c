/* Fuzz target: GGUF files. Reading must not crash, leak, or allocate memory for data that the file does not
 * contain. Checks that a model that is written again is read as the same model.
 *
 * An input that does not begin with "GGUF" is a model of two files: the size of the first file in 4 bytes,
 * and the files. */
#include <stdlib.h>
#include <string.h>
#include "file.h"
#include "forge/infer/model/gguf_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_outcome(joule_status status, const joule_error *error)
{
    require(status == JOULE_OK || status == JOULE_INVALID || status == JOULE_UNSUPPORTED);
    require((status == JOULE_OK) == (error->message[0] == '\0'));
}

/* Adds all bytes of the vocabulary, so that an invalid pointer is found. */
static unsigned sum_of(const struct vocabulary *v)
{
    unsigned sum = 0;
    for (size_t i = 0; i < v->count; i++) {
        for (size_t k = 0; k < v->tokens[i].size; k++)
            sum += (unsigned char)v->tokens[i].data[k];
        require(v->types[i] >= TOKEN_NORMAL && v->types[i] <= TOKEN_BYTE);
        sum += v->scores ? v->scores[i] > 0 : 0;
    }
    for (size_t i = 0; i < v->merge_count; i++)
        for (size_t k = 0; k < v->merges[i].size; k++)
            sum += (unsigned char)v->merges[i].data[k];
    for (size_t k = 0; k < v->charsmap.size; k++)
        sum += (unsigned char)v->charsmap.data[k];
    const int32_t ids[] = {v->bos, v->eos, v->eot, v->unknown, v->padding};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        require(v->count == 0 || (ids[i] >= -1 && ids[i] < (int64_t)v->count));
    return sum;
}

static void require_same(const struct model_file *a, const struct model_file *b)
{
    require(a->tensor_count == b->tensor_count);
    for (size_t i = 0; i < a->tensor_count; i++) {
        const struct model_tensor *x = &a->tensors[i], *y = model_file_find(b, x->name);
        require(y && forge_shape_equal(&x->shape, &y->shape));
        if (x->dtype == y->dtype)
            require(x->size_bytes == y->size_bytes && memcmp(x->data, y->data, x->size_bytes) == 0);
    }
    require(a->vocabulary.count == b->vocabulary.count && sum_of(&a->vocabulary) == sum_of(&b->vocabulary));
    require(a->config.width == b->config.width && a->config.norm_epsilon == b->config.norm_epsilon);
    require(a->config.rope_scaling == b->config.rope_scaling);
}

static void check_vocabulary(const char *path)
{
    joule_error error = {0};
    struct model_file *file = calloc(1, sizeof *file);
    require(file != NULL);
    require_outcome(gguf_read_vocabulary(file, path, &error), &error);
    sum_of(&file->vocabulary);
    model_file_close(file);
}

/* Returns the path of the input, or of its first file. */
static const char *write_input(const uint8_t *data, size_t size)
{
    uint32_t first;
    if (size < sizeof first || memcmp(data, "GGUF", 4) == 0)
        return fuzz_file(data, size);
    memcpy(&first, data, sizeof first);
    data += sizeof first;
    size -= sizeof first;
    first = first < size ? first : (uint32_t)size;
    fuzz_part(1, data + first, size - first);
    return fuzz_part(0, data, first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    joule_error error = {0};
    const char *path = write_input(data, size);
    check_vocabulary(path);
    struct model_file *file = calloc(1, sizeof *file), *again = NULL;
    require(file != NULL);
    joule_status status = gguf_read(file, path, &error);
    require_outcome(status, &error);
    if (status == JOULE_OK) {
        require(gguf_write(file, FORGE_DTYPE_NONE, fuzz_copy(), NULL) == JOULE_OK);
        require(model_file_open(fuzz_copy(), NULL, &again, NULL) == JOULE_OK);
        require_same(file, again);
        model_file_close(again);
        require(gguf_write(file, FORGE_Q8_0, fuzz_copy(), NULL) == JOULE_OK);
        require(model_file_open(fuzz_copy(), NULL, &again, NULL) == JOULE_OK);
        model_file_close(again);
    }
    model_file_close(file);
    return 0;
}
