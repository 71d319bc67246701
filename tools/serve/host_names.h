/* tools/serve/host_names.h - the names that a request may call this server by.
 *
 * Note: a page of another origin whose name is changed to point to this machine (DNS rebinding) calls it by
 * that name.
 */
#ifndef SERVE_HOST_NAMES_H
#define SERVE_HOST_NAMES_H

#include <stdbool.h>
#include "common/options.h"
#include "listen.h"

struct host_names {
    char machine[256], canonical[256]; /* what this machine calls itself; empty: unknown */
    const struct option_list *allowed; /* --allow-host */
};

/* Reads the machine's names. Where others reach the listener its full name is asked of the resolver. */
void host_names_read(struct host_names *names, const struct listener *listener,
                     const struct option_list *allowed);
/* Whether a Host header names this machine: loopback, one of its names, one that is allowed, or the
 * address by which the connection `fd` came. A port after it does not matter. */
bool host_names_contain(const struct host_names *names, const char *host, int fd);

#endif
