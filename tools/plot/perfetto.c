/* tools/plot/perfetto.c - see perfetto.h.
 *
 * The trace is written in pieces, because the whole may not fit in memory.
 */
#include "plot/perfetto.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "base/error.h"
#include "base/json_writer.h"
#include "common/output.h"
#include "joule/picture/axis.h"

/* Numbers of processes: the threads of the program are those of the regions. */
enum { PROGRAM = 1, SENSORS = 2, GUESSES = 3 };
#define MAX_EVENT 1024 /* bytes of an event; names have less than 100 characters, each up to 6 bytes long */

struct writer {
    const struct record *record;
    int fd;
    int error; /* errno of the first failed write; 0: none */
    bool follows, has_gap;
    struct text text;
    char bytes[64 * 1024];
};

static void flush(struct writer *writer)
{
    if (!writer->error && !file_write_all(writer->fd, writer->bytes, writer->text.length))
        writer->error = errno;
    text_init(&writer->text, writer->bytes, sizeof writer->bytes);
}

/* A track: a thread of a process. */
struct track {
    int process;
    uint32_t thread;
};

/* Begins an event of a phase (a letter of the format). */
static struct json begin_event(struct writer *writer, const char *phase, struct track track)
{
    if (writer->text.length + MAX_EVENT > sizeof writer->bytes)
        flush(writer);
    text_add(&writer->text, writer->follows ? ",\n" : "\n");
    writer->follows = true;
    struct json json = {.out = &writer->text};
    json_open(&json, NULL, '{');
    json_string(&json, "ph", phase);
    json_integer(&json, "pid", track.process);
    json_integer(&json, "tid", track.thread);
    return json;
}

/* Returns the timestamp of a time. A first reading before the begin of the record is shown at its begin,
 * because viewers drop events with negative timestamps. */
static double microseconds(const struct writer *writer, int64_t time_ns)
{
    int64_t begin_ns = writer->record->begin_ns;
    return time_ns > begin_ns ? (double)(time_ns - begin_ns) / 1000 : 0;
}

/* Names the process (kind "process_name") or a thread ("thread_name"). */
static void add_name(struct writer *writer, const char *kind, struct track track, const char *name)
{
    struct json json = begin_event(writer, "M", track);
    json_string(&json, "name", kind);
    json_open(&json, "args", '{');
    json_string(&json, "name", name);
    json_close(&json, '}');
    json_close(&json, '}');
}

static void add_counter(struct writer *writer, const char *name, const char *unit, int64_t time_ns,
                        double value)
{
    struct json json = begin_event(writer, "C", (struct track){PROGRAM, 0});
    json_string(&json, "name", name);
    json_double(&json, "ts", microseconds(writer, time_ns));
    json_open(&json, "args", '{');
    json_double(&json, unit, value);
    json_close(&json, '}');
    json_close(&json, '}');
}

static void add_slice(struct writer *writer, const char *name, const char *category, struct track track,
                      int64_t begin_ns, int64_t end_ns)
{
    struct json json = begin_event(writer, "X", track);
    json_string(&json, "name", name);
    json_string(&json, "cat", category);
    json_double(&json, "ts", microseconds(writer, begin_ns));
    json_double(&json, "dur", microseconds(writer, end_ns) - microseconds(writer, begin_ns));
    json_close(&json, '}');
}

/* Adds a gap of a domain. before_count: number of its earlier gaps */
static void add_gap(struct writer *writer, const struct channel *channel, uint32_t id, size_t before_count,
                    int64_t begin_ns, int64_t end_ns)
{
    struct track track = {SENSORS, id + 1};
    char gap[80];
    string_print(gap, sizeof gap, "no data: %s", channel->info.name);
    if (!writer->has_gap)
        add_name(writer, "process_name", track, "sensors");
    writer->has_gap = true;
    if (before_count == 0)
        add_name(writer, "thread_name", track, channel->info.name);
    add_slice(writer, gap, "gap", track, begin_ns, end_ns);
}

/* Adds the power of each step of a curve. A step with the same power as the step before needs no event. */
static void add_power(struct writer *writer, const struct channel *channel, uint32_t id)
{
    const struct curve *curve = &channel->curve;
    size_t gap_count = 0;
    char name[80];
    string_print(name, sizeof name, "power %s (%s)", channel->info.name, joule_class_name(channel->info.cls));
    double before = NAN;
    for (size_t i = 0; i + 1 < curve->count && !writer->error; i++) {
        const struct curve_point *from = &curve->points[i], *to = from + 1;
        double covered_s = to->covered_s - from->covered_s;
        if (to->time_ns <= from->time_ns || to->time_ns <= writer->record->begin_ns)
            continue;
        if (!(covered_s > 0)) {
            add_gap(writer, channel, id, gap_count++, from->time_ns, to->time_ns);
            before = NAN;
            continue;
        }
        double watts = (to->joules - from->joules) / covered_s;
        if (watts != before)
            add_counter(writer, name, "W", from->time_ns, watts);
        before = watts;
    }
    if (curve->count > 1 && !isnan(before)) /* the last step ends here */
        add_counter(writer, name, "W", curve->points[curve->count - 1].time_ns, before);
}

