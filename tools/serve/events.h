/* tools/serve/events.h - /events: what /api/devices has, sent once a second to clients that stay connected
 * (server-sent events).
 *
 * Note: while a client receives an event slowly, it misses the next events. No events are stored for later.
 */
#ifndef SERVE_EVENTS_H
#define SERVE_EVENTS_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include "answer.h"

#define MAX_EVENT_STREAMS 32

struct event_stream;

/* The caller zeroes it and sets `answers`. Use it from one thread. */
struct events {
    struct answers *answers;
    struct event_stream *streams;
    size_t count;
    uint64_t number; /* number of the last event, from 1; its id in the stream */
    int64_t next_ns; /* CLOCK_MONOTONIC of the next one; 0: there are no streams */
};

/* Returns a response that lasts until the client closes the connection. Sets `active_ns` to the time of each
 * event that the client received completely. NULL: out of memory, or too many streams. */
struct MHD_Response *events_add(struct events *events, struct MHD_Connection *connection, int64_t *active_ns);
/* Sends the next event if it is due. */
void events_send(struct events *events);
/* Ends all streams, so that the daemon can be stopped. */
void events_end(struct events *events);

#endif
