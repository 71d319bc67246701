/* tools/helper/guard.c - see guard.h. */
#include "helper/guard.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"

/* A worker is stale after STALE_PERIODS missed messages, but not before STALE_NS. libjoule has the same rule
 * for its sources. */
#define STALE_PERIODS 3
#define STALE_NS      NS_PER_S
#define MESSAGE_BYTES (HELPER_HEADER_BYTES + HELPER_MAX_CHANNELS * HELPER_CHANNEL_BYTES)

void guard_begin(struct guard *out, const char *name, int fd, pid_t pid)
{
    *out = (struct guard){.name = name, .fd = fd, .pid = pid};
}

void guard_end(struct guard *guard)
{
    if (guard->fd >= 0)
        close(guard->fd);
    guard->fd = -1;
}

/* --- messages ------------------------------------------------------------------------------------------- */

static bool take_channels(struct guard *guard, const struct helper_header *header, const uint8_t *entries)
{
    for (size_t i = 0; i < header->count; i++)
        if (!helper_read_channel(entries + i * HELPER_CHANNEL_BYTES, &guard->channels[i]))
            return false;
    guard->count = header->count;
    guard->pace_ns = header->pace_ns;
    for (size_t i = 0; i < guard->count; i++)
        guard->values[i].status = JOULE_PENDING;
    return guard->count > 0;
}

/* Returns true if a client would accept the value. A client disconnects when it gets an invalid value, and
 * then loses all sources. */
static bool is_valid(const struct channel *channel, const struct helper_value *value,
                     const struct helper_value *last, int64_t now_ns)
{
    double watts = helper_watts_of(value->raw);
    if (value->status != JOULE_OK)
        return true;
    return value->before_ns > 0 && value->before_ns >= last->before_ns && value->after_ns <= now_ns &&
           (channel->mode == CHANNEL_COUNTER || (isfinite(watts) && watts >= 0));
}

static bool take_values(struct guard *guard, const struct helper_header *header, const uint8_t *entries,
                        int64_t now_ns)
{
    if (header->count != guard->count)
        return false;
    for (size_t i = 0; i < guard->count; i++) {
        struct helper_value value, *last = &guard->values[i];
        if (!helper_read_value(entries + i * HELPER_VALUE_BYTES, &value) ||
            !is_valid(&guard->channels[i], &value, last, now_ns))
            return false;
        if (value.status != JOULE_OK) /* a failed value gets the timestamp of the last valid value */
            value.before_ns = value.after_ns = last->before_ns;
        *last = value;
    }
    guard->has_values = true;
    return true;
}

static bool take_message(struct guard *guard, const uint8_t *bytes, size_t size, int64_t now_ns)
{
    struct helper_header header;
    if (size < HELPER_HEADER_BYTES || !helper_read_header(bytes, &header) || header.version != HELPER_VERSION)
        return false;
    bool is_list = guard->count == 0;
    size_t entry = is_list ? HELPER_CHANNEL_BYTES : HELPER_VALUE_BYTES;
    if (header.kind != (is_list ? HELPER_HELLO : HELPER_READ) ||
        size != HELPER_HEADER_BYTES + header.count * entry)
        return false;
    const uint8_t *entries = bytes + HELPER_HEADER_BYTES;
    guard->received_ns = now_ns;
    return is_list ? take_channels(guard, &header, entries) : take_values(guard, &header, entries, now_ns);
}

void guard_receive(struct guard *guard, int64_t now_ns)
{
    static uint8_t bytes[MESSAGE_BYTES + 1]; /* one byte more, to detect messages that are too long */
    ssize_t size = recv(guard->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0 || !take_message(guard, bytes, (size_t)size, now_ns))
        guard_end(guard);
}

joule_status guard_wait_ready(struct guard *guard, int64_t deadline_ns)
{
    while (guard->fd >= 0 && !guard->has_values) {
        int64_t left_ns = deadline_ns - clock_now_ns();
        struct timespec left = clock_timespec(left_ns > 0 ? left_ns : 0);
        struct pollfd poll = {.fd = guard->fd, .events = POLLIN};
        if (ppoll(&poll, 1, &left, NULL) == 0) {
            guard_end(guard);
            return JOULE_STALE;
        }
        guard_receive(guard, clock_now_ns());
    }
    return guard->fd >= 0 ? JOULE_OK : JOULE_FAILED;
}

/* --- state and values ----------------------------------------------------------------------------------- */

int64_t guard_stale_ns(const struct guard *guard)
{
    int64_t timeout_ns = STALE_PERIODS * guard->pace_ns;
    return guard->received_ns + (timeout_ns > STALE_NS ? timeout_ns : STALE_NS);
}

joule_status guard_state(const struct guard *guard, int64_t now_ns)
{
    if (guard->fd < 0)
        return JOULE_FAILED;
    return now_ns > guard_stale_ns(guard) ? JOULE_STALE : JOULE_OK;
}

struct helper_value guard_value(const struct guard *guard, size_t i, int64_t now_ns)
{
    joule_status state = guard_state(guard, now_ns);
    struct helper_value value = guard->values[i];
    if (state != JOULE_OK)
        value.status = state;
    return value;
}
