/* tools/serve/events.h - /events: the text of /api/devices, sent once a second to connected clients
 * (server-sent events).
 *
 * Note: a client that is still receiving an event misses the next ones. Events are not queued.
 */
#ifndef SERVE_EVENTS_H
#define SERVE_EVENTS_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include "answer.h"

#define MAX_EVENT_STREAMS 32

struct event_stream;

/* Initialise with zeros, then set `answers`. Not thread-safe. */
struct events {
    struct answers *answers;
    struct event_stream *streams;
    size_t count;
    uint64_t number; /* number of the last event, from 1; its id in the stream */
    int64_t next_ns; /* time of the next event, CLOCK_MONOTONIC; 0: there are no streams */
};

/* Returns a response that sends events until the client closes the connection. Returns NULL if out of memory
 * or if there are too many streams. Sets *active_ns to the time (CLOCK_MONOTONIC) at which the last event was
 * sent completely. *active_ns must exist as long as the connection. */
struct MHD_Response *events_add(struct events *events, struct MHD_Connection *connection, int64_t *active_ns);
/* Sends the next event if it is due. */
void events_send(struct events *events);
/* Ends all streams, so that the daemon can be stopped. */
void events_end(struct events *events);

#endif
