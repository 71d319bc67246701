/* tools/joule/devices_entry.c - see devices_entry.h. */
#include "devices_entry.h"

#include <math.h>
#include "joule/curve/estimate.h"
#include "joule/report/text_table.h"

#define MAX_LISTED 64

bool device_row_get(joule_meter *meter, size_t position, struct arena *arena, struct device_row *out_row)
{
    *out_row = (struct device_row){.info.struct_size = sizeof out_row->info};
    if (joule_device_get(meter, position, &out_row->info) != JOULE_OK)
        return false;
    const char *name = out_row->info.name;
    out_row->processes = arena_alloc(arena, MAX_LISTED * sizeof *out_row->processes);
    out_row->partitions = arena_alloc(arena, MAX_LISTED * sizeof *out_row->partitions);
    if (!out_row->processes || !out_row->partitions)
        return false;
    out_row->process_count = joule_device_processes(meter, name, out_row->processes, MAX_LISTED);
    out_row->partition_count = joule_device_partitions(meter, name, out_row->partitions, MAX_LISTED);
    if (out_row->process_count > MAX_LISTED)
        out_row->process_count = MAX_LISTED;
    if (out_row->partition_count > MAX_LISTED)
        out_row->partition_count = MAX_LISTED;
    return true;
}

/* --- text ----------------------------------------------------------------------------------------------- */

/* A line of facts: "a, b, c". */
struct line {
    struct text *out;
    const char *indent;
    bool has_begun;
};

/* Begins the next fact of a line and returns the text to which it is written. */
static struct text *next_fact(struct line *line)
{
    text_add(line->out, line->has_begun ? ", " : line->indent);
    line->has_begun = true;
    return line->out;
}

static void end_line(struct line *line)
{
    text_add(line->out, line->has_begun ? "\n" : "");
    line->has_begun = false;
}

static void add_watts(struct line *line, const char *before, double watts, const char *after)
{
    char text[32];
    if (isnan(watts))
        return;
    joule_format(watts, JOULE_DIMENSION_POWER, 3, text, sizeof text);
    text_printf(next_fact(line), "%s%s%s", before, text, after);
}

static void add_gibibytes(struct line *line, uint64_t bytes, const char *after)
{
    if (bytes != JOULE_BYTES_UNKNOWN)
        text_printf(next_fact(line), "%.1f GiB %s", (double)bytes / (1 << 30), after);
}

static void add_word(struct line *line, const char *before, const char *word)
{
    if (!*word)
        return;
    text_add(next_fact(line), before);
    text_add_printable(line->out, word);
}

static void add_state(const joule_device *d, struct line *line)
{
    if (d->state == JOULE_STALE && !isnan(d->age_s))
        text_printf(next_fact(line), "no answer for %.0f s; the values below are old", d->age_s);
    else if (d->state != JOULE_OK)
        text_printf(next_fact(line), "state: %s", joule_status_name(d->state));
    end_line(line);
}

static void add_identity(const joule_device *d, struct line *line)
{
    add_word(line, "", d->uuid);
    add_word(line, "", d->pci_address);
    end_line(line);
    add_word(line, "", d->architecture);
    add_word(line, "compute capability ", d->compute_capability);
    add_word(line, "driver ", d->driver);
    end_line(line);
}

static void add_memory(const joule_device *d, struct line *line)
{
    add_gibibytes(line, d->memory_total_bytes, "of memory");
    add_gibibytes(line, d->memory_used_bytes, "used");
    if (d->process_count)
        text_printf(next_fact(line), "%u %s", d->process_count,
                    d->process_count == 1 ? "process" : "processes");
    end_line(line);
}

static void add_fan(const joule_device *d, struct line *line)
{
    if (!isnan(d->fan_rpm))
        text_printf(next_fact(line), "fan %.0f rpm", d->fan_rpm);
    if (!isnan(d->fan_ratio))
        text_printf(next_fact(line), "%s%.0f %%", isnan(d->fan_rpm) ? "fan " : "", 100 * d->fan_ratio);
    end_line(line);
}

static void add_errors(const joule_device *d, struct line *line)
{
    if (d->ecc_uncorrected > 0)
        text_printf(next_fact(line), "%.0f uncorrected ECC errors", d->ecc_uncorrected);
    if (d->last_xid > 0)
        text_printf(next_fact(line), "last Xid error %.0f", d->last_xid);
    end_line(line);
}

