/* tools/forge/serve_http.h - the HTTP server: paths, statuses, headers, bodies. */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include "serve.h"

struct http;

/* Starts to answer requests in threads of its own. Returns NULL after a message. */
struct http *http_start(struct server *server, const struct listener *listener);
/* Closes connections of clients that send no request. Call it about once a second. */
void http_close_idle(struct http *http);
/* Stops the server and closes all connections. NULL is allowed. */
void http_stop(struct http *http);

#endif
