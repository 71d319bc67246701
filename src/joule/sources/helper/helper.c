/* joule/sources/helper/helper.c - the source "helper": counters that only joule-helper can read, over its
 * socket (docs/helper.md).
 *
 * This is the client. It has one connection with one request at a time, and handles a helper that is slow,
 * has ended or was restarted. helper_wire.c implements the format.
 * Note: a value has timestamps that the helper took from the same clock, CLOCK_MONOTONIC. A late reply is
 * therefore still valid and is processed at the next reading. Lane 0 waits only once for a helper that hangs.
 * Later readings only check whether the reply has arrived. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/device.h"
#include "joule/sources/helper/helper_wire.h"

/* Longest wait for the connection and the list of channels, and for the first values: without them, the
 * energy of a short command has no beginning. */
#define OPEN_NS (200 * NS_PER_S / 1000)
/* Longest wait for later replies on lane 0, which other sources share. */
#define MAX_WAIT_NS  (20 * NS_PER_S / 1000)
#define GIVE_UP_NS   NS_PER_S        /* without a reply for this time, the connection is closed */
#define RETRY_NS     (NS_PER_S / 2)  /* first pause between two attempts to connect */
#define MAX_RETRY_NS (10 * NS_PER_S) /* longest pause between two attempts */
#define JOIN_GROUP   "sudo usermod -aG joule \"$USER\", and log in again"

#define LIST_BYTES  (HELPER_MAX_CHANNELS * HELPER_CHANNEL_BYTES)
#define REPLY_BYTES (HELPER_HEADER_BYTES + HELPER_MAX_CHANNELS * HELPER_VALUE_BYTES)

struct helper {
    char address[256];
    int handle; /* < 0: no connection */
    uint32_t sequence;
    size_t count;             /* number of channels, equal to source->channel_count */
    uint8_t list[LIST_BYTES]; /* entries of the channels, to compare after a restart of the helper */
    int64_t pace_ns;
    /* The pending request. */
    bool has_values;          /* a reply to a request for values has arrived */
    bool is_pending, is_late; /* is_late: a reading has already waited for the reply */
    int64_t requested_ns;
    size_t received; /* received bytes of the reply */
    uint8_t reply[REPLY_BYTES];
    int64_t seen_ns[HELPER_MAX_CHANNELS]; /* timestamp of each channel's last value */
    /* Between two connections: time of the next attempt, and the pause before it. */
    int64_t retry_ns, pause_ns;
    joule_status disconnected_state; /* the channels' state until the next connection */
};

static int64_t now_ns_of(struct joule_host *host)
{
    return host->ops->clock_ns(host, CLOCK_MONOTONIC);
}

/* --- requests and replies ------------------------------------------------------------------------------- */

static int ask(struct joule_host *host, struct helper *h, enum helper_kind kind, int64_t deadline_ns)
{
    uint8_t bytes[HELPER_REQUEST_BYTES];
    struct helper_request request = {HELPER_VERSION, (uint16_t)kind, ++h->sequence};
    helper_write_request(&request, bytes);
    return host->ops->send(host, h->handle, bytes, sizeof bytes, deadline_ns);
}

/* Receives bytes until *received equals `size`. Returns 0 or -errno. After -ETIMEDOUT, the next call
 * continues. */
static int receive_all(struct joule_host *host, const struct helper *h, uint8_t *bytes, size_t size,
                       size_t *received, int64_t deadline_ns)
{
    while (*received < size) {
        ssize_t count = host->ops->receive(host, h->handle, bytes + *received, size - *received, deadline_ns);
        if (count <= 0)
            return count ? (int)count : -ECONNRESET;
        *received += (size_t)count;
    }
    return 0;
}

static bool is_answer(const struct helper *h, const struct helper_header *header, enum helper_kind kind)
{
    return header->version == HELPER_VERSION && header->kind == kind && header->sequence == h->sequence;
}

/* Connects, requests the channels, and writes their entries to `list`. Returns 0 or -errno; -EPROTO: invalid
 * reply; -EPROTONOSUPPORT: another version; -ETIME: the other side has another clock. */
