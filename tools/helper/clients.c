/* tools/helper/clients.c - see clients.h.
 *
 * Note: no function in this file allocates memory or opens a file, and only wait_until blocks.
 */
#include "helper/clients.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "common/options.h"

/* maximum time from the connection, or the first byte, to the end of a request */
#define REQUEST_WITHIN_NS (2 * NS_PER_S)
/* maximum time between requests; a meter reads at least once a minute */
#define IDLE_NS         (180 * NS_PER_S)
#define BURST           200 /* requests that may arrive at once */
#define HELLO_COST      20  /* cost of HELLO, in requests */
#define MAX_ACCEPTS     8   /* per round of the loop, because closed connections are noticed between rounds */
#define ACCEPT_PAUSE_NS (NS_PER_S / 10) /* pause after descriptors ran out */
#define LOG_EVERY_NS    (NS_PER_S / 10) /* minimum time between log lines about refusals */
#define MAX_REPLY_BYTES (HELPER_HEADER_BYTES + HELPER_MAX_CHANNELS * HELPER_CHANNEL_BYTES)
_Static_assert(HELPER_VALUE_BYTES <= HELPER_CHANNEL_BYTES, "every reply fits");

/* --- log ------------------------------------------------------------------------------------------------ */

static void log_refusal(struct clients *all, int64_t now_ns, const struct client *client, const char *what)
{
    if (all->logged_ns && now_ns - all->logged_ns < LOG_EVERY_NS) {
        all->unlogged++;
        return;
    }
    all->logged_ns = now_ns;
    if (all->unlogged)
        complain("", "%llu more refusals were not logged", (unsigned long long)all->unlogged);
    all->unlogged = 0;
    complain("", "process %d of user %u: %s", (int)client->pid, (unsigned)client->uid, what);
}

static void drop(struct clients *all, size_t i)
{
    close(all->list[i].fd);
    all->list[i] = all->list[--all->count];
}

static void refuse(struct clients *all, size_t i, int64_t now_ns, const char *reason)
{
    log_refusal(all, now_ns, &all->list[i], reason);
    drop(all, i);
}

/* --- rate limit ----------------------------------------------------------------------------------------- */

/* Returns the time from which a request of the client may be read. Each request moves due_ns forward by 1 /
 * requests_per_s. A request may be read while due_ns is at most BURST requests ahead of the clock. */
static int64_t may_read_ns(const struct clients *all, const struct client *client)
{
    return client->due_ns - BURST * (NS_PER_S / all->requests_per_s);
}

static void charge(const struct clients *all, struct client *client, int64_t now_ns, unsigned requests)
{
    if (client->due_ns < now_ns)
        client->due_ns = now_ns;
    client->due_ns += requests * (NS_PER_S / all->requests_per_s);
}

/* Returns the time at which an inactive client is disconnected. */
static int64_t timeout_ns(const struct client *client)
{
    bool is_asking = client->got > 0 || client->served_ns == 0;
    return is_asking ? client->begun_ns + REQUEST_WITHIN_NS : client->served_ns + IDLE_NS;
}

/* --- answers -------------------------------------------------------------------------------------------- */

static size_t add_channels(const struct sensors *sensors, uint8_t *out)
{
    for (size_t i = 0; i < sensors->count; i++)
        helper_write_channel(sensors->channels[i], out + i * HELPER_CHANNEL_BYTES);
    return sensors->count * HELPER_CHANNEL_BYTES;
}

static size_t add_values(const struct sensors *sensors, uint8_t *out)
{
    for (size_t i = 0; i < sensors->count; i++)
        helper_write_value(&sensors->values[i], out + i * HELPER_VALUE_BYTES);
    return sensors->count * HELPER_VALUE_BYTES;
}

