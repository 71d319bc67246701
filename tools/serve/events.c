/* tools/serve/events.c - see events.h.
 *
 * A stream is suspended when its event is sent, and resumed by the next event. */
#include "events.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/string.h"

#define PERIOD_NS   NS_PER_S
#define BLOCK_BYTES 16384
#define HEAD_BYTES  128

struct event_stream {
    struct event_stream *next;
    struct events *events;
    struct MHD_Connection *connection;
    int64_t *active_ns; /* see events_add */
    char *text;         /* the event that is being sent */
    size_t length, sent, capacity;
    bool is_suspended, is_ending;
};

/* Writes the overview as the stream's next event. Replaces line breaks by blanks, because each line of an
 * event would need the prefix "data:". */
static bool write_event(struct event_stream *stream)
{
    bool is_new;
    struct text head;
    char head_bytes[HEAD_BYTES];
    struct page *page = answer_make(stream->events->answers, ANSWER_EVENT, &is_new);
    if (!page)
        return false;
    text_init(&head, head_bytes, sizeof head_bytes);
    text_printf(&head, "%sid: %llu\nevent: devices\ndata: ", stream->length ? "" : "retry: 2000\n",
                (unsigned long long)stream->events->number);
    if (is_new)
        answer_release(page); /* safe before the copy below, because this thread is the only one that prints
                               * into pages */
    size_t length = head.length + page->length + 2;
    if (!array_reserve((void **)&stream->text, &stream->capacity, length, 1))
        return false;
    memcpy(stream->text, head_bytes, head.length);
    memcpy(stream->text + head.length, page->bytes, page->length);
    for (char *c = stream->text + head.length; c < stream->text + length - 2; c++)
        if (*c == '\n')
            *c = ' ';
    memcpy(stream->text + length - 2, "\n\n", 2);
    stream->length = length;
    stream->sent = 0;
    return true;
}

static ssize_t on_wanted(void *context, uint64_t position, char *out, size_t size)
{
    struct event_stream *stream = context;
    (void)position;
    if (stream->is_ending)
        return MHD_CONTENT_READER_END_OF_STREAM;
    size_t count = stream->length - stream->sent < size ? stream->length - stream->sent : size;
    if (count == 0) {
        *stream->active_ns = clock_now_ns();
        stream->is_suspended = true;
        MHD_suspend_connection(stream->connection);
        return 0;
    }
    memcpy(out, stream->text + stream->sent, count);
    stream->sent += count;
    return (ssize_t)count;
}

static void on_closed(void *context)
{
    struct event_stream *stream = context;
    struct events *events = stream->events;
    struct event_stream **at = &events->streams;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    if (--events->count == 0)
        events->next_ns = 0;
    free(stream->text);
    free(stream);
}

struct MHD_Response *events_add(struct events *events, struct MHD_Connection *connection, int64_t *active_ns)
{
    struct event_stream *stream = events->count < MAX_EVENT_STREAMS ? calloc(1, sizeof *stream) : NULL;
    if (!stream)
        return NULL;
    *stream = (struct event_stream){.events = events, .connection = connection, .active_ns = active_ns};
    struct MHD_Response *response =
        write_event(stream)
            ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_wanted, stream, on_closed)
            : NULL;
    if (!response) {
        free(stream->text);
        free(stream);
        return NULL;
    }
    stream->next = events->streams;
    events->streams = stream;
    if (events->count++ == 0)
        events->next_ns = clock_now_ns() + PERIOD_NS;
    return response;
}

static void resume(struct event_stream *stream)
{
    if (!stream->is_suspended)
        return;
    stream->is_suspended = false;
    MHD_resume_connection(stream->connection);
}

void events_send(struct events *events)
{
    int64_t now = clock_now_ns();
    if (!events->next_ns || now < events->next_ns)
        return;
    events->next_ns = now + PERIOD_NS;
    events->number++;
    for (struct event_stream *stream = events->streams; stream; stream = stream->next)
        if (stream->is_suspended && write_event(stream))
            resume(stream);
}

void events_end(struct events *events)
{
    for (struct event_stream *stream = events->streams; stream; stream = stream->next) {
        stream->is_ending = true;
        resume(stream);
    }
}