static int connect_helper(struct joule_host *host, struct helper *h, uint8_t list[LIST_BYTES],
                          size_t *out_count, int64_t deadline_ns)
{
    uint8_t bytes[HELPER_HEADER_BYTES];
    struct helper_header header;
    size_t received = 0, begun = 0;
    int64_t requested_ns = now_ns_of(host);
    h->handle = host->ops->open_stream(host, h->address, deadline_ns);
    if (h->handle < 0)
        return h->handle;
    int rc = ask(host, h, HELPER_HELLO, deadline_ns);
    if (rc == 0)
        rc = receive_all(host, h, bytes, sizeof bytes, &begun, deadline_ns);
    if (rc != 0)
        return rc;
    if (!helper_read_header(bytes, &header))
        return -EPROTO;
    if (header.kind == HELPER_REFUSAL)
        return -EPROTONOSUPPORT;
    if (!is_answer(h, &header, HELPER_HELLO))
        return -EPROTO;
    if (header.now_ns < requested_ns || header.now_ns > now_ns_of(host))
        return -ETIME;
    h->pace_ns = header.pace_ns;
    *out_count = header.count;
    return receive_all(host, h, list, header.count * HELPER_CHANNEL_BYTES, &received, deadline_ns);
}

static void disconnect(struct joule_host *host, struct helper *h)
{
    host_close_handle(host, h->handle);
    h->handle = -1;
    h->is_pending = h->is_late = false;
}

/* --- opening -------------------------------------------------------------------------------------------- */

static joule_status set_failure(struct source *source, int error)
{
    const char *path = strchr(((struct helper *)source->data)->address, ':') + 1;
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return source_set_state(source, JOULE_ABSENT, "no joule-helper: there is no socket %s", path);
    case ECONNREFUSED:
        return source_set_state(source, JOULE_ABSENT,
                                "no program listens at %s: sudo systemctl start joule-helper.socket", path);
    case EACCES:
    case EPERM:
        return source_set_state(source, JOULE_DENIED, "permission denied for %s: " JOIN_GROUP, path);
    case EPROTONOSUPPORT:
        return source_set_state(
            source, JOULE_UNSUPPORTED,
            "joule-helper has another protocol version: install libjoule and joule-helper of one release");
    case EPROTO:
        return source_set_state(source, JOULE_FAILED, "the program that listens at %s is not joule-helper",
                                path);
    case ETIME:
        return source_set_state(source, JOULE_UNSUPPORTED,
                                "joule-helper has another clock: run it in the same time namespace");
    case ECONNRESET:
    case EPIPE:
        return source_set_state(
            source, JOULE_FAILED,
            "joule-helper closed the connection: it may have too many clients; see its log");
    case EAGAIN:
    case ETIMEDOUT:
        return source_set_state(source, JOULE_FAILED,
                                "joule-helper does not answer: sudo systemctl restart joule-helper");
    default:
        return source_set_state(source, status_of_errno(error), "%s: %s", path, strerror(error));
    }
}

/* Returns the rank of a helper's channel whose own source has the rank `rank`. A direct view of the same kind
 * has priority over the helper's channel, which has priority over views of other kinds with a higher rank. */
static uint32_t rank_of(uint32_t rank)
{
    return rank < RANK_HELPER ? RANK_HELPER : rank < RANK_MODEL - 1 ? rank + 1 : RANK_MODEL - 1;
}

/* Returns true if `name` is the measurement of a known source. Reports contain no other measurements. */
static bool is_measurement(const char *name)
{
    for (const struct source_ops *const *ops = source_table; *ops; ops++)
        if (strcmp((*ops)->measurement, name) == 0)
            return true;
    return false;
}

#define ACCELERATOR 3 /* tier of accelerators' channels */

/* Adds the channel's board as a device, unless it was added before. The number in a board's name is the same
 * in every source. Returns false if out of memory. */
