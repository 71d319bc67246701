/* tools/forge/serve_paths.h - the paths of the server, and how each is answered. */
#ifndef SERVE_PATHS_H
#define SERVE_PATHS_H

#include <microhttpd.h>
#include "serve.h"
#include "serve_fields.h"
#include "serve_text.h"

/* A request whose body arrives. Initialise with zeros. */
struct exchange {
    const struct endpoint *endpoint; /* NULL: refused */
    struct failure failure;          /* the reason for a refusal */
    struct bytes body;
    size_t received; /* bytes of the body, with those that were dropped */
};
/* Releases the memory of the body. */
void exchange_drop_body(struct server *server, struct exchange *exchange);

struct endpoint {
    const char *path, *method;
    bool is_public;   /* needs no key */
    bool needs_model; /* refused until the model is ready */
    /* Answers a complete request. May wait for the engine. */
    enum MHD_Result (*answer)(struct server *server, struct MHD_Connection *connection,
                              struct exchange *exchange);
};
/* Returns the endpoint of a path, or NULL. */
const struct endpoint *endpoint_find(const struct server *server, const char *path);
/* Refuses a request while the server is loading or stopping. Returns true if it is ready. */
bool check_ready(struct server *server, struct failure *failure);

/* Returns the value of a header, or NULL. */
const char *header_of(struct MHD_Connection *connection, const char *name);
/* Returns the socket of a connection, or -1. */
int socket_of(struct MHD_Connection *connection);

#endif
