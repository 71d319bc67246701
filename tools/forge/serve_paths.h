/* tools/forge/serve_paths.h - the paths of the server, and the functions that answer requests to them. */
#ifndef SERVE_PATHS_H
#define SERVE_PATHS_H

#include <microhttpd.h>
#include "serve.h"
#include "serve_fields.h"
#include "serve_text.h"

/* A request, with the part of its body that has arrived. Initialise with zeros. */
struct exchange {
    const struct endpoint *endpoint; /* NULL: the request is refused */
    struct failure failure;          /* the reason for a refusal */
    struct bytes body;
    size_t received;  /* bytes of the body so far, including dropped bytes */
    bool is_complete; /* all bytes of the request have arrived */
};
/* Releases the memory of the body. */
void exchange_drop_body(struct server *server, struct exchange *exchange);

struct endpoint {
    const char *path, *method;
    bool is_public;   /* clients need no API key */
    bool needs_model; /* requests are refused until the model is ready */
    /* Answers a complete request. May wait for the engine. */
    enum MHD_Result (*answer)(struct server *server, struct MHD_Connection *connection,
                              struct exchange *exchange);
};
/* Returns the endpoint of a path, or NULL. */
const struct endpoint *endpoint_find(const struct server *server, const char *path);
/* Returns true if the server is ready. While the server is loading or stopping, sets the failure and returns
 * false. */
bool check_ready(struct server *server, struct failure *failure);

/* Returns the value of a header, or NULL. */
const char *header_of(struct MHD_Connection *connection, const char *name);
/* Returns the socket of a connection, or -1. */
int socket_of(struct MHD_Connection *connection);

#endif
