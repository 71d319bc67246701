/* joule/report/report_json.c - writes a report as one JSON object.
 *
 * docs/report.schema.json defines the keys. Within "joule-report-1" a key is never renamed, removed or
 * given another meaning.
 * Note: every key is always present; null means unknown. An energy has three keys: energy_joules,
 * interval_joules (5 % and 95 % point) and class.
 */
#include <math.h>
#include <string.h>
#include <joule/joule.h>
#include "base/json_writer.h"
#include "joule/report/report.h"

/* Adds an interval as [low, high]; null if the quantity is unknown. */
static void add_interval(struct json *json, const char *key, joule_quantity q)
{
    if (isnan(q.value)) {
        json_null(json, key);
        return;
    }
    json_open(json, key, '[');
    json_double(json, NULL, q.low);
    json_double(json, NULL, q.high);
    json_close(json, ']');
}

/* Adds the three keys of an energy to the open object. */
static void add_energy_keys(struct json *json, joule_quantity q)
{
    json_double(json, "energy_joules", q.value);
    add_interval(json, "interval_joules", q);
    json_string(json, "class", joule_class_name(q.cls));
}

static void add_energy(struct json *json, const char *key, joule_quantity q)
{
    json_open(json, key, '{');
    add_energy_keys(json, q);
    json_close(json, '}');
}

static void add_power(struct json *json, const char *key, joule_quantity q)
{
    json_open(json, key, '{');
    json_double(json, "power_watts", q.value);
    add_interval(json, "interval_watts", q);
    json_string(json, "class", joule_class_name(q.cls));
    json_close(json, '}');
}

static void add_gross(struct json *json, const struct report *report)
{
    json_open(json, "gross", '{');
    add_energy_keys(json, report->total_joules);
    json_double(json, "confidence", joule_confidence(report->total_joules));
    json_string(json, "cover", report->cover);
    json_double(json, "coverage", report->coverage);
    json_bool(json, "partial", report->is_partial);
    json_string(json, "partial_reason", report->is_partial ? report->partial_reason : NULL);
    add_power(json, "mean_power", report->mean_watts);
    json_open(json, "by_class", '{');
    for (joule_class cls = JOULE_CLASS_MEASURED; cls <= JOULE_CLASS_ASSUMED; cls++)
        add_energy(json, joule_class_name(cls), report->by_class[cls]);
    json_close(json, '}');
    json_close(json, '}');
}

static void add_command(struct json *json, const struct report *report)
{
    const struct attribution *share = &report->share;
    if (share->method == ATTRIBUTE_NONE) {
        json_null(json, "command");
        return;
    }
    json_open(json, "command", '{');
    add_energy_keys(json, report->command_joules);
    json_double(json, "confidence", joule_confidence(report->command_joules));
    json_double(json, "share", share->share);
    json_string(json, "method", attribute_method_name(share->method));
    json_double(json, "cpu_seconds", share->command_cpu_s);
    json_double(json, "machine_busy_cpu_seconds", share->machine_busy_cpu_s);
    json_double(json, "machine_cpu_seconds", share->machine_cpu_s);
    if (report->has_exit_status)
        json_integer(json, "exit_status", report->exit_status);
    else
        json_null(json, "exit_status");
    if (report->signal)
        json_integer(json, "signal", report->signal);
    else
        json_null(json, "signal");
    json_double(json, "stopped_seconds", report->stopped_s);
    json_close(json, '}');
}

static void add_net(struct json *json, const struct report *report)
{
    json_open(json, "net", '{');
    add_energy_keys(json, report->net_joules);
    add_power(json, "idle_power", report->idle_watts);
    json_string(json, "idle_measured_at", report->idle_date);
    json_double(json, "idle_busy_share", report->idle_busy);
    json_close(json, '}');
}

/* Adds the status of a budget; null if there is no limit. */
static void add_status(struct json *json, double limit, joule_budget_status status)
{
    json_string(json, "status", isnan(limit) ? NULL : joule_budget_status_name(status));
}

static void add_budget(struct json *json, const struct report *report)
{
    if (isnan(report->budget_joules)) {
        json_null(json, "budget");
        return;
    }
    json_open(json, "budget", '{');
    json_double(json, "budget_joules", report->budget_joules);
    json_double(json, "budget_probability", report->budget_probability);
    add_status(json, report->budget_joules, report->budget_status);
    json_double(json, "overshoot_bound_joules", report->overshoot_bound_joules);
    json_close(json, '}');
}

static void add_device(struct json *json, const struct report_device *device)
{
    json_open(json, NULL, '{');
    json_string(json, "type", device->type);
    json_text(json, "vendor", device->vendor);
    json_text(json, "model", device->model);
    if (device->index >= 0)
        json_integer(json, "index", device->index);
    else
        json_null(json, "index");
    add_energy_keys(json, device->energy_joules);
    json_double(json, "confidence", joule_confidence(device->energy_joules));
    json_string(json, "measurement", device->measurement);
    json_integer(json, "tier", device->tier);
    json_string(json, "cover", device->cover);
    json_double(json, "coverage", device->coverage);
    json_close(json, '}');
}