/* Sends an answer. Returns false if the client's socket could not take the whole answer. */
static bool answer(struct clients *all, const struct client *client, const struct helper_request *request,
                   int64_t now_ns)
{
    static uint8_t reply[MAX_REPLY_BYTES];
    const struct sensors *sensors = all->sensors;
    struct helper_header header = {.version = HELPER_VERSION,
                                   .sequence = request->sequence,
                                   .now_ns = now_ns,
                                   .pace_ns = sensors->pace_ns};
    size_t size = HELPER_HEADER_BYTES;
    if (request->version == HELPER_VERSION) {
        header.kind = request->kind;
        header.count = (uint32_t)sensors->count;
        size += request->kind == HELPER_HELLO ? add_channels(sensors, reply + size)
                                              : add_values(sensors, reply + size);
    }
    helper_write_header(&header, reply);
    return send(client->fd, reply, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
}

/* Answers a complete request. Returns the reason to disconnect the client; NULL: none. */
static const char *serve(struct clients *all, struct client *client, int64_t now_ns)
{
    struct helper_request request;
    client->got = 0;
    client->served_ns = now_ns;
    if (!helper_read_request(client->request, &request))
        return "not a request of this protocol";
    bool is_ours = request.version == HELPER_VERSION;
    if (is_ours && request.kind != HELPER_HELLO && request.kind != HELPER_READ)
        return "unknown kind of request";
    charge(all, client, now_ns, request.kind == HELPER_HELLO ? HELLO_COST : 1);
    if (request.kind == HELPER_READ)
        sensors_refresh(all->sensors, now_ns);
    if (!answer(all, client, &request, now_ns))
        return "does not receive its answers";
    return is_ours ? NULL : "other protocol version";
}

/* Receives available bytes of one request, and answers the request when it is complete. */
static void receive_request(struct clients *all, size_t i, int64_t now_ns)
{
    struct client *client = &all->list[i];
    ssize_t count =
        recv(client->fd, client->request + client->got, sizeof client->request - client->got, MSG_DONTWAIT);
    if (count <= 0) {
        if (count == 0 || (errno != EAGAIN && errno != EINTR))
            drop(all, i);
        return;
    }
    if (client->got == 0 && client->served_ns)
        client->begun_ns = now_ns;
    client->got += (size_t)count;
    const char *wrong = client->got == sizeof client->request ? serve(all, client, now_ns) : NULL;
    if (wrong)
        refuse(all, i, now_ns, wrong);
}

/* --- connecting and disconnecting ----------------------------------------------------------------------- */

/* Returns true if another client of this user is allowed. One user may have at most half of the clients. */
static bool has_place(const struct clients *all, uid_t uid)
{
    size_t of_user = 0;
    for (size_t i = 0; i < all->count; i++)
        of_user += all->list[i].uid == uid;
    return all->count < all->max_clients && of_user < (all->max_clients + 1) / 2;
}

static joule_status accept_clients(struct clients *all, int64_t now_ns)
{
    for (int i = 0; i < MAX_ACCEPTS; i++) {
        struct client client = {.begun_ns = now_ns, .due_ns = now_ns};
        struct ucred who = {.pid = 0, .uid = (uid_t)-1};
        socklen_t size = sizeof who;
        client.fd = accept4(all->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client.fd < 0) {
            bool is_short = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
            all->accept_after_ns = is_short ? now_ns + ACCEPT_PAUSE_NS : 0;
            return errno == EBADF || errno == EINVAL || errno == ENOTSOCK ? JOULE_FAILED : JOULE_OK;
        }
        getsockopt(client.fd, SOL_SOCKET, SO_PEERCRED, &who, &size);
        client.pid = who.pid;
        client.uid = who.uid;
        if (has_place(all, client.uid)) {
            all->list[all->count++] = client;
        } else {
            log_refusal(all, now_ns, &client, "too many clients");
            close(client.fd);
        }
    }
    return JOULE_OK;
}

static void drop_idle(struct clients *all, int64_t now_ns)
{
    for (size_t i = all->count; i-- > 0;) /* backwards, because refuse moves the last client to place i */
        if (now_ns >= timeout_ns(&all->list[i]))
            refuse(all, i, now_ns,
                   all->list[i].served_ns && !all->list[i].got ? "idle" : "incomplete request");
}

/* --- guards --------------------------------------------------------------------------------------------- */

/* Logs the state of a guard when it changes. */
static void log_state(struct guard *guard, int64_t now_ns)
{
    joule_status state = guard_state(guard, now_ns);
    if (state == guard->logged_state)
        return;
    guard->logged_state = state;
    complain("", "%s: its process %s", guard->name,
             state == JOULE_OK      ? "answers again"
             : state == JOULE_STALE ? "does not answer; the driver or library may hang"
                                    : "has ended; restart joule-helper to read this source again");
}

/* Receives messages of guards. In `polls`, the entries of guards follow the entries of `count` clients.
 * has_any: some entry has an event. */
static void receive_from_guards(struct clients *all, size_t count, bool has_any, int64_t now_ns)
{
    for (size_t i = 0; i < all->sensors->guard_count; i++) {
        struct guard *guard = &all->sensors->guards[i];
        if (has_any && all->polls[1 + count + i].revents)
            guard_receive(guard, now_ns);
        log_state(guard, now_ns);
    }
}

/* --- the loop ------------------------------------------------------------------------------------------- */

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Fills in the poll list. Returns the time at which the loop must wake even without an event; INT64_MAX:
 * never. */
static int64_t prepare(struct clients *all, int64_t now_ns)
{
    int64_t until_ns = sensors_due_ns(all->sensors);
    bool is_paused = now_ns < all->accept_after_ns;
    all->polls[0] = (struct pollfd){.fd = is_paused ? -1 : all->listener, .events = POLLIN};
    if (is_paused)
        until_ns = min_ns(until_ns, all->accept_after_ns);
    for (size_t i = 0; i < all->count; i++) {
        const struct client *client = &all->list[i];
        bool may_ask = may_read_ns(all, client) <= now_ns;
        all->polls[1 + i] = (struct pollfd){.fd = may_ask ? client->fd : -1, .events = POLLIN};
        until_ns = min_ns(until_ns, may_ask ? timeout_ns(client) : may_read_ns(all, client));
    }
    for (size_t i = 0; i < all->sensors->guard_count; i++) {
        const struct guard *guard = &all->sensors->guards[i];
        all->polls[1 + all->count + i] = (struct pollfd){.fd = guard->fd, .events = POLLIN};
        if (guard_state(guard, now_ns) == JOULE_OK)
            until_ns = min_ns(until_ns, guard_stale_ns(guard) + 1);
    }
    return until_ns;
}

static int wait_until(struct clients *all, int64_t now_ns, int64_t until_ns, const sigset_t *mask)
{
    struct timespec left = clock_timespec(until_ns > now_ns ? until_ns - now_ns : 0);
    return ppoll(all->polls, 1 + all->count + all->sensors->guard_count, until_ns == INT64_MAX ? NULL : &left,
                 mask);
}

joule_status clients_serve(struct clients *clients, const sigset_t *wait_mask, volatile sig_atomic_t *stop)
{
    while (!*stop) {
        int64_t now_ns = clock_now_ns();
        size_t count = clients->count;
        int ready = wait_until(clients, now_ns, prepare(clients, now_ns), wait_mask);
        now_ns = clock_now_ns();
        receive_from_guards(clients, count, ready > 0, now_ns);
        if (now_ns >= sensors_due_ns(clients->sensors))
            sensors_read(clients->sensors, now_ns);
        for (size_t i = count; ready > 0 && i-- > 0;)
            if (clients->polls[1 + i].revents)
                receive_request(clients, i, now_ns);
        drop_idle(clients, now_ns);
        if (ready > 0 && clients->polls[0].revents && accept_clients(clients, now_ns) != JOULE_OK)
            return JOULE_FAILED;
    }
    return JOULE_OK;
}
