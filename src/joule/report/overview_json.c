/* joule/report/overview_json.c - writes an overview as JSON for programs and for the page of `joule serve`.
 *
 * Note: every key is always present. null means that the value is unknown, or does not apply to this domain.
 */
#include <math.h>
#include "base/json_writer.h"
#include "joule/attribute/attribute_tenant.h"
#include "joule/report/overview.h"

#define SCHEMA "joule-serve-1"

/* Adds a quantity's value, interval and class as four keys: "power_watts":1.5,"power_low_watts":1.4, ... */
static void add_quantity(struct json *json, const char *const keys[4], joule_quantity q)
{
    json_double(json, keys[0], q.value);
    json_double(json, keys[1], q.low);
    json_double(json, keys[2], q.high);
    json_text(json, keys[3], isnan(q.value) ? "" : joule_class_name(q.cls));
}

static const char *const energy_keys[] = {"energy_joules", "energy_low_joules", "energy_high_joules",
                                          "energy_class"};
static const char *const power_keys[] = {"power_watts", "power_low_watts", "power_high_watts", "power_class"};

static void add_domain(struct json *json, const struct overview_domain *row)
{
    const joule_domain *domain = &row->domain;
    json_open(json, NULL, '{');
    json_integer(json, "id", domain->id);
    json_string(json, "name", domain->name);
    json_text(json, "label", domain->label);
    json_text(json, "device", domain->device);
    json_string(json, "scope", joule_scope_name(domain->scope));
    json_string(json, "reading", joule_reading_kind_name(domain->reading));
    json_string(json, "source", domain->source);
    json_string(json, "state", joule_status_name(domain->state));
    json_bool(json, "in_total", domain->in_total);
    json_text(json, "model", domain->model);
    json_text(json, "remedy", domain->remedy);
    json_double(json, "age_seconds", row->age_s);
    add_quantity(json, energy_keys, row->joules);
    add_quantity(json, power_keys, row->watts);
    json_double(json, "temperature_celsius", row->temperature_celsius);
    json_double(json, "clock_megahertz", row->clock_megahertz);
    json_double(json, "utilisation", row->utilisation);
    json_close(json, '}');
}

static void add_limits(struct json *json, const joule_device *device)
{
    json_double(json, "power_limit_watts", device->power_limit_watts);
    json_double(json, "power_limit_default_watts", device->power_limit_default_watts);
    json_double(json, "power_limit_enforced_watts", device->power_limit_enforced_watts);
    json_double(json, "power_limit_least_watts", device->power_limit_min_watts);
    json_double(json, "power_limit_most_watts", device->power_limit_max_watts);
}

/* Adds video engines, the PCIe link, errors, and why joules are unknown. */
static void add_condition(struct json *json, const joule_device *device)
{
    json_double(json, "encoder_busy", device->encoder_busy);
    json_double(json, "decoder_busy", device->decoder_busy);
    json_double(json, "pcie_receive_bytes_per_second", device->pcie_receive_bytes_per_second);
    json_double(json, "pcie_transmit_bytes_per_second", device->pcie_transmit_bytes_per_second);
    json_double(json, "pcie_replays", device->pcie_replays);
    json_double(json, "ecc_corrected", device->ecc_corrected);
    json_double(json, "ecc_uncorrected", device->ecc_uncorrected);
    json_double(json, "ecc_corrected_lifetime", device->ecc_corrected_lifetime);
    json_double(json, "ecc_uncorrected_lifetime", device->ecc_uncorrected_lifetime);
    json_double(json, "xid_count", device->xid_count);
    json_double(json, "last_xid", device->last_xid);
    json_text(json, "remedy", device->remedy);
}

