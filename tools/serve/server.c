/* tools/serve/server.c - the HTTP server: paths, statuses, headers, and protection against slow or many
 * clients.
 *
 * libmicrohttpd parses the requests; this file handles its events in one thread without locks.
 *
 * Note: struct client contains the time of a connection's last complete request. When fewer than
 * SPARE_CLIENTS are free, the connection that was idle longest is closed. A new client is therefore always
 * served.
 */
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "answer.h"
#include "base/clock.h"
#include "base/string.h"
#include "common/options.h"
#include "events.h"
#include "http/page_files.h"
#include "joule/attribute/attribute_process.h"
#include "serve.h"

#define MAX_CLIENTS   128
#define SPARE_CLIENTS 16
/* Time limit in seconds of the first request, from the connection to the end of the answer. */
#define FIRST_S 10
/* Time limit in seconds of later requests. Prometheus sends one every 15 to 60 s on one connection. */
#define KEPT_S           90
#define MAX_WAIT_MS      1000
#define TENANT_PERIOD_NS 1000000000LL
#define HEADER_BYTES     16384 /* memory of a connection in libmicrohttpd, for request line and headers */

struct client {
    int fd;           /* -1: unused, or the connection is being closed */
    int64_t since_ns; /* CLOCK_MONOTONIC of the connection, or of its last complete request */
    bool is_used, has_requested;
};

struct server {
    const struct serve_settings *settings;
    struct events events;
    struct answers answers;
    struct tenants tenants;
    struct process_shares processes;
    int64_t next_tenants_ns;                      /* time of the next update of tenants; 0: never */
    struct MHD_Response *responses[ANSWER_KINDS]; /* the current response of each kind; NULL: none yet */
    struct MHD_Daemon *daemon;
    struct client clients[MAX_CLIENTS];
    size_t client_count;
};

/* --- connections ---------------------------------------------------------------------------------------- */

static void add_client(struct server *server, struct MHD_Connection *connection, void **out_client)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    for (struct client *client = server->clients; client < server->clients + MAX_CLIENTS; client++) {
        if (client->is_used)
            continue;
        *client =
            (struct client){.fd = info ? info->connect_fd : -1, .since_ns = clock_now_ns(), .is_used = true};
        server->client_count++;
        *out_client = client;
        return;
    }
}

static void on_connection(void *context, struct MHD_Connection *connection, void **client,
                          enum MHD_ConnectionNotificationCode code)
{
    struct server *server = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        add_client(server, connection, client);
    } else if (*client) {
        ((struct client *)*client)->is_used = false;
        server->client_count--;
        *client = NULL;
    }
}

static void on_answered(void *context, struct MHD_Connection *connection, void **request,
                        enum MHD_RequestTerminationCode code)
{
    (void)context, (void)request, (void)code;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct client *client = info ? info->socket_context : NULL;
    if (client) {
        client->since_ns = clock_now_ns();
        client->has_requested = true;
    }
}

/* Shuts the socket down; libmicrohttpd owns it and closes it afterwards. */
static void disconnect(struct client *client)
{
    shutdown(client->fd, SHUT_RDWR);
    client->fd = -1;
}

static struct client *longest_idle(struct server *server)
{
    struct client *oldest = NULL;
    for (struct client *client = server->clients; client < server->clients + MAX_CLIENTS; client++)
        if (client->is_used && client->fd >= 0 && (!oldest || client->since_ns < oldest->since_ns))
            oldest = client;
    return oldest;
}

static void close_idle(struct server *server)
{
    int64_t now = clock_now_ns();
    for (struct client *client = server->clients; client < server->clients + MAX_CLIENTS; client++)
        if (client->is_used && client->fd >= 0 &&
            now - client->since_ns > (client->has_requested ? KEPT_S : FIRST_S) * 1000000000LL)
            disconnect(client);
    size_t waiting = 0;
    for (size_t i = 0; i < MAX_CLIENTS; i++)
        waiting += server->clients[i].is_used && server->clients[i].fd >= 0;
    for (struct client *client; waiting > MAX_CLIENTS - SPARE_CLIENTS && (client = longest_idle(server));
         waiting--)
        disconnect(client);
}

/* --- answers -------------------------------------------------------------------------------------------- */

