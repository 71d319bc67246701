/* tools/forge/serve_schema.h - reads "response_format": the form of JSON that an answer must have. */
#ifndef SERVE_SCHEMA_H
#define SERVE_SCHEMA_H

#include "base/arena.h"
#include "serve_fields.h"
#include "serve_options.h"

/* Sets json_schema and needs_json_object of the options. Returns false with a failure, for example for a
 * schema that is not supported. */
bool response_format_read(const struct fields *fields, struct arena *arena, struct answer_options *out);

#endif
