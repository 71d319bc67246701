/* tools/forge/serve_http.c - see serve_http.h.
 *
 * libmicrohttpd runs a thread for each connection, so the functions here may wait for the engine. */
#include "serve_http.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include "serve_clients.h"
#include "serve_paths.h"
#include "serve_send.h"

#define TIMEOUT_S    60 /* a connection is closed if no byte arrives for this time */
#define HEADER_BYTES 32768
#define STACK_BYTES  (1 << 20)
#define MAX_BODIES   16 /* limit for the memory of all bodies, as a number of bodies of maximum size */
#define OTHER_FILES  64 /* descriptors for everything except connections: model, sensors, threads */

struct http {
    struct server *server;
    struct clients clients;
    struct MHD_Daemon *daemon;
};

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
    if (strcasecmp(name, "Origin") == 0) { /* the site whose page sends the request */
        const char *colon = value ? strstr(value, "://") : NULL;
        if (!colon || !host_names_contain(host->names, colon + 3, host->fd))
            host->is_foreign = true;
    }
    return MHD_YES;
}

/* Returns true if the Host header names this machine, and the request does not come from a page of another
 * site. This is checked only if the server has no API keys. */
static bool is_own_host(const struct server *server, struct MHD_Connection *connection)
{
    struct host_check host = {.names = &server->settings->names, .fd = socket_of(connection)};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, check_host, &host);
    return !host.is_foreign;
}

/* Finds the endpoint of a request. If the client may not use it, sets a failure instead. */
static void find_endpoint(struct server *server, struct MHD_Connection *connection, const char *path,
                          const char *method, struct exchange *exchange)
{
    const struct endpoint *found = endpoint_find(server, path);
    struct failure *failure = &exchange->failure;
    const struct serve_keys *keys = &server->settings->keys;
    if (keys->count == 0 && !is_own_host(server, connection)) {
        failure_set_status(failure, 403, "invalid_request_error", "foreign_host",
                           "this server does not answer to that host name or origin; see --allow-host");
    } else if (!(found && found->is_public) &&
               !serve_keys_accept(keys, header_of(connection, MHD_HTTP_HEADER_AUTHORIZATION))) {
        failure_set_status(failure, 401, "invalid_request_error", "invalid_api_key",
                           "the API key is missing or wrong; send it as 'Authorization: Bearer KEY'");
    } else if (!found) {
        failure_set_status(failure, 404, "invalid_request_error", "not_found",
                           "this server has no such path");
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

static void fail_large_body(const struct server *server, struct exchange *exchange)
{
    failure_set_status(&exchange->failure, 413, "invalid_request_error", "body_too_large",
                       "the body is longer than %zu bytes", server->settings->max_body_bytes);
}

/* Checks the headers of a request. Returns false if the connection must be closed. */
static bool begin_request(struct server *server, struct MHD_Connection *connection, const char *path,
                          const char *method, struct exchange *exchange)
{
    const char *length = header_of(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
    uint64_t announced;
    find_endpoint(server, connection, path, method, exchange);
    if (length && string_to_u64(length, 10, &announced) && announced > server->settings->max_body_bytes)
        fail_large_body(server, exchange);
    /* A client that waits for the permission to send a body gets the refusal instead. */
    return !exchange->failure.status || !header_of(connection, MHD_HTTP_HEADER_EXPECT) ||
           send_failure(connection, &exchange->failure) == MHD_YES;
}

/* Appends a part of the body. Drops it if the request was refused. Returns false if the connection must be
 * closed. */
static bool add_body(struct server *server, struct exchange *exchange, const char *bytes, size_t size)
{
    size_t limit = server->settings->max_body_bytes, before = exchange->body.capacity;
    exchange->received += size;
    if (exchange->received > limit) {
        fail_large_body(server, exchange);
        exchange_drop_body(server, exchange);
        return exchange->received <= 2 * limit;
    }
    if (exchange->failure.status)
        return true;
    if (atomic_load(&server->body_bytes) > MAX_BODIES * limit) {
        failure_set_status(&exchange->failure, 503, "unavailable_error", "overloaded",
                           "too many requests are being received; try again later");
        exchange->failure.retry_after_s = 1;
    } else if (!bytes_add(&exchange->body, bytes, size)) {
        failure_set_no_memory(&exchange->failure);
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

/* Handles a request. libmicrohttpd calls this function after the headers, for each part of the body, and at
 * the end of the body. */
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
        return begin_request(http->server, connection, path, method, exchange) ? MHD_YES : MHD_NO;
    }
    if (*body_size) {
        size_t size = *body_size;
        *body_size = 0;
        return add_body(http->server, exchange, body, size) ? MHD_YES : MHD_NO;
    }
    exchange->is_complete = true;
    atomic_fetch_add(&http->server->exchanges, 1);
    clients_set_answering(&http->clients, client_of(connection), true);
    if (exchange->failure.status)
        return send_failure(connection, &exchange->failure);
    return exchange->endpoint->answer(http->server, connection, exchange);
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
    if (exchange->is_complete)
        atomic_fetch_sub(&http->server->exchanges, 1);
    exchange_drop_body(http->server, exchange);
    free(exchange);
    *request = NULL;
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

/* Returns the number of clients that may stay connected: `wanted`, unless the limit of open files is lower.
 * Raises this limit if possible.
 * Note: without a free descriptor, libmicrohttpd would try to accept connections again and again. */
static unsigned limit_connections(unsigned wanted)
{
    struct rlimit limit;
    rlim_t needed = (rlim_t)wanted + SPARE_CLIENTS + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return wanted;
    struct rlimit raised = {limit.rlim_max < needed ? limit.rlim_max : needed, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
        limit = raised;
    if (limit.rlim_cur >= needed)
        return wanted;
    rlim_t possible = needed - limit.rlim_cur < wanted ? wanted - (needed - limit.rlim_cur) : 1;
    complain(SERVE,
             "warning: at most %u clients can be connected, because a process may open only %llu files",
             (unsigned)possible, (unsigned long long)limit.rlim_cur);
    return (unsigned)possible;
}

struct http *http_start(struct server *server, const struct listener *listener)
{
    unsigned connections = limit_connections(server->settings->max_connections);
    struct http *http = calloc(1, sizeof *http);
    if (!http || !clients_init(&http->clients, connections)) {
        complain(SERVE, "out of memory");
        free(http);
        return NULL;
    }
    http->server = server;
    http->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL, 0, NULL, NULL,
        on_request, http, MHD_OPTION_LISTEN_SOCKET, listener->fd, MHD_OPTION_CONNECTION_LIMIT,
        connections + SPARE_CLIENTS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_NOTIFY_COMPLETED, on_answered, http,
        MHD_OPTION_END);
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
    /* Stops accepting, but does not close the socket, which the caller owns. */
    MHD_quiesce_daemon(http->daemon);
    MHD_stop_daemon(http->daemon);
    clients_free(&http->clients);
    free(http);
}