#define CONTENT_POLICY                                                                                       \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "           \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* Adds the common headers to a response; NULL stays NULL. */
static struct MHD_Response *add_headers(struct MHD_Response *response, const char *media_type)
{
    static const char *const headers[][2] = {{MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
                                             {"Content-Security-Policy", CONTENT_POLICY},
                                             {"X-Content-Type-Options", "nosniff"},
                                             {"Referrer-Policy", "no-referrer"},
                                             {"Cross-Origin-Resource-Policy", "same-origin"}};
    if (!response)
        return NULL;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, media_type);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
    return response;
}

/* Creates a response from bytes that exist longer than the response. */
static struct MHD_Response *create_response(const void *bytes, size_t size, const char *media_type)
{
    return add_headers(
        MHD_create_response_from_buffer(size, (void *)(uintptr_t)bytes, MHD_RESPMEM_PERSISTENT), media_type);
}

static void on_sent(void *page)
{
    answer_release(page);
}

/* Queues the response and releases it. */
static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status,
                                     struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static struct MHD_Response *text_response(const char *text)
{
    return create_response(text, strlen(text), "text/plain; charset=utf-8");
}

static enum MHD_Result send_file(struct MHD_Connection *connection, const struct page_file *file,
                                 const char *media_type)
{
    return send_response(connection, MHD_HTTP_OK, create_response(file->bytes, file->size, media_type));
}

/* Replaces the response of a kind by one with this page. libmicrohttpd calls on_sent when a later response
 * has replaced this one and all clients have received it. */
static bool update_response(struct server *server, enum answer_kind kind, struct page *page)
{
    if (server->responses[kind])
        MHD_destroy_response(server->responses[kind]);
    server->responses[kind] = add_headers(
        MHD_create_response_from_buffer_with_free_callback_cls(page->length, page->bytes, on_sent, page),
        answer_media_type(kind));
    if (!server->responses[kind])
        answer_release(page);
    else if (kind == ANSWER_TEXT || kind == ANSWER_OPENMETRICS)
        MHD_add_response_header(server->responses[kind], MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
    return server->responses[kind];
}

/* Sends the current text of a kind. While the text is valid, all requests get the same response.
 * libmicrohttpd counts the references to the response. */
static enum MHD_Result send_answer(struct server *server, struct MHD_Connection *connection,
                                   enum answer_kind kind)
{
    bool is_new;
    struct page *page = answer_make(&server->answers, kind, &is_new);
    if (!page || (is_new && !update_response(server, kind, page)) || !server->responses[kind])
        return send_response(connection, MHD_HTTP_SERVICE_UNAVAILABLE, text_response("out of memory\n"));
    return MHD_queue_response(connection, MHD_HTTP_OK, server->responses[kind]);
}

static enum MHD_Result send_health(struct server *server, struct MHD_Connection *connection)
{
    if (answers_are_fresh(&server->answers))
        return send_response(connection, MHD_HTTP_OK, text_response("ok\n"));
    return send_response(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                         text_response("no sensor answers; see `joule doctor`\n"));
}

static enum MHD_Result refuse_method(struct MHD_Connection *connection)
{
    struct MHD_Response *response = text_response("only GET and HEAD are supported\n");
    if (response)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    return send_response(connection, MHD_HTTP_METHOD_NOT_ALLOWED, response);
}

static enum MHD_Result request_credentials(const struct server *server, struct MHD_Connection *connection)
{
    bool has_token = auth_has_token(server->settings->auth),
         has_users = auth_has_users(server->settings->auth);
    struct MHD_Response *response =
        text_response(has_users ? "a user name and password are required\n" : "a bearer token is required\n");
    if (response && has_token)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"joule\"");
    if (response && has_users)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
                                "Basic realm=\"joule\", charset=\"UTF-8\"");
    return send_response(connection, MHD_HTTP_UNAUTHORIZED, response);
}

static enum MHD_Result refuse_for_now(struct MHD_Connection *connection)
{
    struct MHD_Response *response = text_response("too many wrong passwords\n");
    if (response)
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    return send_response(connection, MHD_HTTP_TOO_MANY_REQUESTS, response);
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* --- host name ------------------------------------------------------------------------------------------ */

struct host_check {
    const struct host_names *names;
    int fd;
    bool is_foreign;
};

static enum MHD_Result check_host(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct host_check *host_check = context;
    (void)kind;
    if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0 &&
        (!value || !host_names_contain(host_check->names, value, host_check->fd)))
        host_check->is_foreign = true;
    return MHD_YES;
}

