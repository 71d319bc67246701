/* tools/forge/serve_http.c - see serve_http.h.
 *
 * libmicrohttpd runs a thread for each connection, so the functions here may wait for the engine. */
#include "serve_http.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/error.h"
#include "http/page_files.h"
#include "serve_clients.h"
#include "serve_endpoints.h"
#include "serve_models.h"
#include "serve_stream.h"

#define STALL_S          60 /* a client that takes no bytes for this time is disconnected */
#define HEADER_BYTES     32768
#define STACK_BYTES      (1 << 20)
#define MAX_BODIES       16 /* memory for bodies, in bodies of maximum size */
#define FIRST_BODY_BYTES 4096

struct http {
    struct server *server;
    struct clients clients;
    struct MHD_Daemon *daemon;
};

/* A request whose body arrives. */
struct exchange {
    const struct endpoint *endpoint; /* NULL: refused */
    bool is_known_path;
    struct failure failure; /* the reason for a refusal */
    struct bytes body;
    size_t received; /* bytes of the body, with those that were dropped */
};

/* --- answers -------------------------------------------------------------------------------------------- */

#define CONTENT_POLICY                                                                                       \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "           \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* Queues a response and releases it. NULL closes the connection. */
static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status,
                                     struct MHD_Response *response, const char *media_type)
{
    if (!response)
        return MHD_NO;
    if (media_type)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, media_type);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* Sends bytes, which the response then owns. */
static enum MHD_Result send_bytes(struct MHD_Connection *connection, unsigned status, struct bytes *bytes,
                                  const char *media_type)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(bytes->length, bytes->list, MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(bytes->list);
    *bytes = (struct bytes){0};
    return send_response(connection, status, response, media_type);
}

static enum MHD_Result send_failure(struct MHD_Connection *connection, const struct failure *failure)
{
    struct bytes text = {0};
    if (!bytes_print(&text, failure_print, failure)) {
        free(text.list);
        return MHD_NO;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(text.length, text.list, MHD_RESPMEM_MUST_FREE);
    if (response && failure->retry_after_s) {
        char seconds[16];
        string_print(seconds, sizeof seconds, "%u", failure->retry_after_s);
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    if (response && failure->status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"forge\"");
    if (response && failure->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, failure->allow);
    if (!response)
        free(text.list);
    return send_response(connection, failure->status, response, "application/json");
}

static enum MHD_Result send_file(struct MHD_Connection *connection, const struct page_file *file,
                                 const char *media_type)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(file->size, (void *)(uintptr_t)file->bytes, MHD_RESPMEM_PERSISTENT);
    if (response) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
        MHD_add_response_header(response, "Content-Security-Policy", CONTENT_POLICY);
        MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    }
    return send_response(connection, MHD_HTTP_OK, response, media_type);
}

/* Prints a text and sends it. */
static enum MHD_Result send_print(struct MHD_Connection *connection, page_print_fn print, const void *context,
                                  const char *media_type)
{
    struct bytes text = {0};
    if (bytes_print(&text, print, context))
        return send_bytes(connection, MHD_HTTP_OK, &text, media_type);
    free(text.list);
    return MHD_NO;
}

/* --- endpoints ------------------------------------------------------------------------------------------ */

struct endpoint {
    const char *path, *method;
    bool is_public;   /* needs no key */
    bool needs_model; /* refused until the model is ready */
    enum MHD_Result (*answer)(struct http *http, struct MHD_Connection *connection,
                              struct exchange *exchange);
};

/* Refuses a request while the server is loading or stopping. Returns true if it is ready. */
static bool check_ready(struct server *server, struct failure *failure)
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

static enum MHD_Result answer_health(struct http *http, struct MHD_Connection *connection,
                                     struct exchange *exchange)
{
    if (!check_ready(http->server, &exchange->failure))
        return send_failure(connection, &exchange->failure);
    struct bytes text = {0};
    static const char ok[] = "{\"status\":\"ok\"}";
    if (!bytes_add(&text, ok, sizeof ok - 1)) {
        free(text.list);
        return MHD_NO;
    }
    return send_bytes(connection, MHD_HTTP_OK, &text, "application/json");
}

static enum MHD_Result answer_page(struct http *http, struct MHD_Connection *connection,
                                   struct exchange *exchange)
{
    (void)http;
    const char *path = exchange->endpoint->path;
    if (strcmp(path, "/page.css") == 0)
        return send_file(connection, &page_page_css, "text/css; charset=utf-8");
    if (strcmp(path, "/page.js") == 0)
        return send_file(connection, &page_page_js, "text/javascript; charset=utf-8");
    return send_file(connection, &page_index_html, "text/html; charset=utf-8");
}

