/* infer/model/hugging_face.h - the settings and the names of tensors in folders of Hugging Face. */
#ifndef FORGE_INFER_HUGGING_FACE_H
#define FORGE_INFER_HUGGING_FACE_H

#include "base/json.h"
#include "forge/infer/model/model_file.h"

/* Settings of config.json besides the sizes of the model. */
struct hf_settings {
    bool is_tied;     /* the weights of the output are the embeddings */
    int64_t bos, eos; /* ids of tokens; -1: not stated */
    const char *name; /* of the model; NULL: not stated */
};

/* Returns the tree of a JSON file in memory of `arena`. NULL, with a message and *out_status: the file
 * cannot be read or is not JSON. */
const struct json_value *hf_read_json(struct arena *arena, const char *path, joule_status *out_status,
                                      joule_error *out_error);

/* Reads config.json. Sets config and *out_settings. JOULE_INVALID: a value is missing or impossible.
 * JOULE_UNSUPPORTED: another architecture, activation or scaling. */
joule_status hf_read_config(struct model_file *file, const char *path, struct hf_settings *out_settings,
                            joule_error *out_error);

/* The treatment of a file's tensor. */
enum hf_use { HF_UNKNOWN, HF_IGNORED, HF_KEPT, HF_TRANSPOSED };

/* Writes GGUF's name of a tensor to name[0..size). is_tied: weights of the output are ignored. */
enum hf_use hf_name(enum architecture architecture, bool is_tied, const char *hf, char *name, size_t size);

#endif
