/* joule/meter/engine.h - the inside of a meter, for the rooms of libjoule.
 *
 * Owns the list of channels that all lanes found, the choice of a cover (which domains make up a total), and the
 * energy of any window. Lanes do the reading (lane.h), the collector joins regions (collector.h).
 * Newcomers: channels are only ever added; a channel's index is its domain id. The lane's lock guards what the
 * lane keeps in a channel. Locks are taken in this order, each in its own file: a budget list's `checking`, a lane's
 * `reading`, the collectors' hub, a collector, a meter, a recorder, a lane.
 */
#ifndef JOULE_ENGINE_H
#define JOULE_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <joule/report.h>
#include "joule/meter/lane.h"
#include "joule/session/session_layout.h"

#define METER_MAX_CHANNELS 1024
#define METER_MAX_LANES    32

struct collector; /* collector.h */
struct session;   /* session.h */
struct budget_list;
struct recorder; /* record.h */

struct joule_meter {
    struct joule_host *host;
    bool owns_host;
    bool shows_all;   /* its totals are the machine's, whatever the environment hides from programs */
    bool is_client;   /* a parent measures: no sensors here, figures come from the session's board */
    pid_t pid;        /* of the process that opened it: handles do not survive fork */
    int64_t begin_ns; /* CLOCK_MONOTONIC at open */
    int64_t begin_realtime_ns;
    double period_s;
    struct lane *lanes[METER_MAX_LANES]; /* [0]: prompt sources */
    size_t lane_count;
    struct meter_channel {
        struct channel *channel;
        struct lane *lane;
        struct source *source;
        const char *_Atomic hidden_by; /* the variable that hides its board from programs; NULL: none */
    } channels[METER_MAX_CHANNELS];
    _Atomic size_t channel_count;     /* published after the entry */
    _Atomic size_t unlisted_channels; /* channels that found no entry */
    pthread_mutex_t lock;             /* adding channels; tick listeners */
    struct session *session;          /* rings of regions; never NULL */
    struct collector *collector; /* attributes energy to the regions; NULL in a descendant of a session */
    int64_t published_ns;        /* time of the last totals shown to clients; guarded by lock */
    int64_t alone_ns;            /* time of the last round of readings without clients; guarded by lock */
    double client_base_joules[BOARD_SUMS]; /* of a client: see session_energy; guarded by lock */
    struct budget_list *budgets;
    _Atomic bool records;      /* a recorder is there: spares regions the lock where none is */
    struct recorder *recorder; /* NULL: nothing is recorded; guarded by lock */
};

/* Which domains make up a total over a window. */
#define COVER_MAX 64
struct cover {
    int32_t ids[COVER_MAX];
    size_t count;
    bool is_partial;  /* a domain that belongs to it could not be read, or its parts are counted instead */
    joule_class cls;  /* weakest */
    int32_t still_id; /* a domain whose meter stands still; -1: none */
    bool has_parts_of_still; /* its parts are counted instead; false: nothing of it is counted */
};

/* As joule_open. Without `watches` the prompt sources are read once and then not before meter_watch or a question. */
joule_status meter_open(const joule_options *options, bool watches, joule_meter **out_meter,
                        joule_error *out_error);
/* As joule_open, on a given host; with a virtual host no thread is started and time passes by meter_tick. */
joule_status meter_open_on(struct joule_host *host, bool owns_host, const joule_options *options,
                           joule_meter **out_meter, joule_error *out_error);
/* How every question begins: puts the default meter in the place of NULL. FAILED: there is none; STALE: it is of the process
 * that this one was forked from. */
joule_status meter_take(joule_meter **meter);
/* Whether what was read at read_ns is too old to be believed, given the lane's pace and the sensor's (NaN: unknown); never
 * read is not. */