static enum MHD_Result answer_metrics(struct http *http, struct MHD_Connection *connection,
                                      struct exchange *exchange)
{
    struct server *server = http->server;
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

static enum MHD_Result answer_models(struct http *http, struct MHD_Connection *connection,
                                     struct exchange *exchange)
{
    (void)exchange;
    return send_print(connection, models_print, http->server, "application/json");
}

static enum MHD_Result answer_model(struct http *http, struct MHD_Connection *connection,
                                    struct exchange *exchange)
{
    (void)exchange;
    return send_print(connection, model_print, http->server, "application/json");
}

/* Returns the value of a header, or NULL. */
static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Parses the body and calls `use` with it. Returns false with a failure. */
static bool use_body(struct http *http, struct MHD_Connection *connection, struct exchange *exchange,
                     bool (*use)(const struct call *call, void *context), void *context)
{
    struct server *server = http->server;
    struct arena arena = {.block_size = 65536};
    joule_error error = {0};
    struct call call = {server, NULL, header(connection, "X-Max-Joules"), &exchange->failure};
    bool is_ok = false;
    pthread_mutex_lock(&server->parse_lock);
    call.body = json_parse(&arena, exchange->body.list ? exchange->body.list : (char[]){""},
                           exchange->body.length, "request", &error);
    if (!call.body && error.status == JOULE_NO_MEMORY)
        failure_set_status(&exchange->failure, 500, "server_error", NULL, "out of memory");
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

static int socket_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/* Releases the memory of a body. */
static void drop_body(struct server *server, struct exchange *exchange)
{
    atomic_fetch_sub(&server->body_bytes, exchange->body.capacity);
    free(exchange->body.list);
    exchange->body = (struct bytes){0};
}

/* Sends a stream, which then owns the reply. */
static enum MHD_Result send_stream(struct MHD_Connection *connection, struct reply *reply)
{
    struct MHD_Response *response = stream_new(reply);
    if (!response)
        reply_free(reply);
    return send_response(connection, MHD_HTTP_OK, response, NULL);
}

/* Computes a reply and sends it. */
static enum MHD_Result answer_reply(struct http *http, struct MHD_Connection *connection,
                                    struct exchange *exchange,
                                    bool (*use)(const struct call *call, void *context))
{
    struct reply *reply = NULL;
    if (!use_body(http, connection, exchange, use, &reply))
        return send_failure(connection, &exchange->failure);
    drop_body(http->server, exchange);
    reply->client_fd = socket_of(connection);
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
                              0u); /* no time limit for the engine */
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

static enum MHD_Result answer_completion(struct http *http, struct MHD_Connection *connection,
                                         struct exchange *exchange)
{
    return answer_reply(http, connection, exchange, use_completion);
}

static enum MHD_Result answer_chat(struct http *http, struct MHD_Connection *connection,
                                   struct exchange *exchange)
{
    return answer_reply(http, connection, exchange, use_chat);
}

static enum MHD_Result answer_tokens(struct http *http, struct MHD_Connection *connection,
                                     struct exchange *exchange)
{
    struct bytes text = {0};
    bool is_tokenize = strcmp(exchange->endpoint->path, "/tokenize") == 0;
    if (use_body(http, connection, exchange, is_tokenize ? use_tokenize : use_detokenize, &text))
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
    {"/v1/models/", "GET", false, true, answer_model}, /* followed by the model's name */
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

/* --- access --------------------------------------------------------------------------------------------- */

struct host_check {
    const struct host_names *names;
    int fd;
    bool is_foreign;
};

static enum MHD_Result check_host(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct host_check *host = context;
    (void)kind;
    if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0 &&
        (!value || !host_names_contain(host->names, value, host->fd)))
        host->is_foreign = true;
    if (strcasecmp(name, "Origin") == 0) { /* a page of another site */
        const char *colon = value ? strstr(value, "://") : NULL;
        if (!colon || !host_names_contain(host->names, colon + 3, host->fd))
            host->is_foreign = true;
    }
    return MHD_YES;
}

/* Returns true if the request names this machine, and does not come from a page of another site. Requests with a key
 * need not. */
static bool is_own_host(const struct server *server, struct MHD_Connection *connection)
{
    struct host_check host = {.names = &server->settings->names, .fd = socket_of(connection)};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, check_host, &host);
    return !host.is_foreign;
}

/* Finds the endpoint of a request, and checks whether the client may use it. Sets a failure if not. */
static void find_endpoint(struct server *server, struct MHD_Connection *connection, const char *path,
                          const char *method, struct exchange *exchange)
{
    const struct endpoint *found = NULL;
    struct failure *failure = &exchange->failure;
    for (size_t i = 0; !found && i < sizeof endpoints / sizeof *endpoints; i++)
        if (has_path(server, &endpoints[i], path))
            found = &endpoints[i];
    const struct serve_keys *keys = &server->settings->keys;
    if (keys->count == 0 && !is_own_host(server, connection)) {
        failure_set_status(failure, 403, "invalid_request_error", "foreign_host",
                           "this server does not answer to that host name or origin; see --allow-host");
    } else if (!(found && found->is_public) &&
               !serve_keys_accept(keys, header(connection, MHD_HTTP_HEADER_AUTHORIZATION))) {
        failure_set_status(failure, 401, "invalid_request_error", "invalid_api_key",
                           "the API key is missing or wrong; send it as 'Authorization: Bearer KEY'");
    } else if (!found) {
        failure_set_status(failure, 404, "invalid_request_error", "not_found", "there is no such path");
    } else if (strcmp(method, found->method) != 0 &&
               !(strcmp(method, "HEAD") == 0 && strcmp(found->method, "GET") == 0)) {
        failure_set_status(failure, 405, "invalid_request_error", "method_not_allowed", "use the method %s",
                           found->method);
        failure->allow = found->method;
    } else if (!found->needs_model || check_ready(server, failure)) {
        exchange->endpoint = found;
    }
}

/* --- requests ------------------------------------------------------------------------------------------- */

/* Appends a part of the body. Bodies of refused requests are dropped. Returns false to close the connection. */
static bool add_body(struct server *server, struct exchange *exchange, const char *bytes, size_t size)
{
    size_t limit = server->settings->max_body_bytes, before = exchange->body.capacity;
    exchange->received += size;
    if (exchange->received > limit) {
        if (!exchange->failure.status)
            failure_set_status(&exchange->failure, 413, "invalid_request_error", "body_too_large",
                               "the body is longer than %zu bytes", limit);
        drop_body(server, exchange);
        return exchange->received <= 2 * limit;
    }
    if (exchange->failure.status)
        return true;
    if (atomic_load(&server->body_bytes) > MAX_BODIES * limit) {
        failure_set_status(&exchange->failure, 503, "unavailable_error", "overloaded",
                           "too many requests are being received; try again later");
        exchange->failure.retry_after_s = 1;
    } else if (!bytes_add(&exchange->body, bytes, size)) {
        failure_set_status(&exchange->failure, 500, "server_error", NULL, "out of memory");
    }
    atomic_fetch_add(&server->body_bytes, exchange->body.capacity - before);
    return true;
}

static struct client *client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* Handles a request. libmicrohttpd calls this function after the headers, for each part of the body, and at its
 * end. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *body,
                                  size_t *body_size, void **request)
{
    struct http *http = context;
    struct exchange *exchange = *request;
    (void)version;
    if (!exchange) {
        exchange = *request = calloc(1, sizeof *exchange);
        if (!exchange)
            return MHD_NO;
        atomic_fetch_add(&http->server->exchanges, 1);
        find_endpoint(http->server, connection, path, method, exchange);
        return MHD_YES;
    }
    if (*body_size) {
        size_t size = *body_size;
        *body_size = 0;
        return add_body(http->server, exchange, body, size) ? MHD_YES : MHD_NO;
    }
    clients_set_answering(&http->clients, client_of(connection), true);
    if (exchange->failure.status)
        return send_failure(connection, &exchange->failure);
    return exchange->endpoint->answer(http, connection, exchange);
}

