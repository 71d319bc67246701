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
    int64_t since_ns; /* CLOCK_MONOTONIC time at which it connected, or at which its last answer ended */
    bool is_used, is_answering;
};

struct clients {
    pthread_mutex_t lock;
    struct client *list;  /* [capacity] */
    size_t capacity, max; /* max: if there are more connections than this number, one is closed */
};
#define SPARE_CLIENTS 32 /* additional entries, for new connections while old ones are being closed */

/* Initialises a list with max + SPARE_CLIENTS entries. The caller frees it with clients_free. Returns false
 * if out of memory. */
bool clients_init(struct clients *clients, size_t max);
void clients_free(struct clients *clients);
/* Adds a connection. Returns its entry, or NULL if no entry is free. May close another connection. Any
 * thread. */
struct client *clients_add(struct clients *clients, int fd);
/* Removes a connection. client: NULL is allowed. Any thread. */
void clients_remove(struct clients *clients, struct client *client);
/* Records that a request is complete (is_answering), or that its answer has been sent. client: NULL is
 * allowed. Any thread. */
void clients_set_answering(struct clients *clients, struct client *client, bool is_answering);
/* Closes connections that are idle for too long. Call it about once a second. Any thread. */
void clients_close_idle(struct clients *clients);

#endif
