/* joule/record/record_meter.c - see record_meter.h. */
#include "joule/record/record_meter.h"

#include <stdlib.h>
#include <unistd.h>

/* A host without hardware. record_meter_set_time sets its clocks. */
struct record_host {
    struct joule_host host;
    int64_t monotonic_ns, realtime_offset_ns;
};

static int64_t record_clock(struct joule_host *host, clockid_t clock)
{
    struct record_host *record_host = (struct record_host *)host;
    return record_host->monotonic_ns + (clock == CLOCK_REALTIME ? record_host->realtime_offset_ns : 0);
}

static void record_host_close(struct joule_host *host)
{
    free(host);
}

static const struct host_ops record_host_ops = {
    .name = "record", .is_virtual = true, .clock_ns = record_clock, .close = record_host_close};

static void read_nothing(struct source *source, struct sink *sink)
{
    (void)source;
    (void)sink;
}

static const struct source_ops record_ops = {.name = "record", .measurement = "record", .read = read_nothing};

joule_meter *record_meter_create(void)
{
    joule_meter *meter = calloc(1, sizeof *meter);
    struct record_host *record_host = calloc(1, sizeof *record_host);
    if (!meter || !record_host) {
        free(meter);
        free(record_host);
        return NULL;
    }
    record_host->host.ops = &record_host_ops;
    meter->host = &record_host->host;
    meter->owns_host = true;
    meter->pid = getpid();
    pthread_mutex_init(&meter->lock, NULL);
    meter->lanes[0] = lane_create(meter, 0);
    meter->lane_count = meter->lanes[0] ? 1 : 0;
    if (!meter->lane_count || !lane_add(meter->lanes[0], &record_ops, false)) {
        joule_close(meter);
        return NULL;
    }
    meter->lanes[0]->opened = true; /* no further sensors will open */
    return meter;
}

void record_meter_set_time(joule_meter *meter, int64_t monotonic_ns)
{
    struct record_host *record_host = (struct record_host *)meter->host;
    record_host->monotonic_ns = monotonic_ns;
    record_host->realtime_offset_ns =
        (int64_t)((uint64_t)meter->begin_realtime_ns - (uint64_t)meter->begin_ns);
}
