/* tools/http/host_names.h - the host names that a request may use for this server.
 *
 * Note: this check prevents DNS rebinding, in which a foreign web site makes its own name resolve to this
 * machine. The Host header of such requests contains the site's name.
 */
#ifndef HTTP_HOST_NAMES_H
#define HTTP_HOST_NAMES_H

#include <stdbool.h>
#include "common/options.h"
#include "http/listen.h"

struct host_names {
    char machine[256], canonical[256]; /* this machine's own names; empty: unknown */
    const struct option_list *allowed; /* names of --allow-host; the caller owns the list */
};

/* Reads the machine's names. If other machines can reach the listener, also asks the resolver for the
 * machine's full name. */
void host_names_read(struct host_names *names, const struct listener *listener,
                     const struct option_list *allowed);
/* Returns true if a Host header names this machine: loopback, one of its names, an allowed name, or the local
 * address of the connection `fd`. A port is ignored. */
bool host_names_contain(const struct host_names *names, const char *host, int fd);

#endif
