/* tools/serve/privileges.h - the user that answers requests, once the sensors are open. */
#ifndef SERVE_PRIVILEGES_H
#define SERVE_PRIVILEGES_H

#include <stdbool.h>

/* Gives up root in all threads, and the calling thread's capabilities. `user`: whom to become; NULL: "joule" where there is such a user, else
 * "nobody", and this only if root started the program. "root": root keeps its rights. False after a message. */
bool privileges_drop(const char *user);

#endif
