/* infer/model/hugging_face.h - the settings and the names of tensors in folders of Hugging Face. */
#ifndef FORGE_INFER_HUGGING_FACE_H
#define FORGE_INFER_HUGGING_FACE_H

#include "base/json.h"
#include "forge/infer/model/model_file.h"

/* Settings of config.json that are not in model_config. */
struct hf_settings {
    bool is_tied;     /* the weights of the output are the embeddings */
    int64_t bos, eos; /* ids of tokens; -1: not stated */
    const char *name; /* name of the model; NULL: not stated */
};

/* Returns the tree of a JSON file, in memory of `arena`. If the file cannot be read or is not JSON, returns
 * NULL with a message, and sets *out_status. */
const struct json_value *hf_read_json(struct arena *arena, const char *path, joule_status *out_status,
                                      joule_error *out_error);

/* Reads config.json. Sets file->config and *out_settings. JOULE_INVALID: a value is missing or impossible.
 * JOULE_UNSUPPORTED: the architecture, activation or scaling is not supported. */
joule_status hf_read_config(struct model_file *file, const char *path, struct hf_settings *out_settings,
                            joule_error *out_error);

/* How the reader uses a tensor of a file. */
enum hf_use { HF_UNKNOWN, HF_IGNORED, HF_KEPT, HF_TRANSPOSED };

/* Writes GGUF's name of the tensor `hf` to name[0..size). is_tied: the output uses the embeddings, so weights
 * of the output are ignored. Returns how to use the tensor. */
enum hf_use hf_name(enum architecture architecture, bool is_tied, const char *hf, char *name, size_t size);

#endif
