/* tools/forge/serve_models.h - the list of models, which has one entry. */
#ifndef SERVE_MODELS_H
#define SERVE_MODELS_H

#include "base/string.h"

/* models_print writes the list of models. model_print writes the one model. context: struct server. */
void models_print(const void *context, struct text *out);
void model_print(const void *context, struct text *out);

#endif
