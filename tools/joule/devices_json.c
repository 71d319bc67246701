/* tools/joule/devices_json.c - `joule devices --json`: see devices.h.
 *
 * Prints the object of docs/devices.schema.json; devices_entry.c prints the part of a device.
 *
 * Note: each domain has all keys; null means unknown, or not applicable to the domain.
 */
#include <math.h>
#include "base/json_writer.h"
#include "devices.h"

#define SCHEMA "joule-devices-2"

static void add_power(struct json *json, joule_quantity watts)
{
    json_double(json, "power_watts", watts.value);
    if (isnan(watts.value)) {
        json_null(json, "interval_watts");
        return;
    }
    json_open(json, "interval_watts", '[');
    json_double(json, NULL, watts.low);
    json_double(json, NULL, watts.high);
    json_close(json, ']');
}

static void add_domain(struct json *json, const struct row *row)
{
    const joule_domain *domain = &row->domain;
    json_open(json, NULL, '{');
    json_integer(json, "id", domain->id);
    json_string(json, "name", domain->name);
    json_text(json, "label", domain->label);
    if (domain->parent >= 0)
        json_integer(json, "parent", domain->parent);
    else
        json_null(json, "parent");
    json_string(json, "scope", joule_scope_name(domain->scope));
    json_string(json, "reading", joule_reading_kind_name(domain->reading));
    json_text(json, "device", domain->device);
    json_string(json, "source", domain->source);
    json_string(json, "measurement", domain->measurement);
    json_integer(json, "tier", domain->tier);
    json_string(json, "state", joule_status_name(domain->state));
    json_string(json, "class", joule_class_name(domain->cls));
    json_bool(json, "in_total", domain->in_total);
    json_double(json, "update_period_seconds", domain->update_period_s);
    json_text(json, "vendor", domain->vendor);
    json_text(json, "model", domain->model);
    json_text(json, "uuid", domain->uuid);
    json_text(json, "remedy", domain->remedy);
    add_power(json, row->watts);
    json_double(json, "temperature_celsius", domain->reading == JOULE_READING_TEMPERATURE ? row->gauge : NAN);
    json_double(json, "clock_megahertz", domain->reading == JOULE_READING_CLOCK ? row->gauge : NAN);
    json_double(json, "utilisation", domain->reading == JOULE_READING_UTILISATION ? row->gauge : NAN);
    json_close(json, '}');
}

static void add_source(struct json *json, const struct source_row *source)
{
    json_open(json, NULL, '{');
    json_string(json, "name", source->name);
    json_string(json, "measurement", source->measurement);
    json_integer(json, "tier", source->tier);
    json_string(json, "state", joule_status_name(source->state));
    json_integer(json, "domain_count", (int64_t)source->domain_count);
    json_text(json, "remedy", source->state == JOULE_OK ? "" : source->remedy);
    json_close(json, '}');
}

void listing_json(const void *context, struct text *out)
{
    const struct listing *listing = context;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "schema", SCHEMA);
    json_string(&json, "joule_version", joule_version());
    json_open(&json, "total", '{');
    json_text(&json, "cover", listing->total_cover);
    json_bool(&json, "partial", listing->is_partial);
    json_string(&json, "class", joule_class_name(listing->total_watts.cls));
    add_power(&json, listing->total_watts);
    json_close(&json, '}');
    json_open(&json, "domains", '[');
    for (size_t i = 0; i < listing->row_count; i++)
        add_domain(&json, &listing->rows[i]);
    json_close(&json, ']');
    json_open(&json, "devices", '[');
    for (size_t i = 0; i < listing->device_count; i++)
        device_add_json(&listing->devices[i], &json);
    json_close(&json, ']');
    json_open(&json, "sources", '[');
    for (size_t i = 0; i < listing->source_count; i++)
        add_source(&json, &listing->sources[i]);
    json_close(&json, ']');
    json_close(&json, '}');
    text_add(out, "\n");
}
