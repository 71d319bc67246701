/* joule/meter/meter.c - opens, updates and closes a meter.
 *
 * Lanes read the hardware, cover.c sums totals, and domain.c describes single domains.
 * Note: lanes add channels while other threads read the list. An entry is complete before channel_count
 * includes it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"
#include "joule/meter/engine.h"
#include "joule/meter/meter_lanes.h"
#include "joule/session/session.h"

#define DEFAULT_PERIOD_S 0.1
#define DEFAULT_WAIT_S   0.25
#define CLOSE_TIMEOUT_NS (800 * NS_PER_S / 1000)
#define CURVE_POINTS     4096
#define PUBLISH_EVERY_NS 50000000LL
#define KNOWN_FLAGS      (JOULE_OPEN_NO_SESSION | JOULE_OPEN_DEVICES)
#define NO_SOURCES       "none" /* a list that selects no source */

int64_t meter_now_ns(joule_meter *meter)
{
    return meter->host->ops->clock_ns(meter->host, CLOCK_MONOTONIC);
}

/* --- opening -------------------------------------------------------------------------------------------- */

static joule_status check_options(const joule_options *options, joule_error *error)
{
    if (options->flags & ~KNOWN_FLAGS)
        return error_set(error, JOULE_UNSUPPORTED, "joule_options.flags: %#x is not supported by libjoule %s",
                         options->flags & ~KNOWN_FLAGS, joule_version());
    if (options->period_s != 0 && !(options->period_s >= 0.001 && options->period_s <= 60))
        return error_set(error, JOULE_INVALID, "sampling period of %g s is out of range (1 ms to 60 s)",
                         options->period_s);
    if (isnan(options->wait_s) || options->wait_s > 60)
        return error_set(error, JOULE_INVALID, "wait of %g s for sources is out of range (at most 60 s)",
                         options->wait_s);
    return meter_lanes_check(options->sources, error);
}

/* Returns true if a parent process may measure for this meter. Returns false for a recorded or scripted
 * machine, or with JOULE_OPEN_NO_SESSION: then this process measures. */
static bool uses_session(const struct joule_host *host, const joule_options *options)
{
    return host == host_real() && !(options->flags & JOULE_OPEN_NO_SESSION);
}

/* Returns a meter without lanes; NULL: out of memory. */
static joule_meter *make(struct joule_host *host, const joule_options *options)
{
    joule_meter *meter = calloc(1, sizeof *meter);
    if (!meter)
        return NULL;
    meter->host = host;
    meter->pid = getpid();
    meter->period_s = options->period_s > 0 ? options->period_s : DEFAULT_PERIOD_S;
    meter->wait_s = options->wait_s == 0 ? DEFAULT_WAIT_S : fmax(0, options->wait_s);
    meter->begin_ns = meter_now_ns(meter);
    meter->begin_realtime_ns = host->ops->clock_ns(host, CLOCK_REALTIME);
    for (size_t i = 0; i < sizeof meter->client_base_joules / sizeof *meter->client_base_joules; i++)
        meter->client_base_joules[i] = NAN;
    meter->shows_all = options->flags & JOULE_OPEN_DEVICES;
    meter->session = session_current();
    meter->is_client = uses_session(host, options) && session_is_client(meter->session);
    pthread_mutex_init(&meter->lock, NULL);
    return meter;
}

joule_status meter_create(struct joule_host *host, const joule_options *options, joule_meter **out_meter,
                          joule_error *out_error)
{
    joule_status status = check_options(options, out_error);
    if (status != JOULE_OK)
        return status;
    joule_meter *meter = make(host, options);
    if (!meter)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot open a meter: out of memory");
    /* A client's lane has no sources, and no thread before meter_watch. */
    status = meter_lanes_make(meter, meter->is_client ? NO_SOURCES : options->sources,
                              meter->shows_all && !meter->is_client, out_error);
    if (status != JOULE_OK) {
        meter_close(meter);
        return status;
    }
    *out_meter = meter;
    return JOULE_OK;
}

joule_status meter_start(joule_meter *meter, bool owns_host, bool watches, joule_error *out_error)
{
    joule_status status = JOULE_OK;
    if (!meter->is_client)
        status = meter_lanes_start(meter, watches, meter->wait_s, out_error);
    meter->owns_host = status == JOULE_OK && owns_host;
    return status;
}

/* --- listeners ------------------------------------------------------------------------------------------ */

static size_t listener_count(joule_meter *meter)
{
    return atomic_load_explicit(&meter->listener_count, memory_order_acquire);
}

