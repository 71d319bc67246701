/* infer/model/gguf_write.h - writes models as GGUF files. */
#ifndef FORGE_INFER_GGUF_WRITE_H
#define FORGE_INFER_GGUF_WRITE_H

#include <stdio.h>
#include "forge/infer/model/model_file.h"

/* Writes a model as a GGUF file of version 3. weights: element type of the matrices; FORGE_DTYPE_NONE keeps
 * their types. Embeddings of positions keep their type, as do matrices whose rows are not a multiple of the
 * type's block. Norms and biases become f32. If the architecture requires adjacent pairs in the rotary
 * embedding, the rows of the weights of queries and keys are written in the order that gives the same result.
 * The file replaces an old file when it is complete. JOULE_UNSUPPORTED: GGUF has no such
 * element type, or the architecture cannot express the model's rotary embedding. JOULE_DENIED, JOULE_FAILED:
 * the path cannot be written; an old file is unchanged. JOULE_PENDING: another process writes the file. */
joule_status gguf_write(const struct model_file *file, forge_dtype weights, const char *path,
                        joule_error *out_error);

/* Write numbers, or keys with values. A failure sets the error flag of the stream (ferror). */
void gguf_put_u32(FILE *out, uint32_t value);
void gguf_put_u64(FILE *out, uint64_t value);
void gguf_put_string(FILE *out, struct bytes string);
void gguf_put_integer(FILE *out, const char *key, int64_t value);
void gguf_put_number(FILE *out, const char *key, double value);
void gguf_put_flag(FILE *out, const char *key, bool value);
void gguf_put_text(FILE *out, const char *key, const char *text);
/* Writes the key, type and number of items of an array. The caller then writes the items. */
void gguf_put_array(FILE *out, const char *key, uint32_t type, uint64_t count);

/* Write the settings or the vocabulary of a model. Return the number of keys. */
uint64_t gguf_put_config(FILE *out, const struct model_config *config);
uint64_t gguf_put_vocabulary(FILE *out, const struct vocabulary *vocabulary);

#endif
