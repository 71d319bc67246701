/* tools/serve/privileges.h - drops privileges once the sensors are open. */
#ifndef SERVE_PRIVILEGES_H
#define SERVE_PRIVILEGES_H

#include <stdbool.h>

/* Drops root in all threads, and the capabilities of the calling thread. Returns false after a message. user:
 * the user to change to; "root" keeps the rights of root. If `user` is NULL, root changes to "joule", or to
 * "nobody" if there is no user "joule". */
bool privileges_drop(const char *user);

#endif