bool meter_add_listener(joule_meter *meter, struct meter_listener *listener)
{
    pthread_mutex_lock(&meter->lock);
    size_t n = listener_count(meter);
    if (n < METER_MAX_LISTENERS) {
        meter->listeners[n] = listener;
        atomic_store_explicit(&meter->listener_count, n + 1, memory_order_release);
    }
    pthread_mutex_unlock(&meter->lock);
    return n < METER_MAX_LISTENERS;
}

struct meter_listener *meter_find_listener(joule_meter *meter, const struct meter_listener_ops *ops)
{
    for (size_t i = 0; i < listener_count(meter); i++)
        if (meter->listeners[i]->ops == ops)
            return meter->listeners[i];
    return NULL;
}

/* --- closing -------------------------------------------------------------------------------------------- */

void meter_close(joule_meter *meter)
{
    /* After fork the threads exist only in the parent, and a lock may be held: so stop and free nothing. */
    if (!meter || meter->pid != getpid())
        return;
    int64_t deadline_ns = clock_now_ns() + CLOSE_TIMEOUT_NS;
    bool joined = true;
    for (size_t i = 0; i < meter->lane_count; i++)
        if (meter->lanes[i])
            joined = lane_halt(meter->lanes[i], deadline_ns) && joined;
    for (size_t i = 0; i < meter->lane_count;
         i++) /* after all have stopped: a lane that opens sources reads what others found */
        if (meter->lanes[i])
            lane_release(meter->lanes[i]);
    for (size_t i = listener_count(meter); i-- > 0;)
        meter->listeners[i]->ops->free(meter->listeners[i]);
    if (meter->owns_host && joined)
        meter->host->ops->close(meter->host);
    pthread_mutex_destroy(&meter->lock);
    free(meter);
}

/* --- channels ------------------------------------------------------------------------------------------- */

static bool name_is_taken(joule_meter *meter, const char *name)
{
    for (size_t i = 0; i < meter_channel_count(meter); i++)
        if (strcmp(meter->channels[i].channel->info.name, name) == 0)
            return true;
    return false;
}

/* Changes the channel's name if another channel has the same name: appends the source ("package-0@powercap"),
 * then a number. */
static void make_name_unique(joule_meter *meter, struct channel *ch)
{
    char plain[sizeof ch->info.name];
    string_copy(plain, sizeof plain, ch->info.name);
    for (unsigned n = 1; name_is_taken(meter, ch->info.name) && n < METER_MAX_CHANNELS; n++) {
        struct text text;
        text_init(&text, ch->info.name, sizeof ch->info.name);
        if (n == 1)
            text_printf(&text, "%.23s@%s", plain, ch->info.source);
        else
            text_printf(&text, "%.19s@%.20s#%u", plain, ch->info.source, n);
    }
}

void meter_publish(joule_meter *meter, struct lane *lane, struct source *source)
{
    pthread_mutex_lock(&meter->lock);
    for (size_t i = 0; i < source->channel_count; i++) {
        size_t n = meter_channel_count(meter);
        struct channel *ch = source->channels[i];
        /* needed even if the channel is not listed, because the source reports readings of all its
         * channels */
        curve_init(&ch->curve, CURVE_POINTS);
        if (n == METER_MAX_CHANNELS) {
            atomic_fetch_add_explicit(&meter->unlisted_channels, 1, memory_order_relaxed);
            continue;
        }
        make_name_unique(meter, ch);
        ch->info.id = (int32_t)n;
        meter->channels[n] = (struct meter_channel){.channel = ch, .lane = lane, .source = source};
        atomic_store_explicit(&meter->channel_count, n + 1, memory_order_release);
    }
    meter_update_hidden(meter);
    pthread_mutex_unlock(&meter->lock);
}

/* The caller holds the lane's lock, because an integrator updates its period. */
struct curve_traits meter_channel_traits(const struct channel *ch)
{
    return (struct curve_traits){
        .cls = ch->info.cls,
        .tick_s = ch->mode == CHANNEL_COUNTER ? fmax(ch->counter.tick_s, ch->info.update_period_s)
                                              : ch->integrator.period_s,
        .unit_joules = ch->mode == CHANNEL_COUNTER ? counter_resolution_joules(&ch->counter) : 0,
        .gain_sd = ch->gain_sd,
        .cause = ch->cause,
        .is_sampled = ch->mode == CHANNEL_POWER,
        .blur_s = integrator_blur_s(&ch->integrator),
    };
}

