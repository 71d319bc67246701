/* joule/report/metrics_device.c - writes Joule's own families about GPUs and accelerators; see metrics.h.
 *
 * The families describe properties that domains lack: a device's identity, memory, limits, load and
 * temperature.
 * Note: joule_device_energy_joules is the energy of the domain that covers the device best.
 * joule_energy_joules contains the same energy by domain. Query the first for boards, the second for
 * sensors.
 */
#include "joule/curve/estimate.h"
#include "joule/report/metrics.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define ROW             struct overview_device

/* Families with one sample for each device. */
static const struct metric_column columns[] = {
    {{"joule_device_energy_joules", METRIC_COUNTER, "joules", "Energy of a device since measuring began"},
     offsetof(ROW, device.energy_joules.value)},
    {{"joule_device_power_watts", METRIC_GAUGE, "watts", "Mean power of a device over its last readings"},
     offsetof(ROW, device.power_watts.value)},
    {{"joule_device_busy_ratio", METRIC_GAUGE, "ratio", "Share of time in which a device had work"},
     offsetof(ROW, device.busy)},
    {{"joule_device_memory_busy_ratio", METRIC_GAUGE, "ratio",
      "Share of time in which a device's memory was read or written"},
     offsetof(ROW, device.memory_busy)},
    {{"joule_device_memory_total_bytes", METRIC_GAUGE, "bytes", "A device's own memory"},
     offsetof(ROW, memory_total_bytes)},
    {{"joule_device_memory_used_bytes", METRIC_GAUGE, "bytes", "A device's own memory that is in use"},
     offsetof(ROW, memory_used_bytes)},
    {{"joule_device_memory_free_bytes", METRIC_GAUGE, "bytes", "A device's own memory that is free"},
     offsetof(ROW, memory_free_bytes)},
    {{"joule_device_temperature_celsius", METRIC_GAUGE, "celsius", "Highest temperature of a device's chip"},
     offsetof(ROW, device.temperature_celsius)},
    {{"joule_device_memory_temperature_celsius", METRIC_GAUGE, "celsius", "Temperature of a device's memory"},
     offsetof(ROW, device.memory_temperature_celsius)},
    {{"joule_device_clock_hertz", METRIC_GAUGE, "hertz", "Clock of a device's compute units"},
     offsetof(ROW, device.clock_megahertz),
     1e6},
    {{"joule_device_memory_clock_hertz", METRIC_GAUGE, "hertz", "Clock of a device's memory"},
     offsetof(ROW, device.memory_clock_megahertz),
     1e6},
    {{"joule_device_fan_rpm", METRIC_GAUGE, NULL,
      "Speed of a device's fastest fan in revolutions per minute"},
     offsetof(ROW, device.fan_rpm)},
    {{"joule_device_fan_ratio", METRIC_GAUGE, "ratio",
      "Speed of a device's fastest fan as a share of its highest speed"},
     offsetof(ROW, device.fan_ratio)},
    {{"joule_device_encoder_busy_ratio", METRIC_GAUGE, "ratio",
      "Share of time in which a device encoded video"},
     offsetof(ROW, device.encoder_busy)},
    {{"joule_device_decoder_busy_ratio", METRIC_GAUGE, "ratio",
      "Share of time in which a device decoded video"},
     offsetof(ROW, device.decoder_busy)},
    {{"joule_device_pcie_receive_bytes_per_second", METRIC_GAUGE, NULL,
      "Rate of data that a device receives over its PCIe link"},
     offsetof(ROW, device.pcie_receive_bytes_per_second)},
    {{"joule_device_pcie_transmit_bytes_per_second", METRIC_GAUGE, NULL,
      "Rate of data that a device sends over its PCIe link"},
     offsetof(ROW, device.pcie_transmit_bytes_per_second)},
    {{"joule_device_pcie_replays", METRIC_COUNTER, NULL, "Retries of a device's PCIe link"},
     offsetof(ROW, device.pcie_replays)},
    {{"joule_device_xid_errors", METRIC_COUNTER, NULL, "Xid errors of a device since measuring began"},
     offsetof(ROW, device.xid_count)},
    {{"joule_device_processes", METRIC_GAUGE, NULL, "Processes that use a device"},
     offsetof(ROW, process_count)},
    {{"joule_device_partitions", METRIC_GAUGE, NULL, "MIG instances or compute partitions of a device"},
     offsetof(ROW, partition_count)},
    {{"joule_device_age_seconds", METRIC_GAUGE, "seconds", "Time since a device last answered"},
     offsetof(ROW, device.age_s)},
};

static const struct {
    const char *word;
    size_t offset;
} limits[] = {
    {"set", offsetof(joule_device, power_limit_watts)},
    {"default", offsetof(joule_device, power_limit_default_watts)},
    {"enforced", offsetof(joule_device, power_limit_enforced_watts)},
    {"least", offsetof(joule_device, power_limit_min_watts)},
    {"most", offsetof(joule_device, power_limit_max_watts)},
};

static const struct {
    const char *kind, *period;
    size_t offset;
} ecc_errors[] = {
    {"corrected", "driver", offsetof(joule_device, ecc_corrected)},
    {"uncorrected", "driver", offsetof(joule_device, ecc_uncorrected)},
    {"corrected", "lifetime", offsetof(joule_device, ecc_corrected_lifetime)},
    {"uncorrected", "lifetime", offsetof(joule_device, ecc_uncorrected_lifetime)},
};

static void label_device(struct metrics *metrics, const void *row)
{
    const joule_device *device = &((const struct overview_device *)row)->device;
    metrics_label(metrics, "device", device->name);
    if (metrics_has_class(metrics))
        metrics_label(metrics, "class",
                      joule_class_name(quantity_first_known(device->energy_joules, device->power_watts).cls));
}

