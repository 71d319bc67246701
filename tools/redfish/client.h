/* tools/redfish/client.h - requests resources of a server's management controller over HTTP.
 *
 * A client follows no redirection, uses no proxy and contacts no other host. An answer has at most 1 MiB, and
 * a request takes at most 10 s.
 *
 * Note: the JSON tree of an answer is valid until client_close.
 */
#ifndef REDFISH_CLIENT_H
#define REDFISH_CLIENT_H

#include "base/arena.h"
#include "base/json.h"
#include "config.h"

struct client {
    void *curl; /* a CURL handle */
    const struct config *config;
    struct arena arena; /* memory of all answers */
    joule_error *error; /* message of the last failure; owned by the caller */
};

/* Prepares requests to the controller in `config`, and erases its password there. `config` and `error` must
 * outlive the client. On failure returns JOULE_NO_MEMORY or JOULE_UNSUPPORTED, with a message in *error. */
joule_status client_open(struct config *config, joule_error *error, struct client *out_client);
/* Requests the resource at a path such as "/redfish/v1/". Sets *out_value to its JSON tree, which the client
 * owns. On failure returns JOULE_DENIED, JOULE_ABSENT, JOULE_STALE (timeout) or JOULE_FAILED, with a message
 * in the client's error. */
joule_status client_get(struct client *client, const char *path, const struct json_value **out_value);
void client_close(struct client *client);

#endif