/* Omits limits that equal the configured power limit. */
static void add_limits(const joule_device *d, struct line *line)
{
    char max[32];
    add_watts(line, "power limit ", d->power_limit_watts, "");
    if (d->power_limit_default_watts != d->power_limit_watts)
        add_watts(line, "", d->power_limit_default_watts, " by default");
    if (d->power_limit_enforced_watts != d->power_limit_watts)
        add_watts(line, "", d->power_limit_enforced_watts, " enforced");
    add_watts(line, "can be set from ", d->power_limit_min_watts, "");
    if (!isnan(d->power_limit_min_watts) && !isnan(d->power_limit_max_watts)) {
        joule_format(d->power_limit_max_watts, JOULE_DIMENSION_POWER, 3, max, sizeof max);
        text_printf(line->out, " to %s", max);
    }
    end_line(line);
}

static bool has_reason(const joule_device *d, unsigned bit)
{
    return d->clock_reasons != JOULE_CLOCKS_UNKNOWN && (d->clock_reasons >> bit & 1);
}

static void add_reasons(const joule_device *d, struct line *line)
{
    for (unsigned bit = 0; bit < 32; bit++)
        if (has_reason(d, bit) && 1u << bit != JOULE_CLOCKS_IDLE)
            text_printf(next_fact(line), "%s%s",
                        line->has_begun ? "" : "clocks limited by: ", joule_clock_reason_name(1u << bit));
    end_line(line);
}

static void add_partitions(const struct device_row *row, struct line *line)
{
    if (row->partition_count == 0)
        return;
    text_printf(next_fact(line), "partitions: %zu; their energy is counted together", row->partition_count);
    end_line(line);
    for (size_t i = 0; i < row->partition_count; i++) {
        add_word(line, "", row->partitions[i].uuid);
        add_word(line, "", row->partitions[i].profile);
        if (row->partitions[i].instance != JOULE_INSTANCE_UNKNOWN)
            text_printf(next_fact(line), "instance %u/%u", row->partitions[i].instance,
                        row->partitions[i].compute_instance);
        end_line(line);
    }
}

