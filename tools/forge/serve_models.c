/* tools/forge/serve_models.c - see serve_models.h. */
#include "serve_models.h"

#include "base/json_writer.h"
#include "serve.h"

static void add_model(struct json *json, const struct server *server)
{
    const forge_model_facts *facts = &server->language.facts;
    json_open(json, NULL, '{');
    json_string(json, "id", server->name);
    json_string(json, "object", "model");
    json_integer(json, "created", server->created_s);
    json_string(json, "owned_by", "tensorforge");
    json_integer(json, "max_model_len", (int64_t)server->max_length);
    json_string(json, "architecture", facts->architecture);
    json_integer(json, "parameters", (int64_t)facts->parameters);
    json_string(json, "dtype", forge_dtype_name(facts->dtype));
    json_close(json, '}');
}

void model_print(const void *context, struct text *out)
{
    struct json json = {.out = out};
    add_model(&json, context);
}

void models_print(const void *context, struct text *out)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "object", "list");
    json_open(&json, "data", '[');
    add_model(&json, context);
    json_close(&json, ']');
    json_close(&json, '}');
}
