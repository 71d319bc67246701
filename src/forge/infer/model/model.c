/* infer/model/model.c - opens models; see <forge/model.h>. */
#include "forge/infer/model/model.h"

#include <stdlib.h>
#include "base/abi.h"
#include "base/error.h"
#include "forge/infer/model/model_reader.h"
#include "forge/infer/tokenizer/tokenizer.h"

/* Opens the tokenizer of the model's file. If this file has no vocabulary, opens the tokenizer of
 * tokenizer_path, if one is given. */
static joule_status open_tokenizer(forge_model *model, const char *tokenizer_path, joule_error *out_error)
{
    if (model->file->vocabulary.count > 0)
        return tokenizer_new(&model->file->vocabulary, &model->tokenizer, out_error);
    return tokenizer_path ? forge_tokenizer_open(tokenizer_path, &model->tokenizer, out_error) : JOULE_OK;
}

/* Returns JOULE_INVALID if the tokenizer has tokens for which the model has no logits. */
static joule_status check_sizes(const forge_model *model, const char *path, joule_error *out_error)
{
    size_t count = model->tokenizer ? forge_tokenizer_count(model->tokenizer) : 0;
    int64_t logits = model->file->config.vocabulary;
    if ((int64_t)count <= logits)
        return JOULE_OK;
    return error_set(
        out_error, JOULE_INVALID,
        "cannot open %s: the tokenizer has %zu tokens, but the model computes logits for only %lld", path,
        count, (long long)logits);
}

joule_status forge_model_open(const char *path, const char *tokenizer_path, forge_model **out_model,
                              joule_error *out_error)
{
    forge_model *model = calloc(1, sizeof *model);
    if (!model)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot open %s: out of memory", path);
    joule_status status = model_file_open(path, tokenizer_path, &model->file, out_error);
    if (status == JOULE_OK)
        status = open_tokenizer(model, tokenizer_path, out_error);
    if (status == JOULE_OK)
        status = check_sizes(model, path, out_error);
    if (status == JOULE_OK)
        *out_model = model;
    else
        forge_model_free(model);
    return status;
}

void forge_model_free(forge_model *model)
{
    if (!model)
        return;
    forge_tokenizer_free(model->tokenizer);
    if (model->file)
        model_file_close(model->file);
    free(model);
}

const forge_tokenizer *forge_model_tokenizer(const forge_model *model)
{
    return model->tokenizer;
}

/* Sets the facts that depend on all tensors: the number of parameters, the size of all weights, and the
 * element type that takes most of this size. */
static void add_tensors(const struct model_file *file, forge_model_facts *facts)
{
    uint64_t bytes_of[FORGE_Q6_K + 1] = {0};
    for (size_t i = 0; i < file->tensor_count; i++) {
        const struct model_tensor *tensor = &file->tensors[i];
        facts->parameters += forge_shape_elements(&tensor->shape);
        facts->weight_bytes += tensor->size_bytes;
        bytes_of[tensor->dtype] += tensor->size_bytes;
        if (bytes_of[tensor->dtype] >= bytes_of[facts->dtype])
            facts->dtype = tensor->dtype;
    }
}

joule_status forge_model_query(const forge_model *model, forge_model_facts *out_facts)
{
    const struct model_config *c = &model->file->config;
    if (!abi_has_room(out_facts, SIZE_UP_TO(forge_model_facts, weight_bytes)))
        return JOULE_INVALID;
    forge_model_facts facts = {.name = model->file->name,
                               .architecture = model_architecture_name(c->architecture),
                               .layers = c->layers,
                               .width = c->width,
                               .hidden_width = c->hidden,
                               .heads = c->heads,
                               .kv_heads = c->kv_heads,
                               .head_dim = c->head_dim,
                               .vocabulary = c->vocabulary,
                               .context = c->context};
    add_tensors(model->file, &facts);
    abi_write(out_facts, &facts, sizeof facts);
    return JOULE_OK;
}
