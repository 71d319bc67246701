/* forge/model.h - language models in files: GGUF, folders of Hugging Face, and llama2.c's .bin. */
#ifndef FORGE_MODEL_H
#define FORGE_MODEL_H

#include <forge/dtype.h>
#include <forge/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct forge_model forge_model; /* immutable; any thread may use it */

/* Opens a model. Its tensors are mapped, not copied, so the file must not change while the model is open. The
 * first part (NAME-00001-of-00003.gguf) of a split GGUF file opens all parts. tokenizer_path: a file with the
 * vocabulary (forge_tokenizer_open), for models whose file has none; NULL: the model's file. The caller owns
 * the model (forge_model_free). JOULE_INVALID: the file is damaged; the message names the field.
 * JOULE_UNSUPPORTED: this version does not support the file's architecture, element type or pre-tokenizer.
 * JOULE_ABSENT: the file, or a part of it, does not exist. */
FORGE_API joule_status forge_model_open(const char *path, const char *tokenizer_path, forge_model **out_model,
                                        joule_error *out_error);
/* Frees a model. Free all engines that use it first. NULL is allowed. */
FORGE_API void forge_model_free(forge_model *model);

/* Returns the model's tokenizer, which lives as long as the model; NULL: the model has no vocabulary. */
FORGE_API const forge_tokenizer *forge_model_tokenizer(const forge_model *model);

/* Properties of a model. */
typedef struct forge_model_facts {
    uint32_t struct_size;     /* sizeof(forge_model_facts) */
    forge_dtype dtype;        /* element type of the weights that take the most bytes */
    const char *name;         /* lives as long as the model; NULL: the file names none */
    const char *architecture; /* "llama", static storage */
    /* width: elements of a token's embedding; hidden_width: those of a feed-forward layer's hidden vector;
     * kv_heads: heads of keys and values; head_dim: elements of a head. */
    int64_t layers, width, hidden_width, heads, kv_heads, head_dim;
    int64_t vocabulary;  /* number of tokens that have logits */
    int64_t context;     /* maximum number of tokens of a sequence */
    uint64_t parameters; /* number of weights */
    uint64_t weight_bytes;
} forge_model_facts;
/* Describes a model. JOULE_INVALID: struct_size too small. */
FORGE_API joule_status forge_model_query(const forge_model *model, forge_model_facts *out_facts);

#ifdef __cplusplus
}
#endif
#endif
