/* tools/forge/serve_clients.h - the connections of a server, and time limits for slow clients.
 *
 * A connection is closed if no complete request arrives in time. If there are too many, the connection that
 * has been idle longest is closed, so that a new client is served.
 */
#ifndef SERVE_CLIENTS_H
#define SERVE_CLIENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client {
    int fd;           /* -1: unused, or being closed */
    int64_t since_ns; /* CLOCK_MONOTONIC of the connection, or of the end of its last answer */
    bool is_used, is_answering;
};

struct clients {
    pthread_mutex_t lock;
    struct client *list;  /* [capacity] */
    size_t capacity, max; /* number of places, and of connections that may stay */
};
#define SPARE_CLIENTS 32 /* places for connections that replace others */

/* Initialises a list for `max` connections that may stay, and SPARE_CLIENTS more. Returns false if out of
 * memory. Freed by clients_free. */
bool clients_init(struct clients *clients, size_t max);
void clients_free(struct clients *clients);
/* Returns the place of a new connection, or NULL if there is none. May close another connection. Any
 * thread. */
struct client *clients_add(struct clients *clients, int fd);
/* NULL is allowed. Any thread. */
void clients_remove(struct clients *clients, struct client *client);
/* Records that a request is complete, or that its answer has been sent. NULL is allowed. Any thread. */
void clients_set_answering(struct clients *clients, struct client *client, bool is_answering);
/* Closes connections as described above. Call it about once a second. Any thread. */
void clients_close_idle(struct clients *clients);

#endif
