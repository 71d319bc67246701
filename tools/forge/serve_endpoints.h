/* tools/forge/serve_endpoints.h - the functions that answer requests with a body. */
#ifndef SERVE_ENDPOINTS_H
#define SERVE_ENDPOINTS_H

#include "serve_reply.h"

/* A request to an endpoint. */
struct call {
    struct server *server;
    const struct json_value *body; /* an object */
    const char *max_joules;        /* the header X-Max-Joules; NULL: none */
    struct failure *failure;
};

/* Read a request, and create its reply, which is not submitted yet. Return NULL with a failure. */
struct reply *completion_read(const struct call *call);
struct reply *chat_read(const struct call *call);
/* Write the answer of /tokenize and /detokenize to `out`. Return false with a failure. */
bool tokenize_answer(const struct call *call, struct bytes *out);
bool detokenize_answer(const struct call *call, struct bytes *out);

/* Checks the field "model". Returns false with a failure if it names another model. */
bool call_check_model(const struct call *call);
/* Checks the field "model", and reads the fields that chats and completions share into reply->options.
 * Returns false with a failure. */
bool call_read_options(const struct call *call, struct reply *reply);

#endif
