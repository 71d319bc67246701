/* infer/model/model_file.h - an open model file: its tensors, settings and vocabulary, independent of its
 * format.
 *
 * Tensors have the names of GGUF files ("blk.0.attn_q.weight") in all formats. Their data is mapped, not
 * copied. */
#ifndef FORGE_INFER_MODEL_FILE_H
#define FORGE_INFER_MODEL_FILE_H

#include <forge/tensor.h>
#include "base/arena.h"
#include "forge/infer/model/vocabulary.h"

enum architecture {
    ARCHITECTURE_LLAMA,
    ARCHITECTURE_QWEN2,
    ARCHITECTURE_QWEN3,
    ARCHITECTURE_GPT2,
    ARCHITECTURES, /* number of architectures */
};

enum rope_scaling { ROPE_UNSCALED, ROPE_LINEAR, ROPE_LLAMA3, ROPE_YARN };

/* The sizes and constants of a model. */
struct model_config {
    enum architecture architecture;
    int64_t layers, width, hidden; /* hidden: width of the feed-forward layer */
    int64_t heads, kv_heads, head_dim;
    int64_t vocabulary, context; /* context: maximum number of tokens of a sequence */
    double norm_epsilon;
    double rope_base;
    int64_t rope_dims; /* rotated elements of a head, even */
    /* True: the elements of a pair are adjacent (GGUF llama, llama2.c); false: half a head apart. */
    bool rope_is_interleaved;
    enum rope_scaling rope_scaling;
    double rope_factor; /* factor of the scaling; 1: none */
    /* For llama3; rope_original_context also for YaRN. */
    double rope_original_context, rope_low_factor, rope_high_factor;
    double rope_beta_fast, rope_beta_slow; /* YaRN */
    /* For YaRN: multiplies cosine and sine. */
    double rope_attention_factor;
    /* For YaRN: the first and last interpolated pairs are not rounded to whole numbers ("truncate":
     * false). */
    bool rope_has_exact_ramp;
    /* [rope_dims / 2]: divisors of the frequencies (rope_freqs.weight); NULL: none. */
    const float *rope_divisors;
};

/* A tensor of a file. Its last dimension is contiguous: a weight is [out, in]. */
struct model_tensor {
    const char *name;
    forge_dtype dtype;
    forge_shape shape;
    const void *data; /* aligned to the size of an element; block formats: aligned to 2 bytes */
    size_t size_bytes;
};

struct model_file {
    /* All pointers of this structure point into the arena, except `maps`. Bytes of tensors and tokens are in
     * the mapped files; they are in the arena if the format stores them in another form. */
    struct arena arena;
    struct model_config config;
    struct vocabulary vocabulary; /* count 0: the file has none */
    struct model_tensor *tensors;
    size_t tensor_count;
    const char *name; /* name of the model; NULL: unknown */
    struct model_map *maps;
    size_t map_count, map_capacity;
    const struct model_tensor **sorted; /* [tensor_count], by name; used by model_file_find */
};

/* A mapped file. */
struct model_map {
    void *data;
    size_t size;
};

/* Opens a model file. The first bytes of the file determine the format: GGUF, or llama2.c's .bin, whose
 * vocabulary is in the file `tokenizer_path` (NULL: none). The first part of a split GGUF file opens all
 * parts. A folder of Hugging Face is opened through its config.json. The caller closes the file with
 * model_file_close. JOULE_INVALID: the file is damaged or contradicts itself; the message names the field.
 * JOULE_UNSUPPORTED: the version, architecture or element type is not supported. JOULE_ABSENT: the file, or a
 * part of it, does not exist. */
joule_status model_file_open(const char *path, const char *tokenizer_path, struct model_file **out_file,
                             joule_error *out_error);
void model_file_close(struct model_file *file);
/* Returns the tensor with this name, or NULL. */
const struct model_tensor *model_file_find(const struct model_file *file, const char *name);

/* The readers of the formats. They fill a file whose arena is empty. The caller closes the file, even after a
 * failure. */
joule_status gguf_read(struct model_file *file, const char *path, joule_error *out_error);
/* Reads only the vocabulary of a GGUF file. The architecture may be unknown, and the model is not checked.
 * file: zeros from calloc, because model_file_close frees it. JOULE_INVALID: the file has no vocabulary.
 * JOULE_UNSUPPORTED: the kind of tokenizer is not supported. */
joule_status gguf_read_vocabulary(struct model_file *file, const char *path, joule_error *out_error);
joule_status llama2c_read(struct model_file *file, const char *path, const char *tokenizer_path,
                          joule_error *out_error);
/* Reads config.vocabulary tokens from a tokenizer file of llama2.c; 0: all tokens. */
joule_status llama2c_read_vocabulary(struct model_file *file, const char *path, joule_error *out_error);
joule_status safetensors_model_read(struct model_file *file, const char *folder, joule_error *out_error);

#endif
