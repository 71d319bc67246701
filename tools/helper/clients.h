/* tools/helper/clients.h - connections of clients, their limits, and the loop that serves them.
 *
 * One thread handles one request at a time. It never waits for a client, and stores no unsent answers.
 *
 * Note: a request beyond the client's rate stays in the client's socket until the rate allows the helper to
 * read it. So a client with too many requests does not delay others. A client whose socket is too full for an
 * answer is disconnected.
 */
#ifndef HELPER_CLIENTS_H
#define HELPER_CLIENTS_H

#include <poll.h>
#include <signal.h>
#include "helper/sensors.h"

#define MAX_CLIENTS 256

struct client {
    int fd;
    pid_t pid;
    uid_t uid;
    size_t got; /* bytes received of the current request */
    uint8_t request[HELPER_REQUEST_BYTES];
    /* time of the first byte of the current request; before the first request: of the connection */
    int64_t begun_ns;
    int64_t served_ns; /* time of the last answer; 0: none yet */
    int64_t due_ns;    /* each request moves it forward by 1 / requests_per_s seconds; see may_read_ns */
};

struct clients {
    struct sensors *sensors;
    int listener;
    unsigned max_clients, requests_per_s;
    size_t count;
    struct client list[MAX_CLIENTS];
    struct pollfd polls[1 + MAX_CLIENTS + MAX_GUARDS];
    int64_t accept_after_ns; /* no connections are accepted before this time; set when descriptors ran out */
    int64_t logged_ns;       /* time of the last log line; the rate of log lines is limited */
    uint64_t unlogged;       /* refusals since logged_ns that were not logged */
};

/* Serves clients until a signal handler sets *stop. The caller must block the signal. The loop unblocks it
 * with `wait_mask` while it waits. FAILED: the listening socket failed. */
joule_status clients_serve(struct clients *clients, const sigset_t *wait_mask, volatile sig_atomic_t *stop);

#endif
