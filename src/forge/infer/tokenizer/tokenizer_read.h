/* infer/tokenizer/tokenizer_read.h - reads the vocabularies of tokenizer files that are not GGUF. */
#ifndef FORGE_INFER_TOKENIZER_READ_H
#define FORGE_INFER_TOKENIZER_READ_H

#include <joule/base.h>
#include "base/arena.h"
#include "forge/infer/model/vocabulary.h"

/* The functions read a vocabulary into memory of the arena. JOULE_INVALID: the file is damaged.
 * JOULE_UNSUPPORTED: the file needs an algorithm that this version does not have. The message names the
 * field. */

/* Reads a tokenizer.json of Hugging Face. Special tokens and the chat template are read from
 * tokenizer_config.json in the same folder, if it exists. */
joule_status tokenizer_json_read(struct arena *arena, struct vocabulary *vocabulary, const char *path,
                                 joule_error *out_error);
/* Reads a model of SentencePiece ("tokenizer.model"): a ModelProto of protocol buffers. */
joule_status sentencepiece_read(struct arena *arena, struct vocabulary *vocabulary, const char *path,
                                joule_error *out_error);

#endif
