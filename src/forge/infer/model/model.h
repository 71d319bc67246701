/* infer/model/model.h - an open model; see <forge/model.h>. */
#ifndef FORGE_INFER_MODEL_H
#define FORGE_INFER_MODEL_H

#include <forge/model.h>
#include "forge/infer/model/model_file.h"

struct forge_model {
    struct model_file *file;
    forge_tokenizer *tokenizer; /* NULL: no vocabulary */
};

#endif
