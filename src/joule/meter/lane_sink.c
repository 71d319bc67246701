/* joule/meter/lane_sink.c - turns the readings that sources report (source.h) into points on curves.
 *
 * Note: the time of a value is uncertain. A counter ticked at some time between two readings. A sensor
 * without timestamps changed its value at some time since the previous reading. The point's time is the
 * middle of the interval between both readings, and its error follows from the interval's length. Timestamps
 * are taken before the lane is locked, so that waiting for the lock delays no timestamp.
 */
#include <math.h>
#include "base/string.h"
#include "joule/meter/lane.h"

/* Mean length of the tick during which a reading is taken, divided by the mean length of all ticks, if ticks
 * jitter by +-20 %. The ratio is above 1 because a reading is more likely during a long tick than during a
 * short one. */
#define TICK_JITTER 1.04

/* Returns the round that contains the sink. */
static struct lane_round *round_of(struct sink *sink)
{
    return (struct lane_round *)sink; /* the sink is its first member */
}

/* Records that the channel's sensor was read at time_ns. */
static void answered(struct channel *ch, int64_t time_ns)
{
    ch->read_ns = time_ns;
    ch->curve.read_ns = time_ns;
    ch->readings++;
    ch->info.state = JOULE_OK;
}

/* Records that the sensor reported an impossible value, which is not used. The integrator bridges a short gap
 * before the next possible value. */
static void rejected(struct channel *ch)
{
    ch->info.state = JOULE_FAILED;
    ch->failures++;
    if (!ch->info.remedy[0])
        string_copy(ch->info.remedy, sizeof ch->info.remedy,
                    "the sensor reports impossible values: update its driver or firmware");
}

/* Returns the point of a counter that has advanced, with the joules of the last point. The counter ticked
 * after previous_ns (0: unknown) and before time_ns, at most one sensor period ago. The point's time is the
 * middle of that interval. width_ns: duration of the reading. */
static struct curve_point counter_point(const struct channel *ch, int64_t time_ns, int64_t previous_ns,
                                        int64_t width_ns)
{
    double late_s = TICK_JITTER * ch->counter.tick_s;
    if (previous_ns)
        late_s = fmin(late_s, (double)(time_ns - previous_ns) * 1e-9);
    late_s = fmax(late_s, 0);
    double stamp_sd_s = (double)width_ns * 1e-9 / sqrt(12);
    const struct curve_point *last = ch->curve.count ? &ch->curve.points[ch->curve.count - 1] : NULL;
    return (struct curve_point){
        .time_ns = time_ns - (int64_t)(late_s / 2 * 1e9),
        .joules = last ? last->joules : 0,
        .covered_s = last ? last->covered_s : 0,
        .time_sd_s = hypot(late_s / sqrt(12), stamp_sd_s),
    };
}

/* Records that the readings from begin_ns to end_ns showed no energy. */
static void record_standstill(struct channel *ch, int64_t begin_ns, int64_t end_ns)
{
    if (end_ns - begin_ns <= ch->still.end_ns - ch->still.begin_ns)
        return;
    ch->still.begin_ns = begin_ns;
    ch->still.end_ns = end_ns;
}

/* Adds the counter value `raw`, read between before_ns and after_ns, to the curve. The lane's lock is
 * held. */
static void put_counter(struct channel *ch, int64_t before_ns, int64_t after_ns, uint64_t raw)
{
    int64_t time_ns = before_ns + (after_ns - before_ns) / 2;
    int64_t previous_ns = ch->counter.primed ? ch->counter.last_ns : 0;
    double joules;
    enum counter_verdict verdict = counter_step(&ch->counter, time_ns, raw, &joules);
    answered(ch, time_ns);
    if (verdict == COUNTER_SAME) {
        record_standstill(ch, ch->counter.moved_ns, time_ns);
        return;
    }
    bool advanced = verdict == COUNTER_ADVANCED || verdict == COUNTER_WRAPPED;
    struct curve_point point = counter_point(ch, time_ns, advanced ? previous_ns : 0, after_ns - before_ns);
    if (advanced && ch->curve.count) {
        const struct curve_point *last = &ch->curve.points[ch->curve.count - 1];
        point.joules += joules;
        point.covered_s += fmax(0, (double)(point.time_ns - last->time_ns) * 1e-9);
        ch->moved = true;
    }
    curve_append(&ch->curve, point);
}

/* Returns the time of a value without a timestamp. The value appeared at some time since the previous
 * reading, at most one sensor period ago; the result is the middle of this interval. *out_sd_s: its standard
 * error. */
static int64_t middle_ns(const struct channel *ch, int64_t now_ns, double *out_sd_s)
{
    double late_s = ch->integrator.age_s > 0 ? ch->integrator.age_s : ch->integrator.period_s;
    if (ch->read_ns)
        late_s = fmin(late_s, (double)(now_ns - ch->read_ns) * 1e-9);
    *out_sd_s = late_s / sqrt(12);
    return now_ns - (int64_t)(late_s / 2 * 1e9);
}

