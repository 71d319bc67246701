/* bench/reads.c - measures the nanoseconds per round of readings for each source of this machine.
 *
 * Opens each source alone and times whole rounds in batches. A source that does not work here is listed as
 * not measured, with the reason.
 */
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "bench.h"
#include "joule/meter/engine.h"

#define BATCHES 31

static double median_round_ns(struct lane *lane, int rounds)
{
    double batches[BATCHES];
    for (int b = 0; b < BATCHES; b++) {
        int64_t begin_ns = clock_now_ns();
        for (int i = 0; i < rounds; i++)
            lane_read(lane);
        batches[b] = (double)(clock_now_ns() - begin_ns) / rounds;
    }
    return median(batches, BATCHES);
}

static void measure(const struct source_ops *ops)
{
    joule_options options = {
        .struct_size = sizeof options, .period_s = 60, .sources = ops->name, .wait_s = 2};
    joule_meter *meter;
    if (joule_open(&options, &meter, NULL) != JOULE_OK)
        return;
    struct lane *lane = meter->lanes[ops->is_slow ? 1 : 0];
    if (!lane) { /* a slow source without devices has no lane (the thread that would read it) */
        printf("%-16s not measured: nothing of its kind on this machine\n", ops->name);
        joule_close(meter);
        return;
    }
    struct source *source = lane->sources[0];
    if (source->state != JOULE_OK) {
        printf("%-16s not measured: %s\n", ops->name,
               source->remedy[0] ? source->remedy : joule_status_name(source->state));
    } else {
        double ns = median_round_ns(lane, 200);
        printf("%-16s %4zu channels %10.0f ns a round %10.0f ns a channel\n", ops->name,
               source->channel_count, ns, ns / (double)source->channel_count);
        printf("{\"bench\":\"reads\",\"source\":\"%s\",\"channels\":%zu,\"round_ns\":%.0f}\n", ops->name,
               source->channel_count, ns);
    }
    joule_close(meter);
}

int main(void)
{
    for (const struct source_ops *const *ops = source_table; *ops; ops++)
        measure(*ops);
    return 0;
}