void device_add_lines(const struct device_row *row, const char *indent, struct text *out)
{
    struct line line = {.out = out, .indent = indent};
    add_state(&row->info, &line);
    add_identity(&row->info, &line);
    add_memory(&row->info, &line);
    add_fan(&row->info, &line);
    add_errors(&row->info, &line);
    add_limits(&row->info, &line);
    add_reasons(&row->info, &line);
    add_partitions(row, &line);
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static void json_known_bytes(struct json *json, const char *key, uint64_t bytes)
{
    if (bytes <= INT64_MAX)
        json_integer(json, key, (int64_t)bytes);
    else
        json_null(json, key);
}

static void json_quantity(struct json *json, const char *key, const char *interval_key,
                          joule_quantity quantity)
{
    json_double(json, key, quantity.value);
    if (isnan(quantity.value)) {
        json_null(json, interval_key);
        return;
    }
    json_open(json, interval_key, '[');
    json_double(json, NULL, quantity.low);
    json_double(json, NULL, quantity.high);
    json_close(json, ']');
}

static void json_identity(const joule_device *d, struct json *json)
{
    json_string(json, "device", d->name);
    json_integer(json, "index", d->index);
    json_string(json, "state", joule_status_name(d->state));
    json_double(json, "age_seconds", d->age_s);
    json_text(json, "vendor", d->vendor);
    json_text(json, "model", d->model);
    json_text(json, "architecture", d->architecture);
    json_text(json, "compute_capability", d->compute_capability);
    json_text(json, "uuid", d->uuid);
    json_text(json, "pci_address", d->pci_address);
    json_text(json, "driver", d->driver);
}

static void json_load(const joule_device *d, struct json *json)
{
    json_known_bytes(json, "memory_total_bytes", d->memory_total_bytes);
    json_known_bytes(json, "memory_used_bytes", d->memory_used_bytes);
    json_known_bytes(json, "memory_free_bytes", d->memory_free_bytes);
    json_double(json, "utilisation", d->busy);
    json_double(json, "memory_utilisation", d->memory_busy);
    json_double(json, "temperature_celsius", d->temperature_celsius);
    json_double(json, "memory_temperature_celsius", d->memory_temperature_celsius);
    json_double(json, "clock_megahertz", d->clock_megahertz);
    json_double(json, "memory_clock_megahertz", d->memory_clock_megahertz);
}

static void json_condition(const joule_device *d, struct json *json)
{
    json_double(json, "fan_rpm", d->fan_rpm);
    json_double(json, "fan_ratio", d->fan_ratio);
    json_double(json, "encoder_utilisation", d->encoder_busy);
    json_double(json, "decoder_utilisation", d->decoder_busy);
    json_double(json, "pcie_receive_bytes_per_second", d->pcie_receive_bytes_per_second);
    json_double(json, "pcie_transmit_bytes_per_second", d->pcie_transmit_bytes_per_second);
    json_double(json, "pcie_replays", d->pcie_replays);
    json_double(json, "ecc_corrected", d->ecc_corrected);
    json_double(json, "ecc_uncorrected", d->ecc_uncorrected);
    json_double(json, "ecc_corrected_lifetime", d->ecc_corrected_lifetime);
    json_double(json, "ecc_uncorrected_lifetime", d->ecc_uncorrected_lifetime);
    json_double(json, "xid_count", d->xid_count);
    json_double(json, "last_xid", d->last_xid);
    json_text(json, "remedy", d->remedy);
}

static void json_power(const joule_device *d, struct json *json)
{
    if (d->domain >= 0)
        json_integer(json, "domain", d->domain);
    else
        json_null(json, "domain");
    json_quantity(json, "power_watts", "power_interval_watts", d->power_watts);
    json_quantity(json, "energy_joules", "energy_interval_joules", d->energy_joules);
    json_string(json, "class", joule_class_name(quantity_first_known(d->energy_joules, d->power_watts).cls));
    json_double(json, "power_limit_watts", d->power_limit_watts);
    json_double(json, "power_limit_default_watts", d->power_limit_default_watts);
    json_double(json, "power_limit_enforced_watts", d->power_limit_enforced_watts);
    json_double(json, "power_limit_least_watts", d->power_limit_min_watts);
    json_double(json, "power_limit_most_watts", d->power_limit_max_watts);
}

static void json_reasons(const joule_device *d, struct json *json)
{
    if (d->clock_reasons == JOULE_CLOCKS_UNKNOWN) {
        json_null(json, "clock_reasons");
        return;
    }
    json_open(json, "clock_reasons", '[');
    for (unsigned bit = 0; bit < 32; bit++)
        if (has_reason(d, bit))
            json_string(json, NULL, joule_clock_reason_name(1u << bit));
    json_close(json, ']');
}

static void json_instance(struct json *json, const char *key, uint32_t number)
{
    if (number == JOULE_INSTANCE_UNKNOWN)
        json_null(json, key);
    else
        json_integer(json, key, number);
}

static void json_partitions(const struct device_row *row, struct json *json)
{
    json_open(json, "partitions", '[');
    for (size_t i = 0; i < row->partition_count; i++) {
        json_open(json, NULL, '{');
        json_text(json, "uuid", row->partitions[i].uuid);
        json_text(json, "profile", row->partitions[i].profile);
        json_instance(json, "instance", row->partitions[i].instance);
        json_instance(json, "compute_instance", row->partitions[i].compute_instance);
        json_known_bytes(json, "memory_total_bytes", row->partitions[i].memory_total_bytes);
        json_known_bytes(json, "memory_used_bytes", row->partitions[i].memory_used_bytes);
        json_known_bytes(json, "memory_free_bytes", row->partitions[i].memory_free_bytes);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_processes(const struct device_row *row, struct json *json)
{
    if (!row->info.has_process_list) {
        json_null(json, "processes");
        return;
    }
    json_open(json, "processes", '[');
    for (size_t i = 0; i < row->process_count; i++) {
        json_open(json, NULL, '{');
        json_integer(json, "pid", (int64_t)row->processes[i].pid);
        json_known_bytes(json, "memory_bytes", row->processes[i].memory_bytes);
        json_double(json, "utilisation", row->processes[i].busy);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void device_add_json(const struct device_row *row, struct json *json)
{
    json_open(json, NULL, '{');
    json_identity(&row->info, json);
    json_load(&row->info, json);
    json_condition(&row->info, json);
    json_power(&row->info, json);
    json_reasons(&row->info, json);
    json_partitions(row, json);
    json_processes(row, json);
    json_close(json, '}');
}