static void add_gauge(struct writer *writer, const struct channel *channel, const struct record_gauge *gauge)
{
    const char *unit = channel->info.reading == JOULE_READING_TEMPERATURE ? "degC"
                       : channel->info.reading == JOULE_READING_CLOCK     ? "MHz"
                                                                          : "ratio";
    for (size_t i = 0; i < gauge->count && !writer->error; i++) {
        if (isfinite(gauge->readings[i].value))
            add_counter(writer, channel->info.name, unit, gauge->readings[i].time_ns,
                        gauge->readings[i].value);
    }
}

/* --- regions -------------------------------------------------------------------------------------------- */

/* Orders regions by thread and begin; of equal begins, the longest is first, because it contains the others.
 */
static int compare_regions(const void *first, const void *second)
{
    const struct record_region *a = *(const struct record_region *const *)first,
                               *b = *(const struct record_region *const *)second;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Adds a region that does not nest in the other slices of its thread. number: distinct for each of them */
static void add_overlapping(struct writer *writer, const struct record_region *region, size_t number)
{
    for (int i = 0; i < 2; i++) {
        struct json json =
            begin_event(writer, i == 0 ? "b" : "e", (struct track){PROGRAM, region->thread + 1});
        json_string(&json, "name", writer->record->names[region->name]);
        json_string(&json, "cat", "region");
        json_integer(&json, "id", (int64_t)number);
        json_double(&json, "ts", microseconds(writer, (int64_t)(i == 0 ? region->begin_ns : region->end_ns)));
        json_close(&json, '}');
    }
}

/* Adds the regions of a thread. regions: [count], ordered; open: [count], scratch for those that contain the
 * current one */
static void add_thread(struct writer *writer, struct record_region **regions, size_t count,
                       struct record_region **open)
{
    size_t depth = 0;
    char name[32];
    struct track track = {PROGRAM, regions[0]->thread + 1};
    string_print(name, sizeof name, "thread %u", (unsigned)regions[0]->thread);
    add_name(writer, "thread_name", track, name);
    for (size_t i = 0; i < count && !writer->error; i++) {
        const struct record_region *region = regions[i];
        while (depth > 0 && open[depth - 1]->end_ns <= region->begin_ns)
            depth--;
        if (depth > 0 && open[depth - 1]->end_ns < region->end_ns) {
            add_overlapping(writer, region, (size_t)(region - writer->record->regions) + 1);
            continue;
        }
        open[depth++] = regions[i];
        add_slice(writer, writer->record->names[region->name], "region", track, (int64_t)region->begin_ns,
                  (int64_t)region->end_ns);
    }
}

/* Adds all regions. Returns false if out of memory. */
static bool add_regions(struct writer *writer)
{
    const struct record *record = writer->record;
    struct record_region **regions = calloc(2 * record->region_count + 1, sizeof *regions);
    size_t count = 0;
    if (!regions)
        return false;
    for (size_t i = 0; i < record->region_count; i++)
        if (record->regions[i].end_ns >= record->regions[i].begin_ns &&
            record->regions[i].end_ns <= INT64_MAX)
            regions[count++] = &record->regions[i];
    qsort(regions, count, sizeof *regions, compare_regions);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && regions[next]->thread == regions[i]->thread;)
            next++;
        add_thread(writer, regions + i, next - i, regions + record->region_count);
    }
    free(regions);
    return true;
}

static void add_phases(struct writer *writer, const struct skyline_phase *phases, size_t count)
{
    const struct track track = {GUESSES, 1};
    if (!count)
        return;
    add_name(writer, "process_name", track, "phases (a guess)");
    add_name(writer, "thread_name", track, "phases (a guess)");
    for (size_t i = 0; i < count; i++) {
        char name[64], watts[32];
        axis_format(phases[i].mean_watts, "W", 3, watts, sizeof watts);
        string_print(name, sizeof name, "phase %zu: %s", i + 1, watts);
        add_slice(writer, name, "phase", track, phases[i].begin_ns, phases[i].end_ns);
    }
}

joule_status perfetto_write(const struct record *record, const struct skyline_phase *phases,
                            size_t phase_count, const char *path, joule_error *out_error)
{
    struct output out;
    struct writer writer = {.record = record};
    joule_status status = output_open(path, &out, out_error);
    if (status != JOULE_OK)
        return status;
    writer.fd = out.fd;
    text_init(&writer.text, writer.bytes, sizeof writer.bytes);
    text_add(&writer.text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    add_name(&writer, "process_name", (struct track){PROGRAM, 0},
             *record->program ? record->program : "program");
    for (size_t id = 0; id < meter_channel_count(record->meter); id++) {
        const struct channel *channel = record->meter->channels[id].channel;
        if (channel->mode == CHANNEL_GAUGE)
            add_gauge(&writer, channel, &record->gauges[id]);
        else
            add_power(&writer, channel, (uint32_t)id);
    }
    add_phases(&writer, phases, phase_count);
    bool has_memory = add_regions(&writer);
    text_add(&writer.text, "\n]}\n");
    flush(&writer);
    status = output_close(&out, has_memory ? writer.error : ENOMEM, out_error);
    return has_memory ? status
                      : error_set(out_error, JOULE_NO_MEMORY, "cannot write %s: out of memory", path);
}
