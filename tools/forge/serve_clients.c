/* tools/forge/serve_clients.c - see serve_clients.h. */
#include "serve_clients.h"

#include <stdlib.h>
#include <sys/socket.h>
#include "base/clock.h"

#define REQUEST_NS (60 * NS_PER_S) /* time for a complete request */

bool clients_init(struct clients *clients, size_t max)
{
    size_t capacity = max + SPARE_CLIENTS;
    *clients =
        (struct clients){.list = calloc(capacity, sizeof *clients->list), .capacity = capacity, .max = max};
    pthread_mutex_init(&clients->lock, NULL);
    return clients->list != NULL;
}

void clients_free(struct clients *clients)
{
    pthread_mutex_destroy(&clients->lock);
    free(clients->list);
}

/* Shuts the socket down; libmicrohttpd owns it and closes it afterwards. */
static void disconnect(struct client *client)
{
    shutdown(client->fd, SHUT_RDWR);
    client->fd = -1;
}

/* Closes connections that are idle for too long. If there are too many connections, also closes the one that
 * is idle longest. The caller holds the lock. */
static void close_idle(struct clients *clients)
{
    int64_t now = clock_now_ns();
    size_t used = 0;
    struct client *oldest = NULL;
    for (struct client *client = clients->list; client < clients->list + clients->capacity; client++) {
        if (!client->is_used || client->fd < 0)
            continue;
        used++;
        if (client->is_answering)
            continue;
        if (now - client->since_ns > REQUEST_NS) {
            disconnect(client);
            used--;
        } else if (!oldest || client->since_ns < oldest->since_ns) {
            oldest = client;
        }
    }
    if (oldest && used > clients->max)
        disconnect(oldest);
}

void clients_close_idle(struct clients *clients)
{
    pthread_mutex_lock(&clients->lock);
    close_idle(clients);
    pthread_mutex_unlock(&clients->lock);
}

struct client *clients_add(struct clients *clients, int fd)
{
    struct client *found = NULL;
    pthread_mutex_lock(&clients->lock);
    for (size_t i = 0; !found && i < clients->capacity; i++)
        if (!clients->list[i].is_used)
            found = &clients->list[i];
    if (found)
        *found = (struct client){.fd = fd, .since_ns = clock_now_ns(), .is_used = true};
    close_idle(clients);
    pthread_mutex_unlock(&clients->lock);
    return found;
}

void clients_remove(struct clients *clients, struct client *client)
{
    if (!client)
        return;
    pthread_mutex_lock(&clients->lock);
    client->is_used = false;
    pthread_mutex_unlock(&clients->lock);
}

void clients_set_answering(struct clients *clients, struct client *client, bool is_answering)
{
    if (!client)
        return;
    pthread_mutex_lock(&clients->lock);
    client->is_answering = is_answering;
    client->since_ns = clock_now_ns();
    pthread_mutex_unlock(&clients->lock);
}
