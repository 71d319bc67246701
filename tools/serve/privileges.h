/* tools/serve/privileges.h - the user that answers requests, once the sensors are open. */
#ifndef SERVE_PRIVILEGES_H
#define SERVE_PRIVILEGES_H

#include <stdbool.h>

/* Gives up root in all threads, and the capabilities of the calling thread. `user`: the user to become;
 * NULL: if root started the program, "joule", else "nobody". "root" keeps the rights of root. False
 * after a message. */
bool privileges_drop(const char *user);

#endif
