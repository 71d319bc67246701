/* tools/top/hosts_stream.c - see hosts_stream.h. A server sends events (Server-Sent Events). An event
 * consists of lines that begin with "data:" and ends with an empty line. */
#include "hosts_stream.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"

#define CONNECT_MS    5000L
#define SILENCE_S     10L       /* seconds without a byte before the connection is opened again */
#define MAX_BYTES     (8 << 20) /* maximum length of a line and of an event */
#define FIRST_RETRY_S 1
#define LAST_RETRY_S  15
#define MAX_OTHERS    4

/* A growing sequence of bytes, followed by a NUL. */
struct buffer {
    char *bytes;
    size_t length, capacity;
};

/* The connection to one host. retry_ns: CLOCK_MONOTONIC time of the next attempt. */
struct stream {
    CURL *curl;
    struct host_row *row;
    struct buffer line, data; /* the unfinished line; the data of the unfinished event */
    bool is_open;
    int64_t retry_ns;
    int retry_s;
};

struct streams {
    CURLM *multi;
    struct curl_slist *headers;
    struct stream *list;
    size_t count;
};

/* --- events --------------------------------------------------------------------------------------------- */

/* Appends bytes. Returns false if out of memory or if the buffer would exceed MAX_BYTES. */
static bool append(struct buffer *buffer, const char *bytes, size_t count)
{
    if (buffer->length + count > MAX_BYTES ||
        !array_reserve((void **)&buffer->bytes, &buffer->capacity, buffer->length + count + 1, 1))
        return false;
    memcpy(buffer->bytes + buffer->length, bytes, count);
    buffer->length += count;
    buffer->bytes[buffer->length] = '\0';
    return true;
}

static bool end_event(struct stream *stream)
{
    if (stream->data.length == 0)
        return true;
    bool is_report = host_parse_report(stream->row, stream->data.bytes, stream->data.length, clock_now_ns());
    if (is_report)
        stream->retry_s = FIRST_RETRY_S;
    stream->data.length = 0;
    return is_report;
}

/* Processes a complete line. Returns false if the connection is unusable. */
static bool end_line(struct stream *stream)
{
    static const char field[] = "data:";
    char *line = stream->line.bytes;
    size_t length = stream->line.length;
    stream->line.length = 0;
    if (length && line[length - 1] == '\r')
        length--;
    if (length == 0)
        return end_event(stream);
    if (length < sizeof field - 1 || strncmp(line, field, sizeof field - 1) != 0)
        return true; /* another field, or a comment */
    return append(&stream->data, line + sizeof field - 1, length - (sizeof field - 1)) &&
           append(&stream->data, "\n", 1);
}

static size_t receive_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct stream *stream = context;
    size_t left = size * count;
    while (left > 0) {
        const char *end = memchr(bytes, '\n', left);
        size_t part = end ? (size_t)(end - bytes) : left;
        if (!append(&stream->line, bytes, part) || (end && !end_line(stream)))
            return 0;
        bytes += part + (end != NULL);
        left -= part + (end != NULL);
    }
    return size * count;
}

/* --- connections ---------------------------------------------------------------------------------------- */

static bool set_up(struct streams *streams, struct stream *stream, const struct stream_access *access)
{
    CURL *curl = stream->curl = curl_easy_init();
    bool is_done = curl && curl_easy_setopt(curl, CURLOPT_URL, stream->row->url) == CURLE_OK &&
                   curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
                   curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
                   curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK &&
                   curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
                   curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L) == CURLE_OK &&
                   curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS) == CURLE_OK &&
                   curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L) == CURLE_OK &&
                   curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, SILENCE_S) == CURLE_OK &&
                   curl_easy_setopt(curl, CURLOPT_HTTPHEADER, streams->headers) == CURLE_OK &&
                   curl_easy_setopt(curl, CURLOPT_PRIVATE, stream) == CURLE_OK &&
                   curl_easy_setopt(curl, CURLOPT_WRITEDATA, stream) == CURLE_OK &&
                   curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive_bytes) == CURLE_OK;
    if (is_done && access->ca_file)
        is_done = curl_easy_setopt(curl, CURLOPT_CAINFO, access->ca_file) == CURLE_OK;
    if (is_done && access->password && !access->token)
        is_done = curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC) == CURLE_OK &&
                  curl_easy_setopt(curl, CURLOPT_USERPWD, access->password) == CURLE_OK;
    return is_done;
}

static void begin(struct streams *streams, struct stream *stream)
{
    stream->line.length = stream->data.length = 0;
    stream->is_open = curl_multi_add_handle(streams->multi, stream->curl) == CURLM_OK;
}

