/* tools/forge/serve_call.c - reads the fields that several endpoints have: see serve_endpoints.h. */
#include "serve_endpoints.h"

#include <string.h>

bool call_check_model(const struct call *call)
{
    const struct fields fields = {call->body, call->failure};
    const char *name = NULL;
    if (!field_text(&fields, "model", &name))
        return false;
    if (!name || strcmp(name, call->server->name) == 0)
        return true;
    failure_set_status(call->failure, 404, "invalid_request_error", "model_not_found",
                       "this server has the model '%s', not '%.200s'", call->server->name, name);
    string_copy(call->failure->param, sizeof call->failure->param, "model");
    return false;
}

bool call_read_options(const struct call *call, struct reply *reply)
{
    const struct fields fields = {call->body, call->failure};
    return call_check_model(call) &&
           answer_options_read(&fields, call->max_joules, call->server->language.facts.vocabulary,
                               &reply->job->arena, &reply->options);
}
