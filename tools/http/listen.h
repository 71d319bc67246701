/* tools/http/listen.h - the socket that a server listens on.
 *
 * Note: with port 0 the system chooses the port; listener.address then contains the chosen port.
 */
#ifndef HTTP_LISTEN_H
#define HTTP_LISTEN_H

#include <stdbool.h>

struct listener {
    int fd;
    bool is_loopback; /* other machines cannot reach the socket */
    char address[80]; /* "127.0.0.1:9400", "[::1]:9400" */
};

/* Returns true if `where` is "ADDRESS:PORT", with an IPv6 address in brackets. Otherwise prints a message
 * and returns false. */
bool listener_check(const char *subcommand, const char *where);
/* Opens a socket that listens on `where`; the caller closes listener->fd. Returns false after a message. */
bool listener_open(struct listener *listener, const char *subcommand, const char *where);

#endif
