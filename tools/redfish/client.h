/* tools/redfish/client.h - one connection to a management controller.
 *
 * Owns the connection and its limits: no redirections, no proxy, no other host, an answer of 1 MiB at most, a deadline for
 * each. What the answers mean is views.c's. Newcomers: the tree of an answer lives until the client is closed.
 */
#ifndef REDFISH_CLIENT_H
#define REDFISH_CLIENT_H

#include "base/arena.h"
#include "base/json.h"
#include "config.h"

struct client {
    void *curl;
    const struct config *config;
    struct arena arena; /* answers */
    joule_error *error;
};

/* Takes the password out of the config. NO_MEMORY, UNSUPPORTED. */
joule_status client_open(struct config *config, joule_error *error, struct client *out_client);
/* The resource at a path ("/redfish/v1/"). DENIED, ABSENT, STALE (too late), FAILED, with a message in the client's error. */
joule_status client_get(struct client *client, const char *path, const struct json_value **out_value);
void client_close(struct client *client);

#endif
