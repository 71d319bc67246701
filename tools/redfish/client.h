/* tools/redfish/client.h - one connection to a management controller.
 *
 * Limits: no redirections, no proxy, no other host, answers of at most 1 MiB, and a deadline for each
 * request.
 *
 * Note: the JSON tree of an answer lives until the client is closed.
 */
#ifndef REDFISH_CLIENT_H
#define REDFISH_CLIENT_H

#include "base/arena.h"
#include "base/json.h"
#include "config.h"

struct client {
    void *curl;
    const struct config *config;
    struct arena arena; /* memory of all answers */
    joule_error *error;
};

/* Opens the connection and erases the password in the config. Returns JOULE_NO_MEMORY or JOULE_UNSUPPORTED
 * on failure. */
joule_status client_open(struct config *config, joule_error *error, struct client *out_client);
/* Requests the resource at a path such as "/redfish/v1/". On failure returns JOULE_DENIED, JOULE_ABSENT,
 * JOULE_STALE (timeout) or JOULE_FAILED, with a message in the client's error. */
joule_status client_get(struct client *client, const char *path, const struct json_value **out_value);
void client_close(struct client *client);

#endif
