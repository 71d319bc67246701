/* tools/serve/listen.h - the socket that `joule serve` listens on.
 *
 * Owns reading ADDRESS:PORT, the socket, and how its address is written for people. Newcomers: port 0 lets the system choose;
 * the socket knows which it took.
 */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include <stdbool.h>

struct listener {
    int fd;
    bool is_loopback; /* nobody but this machine reaches it */
    char address[80]; /* "127.0.0.1:9400", "[::1]:9400" */
};

/* Whether it is "ADDRESS:PORT", where an IPv6 address stands in brackets. False after a message. */
bool listener_check(const char *where);
/* Listens there. False after a message; nothing is open then. */
bool listener_open(struct listener *listener, const char *where);

#endif