bool meter_is_stale(joule_meter *meter, const struct lane *lane, double update_period_s, int64_t read_ns);
/* The default meter, opened if need be; NULL when that failed. `meter` itself where it is not NULL. */
joule_meter *meter_or_default(joule_meter *meter);
/* Opens the default meter, and has children after fork open theirs with meter_default_in_child. */
void meter_default_keep(void);
/* In a child after fork whose parent keeps a default meter: opens the child's own, once. Costs nothing elsewhere. */
void meter_default_in_child(void);
/* The default meter where this process (not one it was forked from) has opened it; else NULL. */
joule_meter *meter_default_if_open(void);
/* Reads every source once, in the calling thread (virtual hosts), and lets collector and budgets work. */
void meter_tick(joule_meter *meter);
/* For lanes: a source is open, add its channels; a round of readings is done. */
void meter_publish(joule_meter *meter, struct lane *lane, struct source *source);
void meter_after_read(joule_meter *meter, struct lane *lane);
/* For the collector: a region has its final share. Goes into the record where one is kept. */
void meter_note_region(joule_meter *meter, int64_t begin_ns, int64_t end_ns, uint32_t tag, uint32_t thread,
                       uint32_t flags);
/* Makes sure that meter_after_read comes round: a descendant of a session has no thread before somebody needs one, nor
 * has a meter that was opened not to watch. False: no thread. */
bool meter_watch(joule_meter *meter);
/* Takes all memory that the curves of domains which can be read come to need, some 200 KB each: for programs that run
 * for long, whose size is then what it stays. */
void meter_reserve(joule_meter *meter);
/* CPU seconds that the meter's threads have used so far; NaN: this system does not tell. */
double meter_overhead_cpu_s(joule_meter *meter);

int64_t meter_now_ns(joule_meter *meter);
static inline size_t meter_channel_count(joule_meter *meter)
{
    return atomic_load_explicit(&meter->channel_count, memory_order_acquire);
}
/* As joule_domain_get but for the parent, for those who ask for all: with the cover of JOULE_TOTAL, chosen once. */
void meter_describe_domain(joule_meter *meter, size_t index, const struct cover *total,
                           joule_domain *out_domain);
/* What curves need to know of a channel's sensor. The lane's lock is held. */
struct curve_traits meter_channel_traits(const struct channel *channel);
/* True for a domain that is no gauge, and for JOULE_TOTAL, JOULE_CPU and JOULE_GPU. */
bool meter_has_energy(joule_meter *meter, int32_t domain);
/* Energy of one domain over a window, whether trusted or not. end_ns METER_LAST_TICK: up to the domain's last. */
#define METER_LAST_TICK INT64_MAX
struct window meter_channel_window(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns);
/* Chooses the cover of JOULE_TOTAL, JOULE_CPU or JOULE_GPU over a window: domains that rose since the meter
 * opened, outermost, one view for each zone. Where no CPU package is measured, a domain that covers more
 * (module, psys, node, battery) stands alone and takes precedence over a model. A domain that stands still
 * while parts of it use energy yields to these parts, and the cover is partial. A plain domain id is its own
 * cover. */
void meter_cover(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns,
                 struct cover *out_cover);
/* Finds out anew which channels' boards the environment hides from programs. The meter's lock is held. */
void meter_hide(joule_meter *meter);
/* Writes the boards that one variable hides, as "gpu:0, gpu:1". Returns that variable, or NULL: none is
 * hidden. */
const char *meter_hidden_boards(joule_meter *meter, char *out_boards, size_t size);
/* Energy of a cover over a window; unknown when the cover is empty. Coverage is the smallest of its domains. */
struct window meter_cover_window(joule_meter *meter, const struct cover *cover, int64_t begin_ns,
                                 int64_t end_ns);
/* Both in one. */
struct window meter_window(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns);
/* Energy since the meter opened, of each domain up to its own last tick: what is known then is never taken back, and one
 * sensor that hangs does not hold up the others. While the cover stays the same the answers do not fall. */
struct window meter_energy(joule_meter *meter, int32_t domain);
/* Why nothing is known of a domain or sum. PENDING: a reading may change that. Otherwise the state of what was found of it,
 * ABSENT where all sources have been asked and found nothing. */
joule_status meter_why_unknown(joule_meter *meter, int32_t domain);
/* A domain's energy less that of its listed parts, one view of each; *out_parts is their number. Unknown without parts or
 * where one of them did not see the window. */
struct window meter_rest_window(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns,
                                size_t *out_parts);
/* The time up to which every channel of the cover has been read; 0: none. */
int64_t meter_cover_horizon_ns(joule_meter *meter, const struct cover *cover);
/* "package-0 + dram-0", cut to size. */
void meter_cover_name(joule_meter *meter, const struct cover *cover, char *out_name, size_t size);
/* Highest temperature gauge in degrees Celsius now; NaN without one. */
double meter_hottest_celsius(joule_meter *meter);

#endif