/* Adds the integrator's state to the curve. The lane's lock is held. */
static void put_integrated(struct channel *ch)
{
    const struct integrator *in = &ch->integrator;
    struct curve_point point = {.time_ns = in->last_ns,
                                .joules = in->joules,
                                .covered_s = in->covered_s,
                                .variance = in->variance,
                                .time_sd_s = in->stamp_sd_s};
    if (in->joules > 0)
        ch->moved = true;
    curve_append(&ch->curve, point);
}

static void put_count(struct sink *sink, struct channel *channel, int64_t before_ns, int64_t after_ns,
                      uint64_t raw)
{
    if (after_ns == 0) {
        before_ns = round_of(sink)->before_ns;
        after_ns = sink_now(sink);
    }
    pthread_mutex_lock(&round_of(sink)->lane->lock);
    put_counter(channel, before_ns, after_ns, raw);
    pthread_mutex_unlock(&round_of(sink)->lane->lock);
}

typedef enum integrate_verdict (*integrate_fn)(struct integrator *in, int64_t time_ns, bool exact_time,
                                               double value);

/* Integrates a power or an energy value and adds a point to the curve. sensor_ns: the sensor's own timestamp;
 * 0: it has none. */
static void put_sample(struct sink *sink, struct channel *ch, int64_t sensor_ns, double value,
                       integrate_fn integrate)
{
    int64_t now_ns = sink_now(sink);
    pthread_mutex_lock(&round_of(sink)->lane->lock);
    ch->integrator.stamp_sd_s = 0;
    int64_t time_ns = sensor_ns ? sensor_ns : middle_ns(ch, now_ns, &ch->integrator.stamp_sd_s);
    enum integrate_verdict verdict = integrate(&ch->integrator, time_ns, sensor_ns != 0, value);
    if (verdict == INTEGRATE_REJECTED) {
        rejected(ch);
    } else {
        ch->gauge = value;
        answered(ch, now_ns);
        if (value > 0 || !ch->used_ns)
            ch->used_ns = time_ns;
        else
            record_standstill(ch, ch->used_ns, time_ns);
        if (verdict == INTEGRATE_MOVED)
            put_integrated(ch);
    }
    pthread_mutex_unlock(&round_of(sink)->lane->lock);
}

static void put_power(struct sink *sink, struct channel *channel, int64_t sensor_ns, double watts)
{
    put_sample(sink, channel, sensor_ns, watts, integrate_power);
}

static void put_energy(struct sink *sink, struct channel *channel, int64_t sensor_ns, double joules)
{
    put_sample(sink, channel, sensor_ns, joules, integrate_energy);
}

static void put_gauge(struct sink *sink, struct channel *channel, double value)
{
    int64_t now_ns = sink_now(sink);
    pthread_mutex_lock(&round_of(sink)->lane->lock);
    channel->gauge = value;
    answered(channel, now_ns);
    pthread_mutex_unlock(&round_of(sink)->lane->lock);
}

static void put_discontinuity(struct sink *sink, struct channel *channel)
{
    pthread_mutex_lock(&round_of(sink)->lane->lock);
    channel->counter.primed = false;
    integrate_break(&channel->integrator);
    pthread_mutex_unlock(&round_of(sink)->lane->lock);
}

static void put_fail(struct sink *sink, struct channel *channel, joule_status status)
{
    pthread_mutex_lock(&round_of(sink)->lane->lock);
    channel->info.state = status;
    channel->failures++;
    integrate_break(&channel->integrator);
    pthread_mutex_unlock(&round_of(sink)->lane->lock);
}

/* --- devices -------------------------------------------------------------------------------------------- */

static void put_facts(struct sink *sink, struct device *device, const struct device_facts *facts)
{
    int64_t now_ns = sink_now(sink);
    pthread_mutex_lock(&round_of(sink)->lane->lock);
    device->facts = *facts;
    device->state = JOULE_OK;
    device->queried_ns = now_ns;
    pthread_mutex_unlock(&round_of(sink)->lane->lock);
}

static void put_device_fail(struct sink *sink, struct device *device, joule_status status)
{
    pthread_mutex_lock(&round_of(sink)->lane->lock);
    device->state = status;
    pthread_mutex_unlock(&round_of(sink)->lane->lock);
}

const struct sink_ops lane_sink_ops = {.counter = put_count,
                                       .power = put_power,
                                       .fail = put_fail,
                                       .energy = put_energy,
                                       .gauge = put_gauge,
                                       .discontinuity = put_discontinuity,
                                       .facts = put_facts,
                                       .device_fail = put_device_fail};