/* Adds a count, limited to INT64_MAX. */
static void add_count(struct json *json, const char *key, uint64_t count)
{
    json_integer(json, key, count < INT64_MAX ? (int64_t)count : INT64_MAX);
}

static void add_function(struct json *json, const struct report *report, const struct tag_row *row)
{
    const joule_result *result = &row->result;
    joule_quantity joules = result->attributed;
    char device[REPORT_DEVICE_SIZE];
    report_function_device(report, row, device);
    json_open(json, NULL, '{');
    json_string(json, "name", row->name);
    add_energy_keys(json, joules);
    json_string(json, "device", device);
    json_double(json, "confidence", joule_confidence(joules));
    json_double(json, "budget_joules", row->budget_joules);
    json_double(json, "budget_probability", joule_probability_below(joules, row->budget_joules));
    add_status(json, row->budget_joules, report_function_status(row));
    add_count(json, "count", result->count);
    add_count(json, "folded", result->folded);
    json_bool(json, "counted", row->flags & TAG_COUNTED);
    json_double(json, "stamps_joules", row->timestamp_joules.value);
    json_double(json, "duration_seconds", result->duration_s);
    json_double(json, "coverage", result->coverage);
    json_bool(json, "final", result->is_final);
    json_bool(json, "synchronised", !row->unsynchronised);
    add_energy(json, "window", result->window);
    add_energy(json, "self", result->self);
    add_energy(json, "cpu", result->cpu);
    add_energy(json, "gpu", result->gpu);
    json_close(json, '}');
}

static void add_region_limits(struct json *json, const struct report *report)
{
    add_count(json, "folded_regions", report->folded_regions);
    json_open(json, "limits", '{');
    add_count(json, "regions_without_slot", report->limits.slotless);
    add_count(json, "names_beyond_table", report->limits.unnamed_tags);
    add_count(json, "regions_not_stored", report->limits.unstored);
    add_count(json, "implausible_entries", report->limits.implausible);
    add_count(json, "sensors_beyond_table", report->unlisted_channels);
    json_close(json, '}');
}

static void add_runs(struct json *json, const struct report *report)
{
    json_open(json, "runs", '[');
    for (size_t i = 0; i < report_run_count(report); i++) {
        struct report_run run = report_run(report, i);
        json_open(json, NULL, '{');
        add_energy_keys(json, run.joules);
        add_energy(json, "command", run.command_joules);
        json_double(json, "duration_seconds", run.seconds);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void add_mean(struct json *json, const struct report *report)
{
    struct report_mean mean = report_mean(report);
    if (isnan(mean.joules.value)) {
        json_null(json, "mean_run");
        return;
    }
    json_open(json, "mean_run", '{');
    add_energy_keys(json, mean.joules);
    json_double(json, "standard_deviation_joules", mean.sd_joules);
    json_string(json, "of", report_leads_with_command(report) ? "command" : "gross");
    json_close(json, '}');
}

/* Returns true if a later label has the same key. Only the last label with a key is written, because JSON
 * readers disagree about duplicate keys. */
static bool is_overridden(const struct report *report, size_t i)
{
    for (size_t k = i + 1; k < report->label_count; k++)
        if (strcmp(report->labels[k].key, report->labels[i].key) == 0)
            return true;
    return false;
}

static void add_labels(struct json *json, const struct report *report)
{
    json_open(json, "labels", '{');
    for (size_t i = 0; i < report->label_count; i++)
        if (!is_overridden(report, i))
            json_string(json, report->labels[i].key, report->labels[i].value);
    json_close(json, '}');
}

static void add_overhead(struct json *json, const struct report *report)
{
    json_open(json, "overhead", '{');
    json_double(json, "cpu_seconds", report->overhead_cpu_s);
    json_double(json, "core_share", report->overhead_share);
    json_integer(json, "ticks", (int64_t)report->ticks);
    json_integer(json, "overruns", (int64_t)report->overruns);
    json_double(json, "waited_seconds", report->waited_s);
    json_string(json, "waited_for", report->waited_for);
    json_close(json, '}');
}

void report_json(const struct report *report, struct text *out)
{
    char timestamp[REPORT_TIME_SIZE];
    struct json json = {.out = out};
    report_time(report->begin_realtime_ns, timestamp);
    json_open(&json, NULL, '{');
    json_string(&json, "schema", REPORT_SCHEMA);
    json_string(&json, "joule_version", joule_version());
    json_string(&json, "program", report->program);
    json_string(&json, "timestamp", timestamp);
    json_double(&json, "duration_seconds", report->duration_s);
    json_double(&json, "total_energy_joules", report->total_joules.value);
    add_gross(&json, report);
    add_command(&json, report);
    add_net(&json, report);
    add_budget(&json, report);
    json_open(&json, "devices", '[');
    for (size_t i = 0; i < report->device_count; i++)
        add_device(&json, &report->devices[i]);
    json_close(&json, ']');
    json_open(&json, "functions", '[');
    for (size_t i = 0; i < report->function_count; i++)
        add_function(&json, report, &report->functions[i]);
    json_close(&json, ']');
    add_region_limits(&json, report);
    add_runs(&json, report);
    add_mean(&json, report);
    add_labels(&json, report);
    add_overhead(&json, report);
    json_string(&json, "advice", report->first_advice);
    json_close(&json, '}');
}