static void describe(struct host_row *row, CURL *curl, CURLcode code)
{
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_WRITE_ERROR && row->problem[0])
        return; /* row->problem already describes the invalid report */
    if (code == CURLE_HTTP_RETURNED_ERROR && status == 401)
        string_copy(row->problem, sizeof row->problem, "permission denied (password or token)");
    else if (code == CURLE_HTTP_RETURNED_ERROR && status == 403)
        string_copy(row->problem, sizeof row->problem, "refuses this name (--allow-host)");
    else if (code == CURLE_HTTP_RETURNED_ERROR)
        string_print(row->problem, sizeof row->problem, "HTTP status %ld", status);
    else if (code == CURLE_OK)
        string_copy(row->problem, sizeof row->problem, "connection closed");
    else
        string_print(row->problem, sizeof row->problem, "%s", curl_easy_strerror(code));
}

static void end_connection(struct streams *streams, CURL *curl, CURLcode code)
{
    struct stream *stream = NULL;
    curl_easy_getinfo(curl, CURLINFO_PRIVATE, (char **)&stream);
    describe(stream->row, curl, code);
    curl_multi_remove_handle(streams->multi, curl);
    stream->is_open = false;
    stream->retry_ns = clock_now_ns() + stream->retry_s * NS_PER_S;
    stream->retry_s = stream->retry_s * 2 < LAST_RETRY_S ? stream->retry_s * 2 : LAST_RETRY_S;
}

/* --- open and close ------------------------------------------------------------------------------------- */

static struct curl_slist *make_headers(const char *token)
{
    char text[512];
    struct curl_slist *headers = curl_slist_append(NULL, "Accept: text/event-stream"), *more = headers;
    if (headers && token) {
        string_print(text, sizeof text, "Authorization: Bearer %s", token);
        more = curl_slist_append(headers, text);
        explicit_bzero(text, sizeof text);
    }
    if (!more)
        curl_slist_free_all(headers);
    return more;
}

struct streams *streams_open(struct hosts *hosts, const struct stream_access *access, joule_error *out_error)
{
    struct streams *streams = calloc(1, sizeof *streams);
    bool is_done = streams && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK &&
                   (streams->list = calloc(hosts->count, sizeof *streams->list)) &&
                   (streams->multi = curl_multi_init()) && (streams->headers = make_headers(access->token));
    for (size_t i = 0; is_done && i < hosts->count; i++) {
        struct stream *stream = &streams->list[streams->count++];
        *stream = (struct stream){.row = &hosts->list[i], .retry_s = FIRST_RETRY_S};
        is_done = set_up(streams, stream, access);
        if (is_done)
            begin(streams, stream);
    }
    if (is_done)
        return streams;
    error_set(out_error, JOULE_FAILED,
              "cannot prepare connections: libcurl refuses an option, or is out of memory");
    streams_close(streams);
    return NULL;
}

void streams_wait(struct streams *streams, struct pollfd *others, unsigned count, int timeout_ms)
{
    struct curl_waitfd extra[MAX_OTHERS] = {0};
    int left;
    CURLMsg *message;
    for (unsigned i = 0; i < count && i < MAX_OTHERS; i++)
        extra[i] = (struct curl_waitfd){.fd = others[i].fd, .events = CURL_WAIT_POLLIN};
    curl_multi_poll(streams->multi, extra, count, timeout_ms, NULL);
    poll(others, count, 0); /* also reports hang-ups, which libcurl does not report */
    curl_multi_perform(streams->multi, &left);
    while ((message = curl_multi_info_read(streams->multi, &left)))
        if (message->msg == CURLMSG_DONE)
            end_connection(streams, message->easy_handle, message->data.result);
    for (size_t i = 0; i < streams->count; i++)
        if (!streams->list[i].is_open && clock_now_ns() >= streams->list[i].retry_ns)
            begin(streams, &streams->list[i]);
}

void streams_close(struct streams *streams)
{
    if (!streams)
        return;
    for (size_t i = 0; i < streams->count; i++) {
        struct stream *stream = &streams->list[i];
        if (stream->is_open)
            curl_multi_remove_handle(streams->multi, stream->curl);
        if (stream->curl)
            curl_easy_cleanup(stream->curl);
        free(stream->line.bytes);
        free(stream->data.bytes);
    }
    if (streams->multi)
        curl_multi_cleanup(streams->multi);
    curl_slist_free_all(streams->headers);
    free(streams->list);
    free(streams);
    curl_global_cleanup();
}