static void on_answered(void *context, struct MHD_Connection *connection, void **request,
                        enum MHD_RequestTerminationCode code)
{
    struct http *http = context;
    struct exchange *exchange = *request;
    (void)code;
    clients_set_answering(&http->clients, client_of(connection), false);
    if (!exchange)
        return;
    drop_body(http->server, exchange);
    free(exchange);
    *request = NULL;
    atomic_fetch_sub(&http->server->exchanges, 1);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **client,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http *http = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *client = clients_add(&http->clients, socket_of(connection));
    } else {
        clients_remove(&http->clients, *client);
        *client = NULL;
    }
}

/* --- interface ------------------------------------------------------------------------------------------ */

struct http *http_start(struct server *server, const struct listener *listener)
{
    unsigned connections = server->settings->max_connections;
    struct http *http = calloc(1, sizeof *http);
    if (!http || !clients_init(&http->clients, connections)) {
        complain(SERVE, "out of memory");
        free(http);
        return NULL;
    }
    http->server = server;
    http->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL, 0, NULL, NULL,
        on_request, http, MHD_OPTION_LISTEN_SOCKET, listener->fd, MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)STALL_S, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, http, MHD_OPTION_NOTIFY_COMPLETED, on_answered, http, MHD_OPTION_END);
    if (http->daemon)
        return http;
    complain(SERVE, "cannot start the server: %s", strerror(errno));
    clients_free(&http->clients);
    free(http);
    return NULL;
}

void http_close_idle(struct http *http)
{
    clients_close_idle(&http->clients);
}

void http_stop(struct http *http)
{
    if (!http)
        return;
    MHD_quiesce_daemon(http->daemon); /* keeps the socket open, which the caller closes */
    MHD_stop_daemon(http->daemon);
    clients_free(&http->clients);
    free(http);
}
