/* tools/plot/perfetto.c - see perfetto.h.
 *
 * The trace is written in pieces, because the whole may not fit in memory.
 */
#include "plot/perfetto.h"

#include <errno.h>
#include <math.h>
#include "base/json_writer.h"
#include "common/output.h"

#define PROCESS    1 /* number of the traced program; its threads are those of the regions */
#define GAP_THREAD 1000000u
#define MAX_EVENT  1024 /* bytes of an event; names have less than 100 characters, each up to 6 bytes long */

struct writer {
    const struct record *record;
    int fd;
    int error; /* errno of the first failed write; 0: none */
    bool follows;
    struct text text;
    char bytes[64 * 1024];
};

static void flush(struct writer *writer)
{
    if (!writer->error && !output_write_all(writer->fd, writer->bytes, writer->text.length))
        writer->error = errno;
    text_init(&writer->text, writer->bytes, sizeof writer->bytes);
}

/* Begins an event of a phase (a letter of the format). */
static struct json begin_event(struct writer *writer, const char *phase, uint32_t thread)
{
    if (writer->text.length + MAX_EVENT > sizeof writer->bytes)
        flush(writer);
    text_add(&writer->text, writer->follows ? ",\n" : "\n");
    writer->follows = true;
    struct json json = {.out = &writer->text};
    json_open(&json, NULL, '{');
    json_string(&json, "ph", phase);
    json_integer(&json, "pid", PROCESS);
    json_integer(&json, "tid", thread);
    return json;
}

static double microseconds(const struct writer *writer, int64_t time_ns)
{
    return (double)(time_ns - writer->record->begin_ns) / 1000;
}

/* Names the process (kind "process_name") or a thread ("thread_name"). */
static void add_name(struct writer *writer, const char *kind, uint32_t thread, const char *name)
{
    struct json json = begin_event(writer, "M", thread);
    json_string(&json, "name", kind);
    json_open(&json, "args", '{');
    json_string(&json, "name", name);
    json_close(&json, '}');
    json_close(&json, '}');
}

static void add_counter(struct writer *writer, const char *name, const char *unit, int64_t time_ns,
                        double value)
{
    struct json json = begin_event(writer, "C", 0);
    json_string(&json, "name", name);
    json_double(&json, "ts", microseconds(writer, time_ns));
    json_open(&json, "args", '{');
    json_double(&json, unit, value);
    json_close(&json, '}');
    json_close(&json, '}');
}

static void add_slice(struct writer *writer, const char *name, const char *category, uint32_t thread,
                      int64_t begin_ns, int64_t end_ns)
{
    struct json json = begin_event(writer, "X", thread);
    json_string(&json, "name", name);
    json_string(&json, "cat", category);
    json_double(&json, "ts", microseconds(writer, begin_ns));
    json_double(&json, "dur", (double)(end_ns - begin_ns) / 1000);
    json_close(&json, '}');
}

/* Adds the power of each step of a curve. A step with the same power as the step before needs no event. */
static void add_power(struct writer *writer, const struct channel *channel)
{
    const struct curve *curve = &channel->curve;
    char name[80];
    string_print(name, sizeof name, "power %s (%s)", channel->info.name, joule_class_name(channel->info.cls));
    double before = NAN;
    for (size_t i = 0; i + 1 < curve->count && !writer->error; i++) {
        const struct curve_point *from = &curve->points[i], *to = from + 1;
        double covered_s = to->covered_s - from->covered_s;
        if (to->time_ns <= from->time_ns)
            continue;
        if (!(covered_s > 0)) {
            char gap[80];
            string_print(gap, sizeof gap, "no data: %s", channel->info.name);
            add_slice(writer, gap, "gap", GAP_THREAD, from->time_ns, to->time_ns);
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

static void add_regions(struct writer *writer)
{
    const struct record *record = writer->record;
    bool is_named[256] = {false};
    for (size_t i = 0; i < record->region_count && !writer->error; i++) {
        const struct record_region *region = &record->regions[i];
        if (region->thread < sizeof is_named && !is_named[region->thread]) {
            char name[32];
            string_print(name, sizeof name, "thread %u", (unsigned)region->thread);
            add_name(writer, "thread_name", region->thread + 1, name);
            is_named[region->thread] = true;
        }
        if (region->end_ns >= region->begin_ns && region->end_ns <= INT64_MAX)
            add_slice(writer, record->names[region->name], "region", region->thread + 1,
                      (int64_t)region->begin_ns, (int64_t)region->end_ns);
    }
}

joule_status perfetto_write(const struct record *record, const char *path, joule_error *out_error)
{
    struct output out;
    struct writer writer = {.record = record};
    joule_status status = output_open(path, &out, out_error);
    if (status != JOULE_OK)
        return status;
    writer.fd = out.fd;
    text_init(&writer.text, writer.bytes, sizeof writer.bytes);
    text_add(&writer.text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    add_name(&writer, "process_name", 0, *record->program ? record->program : "program");
    add_name(&writer, "thread_name", GAP_THREAD, "sensors");
    for (size_t id = 0; id < meter_channel_count(record->meter); id++) {
        const struct channel *channel = record->meter->channels[id].channel;
        if (channel->mode == CHANNEL_GAUGE)
            add_gauge(&writer, channel, &record->gauges[id]);
        else
            add_power(&writer, channel);
    }
    add_regions(&writer);
    text_add(&writer.text, "\n]}\n");
    flush(&writer);
    return output_close(&out, writer.error, out_error);
}
