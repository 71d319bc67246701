/* tools/forge/serve_models.h - the list of models, which has one entry. */
#ifndef SERVE_MODELS_H
#define SERVE_MODELS_H

#include "base/string.h"

/* Write the list, and the model itself. context: struct server. */
void models_print(const void *context, struct text *out);
void model_print(const void *context, struct text *out);

#endif
