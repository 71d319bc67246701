/* joule/meter/engine.h - internal interface of a meter.
 *
 * A meter contains the list of channels that all lanes found. It chooses covers (the domains of which a total
 * is the sum) and computes the energy of any window. Lanes read hardware (lane.h). After each round of
 * readings the meter calls its listeners: the collector, the budgets and the recorder.
 * Note: channels and listeners are added, but never removed. A channel's index is its domain id. A lane's
 * lock guards the state of its channels. Locks are taken in this order: a budget list's `checking`, a lane's
 * `reading`, the collectors' hub, a collector, a meter, a record's listener, a recorder, a lane.
 */
#ifndef JOULE_ENGINE_H
#define JOULE_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <joule/report.h>
#include "joule/meter/lane.h"
#include "joule/session/session_layout.h"

#define METER_MAX_CHANNELS  1024
#define METER_MAX_LANES     32
#define METER_MAX_LISTENERS 4

struct session; /* session.h */

/* A part of libjoule that is called after each round of readings of lane 0. `ops` identifies the kind of
 * listener. */
struct meter_listener {
    const struct meter_listener_ops {
        /* Called without a lock, possibly by several threads at once. now_ns: the end of the round. */
        void (*after_round)(struct meter_listener *listener, int64_t now_ns);
        /* Frees the listener when the meter is closed. No round is running. */
        void (*free)(struct meter_listener *listener);
    } * ops;
};

struct joule_meter {
    struct joule_host *host;
    bool owns_host; /* meter_close closes the host */
    bool shows_all; /* totals include boards that the environment hides from programs */
    /* a parent process measures; this meter opens no sensors and reads the session's board */
    bool is_client;
    pid_t pid;        /* process that opened the meter; handles are not valid in a child after fork */
    int64_t begin_ns; /* CLOCK_MONOTONIC at open */
    int64_t begin_realtime_ns;
    double period_s;
    double wait_s;                       /* how long meter_start waits for slow sources */
    struct lane *lanes[METER_MAX_LANES]; /* [0]: all sources that are not slow */
    size_t lane_count;
    struct meter_channel {
        struct channel *channel;
        struct lane *lane;
        struct source *source;
        const char *_Atomic hidden_by; /* variable that hides the board from programs; NULL: not hidden */
    } channels[METER_MAX_CHANNELS];
    _Atomic size_t channel_count; /* set after the new entry is complete */
    /* number of channels omitted because the table was full */
    _Atomic size_t unlisted_channels;
    struct meter_listener *listeners[METER_MAX_LISTENERS]; /* called in this order */
    _Atomic size_t listener_count;                         /* set after the new entry is complete */
    pthread_mutex_t lock;    /* guards adding channels and listeners, and the totals for clients */
    struct session *session; /* ring buffers of regions; never NULL */
    int64_t published_ns;    /* end of the last totals published to clients; guarded by lock */
    int64_t alone_ns;        /* time of the last round of readings without clients; guarded by lock */
    /* base_joules of session_energy, if this meter is a client; guarded by lock */
    double client_base_joules[BOARD_SUMS];
};

/* The domains of which a total over a window is the sum. */
#define COVER_MAX 64
struct cover {
    int32_t ids[COVER_MAX];
    size_t count;
    bool is_partial;  /* a domain of the total could not be read, or is replaced by its parts */
    joule_class cls;  /* the weakest class of the domains */
    int32_t still_id; /* a domain whose sensor stands still; -1: none */
    /* true: the cover contains parts of domain still_id instead; false: it contains neither */
    bool has_parts_of_still;
};

/* Creates a meter whose sources are not open yet. The caller owns the meter, adds listeners, then calls
 * meter_start or meter_close. `options`: complete, in this library's version of the structure. Returns the
 * errors of joule_open. */
joule_status meter_create(struct joule_host *host, const joule_options *options, joule_meter **out_meter,
                          joule_error *out_error);
/* Opens the sources and takes the first readings. If `watches` is false, the sources of lane 0 are read once,
 * then only after meter_watch or a query. On a virtual host no thread is started; meter_tick takes each
 * reading. owns_host: meter_close closes the host. On failure the caller still owns the host. */
joule_status meter_start(joule_meter *meter, bool owns_host, bool watches, joule_error *out_error);
/* Stops the threads and frees the meter with its listeners; see joule_close. NULL is allowed. */
void meter_close(joule_meter *meter);
/* Adds a listener, and takes ownership of it. If there are METER_MAX_LISTENERS already, returns false, and
 * the caller keeps the listener. */
bool meter_add_listener(joule_meter *meter, struct meter_listener *listener);
/* Returns the listener with these ops; NULL if none was added. */
struct meter_listener *meter_find_listener(joule_meter *meter, const struct meter_listener_ops *ops);
/* Returns true if a value read at read_ns is too old to use. The limit follows from the lane's period and
 * update_period_s (NaN: unknown). A channel that was never read is not stale. */
bool meter_is_stale(joule_meter *meter, const struct lane *lane, double update_period_s, int64_t read_ns);
/* Reads every source once in the calling thread, then calls the listeners. For virtual hosts. */
void meter_tick(joule_meter *meter);
/* A lane calls meter_publish when it has opened a source, to add the source's channels to the meter. It calls
 * meter_after_read after each round of readings. For lane 0, meter_after_read calls the listeners and updates
 * the totals for clients. */
