/* tools/helper/clients.h - those who ask, and what each may take.
 *
 * Owns the connections, their limits, and the loop that serves them and hears guards: one thread, one request at a time of
 * each, nothing kept for anybody and nothing waited for but the next event.
 * Newcomers: who asks too fast is not read until it is time, so that a flood fills its own socket; who does not take an
 * answer at once is dropped.
 */
#ifndef HELPER_CLIENTS_H
#define HELPER_CLIENTS_H

#include <poll.h>
#include <signal.h>
#include "helper/sensors.h"

#define CLIENTS_MOST 256

struct client {
    int fd;
    pid_t pid;
    uid_t uid;
    size_t got; /* of the request under way */
    uint8_t request[HELPER_REQUEST_BYTES];
    int64_t begun_ns;  /* of that request, or of the connection while there was none */
    int64_t served_ns; /* the last one; 0: none yet */
    int64_t due_ns;    /* requests so far, each with its share of a second; see may_ask_ns */
};

struct clients {
    struct sensors *sensors;
    int listener;
    unsigned most, requests_per_s;
    size_t count;
    struct client list[CLIENTS_MOST];
    struct pollfd polls[1 + CLIENTS_MOST + GUARD_MOST];
    int64_t deaf_ns;   /* until then nobody is welcome: there was no descriptor for the last one */
    int64_t logged_ns; /* the last line of the log; a flood of them helps nobody */
    uint64_t unlogged;
};

/* Serves until *stop, which a signal sets that is blocked but in `wait_mask`. FAILED: the listener is gone. */
joule_status clients_serve(struct clients *clients, const sigset_t *wait_mask, volatile sig_atomic_t *stop);

#endif