static bool is_own_host(const struct server *server, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct host_check host_check = {.names = &server->settings->names, .fd = info ? info->connect_fd : -1};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, check_host, &host_check);
    return !host_check.is_foreign;
}

/* --- paths ---------------------------------------------------------------------------------------------- */

/* Answers a request for /healthz or a file of the page. Sets *out_is_found to false for other paths. The page
 * contains no readings. With a token it is public, because its script asks the user for the token. With users
 * it needs a password, because the browser then asks for one. */
static enum MHD_Result send_public(struct server *server, struct MHD_Connection *connection, const char *path,
                                   bool has_access, bool *out_is_found)
{
    *out_is_found = true;
    if (strcmp(path, "/healthz") == 0)
        return send_health(server, connection);
    *out_is_found = !auth_has_users(server->settings->auth) || has_access;
    if (!*out_is_found)
        return MHD_NO;
    if (strcmp(path, "/") == 0)
        return send_file(connection, &page_index_html, "text/html; charset=utf-8");
    if (strcmp(path, "/page.css") == 0)
        return send_file(connection, &page_page_css, "text/css; charset=utf-8");
    if (strcmp(path, "/page.js") == 0)
        return send_file(connection, &page_page_js, "text/javascript; charset=utf-8");
    *out_is_found = false;
    return MHD_NO;
}

static enum MHD_Result send_events(struct server *server, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct client *client = info ? info->socket_context : NULL;
    if (!client)
        return MHD_NO;
    struct MHD_Response *response = events_add(&server->events, connection, &client->since_ns);
    if (!response)
        return send_response(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                             text_response("too many streams, or out of memory\n"));
    client->has_requested = true;
    return send_response(connection, MHD_HTTP_OK, add_headers(response, "text/event-stream"));
}

static enum MHD_Result send_path(struct server *server, struct MHD_Connection *connection, const char *path)
{
    if (!is_own_host(server, connection))
        return send_response(
            connection, MHD_HTTP_FORBIDDEN,
            text_response(
                "this server does not answer to that host name; see --allow-host of joule serve\n"));
    bool is_public;
    enum auth_answer auth =
        auth_check(server->settings->auth, header(connection, MHD_HTTP_HEADER_AUTHORIZATION));
    enum MHD_Result result = send_public(server, connection, path, auth == AUTH_GOOD, &is_public);
    if (is_public)
        return result;
    if (auth != AUTH_GOOD)
        return auth == AUTH_LATER ? refuse_for_now(connection) : request_credentials(server, connection);
    if (strcmp(path, "/metrics") == 0)
        return send_answer(server, connection,
                           metrics_choose(header(connection, MHD_HTTP_HEADER_ACCEPT)) == METRICS_TEXT
                               ? ANSWER_TEXT
                               : ANSWER_OPENMETRICS);
    if (strcmp(path, "/api/devices") == 0)
        return send_answer(server, connection, ANSWER_DEVICES);
    if (strcmp(path, "/api/history") == 0)
        return send_answer(server, connection, ANSWER_HISTORY);
    if (strcmp(path, "/events") == 0)
        return send_events(server, connection);
    return send_response(connection, MHD_HTTP_NOT_FOUND, text_response("no such page; see /\n"));
}

/* Handles a request. libmicrohttpd calls this function after the headers and again after the body, which is
 * ignored. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *body,
                                  size_t *body_size, void **request)
{
    static char seen;
    (void)version, (void)body;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return refuse_method(connection);
    if (!*request || *body_size) {
        *request = &seen;
        *body_size = 0;
        return MHD_YES;
    }
    return send_path(context, connection, path);
}

/* --- the loop ------------------------------------------------------------------------------------------- */

/* Prints libmicrohttpd's messages until the daemon has started, such as why it cannot use a certificate.
 * Later messages are about clients and are not printed. */
static void on_log(void *context, const char *format, va_list values)
{
    char text[256];
    const struct server *server = context;
    if (server->daemon)
        return;
    vsnprintf(text, sizeof text, format, values);
    complain(SERVE, "%s", string_trim(text));
}