static void add_info(struct metrics *metrics, const joule_device *device)
{
    metrics_open(metrics);
    metrics_label(metrics, "device", device->name);
    metrics_label(metrics, "vendor", device->vendor);
    metrics_label(metrics, "model", device->model);
    metrics_label(metrics, "architecture", device->architecture);
    metrics_label(metrics, "compute_capability", device->compute_capability);
    metrics_label(metrics, "uuid", device->uuid);
    metrics_label(metrics, "pci_address", device->pci_address);
    metrics_label(metrics, "driver", device->driver);
    metrics_close(metrics, 1);
}

/* Adds the device's sample of joule_device_up. A device that waits for its first reading has no sample. */
static void add_up(struct metrics *metrics, const joule_device *device)
{
    if (device->state == JOULE_PENDING)
        return;
    metrics_open(metrics);
    metrics_label(metrics, "device", device->name);
    metrics_close(metrics, device->state == JOULE_OK);
}

static void add_state(struct metrics *metrics, const joule_device *device)
{
    if (device->state == JOULE_OK)
        return;
    metrics_open(metrics);
    metrics_label(metrics, "device", device->name);
    metrics_label(metrics, "state", joule_status_name(device->state));
    metrics_close(metrics, 1);
}

static void add_limits(struct metrics *metrics, const joule_device *device)
{
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        const double *watts = (const double *)((const char *)device + limits[i].offset);
        if (!metrics_is_known(*watts))
            continue;
        metrics_open(metrics);
        metrics_label(metrics, "device", device->name);
        metrics_label(metrics, "limit", limits[i].word);
        metrics_close(metrics, *watts);
    }
}

static void add_ecc_errors(struct metrics *metrics, const joule_device *device)
{
    for (size_t i = 0; i < COUNT_OF(ecc_errors); i++) {
        const double *count = (const double *)((const char *)device + ecc_errors[i].offset);
        if (!metrics_is_known(*count))
            continue;
        metrics_open(metrics);
        metrics_label(metrics, "device", device->name);
        metrics_label(metrics, "kind", ecc_errors[i].kind);
        metrics_label(metrics, "since", ecc_errors[i].period);
        metrics_close(metrics, *count);
    }
}

static void add_reasons(struct metrics *metrics, const joule_device *device)
{
    if (device->clock_reasons == JOULE_CLOCKS_UNKNOWN)
        return;
    for (uint32_t bit = 1; bit; bit <<= 1) {
        if (!(device->clock_reasons & bit))
            continue;
        metrics_open(metrics);
        metrics_label(metrics, "device", device->name);
        metrics_label(metrics, "reason", joule_clock_reason_name(bit));
        metrics_close(metrics, 1);
    }
}

/* Families in which a device may have any number of samples. */
static const struct {
    struct metric_family family;
    void (*add)(struct metrics *metrics, const joule_device *device);
} others[] = {
    {{"joule_device", METRIC_INFO, NULL, "Properties of a device"}, add_info},
    {{"joule_device_up", METRIC_GAUGE, NULL, "1: the device answers; 0: it does not, see joule_device_state"},
     add_up},
    {{"joule_device_state", METRIC_GAUGE, NULL, "1 for the state of a device that is not up"}, add_state},
    {{"joule_device_power_limit_watts", METRIC_GAUGE, "watts",
      "Power limits: set, default, enforced (the lowest that applies), and the lowest and highest that can "
      "be set"},
     add_limits},
    {{"joule_device_ecc_errors", METRIC_COUNTER, NULL,
      "Memory errors that a device found, since its driver was loaded or over its lifetime"},
     add_ecc_errors},
    {{"joule_device_clocks_held", METRIC_GAUGE, NULL, "1 for each reason that limits a device's clocks now"},
     add_reasons},
};

/* Adds a label with a number; no label for JOULE_INSTANCE_UNKNOWN. */
static void label_number(struct metrics *metrics, const char *name, uint32_t number)
{
    char text[16];
    string_print(text, sizeof text, "%u", number);
    metrics_label(metrics, name, number == JOULE_INSTANCE_UNKNOWN ? "" : text);
}

static void add_partitions(struct metrics *metrics)
{
    static const struct metric_family info = {
        "joule_device_partition", METRIC_INFO, NULL,
        "Properties of a MIG device; its energy is part of its board's"};
    const struct overview *overview = metrics->overview;
    metrics_begin(metrics, &info);
    for (size_t i = 0; i < overview->part_count; i++) {
        const joule_device_partition *part = &overview->parts[i].info;
        if (!part->uuid[0] && part->instance == JOULE_INSTANCE_UNKNOWN)
            continue; /* a whole device, or a partition without any identity */
        metrics_open(metrics);
        metrics_label(metrics, "device", overview->devices[overview->parts[i].device].device.name);
        label_number(metrics, "instance", part->instance);
        label_number(metrics, "compute_instance", part->compute_instance);
        metrics_label(metrics, "profile", part->profile);
        metrics_label(metrics, "uuid", part->uuid);
        metrics_close(metrics, 1);
    }
}

void metrics_add_devices(struct metrics *metrics)
{
    const struct overview *overview = metrics->overview;
    const struct metric_table table = {overview->devices, overview->device_count, sizeof *overview->devices,
                                       label_device};
    metrics_add_columns(metrics, &table, columns, COUNT_OF(columns));
    for (size_t k = 0; k < COUNT_OF(others); k++) {
        metrics_begin(metrics, &others[k].family);
        for (size_t i = 0; i < overview->device_count; i++)
            others[k].add(metrics, &overview->devices[i].device);
    }
    add_partitions(metrics);
}