static void add_device(struct json *json, const struct overview_device *row)
{
    const joule_device *device = &row->device;
    json_open(json, NULL, '{');
    json_string(json, "name", device->name);
    json_string(json, "state", joule_status_name(device->state));
    json_double(json, "age_seconds", device->age_s);
    json_text(json, "vendor", device->vendor);
    json_text(json, "model", device->model);
    json_text(json, "architecture", device->architecture);
    json_text(json, "compute_capability", device->compute_capability);
    json_text(json, "uuid", device->uuid);
    json_text(json, "pci_address", device->pci_address);
    json_text(json, "driver", device->driver);
    json_double(json, "memory_total_bytes", row->memory_total_bytes);
    json_double(json, "memory_used_bytes", row->memory_used_bytes);
    json_double(json, "memory_free_bytes", row->memory_free_bytes);
    json_double(json, "busy", device->busy);
    json_double(json, "memory_busy", device->memory_busy);
    json_double(json, "temperature_celsius", device->temperature_celsius);
    json_double(json, "memory_temperature_celsius", device->memory_temperature_celsius);
    json_double(json, "fan_rpm", device->fan_rpm);
    json_double(json, "fan_ratio", device->fan_ratio);
    add_condition(json, device);
    json_double(json, "clock_megahertz", device->clock_megahertz);
    json_double(json, "memory_clock_megahertz", device->memory_clock_megahertz);
    add_limits(json, device);
    json_double(json, "process_count", row->process_count);
    json_double(json, "partition_count", row->partition_count);
    add_quantity(json, energy_keys, device->energy_joules);
    add_quantity(json, power_keys, device->power_watts);
    json_close(json, '}');
}

static void add_sum(struct json *json, const struct overview_sum *sum)
{
    json_open(json, sum->part, '{');
    json_text(json, "cover", sum->cover);
    json_bool(json, "partial", sum->is_partial);
    add_quantity(json, energy_keys, sum->joules);
    add_quantity(json, power_keys, sum->watts);
    json_close(json, '}');
}

static void add_tenant(struct json *json, const struct tenant *tenant)
{
    json_open(json, NULL, '{');
    json_string(json, "path", tenant->path);
    json_string(json, "kind", tenant->name.kind);
    json_text(json, "slurm_job", tenant->name.slurm_job);
    json_text(json, "user", tenant->name.user);
    json_text(json, "pod", tenant->name.pod);
    json_text(json, "namespace", tenant->name.namespace);
    json_text(json, "container", tenant->name.container);
    json_text(json, "pod_uid", tenant->name.pod_uid);
    json_text(json, "container_id", tenant->name.container_id);
    json_text(json, "unit", tenant->name.unit);
    json_double(json, "cpu_seconds", tenant->cpu_s);
    json_double(json, "cpu_joules", tenant->cpu_joules);
    json_double(json, "gpu_joules", tenant->gpu_joules);
    json_close(json, '}');
}

/* Adds the energy by tenant; null if it is off. */
static void add_tenants(struct json *json, const struct tenants *tenants)
{
    if (!tenants) {
        json_null(json, "shares");
        return;
    }
    json_open(json, "shares", '{');
    json_text(json, "cpu_class", tenants->cpu_class ? joule_class_name(tenants->cpu_class) : "");
    json_text(json, "gpu_class", tenants->gpu_class ? joule_class_name(tenants->gpu_class) : "");
    json_double(json, "unattributed_cpu_joules", tenants->rest_cpu_joules);
    json_double(json, "unattributed_gpu_joules", tenants->rest_gpu_joules);
    json_double(json, "ended_cpu_joules", tenants->ended_cpu_joules);
    json_double(json, "ended_gpu_joules", tenants->ended_gpu_joules);
    json_open(json, "tenants", '[');
    for (size_t i = 0; i < tenants->count; i++)
        add_tenant(json, &tenants->list[i]);
    json_close(json, ']');
    json_close(json, '}');
}

void overview_json(const struct overview *overview, struct text *out)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "schema", SCHEMA);
    json_string(&json, "joule_version", joule_version());
    json_text(&json, "hostname", overview->hostname);
    json_double(&json, "unix_time_seconds", overview->unix_time_s);
    json_double(&json, "measuring_seconds", overview->age_s);
    json_double(&json, "period_seconds", overview->period_s);
    json_open(&json, "totals", '{');
    for (size_t i = 0; i < OVERVIEW_SUMS; i++)
        add_sum(&json, &overview->sums[i]);
    json_close(&json, '}');
    json_open(&json, "domains", '[');
    for (size_t i = 0; i < overview->domain_count; i++)
        add_domain(&json, &overview->domains[i]);
    json_close(&json, ']');
    json_open(&json, "devices", '[');
    for (size_t i = 0; i < overview->device_count; i++)
        add_device(&json, &overview->devices[i]);
    json_close(&json, ']');
    add_tenants(&json, overview->tenants);
    json_open(&json, "sources", '[');
    for (size_t i = 0; i < overview->source_count; i++) {
        json_open(&json, NULL, '{');
        json_string(&json, "name", overview->sources[i].name);
        json_string(&json, "state", joule_status_name(overview->sources[i].state));
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
    text_add(out, "\n");
}
