/* tools/serve/privileges.h - drops privileges once the sensors are open. */
#ifndef SERVE_PRIVILEGES_H
#define SERVE_PRIVILEGES_H

#include <stdbool.h>

/* Drops root in all threads, and the capabilities of the calling thread. `user`: the user to become;
 * "root" keeps the rights of root. NULL: if root started the program, it becomes the user "joule", or
 * "nobody" if there is no user "joule". Returns false after a message. */
bool privileges_drop(const char *user);

#endif
