/* joule/record/record_still.c - see record_still.h. */
#include "joule/record/record_still.h"

#include <stdlib.h>
#include <unistd.h>

struct still_host {
    struct joule_host host;
    int64_t monotonic_ns, realtime_offset_ns;
};

static int64_t still_clock(struct joule_host *host, clockid_t clock)
{
    struct still_host *still = (struct still_host *)host;
    return still->monotonic_ns + (clock == CLOCK_REALTIME ? still->realtime_offset_ns : 0);
}

static void still_close(struct joule_host *host)
{
    free(host);
}

static const struct host_ops still_ops = {
    .name = "record", .is_virtual = true, .clock_ns = still_clock, .close = still_close};

static void read_nothing(struct source *source, struct sink *sink)
{
    (void)source;
    (void)sink;
}

static const struct source_ops record_ops = {.name = "record", .measurement = "record", .read = read_nothing};

joule_meter *still_meter_create(void)
{
    joule_meter *meter = calloc(1, sizeof *meter);
    struct still_host *still = calloc(1, sizeof *still);
    if (!meter || !still) {
        free(meter);
        free(still);
        return NULL;
    }
    still->host.ops = &still_ops;
    meter->host = &still->host;
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

void still_meter_set_time(joule_meter *meter, int64_t monotonic_ns)
{
    struct still_host *still = (struct still_host *)meter->host;
    still->monotonic_ns = monotonic_ns;
    still->realtime_offset_ns = (int64_t)((uint64_t)meter->begin_realtime_ns - (uint64_t)meter->begin_ns);
}