static bool add_device(struct source *source, const struct channel *ch)
{
    char kind[16];
    size_t length = strcspn(ch->info.device, ":");
    if (ch->info.tier < ACCELERATOR || ch->info.device_index < 0 || length >= sizeof kind)
        return true;
    for (size_t i = 0; i < source->device_count; i++)
        if (strcmp(source->devices[i]->name, ch->info.device) == 0)
            return true;
    string_print(kind, sizeof kind, "%.*s", (int)length, ch->info.device);
    struct device *device = source_add_device(source, kind, ch->info.device_index);
    if (!device)
        return false;
    string_copy(device->vendor, sizeof device->vendor, ch->info.vendor);
    string_copy(device->model, sizeof device->model, ch->info.model);
    return true;
}

static bool add_channels(struct source *source, struct helper *h)
{
    for (size_t i = 0; i < h->count; i++) {
        struct channel *ch = source_add_channel(source);
        if (!ch || !helper_read_channel(h->list + i * HELPER_CHANNEL_BYTES, ch) ||
            !is_measurement(ch->info.measurement) || !add_device(source, ch))
            return false;
        char label[sizeof ch->info.label];
        string_print(label, sizeof label, "%.30s (%s)", ch->info.label, ch->info.source);
        string_copy(ch->info.label, sizeof ch->info.label, label);
        string_copy(ch->info.source, sizeof ch->info.source, source->ops->name);
        string_copy(ch->info.remedy, sizeof ch->info.remedy,
                    "joule-helper does not answer: systemctl status joule-helper");
        ch->rank = rank_of(ch->rank);
    }
    return true;
}

static joule_status open_helper(struct source *source)
{
    struct joule_host *host = source->host;
    struct helper *h = source->data = arena_alloc(&source->arena, sizeof *h);
    if (!h)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    const char *path = host->ops->env(host, "JOULE_HELPER");
    h->handle = -1;
    string_print(h->address, sizeof h->address, "unix:%s", path && *path ? path : HELPER_SOCKET);
    int rc = connect_helper(host, h, h->list, &h->count, now_ns_of(host) + OPEN_NS);
    if (rc == 0 && !add_channels(source, h)) {
        /* If one channel is invalid, the whole list is rejected. */
        source->channel_count = source->device_count = 0;
        rc = -EPROTO;
    }
    if (rc == 0 && h->count > 0)
        return JOULE_OK;
    disconnect(host, h);
    return rc ? set_failure(source, -rc)
              : source_set_state(source, JOULE_ABSENT, "joule-helper reads no counter on this machine");
}

/* --- reading -------------------------------------------------------------------------------------------- */

/* Closes a failed connection. The channels have state `status` until the next connection. */
static void set_disconnected(struct source *source, struct helper *h, joule_status status)
{
    disconnect(source->host, h);
    h->disconnected_state = status;
    h->pause_ns = h->pause_ns ? 2 * h->pause_ns : RETRY_NS;
    if (h->pause_ns > MAX_RETRY_NS)
        h->pause_ns = MAX_RETRY_NS;
    h->retry_ns = now_ns_of(source->host) + h->pause_ns;
}

/* Connects again, if it is time for an attempt. Returns true on success. The counters are then discontinuous,
 * because a restarted helper may have restarted its counts. A helper with another list of channels is
 * rejected. */
static bool reconnect(struct source *source, struct helper *h, struct sink *sink)
{
    uint8_t list[LIST_BYTES];
    size_t count;
    int64_t now_ns = now_ns_of(source->host);
    if (now_ns < h->retry_ns)
        return false;
    int rc = connect_helper(source->host, h, list, &count, now_ns + MAX_WAIT_NS);
    if (rc != 0) {
        set_disconnected(source, h, JOULE_STALE);
        return false;
    }
    if (count != h->count || memcmp(list, h->list, count * HELPER_CHANNEL_BYTES) != 0) {
        set_disconnected(source, h, JOULE_FAILED);
        return false;
    }
    for (size_t i = 0; i < h->count; i++)
        sink_break(sink, source->channels[i]);
    return true;
}

/* Reports a value to its channel. seen_ns: timestamp of the previous value. A power with the same timestamp
 * is not reported, because it is not a new reading: the helper's sensor may hang. */
