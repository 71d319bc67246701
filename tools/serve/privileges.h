/* tools/serve/privileges.h - changes to the user that answers requests, once the sensors are open. */
#ifndef SERVE_PRIVILEGES_H
#define SERVE_PRIVILEGES_H

#include <stdbool.h>

/* Drops root in all threads, and the capabilities of the calling thread. `user`: the user to become. NULL: if
 * root started the program, the user "joule", or "nobody" if that does not exist. "root" keeps the rights of
 * root. False after a message. */
bool privileges_drop(const char *user);

#endif
