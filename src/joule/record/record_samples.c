/* joule/record/record_samples.c - visits every sample of a record in order of time.
 *
 * The curve or gauge readings of each domain are already sorted by time. A heap merges them.
 * Note: the blocks of a file are not sorted by time. Each block contains about a second of one domain, and
 * some sensors tick late.
 */
#include "joule/record/record.h"

/* The samples of one domain that are not visited yet. */
struct track {
    const struct channel *channel;
    const struct record_gauge *gauge;
    size_t next, count;
    int64_t time_ns; /* time of the next sample */
};

static bool is_gauge(const struct track *track)
{
    return track->channel->mode == CHANNEL_GAUGE;
}

/* Sets the time of the next sample; returns false if there is none. */
static bool find_time(struct track *track)
{
    if (track->next == track->count)
        return false;
    track->time_ns = is_gauge(track) ? track->gauge->readings[track->next].time_ns
                                     : track->channel->curve.points[track->next].time_ns;
    return true;
}

static struct report_sample next_sample(const struct track *track, const struct record *record)
{
    int64_t since_begin_ns = track->time_ns - record->begin_ns;
    return (struct report_sample){
        .seconds = (double)since_begin_ns / 1e9,
        .realtime_ns = record->meter->begin_realtime_ns + since_begin_ns,
        .domain = &track->channel->info,
        .value = is_gauge(track) ? track->gauge->readings[track->next].value
                                 : track->channel->curve.points[track->next].joules,
    };
}

/* --- a heap: no track comes before its parent, at half its index ---------------------------------------- */

static bool comes_before(const struct track *a, const struct track *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->channel->info.id < b->channel->info.id;
}

/* Moves the track at `i` (1..count) down the heap until no track below it is earlier. The two heaps below `i`
 * must be in order. */
static void sink(struct track *heap, size_t count, size_t i)
{
    struct track moved = heap[i];
    for (size_t child; (child = 2 * i) <= count; i = child) {
        if (child < count && comes_before(&heap[child + 1], &heap[child]))
            child++;
        if (!comes_before(&heap[child], &moved))
            break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

/* Fills heap[1] to heap[count] with the domains that have samples. Returns count. */
static size_t make_heap(const struct record *record, struct track *heap)
{
    size_t count = 0;
    for (size_t id = 0; id < meter_channel_count(record->meter); id++) {
        struct track *track = &heap[count + 1];
        *track = (struct track){.channel = record->meter->channels[id].channel, .gauge = &record->gauges[id]};
        track->count = is_gauge(track) ? track->gauge->count : track->channel->curve.count;
        count += find_time(track);
    }
    for (size_t i = count / 2; i > 0; i--)
        sink(heap, count, i);
    return count;
}

bool record_each_sample(const struct record *record, record_visit_fn visit, void *context)
{
    /* [0] is unused; make_heap also writes the entry after the last domain with samples */
    struct track heap[METER_MAX_CHANNELS + 2];
    size_t count = make_heap(record, heap);
    while (count > 0) {
        struct report_sample sample = next_sample(&heap[1], record);
        if (!visit(&sample, context))
            return false;
        heap[1].next++;
        if (!find_time(&heap[1]))
            heap[1] = heap[count--];
        sink(heap, count, 1);
    }
    return true;
}