struct window meter_channel_window(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns)
{
    const struct meter_channel *mc = &meter->channels[domain];
    pthread_mutex_lock(&mc->lane->lock);
    struct curve_traits traits = meter_channel_traits(mc->channel);
    if (end_ns == METER_LAST_TICK)
        end_ns = curve_last_ns(&mc->channel->curve);
    struct window w = curve_window(&mc->channel->curve, &traits, begin_ns, end_ns);
    pthread_mutex_unlock(&mc->lane->lock);
    return w;
}

/* Publishes the totals from the opening of the meter to end_ns, a time that all sensors have reached. If
 * `is_first` is set, publishes totals of 0. */
static void publish_until(joule_meter *meter, int64_t end_ns, bool is_first)
{
    static const int32_t groups[] = {JOULE_TOTAL, JOULE_CPU, JOULE_GPU};
    joule_quantity sums[3];
    for (int i = 0; i < 3; i++) {
        struct window w = meter_window(meter, groups[i], meter->begin_ns, end_ns);
        sums[i] = is_first ? (joule_quantity){.cls = JOULE_CLASS_MEASURED} : estimate_quantity(&w.joules);
    }
    session_publish(meter->session, end_ns, &sums[0], &sums[1], &sums[2]);
    meter->published_ns = end_ns;
}

/* Publishes earlier points for the first clients. Regions of clients may have begun before horizon_ns, so the
 * board must begin before these regions. */
static void publish_past(joule_meter *meter, int64_t horizon_ns)
{
    int64_t first_ns;
    if (meter_ticks(meter, JOULE_TOTAL, 0, &first_ns, 1) == 0)
        return;
    if (first_ns < meter->begin_ns) /* the counter had ticked shortly before its first reading */
        first_ns = meter->begin_ns;
    if (first_ns >= horizon_ns)
        return;
    publish_until(meter, first_ns, true);
    if (meter->alone_ns > first_ns && meter->alone_ns < horizon_ns)
        publish_until(meter, meter->alone_ns, false);
}

/* Publishes totals for descendants, up to the time that all sensors have reached. */
static void publish(joule_meter *meter, int64_t now_ns)
{
    if (now_ns - meter->published_ns < PUBLISH_EVERY_NS)
        return;
    struct cover cover;
    meter_cover(meter, JOULE_TOTAL, meter->begin_ns, now_ns, &cover);
    int64_t end_ns = meter_cover_horizon_ns(meter, &cover);
    if (end_ns <= meter->published_ns)
        return;
    if (meter->published_ns == 0)
        publish_past(meter, end_ns);
    publish_until(meter, end_ns, false);
}

void meter_after_read(joule_meter *meter, struct lane *lane)
{
    if (lane != meter->lanes[0])
        return;
    int64_t now_ns = meter_now_ns(meter);
    for (size_t i = 0; i < listener_count(meter); i++)
        meter->listeners[i]->ops->after_round(meter->listeners[i], now_ns);
    pthread_mutex_lock(&meter->lock);
    if (!meter->is_client && session_has_clients(meter->session))
        publish(meter, now_ns);
    else
        meter->alone_ns = now_ns;
    pthread_mutex_unlock(&meter->lock);
}

void meter_tick(joule_meter *meter)
{
    for (size_t i = 0; i < meter->lane_count; i++) {
        lane_read(meter->lanes[i]);
        meter_after_read(meter, meter->lanes[i]);
    }
}

void meter_reserve(joule_meter *meter)
{
    for (size_t i = 0; i < meter_channel_count(meter); i++) {
        const struct meter_channel *mc = &meter->channels[i];
        pthread_mutex_lock(&mc->lane->lock);
        if (mc->channel->mode != CHANNEL_GAUGE && mc->channel->info.state == JOULE_OK)
            /* on failure, the curve allocates its memory later, when it grows */
            curve_reserve(&mc->channel->curve);
        pthread_mutex_unlock(&mc->lane->lock);
    }
}

double meter_overhead_cpu_s(joule_meter *meter)
{
    double sum_s = 0;
    pthread_mutex_lock(&meter->lock);
    for (size_t i = 0; i < meter->lane_count; i++) {
        clockid_t clock;
        struct timespec used;
        struct lane *lane = meter->lanes[i];
        int problem = lane->has_thread ? pthread_getcpuclockid(lane->thread, &clock) : ESRCH;
        if (problem == 0 && clock_gettime(clock, &used) == 0)
            sum_s += (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
        else if (problem != 0 && problem != ESRCH) /* some systems have no clocks of threads */
            sum_s = NAN;
    }
    pthread_mutex_unlock(&meter->lock);
    return sum_s;
}
