/* tools/forge/serve_stream.c - see serve_stream.h.
 *
 * libmicrohttpd calls the stream for more bytes in the thread of the connection, so the stream may wait. */
#include "serve_stream.h"

#include <stdlib.h>
#include <string.h>
#include "base/clock.h"

#define BLOCK_BYTES 16384
#define PING_NS     (15 * NS_PER_S) /* after this time without an event, a comment is sent */

struct stream {
    struct reply *reply;
    struct bytes out; /* bytes to be sent */
    size_t sent;
    bool has_ended; /* `out` contains the last bytes */
};

static bool add_chunk(struct stream *stream, enum chunk_kind kind, size_t index, bool is_last)
{
    const struct chunk chunk = {stream->reply, kind, index, is_last};
    return bytes_print(&stream->out, chunk_print, &chunk);
}

static bool add_line(struct stream *stream, const char *line)
{
    return bytes_add(&stream->out, line, strlen(line));
}

/* Returns true if the ends of all choices except `i` have been sent. */
static bool is_last_choice(const struct reply *reply, size_t i)
{
    for (size_t k = 0; k < reply->job->count; k++)
        if (k != i && !reply->answers[k].is_done)
            return false;
    return true;
}

/* Adds the events of one choice that are due: its role, new text, and its end. */
static bool add_choice(struct stream *stream, size_t i)
{
    struct reply *reply = stream->reply;
    struct reply_text *answer = &reply->answers[i];
    bool is_ok = true, is_end = reply->has_ended[i] && !answer->is_done;
    if (answer->is_done)
        return true;
    if (!answer->has_begun && reply->is_chat)
        is_ok = add_chunk(stream, CHUNK_ROLE, i, false);
    answer->has_begun = true;
    bool has_text = reply_text_ready(answer) > 0 || (is_end && answer->tokens.count > 0);
    if (is_ok && has_text && (reply->is_chat || !is_end)) {
        is_ok = add_chunk(stream, CHUNK_TEXT, i, false);
        reply_text_drop_ready(answer);
    }
    if (!is_ok || !is_end)
        return is_ok;
    is_ok = add_chunk(stream, CHUNK_END, i, is_last_choice(reply, i) && !reply->options.includes_usage);
    answer->is_done = true;
    return is_ok;
}

/* Adds an event that describes why the reply failed. */
static void add_failure(struct stream *stream, const struct failure *failure)
{
    stream->has_ended = true;
    if (!add_line(stream, "data: ") || !bytes_print(&stream->out, failure_print, failure) ||
        !add_line(stream, "\n\ndata: [DONE]\n\n"))
        stream->out.length = stream->sent; /* if out of memory, the stream ends without a message */
}

/* Adds all events that are due. Returns false if out of memory. */
static bool add_all(struct stream *stream)
{
    struct reply *reply = stream->reply;
    bool is_ok = true;
    for (size_t i = 0; is_ok && i < reply->job->count; i++)
        is_ok = add_choice(stream, i);
    if (!is_ok || !reply_has_ended(reply))
        return is_ok;
    stream->has_ended = true;
    return (!reply->options.includes_usage || add_chunk(stream, CHUNK_USAGE, 0, true)) &&
           add_line(stream, "data: [DONE]\n\n");
}

/* Waits for events and writes them to `out`. Returns false if the client has left. */
static bool fill(struct stream *stream)
{
    int64_t begin = clock_now_ns();
    bool has_news;
    stream->out.length = stream->sent = 0;
    do {
        struct failure failure = {0};
        if (!reply_take(stream->reply, &has_news, &failure)) {
            if (failure.status == 499)
                return false;
            add_failure(stream, &failure);
        } else if (!add_all(stream)) {
            failure_set_no_memory(&failure);
            add_failure(stream, &failure);
        } else if (stream->out.length == 0 && clock_now_ns() - begin > PING_NS) {
            add_line(stream, ": ping\n\n");
        }
    } while (stream->out.length == 0 && !stream->has_ended);
    return true;
}

static ssize_t on_wanted(void *context, uint64_t position, char *out, size_t size)
{
    struct stream *stream = context;
    (void)position;
    if (stream->sent == stream->out.length) {
        if (stream->has_ended)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (!fill(stream))
            return MHD_CONTENT_READER_END_WITH_ERROR;
        if (stream->out.length == 0)
            return MHD_CONTENT_READER_END_OF_STREAM;
    }
    size_t count = stream->out.length - stream->sent < size ? stream->out.length - stream->sent : size;
    memcpy(out, stream->out.list + stream->sent, count);
    stream->sent += count;
    return (ssize_t)count;
}

static void on_closed(void *context)
{
    struct stream *stream = context;
    reply_free(stream->reply);
    free(stream->out.list);
    free(stream);
}

struct MHD_Response *stream_new(struct reply *reply)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->reply = reply;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_wanted, stream, on_closed);
    if (!response) {
        free(stream);
        return NULL;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream; charset=utf-8");
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    MHD_add_response_header(response, "X-Accel-Buffering", "no");
    return response;
}
