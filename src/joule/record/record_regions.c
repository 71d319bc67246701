/* joule/record/record_regions.c - attributes energy to the regions of a record that was cut off.
 *
 * The writer stores the table of regions only at the end. So the reader attributes the energy again, with a
 * collector.
 * Note: a region is passed to the collector only just before the sweep over the region's start. If all were
 * passed at once, every sweep would visit all of them.
 */
#include <stdlib.h>
#include "joule/collector/collector.h"
#include "joule/record/record.h"
#include "joule/session/session.h"

#define STEP_NS   100000000LL
#define MAX_STEPS 10000 /* limit for records of any length */

static int by_begin(const void *a, const void *b)
{
    uint64_t x = ((const struct record_region *)a)->begin_ns, y = ((const struct record_region *)b)->begin_ns;
    return (x > y) - (x < y);
}

/* Returns the region as a span. A region with an invalid thread number counts as a region of a separate
 * thread. */
static struct span span_of(const struct record *record, const struct record_region *region)
{
    bool is_alone = region->thread >= SESSION_SLOTS;
    return (struct span){.begin_ns = (int64_t)region->begin_ns,
                         .end_ns = (int64_t)region->end_ns,
                         .tag = (uint16_t)joule_tag(record->names[region->name]),
                         .slot = (uint16_t)region->thread,
                         .index = SPAN_NOT_LISTED,
                         .flags = (uint8_t)(region->flags | (is_alone ? SPAN_FOREIGN : 0)),
                         .device = SPAN_ALL_GPUS};
}

void record_attribute_regions(struct record *record)
{
    joule_meter *meter = record->meter;
    if (record->region_count == 0 || collector_of(meter))
        return;
    meter->session = session_current();
    struct collector *collector = collector_create(meter);
    if (!collector)
        return; /* out of memory, or a parent process measures: the report then has no functions */
    qsort(record->regions, record->region_count, sizeof *record->regions, by_begin);
    int64_t step_ns = (record->end_ns - record->begin_ns) / MAX_STEPS;
    step_ns = step_ns < STEP_NS ? STEP_NS : step_ns;
    size_t next_region = 0;
    for (int64_t time_ns = record->begin_ns; time_ns < record->end_ns; time_ns += step_ns) {
        for (; next_region < record->region_count; next_region++) {
            struct span span = span_of(record, &record->regions[next_region]);
            if (span.begin_ns > time_ns + step_ns)
                break;
            collector_give(collector, &span);
        }
        collector_advance(collector, time_ns);
    }
}
