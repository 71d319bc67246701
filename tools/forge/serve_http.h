/* tools/forge/serve_http.h - the HTTP server: paths, statuses, headers, bodies. */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include "serve.h"

struct http;

/* Starts threads that answer requests. If this fails, prints a message and returns NULL. */
struct http *http_start(struct server *server, const struct listener *listener);
/* Closes connections that have been idle for too long. Call it about once a second. */
void http_close_idle(struct http *http);
/* Stops the server and closes all connections. NULL is allowed. */
void http_stop(struct http *http);

#endif