static bool start(struct server *server, const struct listener *listener)
{
    const struct serve_settings *settings = server->settings;
    const struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, settings->tls_cert},
                                         {MHD_OPTION_HTTPS_MEM_KEY, 0, settings->tls_key},
                                         {MHD_OPTION_END, 0, NULL}};
    const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | (settings->tls_cert ? MHD_USE_TLS : 0),
        0, NULL, NULL, on_request, server, MHD_OPTION_EXTERNAL_LOGGER, on_log, server,
        MHD_OPTION_LISTEN_SOCKET, listener->fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CLIENTS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)KEPT_S, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
        on_answered, server, MHD_OPTION_ARRAY, settings->tls_cert ? tls : none, MHD_OPTION_END);
    return server->daemon;
}

/* Returns the longest time until the next work in milliseconds, or -1 if there is none to wait for. */
static int wait_ms(struct server *server)
{
    MHD_UNSIGNED_LONG_LONG limit_ms;
    int64_t wait_ms_max = MAX_WAIT_MS, due_ns = server->next_tenants_ns;
    if (server->events.next_ns && (!due_ns || server->events.next_ns < due_ns))
        due_ns = server->events.next_ns;
    bool has_limit = MHD_get_timeout(server->daemon, &limit_ms) == MHD_YES;
    if (due_ns)
        wait_ms_max = (due_ns - clock_now_ns()) / 1000000 + 1;
    if (has_limit && limit_ms < (MHD_UNSIGNED_LONG_LONG)MAX_WAIT_MS && (int64_t)limit_ms < wait_ms_max)
        wait_ms_max = (int64_t)limit_ms;
    if (!server->client_count && !has_limit && !due_ns)
        return -1;
    return wait_ms_max > 0 ? (int)wait_ms_max : 0;
}

/* Updates the tenants about once a second. If out of memory, some are missing until the next update. */
static void update_tenants(struct server *server)
{
    int64_t now = clock_now_ns();
    if (!server->next_tenants_ns || now < server->next_tenants_ns)
        return;
    joule_status status = tenants_update(&server->tenants);
    bool has_tenants = status != JOULE_ABSENT || !server->answers.overview.tenants;
    if (!has_tenants) {
        complain(SERVE,
                 "cannot attribute energy to tenants: no cgroup below /sys/fs/cgroup reports CPU time");
        server->answers.overview.tenants = NULL;
    }
    server->next_tenants_ns = has_tenants || server->tenants.processes ? now + TENANT_PERIOD_NS : 0;
}

static int run(struct server *server, int signals)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct pollfd waited[] = {{.fd = info->epoll_fd, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    while (!waited[1].revents) {
        if (poll(waited, 2, wait_ms(server)) < 0 && errno != EINTR) {
            complain(SERVE, "cannot wait for clients: %s", strerror(errno));
            return EXIT_OWN_FAILURE;
        }
        events_send(&server->events);
        MHD_run(server->daemon);
        close_idle(server);
        update_tenants(server);
    }
    return 0;
}

int server_run(joule_meter *meter, const struct serve_settings *settings, const struct listener *listener)
{
    struct server server = {.settings = settings, .answers.meter = meter, .tenants.meter = meter};
    server.events.answers = &server.answers;
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    if (settings->has_tenants)
        server.answers.overview.tenants = &server.tenants;
    if (settings->process_count) {
        server.processes.max_picked = settings->process_count;
        server.answers.overview.processes = server.tenants.processes = &server.processes;
    }
    if (settings->has_tenants || settings->process_count) {
        server.answers.tenants = &server.tenants;
        server.next_tenants_ns = clock_now_ns();
    }
    int code = EXIT_OWN_FAILURE, signals = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0 || !start(&server, listener)) {
        if (signals >= 0 && settings->tls_cert)
            complain(SERVE, "cannot start the server: %s",
                     MHD_is_feature_supported(MHD_FEATURE_TLS) == MHD_YES
                         ? "the certificate and key cannot be used"
                         : "this libmicrohttpd does not support TLS");
        else
            complain(SERVE, "cannot start the server: %s", strerror(errno));
    } else {
        serve_announce(listener, settings);
        code = run(&server, signals);
        events_end(&server.events);
        MHD_quiesce_daemon(server.daemon); /* keeps the socket open, which the caller closes */
        MHD_stop_daemon(server.daemon);
    }
    for (size_t i = 0; i < ANSWER_KINDS; i++)
        if (server.responses[i])
            MHD_destroy_response(server.responses[i]);
    answers_free(&server.answers);
    tenants_free(&server.tenants);
    process_shares_free(&server.processes);
    if (signals >= 0)
        close(signals);
    return code;
}
