/* tools/forge/serve_paths.c - see serve_paths.h. */
#include "serve_paths.h"

#include <stdlib.h>
#include <string.h>
#include "serve_endpoints.h"
#include "serve_models.h"
#include "serve_send.h"
#include "serve_stream.h"

#define JSON_BLOCK_BYTES (1 << 20) /* large enough to return to the system, see serve_run.c */
#define STALL_S          60        /* a connection is closed if its client accepts no bytes for this time */

bool check_ready(struct server *server, struct failure *failure)
{
    switch (serve_state_of(server)) {
    case SERVE_READY:
        return true;
    case SERVE_LOADING:
        failure_set_status(failure, 503, "unavailable_error", "loading", "the model is being loaded");
        failure->retry_after_s = 1;
        return false;
    case SERVE_FAILED:
        return failure_set_status(failure, 503, "unavailable_error", "failed", "the engine has failed");
    case SERVE_STOPPING:
    case SERVE_ENDING:
        break;
    }
    return failure_set_status(failure, 503, "unavailable_error", "stopping", "the server is stopping");
}

static enum MHD_Result answer_health(struct server *server, struct MHD_Connection *connection,
                                     struct exchange *exchange)
{
    if (!check_ready(server, &exchange->failure))
        return send_failure(connection, &exchange->failure);
    struct bytes text = {0};
    static const char ok[] = "{\"status\":\"ok\"}";
    if (!bytes_add(&text, ok, sizeof ok - 1)) {
        free(text.list);
        return MHD_NO;
    }
    return send_bytes(connection, MHD_HTTP_OK, &text, "application/json");
}

static enum MHD_Result answer_page(struct server *server, struct MHD_Connection *connection,
                                   struct exchange *exchange)
{
    (void)server;
    const char *path = exchange->endpoint->path;
    if (strcmp(path, "/page.css") == 0)
        return send_file(connection, &page_page_css, "text/css; charset=utf-8");
    if (strcmp(path, "/page.js") == 0)
        return send_file(connection, &page_page_js, "text/javascript; charset=utf-8");
    return send_file(connection, &page_index_html, "text/html; charset=utf-8");
}

static enum MHD_Result answer_metrics(struct server *server, struct MHD_Connection *connection,
                                      struct exchange *exchange)
{
    (void)exchange;
    pthread_mutex_lock(&server->lock);
    struct metrics_page page = {.metrics = server->metrics,
                                .model_name = server->name,
                                .power_cap_watts = server->settings->engine.max_power_watts};
    size_t known = (size_t)page.metrics.facts.running + page.metrics.facts.waiting;
    page.queued = server->unfinished > known ? server->unfinished - known : 0;
    pthread_mutex_unlock(&server->lock);
    return send_print(connection, metrics_print, &page, "text/plain; version=0.0.4; charset=utf-8");
}

static enum MHD_Result answer_models(struct server *server, struct MHD_Connection *connection,
                                     struct exchange *exchange)
{
    (void)exchange;
    return send_print(connection, models_print, server, "application/json");
}

static enum MHD_Result answer_model(struct server *server, struct MHD_Connection *connection,
                                    struct exchange *exchange)
{
    (void)exchange;
    return send_print(connection, model_print, server, "application/json");
}