void meter_publish(joule_meter *meter, struct lane *lane, struct source *source);
void meter_after_read(joule_meter *meter, struct lane *lane);
/* Starts the threads that call meter_after_read periodically. Before this call, a meter in a descendant of a
 * session and a meter opened with `watches` false have no such threads. Returns false if a thread cannot be
 * started. */
bool meter_watch(joule_meter *meter);
/* Allocates all memory that the curves of readable domains can need, about 200 KB for each. Long-running
 * programs call this function so that their size stays constant. */
void meter_reserve(joule_meter *meter);
/* Returns the CPU seconds that the meter's threads have used so far; NaN if the system does not report
 * them. */
double meter_overhead_cpu_s(joule_meter *meter);

int64_t meter_now_ns(joule_meter *meter);
static inline size_t meter_channel_count(joule_meter *meter)
{
    return atomic_load_explicit(&meter->channel_count, memory_order_acquire);
}
/* Like joule_domain_get, but without the domain's parent. `total` is the cover of JOULE_TOTAL, which callers
 * choose once for all domains. */
void meter_describe_domain(joule_meter *meter, size_t index, const struct cover *total,
                           joule_domain *out_domain);
/* Returns the properties of a channel's sensor that curves need. The lane's lock is held. */
struct curve_traits meter_channel_traits(const struct channel *channel);
/* Returns true for a domain that is not a gauge, and for JOULE_TOTAL, JOULE_CPU and JOULE_GPU. */
bool meter_has_energy(joule_meter *meter, int32_t domain);
/* Returns the energy of one domain over a window, even if a total would not use the domain. end_ns
 * METER_LAST_TICK: up to the domain's last tick. */
#define METER_LAST_TICK INT64_MAX
struct window meter_channel_window(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns);
/* Chooses the cover of JOULE_TOTAL, JOULE_CPU or JOULE_GPU over a window. The cover contains the outermost
 * domains whose energy has increased since the meter opened, with one view for each zone. If no CPU package
 * is measured, a single larger domain (module, psys, node, battery) is the total, and is preferred to a
 * model. If a domain stands still while parts of it use energy, these parts replace the domain, and the cover
 * is partial. For the id of a domain, the cover is this domain. */
void meter_cover(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns,
                 struct cover *out_cover);
/* Marks the channels of boards that the environment hides from programs. The caller holds the meter's
 * lock. */
void meter_update_hidden(joule_meter *meter);
/* Writes the boards that one variable hides, as "gpu:0, gpu:1". Returns that variable, or NULL if no board is
 * hidden. */
const char *meter_hidden_boards(joule_meter *meter, char *out_boards, size_t size);
/* Returns the energy of a cover over a window; unknown if the cover is empty. The covered time is that of the
 * domain with the least coverage. */
struct window meter_cover_window(joule_meter *meter, const struct cover *cover, int64_t begin_ns,
                                 int64_t end_ns);
/* Returns the energy of a domain or sum over a window. A client reads this energy from the session's
 * board. */
struct window meter_window(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns);
/* Returns the energy of a domain or sum since the meter opened. The energy of each domain ends at its own
 * last tick, so a sensor that hangs does not delay the others. The result never decreases while the cover
 * stays the same. */
struct window meter_energy(joule_meter *meter, int32_t domain);
/* Returns the reason why the energy of a domain or sum is unknown. JOULE_PENDING: the next reading may supply
 * it. Otherwise returns the state of the domains that were found, or JOULE_ABSENT if no source found a
 * domain. */
joule_status meter_why_unknown(joule_meter *meter, int32_t domain);
/* Returns a domain's energy minus that of its listed parts, with one view of each part. Sets *out_parts to
 * the number of parts. The energy is unknown if there are no parts, or if a part does not cover the
 * window. */
struct window meter_rest_window(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns,
                                size_t *out_parts);
/* Returns the time up to which every channel of the cover has been read; 0: none. */
int64_t meter_cover_horizon_ns(joule_meter *meter, const struct cover *cover);
/* Writes the names of the cover's domains, as "package-0 + dram-0", truncated to `size`. */
void meter_cover_name(joule_meter *meter, const struct cover *cover, char *out_name, size_t size);
/* Returns true if a domain (an id, not a sum) is a gauge. */
bool meter_is_gauge(joule_meter *meter, int32_t domain);
/* Returns a channel's power in watts. If the last reading is too old to be the current power, sets *is_old to
 * true. Otherwise leaves *is_old unchanged. */
struct estimate meter_channel_power(joule_meter *meter, int32_t id, bool *is_old);
/* Copies the newest value of a gauge; see joule_gauge. `domain` must be the id of a gauge. */
joule_status meter_gauge(joule_meter *meter, int32_t domain, double *out_value);
/* Returns the highest temperature of all gauges in degrees Celsius; NaN if no temperature is known. */
double meter_hottest_celsius(joule_meter *meter);
/* Copies the times of a domain's or sum's readings after after_ns; see joule_ticks. */
size_t meter_ticks(joule_meter *meter, int32_t domain, int64_t after_ns, int64_t *out_ticks_ns,
                   size_t capacity);

#endif