static void report_value(struct sink *sink, struct channel *ch, const struct helper_value *value,
                         int64_t seen_ns)
{
    double watts = helper_watts_of(value->raw);
    if (value->status != JOULE_OK)
        sink_fail(sink, ch, value->status);
    else if (ch->mode == CHANNEL_COUNTER)
        sink_counter(sink, ch, value->before_ns, value->after_ns, value->raw);
    else if (value->before_ns == seen_ns)
        return;
    else if (isfinite(watts) && watts >= 0)
        sink_power(sink, ch, 0, watts);
    else
        sink_fail(sink, ch, JOULE_FAILED);
}

/* Returns true if the value's timestamps are not in the future and do not decrease. */
static bool is_in_order(const struct helper *h, size_t i, const struct helper_value *value, int64_t now_ns)
{
    return value->status != JOULE_OK ||
           (value->before_ns > 0 && value->before_ns >= h->seen_ns[i] && value->after_ns <= now_ns);
}

static bool report_reply(struct source *source, struct helper *h, struct sink *sink)
{
    struct helper_header header;
    struct helper_value values[HELPER_MAX_CHANNELS];
    int64_t now_ns = now_ns_of(source->host);
    if (!helper_read_header(h->reply, &header) || !is_answer(h, &header, HELPER_READ) ||
        header.count != h->count)
        return false;
    for (size_t i = 0; i < h->count; i++)
        if (!helper_read_value(h->reply + HELPER_HEADER_BYTES + i * HELPER_VALUE_BYTES, &values[i]) ||
            !is_in_order(h, i, &values[i], now_ns))
            return false;
    for (size_t i = 0; i < h->count; i++) {
        report_value(sink, source->channels[i], &values[i], h->seen_ns[i]);
        if (values[i].status == JOULE_OK)
            h->seen_ns[i] = values[i].before_ns;
    }
    return true;
}

/* Sends a request, unless one is pending, and receives its reply. Returns 0 if the reply is complete,
 * -ETIMEDOUT if it is still pending, or another -errno. */
static int request_values(struct joule_host *host, struct helper *h)
{
    int64_t now_ns = now_ns_of(host), wait_ns = h->has_values ? MAX_WAIT_NS : OPEN_NS;
    int64_t deadline_ns = h->is_late ? now_ns : now_ns + wait_ns;
    if (!h->is_pending) {
        int rc = ask(host, h, HELPER_READ, deadline_ns);
        if (rc != 0)
            return rc == -ETIMEDOUT ? -ECONNRESET : rc; /* a part of the request may have been sent */
        h->is_pending = true;
        h->requested_ns = now_ns;
        h->received = 0;
    }
    size_t size = HELPER_HEADER_BYTES + h->count * HELPER_VALUE_BYTES;
    int rc = receive_all(host, h, h->reply, size, &h->received, deadline_ns);
    h->has_values = h->has_values || rc == 0;
    h->is_pending = rc == -ETIMEDOUT;
    h->is_late = h->is_pending;
    return h->is_pending && now_ns - h->requested_ns > GIVE_UP_NS ? -ECONNRESET : rc;
}

static void read_helper(struct source *source, struct sink *sink)
{
    struct helper *h = source->data;
    bool is_connected = h->handle >= 0 || reconnect(source, h, sink);
    if (is_connected) {
        int rc = request_values(source->host, h);
        if (rc == -ETIMEDOUT)
            return;
        if (rc == 0 && report_reply(source, h, sink)) {
            h->pause_ns = 0;
            return;
        }
        set_disconnected(source, h, rc ? JOULE_STALE : JOULE_FAILED);
    }
    for (size_t i = 0; i < h->count; i++)
        sink_fail(sink, source->channels[i], h->disconnected_state);
}

static void close_helper(struct source *source)
{
    disconnect(source->host, source->data);
}

const struct source_ops source_helper = {
    .name = "helper",
    .measurement = "rapl",
    .tier = 2,
    .is_stamped = true,
    .open = open_helper,
    .read = read_helper,
    .close = close_helper,
};