const char *header_of(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Parses the body and calls `use` with it. Returns false with a failure. */
static bool use_body(struct server *server, struct MHD_Connection *connection, struct exchange *exchange,
                     bool (*use)(const struct call *call, void *context), void *context)
{
    struct arena arena = {.block_size = JSON_BLOCK_BYTES};
    joule_error error = {0};
    struct call call = {server, NULL, header_of(connection, "X-Max-Joules"), &exchange->failure};
    bool is_ok = false;
    pthread_mutex_lock(&server->parse_lock);
    call.body = json_parse(&arena, exchange->body.list ? exchange->body.list : (char[]){""},
                           exchange->body.length, "request", &error);
    if (!call.body && error.status == JOULE_NO_MEMORY)
        failure_set_no_memory(&exchange->failure);
    else if (!call.body)
        failure_set(&exchange->failure, NULL, "the body is not JSON: %s", error.message);
    else if (call.body->kind != JSON_OBJECT)
        failure_set(&exchange->failure, NULL, "the body must be a JSON object");
    else
        is_ok = use(&call, context);
    arena_free(&arena);
    pthread_mutex_unlock(&server->parse_lock);
    return is_ok;
}

static bool use_completion(const struct call *call, void *context)
{
    return (*(struct reply **)context = completion_read(call)) != NULL;
}

static bool use_chat(const struct call *call, void *context)
{
    return (*(struct reply **)context = chat_read(call)) != NULL;
}

static bool use_tokenize(const struct call *call, void *context)
{
    return tokenize_answer(call, context);
}

static bool use_detokenize(const struct call *call, void *context)
{
    return detokenize_answer(call, context);
}

int socket_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

void exchange_drop_body(struct server *server, struct exchange *exchange)
{
    atomic_fetch_sub(&server->body_bytes, exchange->body.capacity);
    free(exchange->body.list);
    exchange->body = (struct bytes){0};
}

/* Sends a reply as a stream. The stream then owns the reply. */
static enum MHD_Result send_stream(struct MHD_Connection *connection, struct reply *reply)
{
    struct MHD_Response *response = stream_new(reply);
    if (!response)
        reply_free(reply);
    return send_response(connection, MHD_HTTP_OK, response, NULL);
}

/* Computes a reply and sends it. */
static enum MHD_Result answer_reply(struct server *server, struct MHD_Connection *connection,
                                    struct exchange *exchange,
                                    bool (*use)(const struct call *call, void *context))
{
    struct reply *reply = NULL;
    if (!use_body(server, connection, exchange, use, &reply))
        return send_failure(connection, &exchange->failure);
    exchange_drop_body(server, exchange);
    reply->client_fd = socket_of(connection);
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
                              0u); /* no time limit while the engine computes */
    bool is_ok = reply_submit(reply, &exchange->failure) &&
                 (reply->options.streams || reply_wait(reply, &exchange->failure));
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)STALL_S);
    if (is_ok && reply->options.streams)
        return send_stream(connection, reply);
    enum MHD_Result result = MHD_NO;
    if (is_ok)
        result = send_print(connection, reply_print, reply, "application/json");
    else if (exchange->failure.status != 499)
        result = send_failure(connection, &exchange->failure);
    reply_free(reply);
    return result;
}

static enum MHD_Result answer_completion(struct server *server, struct MHD_Connection *connection,
                                         struct exchange *exchange)
{
    return answer_reply(server, connection, exchange, use_completion);
}

static enum MHD_Result answer_chat(struct server *server, struct MHD_Connection *connection,
                                   struct exchange *exchange)
{
    return answer_reply(server, connection, exchange, use_chat);
}

static enum MHD_Result answer_tokens(struct server *server, struct MHD_Connection *connection,
                                     struct exchange *exchange)
{
    struct bytes text = {0};
    bool is_tokenize = strcmp(exchange->endpoint->path, "/tokenize") == 0;
    if (use_body(server, connection, exchange, is_tokenize ? use_tokenize : use_detokenize, &text))
        return send_bytes(connection, MHD_HTTP_OK, &text, "application/json");
    free(text.list);
    return send_failure(connection, &exchange->failure);
}

static const struct endpoint endpoints[] = {
    {"/v1/completions", "POST", false, true, answer_completion},
    {"/v1/chat/completions", "POST", false, true, answer_chat},
    {"/tokenize", "POST", false, true, answer_tokens},
    {"/detokenize", "POST", false, true, answer_tokens},
    {"/v1/models", "GET", false, true, answer_models},
    {"/v1/models/", "GET", false, true, answer_model}, /* the model's name follows the path */
    {"/metrics", "GET", false, false, answer_metrics},
    {"/health", "GET", true, false, answer_health},
    {"/v1/health", "GET", true, false, answer_health},
    {"/", "GET", true, false, answer_page},
    {"/page.css", "GET", true, false, answer_page},
    {"/page.js", "GET", true, false, answer_page},
};

static bool has_path(const struct server *server, const struct endpoint *endpoint, const char *path)
{
    size_t length = strlen(endpoint->path);
    if (endpoint->answer == answer_model)
        return strncmp(path, endpoint->path, length) == 0 && strcmp(path + length, server->name) == 0;
    return strcmp(path, endpoint->path) == 0;
}

const struct endpoint *endpoint_find(const struct server *server, const char *path)
{
    for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++)
        if (has_path(server, &endpoints[i], path))
            return &endpoints[i];
    return NULL;
}
