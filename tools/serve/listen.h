/* tools/serve/listen.h - the socket that `joule serve` listens on.
 *
 * Note: with port 0 the system chooses the port, and `address` shows it.
 */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include <stdbool.h>

struct listener {
    int fd;
    bool is_loopback; /* other machines cannot reach it */
    char address[80]; /* "127.0.0.1:9400", "[::1]:9400" */
};

/* Returns true if `where` is "ADDRESS:PORT", with an IPv6 address in brackets. Otherwise prints a message
 * and returns false. */
bool listener_check(const char *where);
/* Listens on `where`. Returns false after a message, with nothing open. */
bool listener_open(struct listener *listener, const char *where);

#endif
