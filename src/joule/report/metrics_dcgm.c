/* joule/report/metrics_dcgm.c - writes GPU metrics under the names of NVIDIA's dcgm-exporter, so that
 * dashboards for dcgm-exporter work.
 *
 * Names, labels and units are those of DCGM's fields: energy in mJ, memory in MiB, shares in percent. Shares
 * of profiling fields (DCGM_FI_PROF_...) are 0 to 1. The sources of the meanings are NVIDIA's DCGM field
 * identifiers and dcgm-exporter's default-counters.csv.
 * Note: GPUs of all vendors use these names. A value that Joule does not know has no series. docs/exporter.md
 * lists all names.
 */
#include <string.h>
#include "joule/attribute/attribute_tenant.h"
#include "joule/report/metrics.h"

#define ROW     struct overview_device
#define MIB     (1.0 / (1024 * 1024))
#define PERCENT 100

#define FIELD_OF(row, name, type, help, member, scale)                                                       \
    {                                                                                                        \
        {name, type, NULL, help}, offsetof(row, member), scale                                               \
    }
#define FIELD(name, type, help, member, scale) FIELD_OF(ROW, name, type, help, member, scale)

#define MEMORY(name, help, member) FIELD_OF(struct overview_part, name, METRIC_GAUGE, help, member, MIB)

/* One family for each value of a device. */
static const struct metric_column columns[] = {
    FIELD("DCGM_FI_DEV_SM_CLOCK", METRIC_GAUGE, "SM clock frequency (in MHz).", device.clock_megahertz, 1),
    FIELD("DCGM_FI_DEV_MEM_CLOCK", METRIC_GAUGE, "Memory clock frequency (in MHz).",
          device.memory_clock_megahertz, 1),
    FIELD("DCGM_FI_DEV_GPU_TEMP", METRIC_GAUGE, "GPU temperature (in C).", device.temperature_celsius, 1),
    FIELD("DCGM_FI_DEV_MEMORY_TEMP", METRIC_GAUGE, "Memory temperature (in C).",
          device.memory_temperature_celsius, 1),
    FIELD("DCGM_FI_DEV_FAN_SPEED", METRIC_GAUGE, "Fan speed (in % of the highest).", device.fan_ratio,
          PERCENT),
    FIELD("DCGM_FI_DEV_ENC_UTIL", METRIC_GAUGE, "Encoder utilization (in %).", device.encoder_busy, PERCENT),
    FIELD("DCGM_FI_DEV_DEC_UTIL", METRIC_GAUGE, "Decoder utilization (in %).", device.decoder_busy, PERCENT),
    FIELD("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", METRIC_COUNTER, "Total number of PCIe retries.",
          device.pcie_replays, 1),
    FIELD("DCGM_FI_PROF_PCIE_TX_BYTES", METRIC_GAUGE, "Rate of data transmitted over PCIe (in bytes/s).",
          device.pcie_transmit_bytes_per_second, 1),
    FIELD("DCGM_FI_PROF_PCIE_RX_BYTES", METRIC_GAUGE, "Rate of data received over PCIe (in bytes/s).",
          device.pcie_receive_bytes_per_second, 1),
    FIELD("DCGM_FI_DEV_XID_ERRORS", METRIC_GAUGE, "Value of the last XID error encountered; 0: none.",
          device.last_xid, 1),
    FIELD("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", METRIC_COUNTER,
          "Corrected ECC errors since the driver was loaded.", device.ecc_corrected, 1),
    FIELD("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", METRIC_COUNTER,
          "Uncorrected ECC errors since the driver was loaded.", device.ecc_uncorrected, 1),
    FIELD("DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", METRIC_COUNTER, "Corrected ECC errors over the board's lifetime.",
          device.ecc_corrected_lifetime, 1),
    FIELD("DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", METRIC_COUNTER,
          "Uncorrected ECC errors over the board's lifetime.", device.ecc_uncorrected_lifetime, 1),
    FIELD("DCGM_FI_DEV_POWER_USAGE", METRIC_GAUGE, "Power draw (in W).", device.power_watts.value, 1),
    FIELD("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", METRIC_COUNTER, "Energy since measuring began (in mJ).",
          device.energy_joules.value, 1000),
    FIELD("DCGM_FI_DEV_GPU_UTIL", METRIC_GAUGE, "GPU utilization (in %).", device.busy, PERCENT),
    FIELD("DCGM_FI_DEV_MEM_COPY_UTIL", METRIC_GAUGE, "Memory utilization (in %).", device.memory_busy,
          PERCENT),
    FIELD("DCGM_FI_DEV_POWER_MGMT_LIMIT", METRIC_GAUGE, "Current power limit (in W).",
          device.power_limit_watts, 1),
    FIELD("DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF", METRIC_GAUGE, "Default power limit (in W).",
          device.power_limit_default_watts, 1),
    FIELD("DCGM_FI_DEV_POWER_MGMT_LIMIT_MIN", METRIC_GAUGE, "Lowest power limit that can be set (in W).",
          device.power_limit_min_watts, 1),
    FIELD("DCGM_FI_DEV_POWER_MGMT_LIMIT_MAX", METRIC_GAUGE, "Highest power limit that can be set (in W).",
          device.power_limit_max_watts, 1),
    FIELD("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", METRIC_GAUGE, "Enforced power limit, the lowest of all (in W).",
          device.power_limit_enforced_watts, 1),
    FIELD("DCGM_FI_PROF_SM_ACTIVE", METRIC_GAUGE, "The ratio of cycles an SM has at least 1 warp assigned.",
          sm_activity, 1),
    FIELD("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", METRIC_GAUGE, "Ratio of cycles the tensor pipe is active.",
          tensor_activity, 1),
    FIELD("DCGM_FI_PROF_DRAM_ACTIVE", METRIC_GAUGE, "Ratio of cycles the device memory interface is active.",
          dram_activity, 1),
};

/* Memory of devices and of MIG instances. */
static const struct metric_column memory_columns[] = {
    MEMORY("DCGM_FI_DEV_FB_TOTAL", "Framebuffer memory (in MiB).", memory_total_bytes),
    MEMORY("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).", memory_free_bytes),
    MEMORY("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).", memory_used_bytes),
    MEMORY("DCGM_FI_DEV_FB_RESERVED", "Framebuffer memory reserved (in MiB).", memory_reserved_bytes),
};

/* Adds a PCI address in NVIDIA's form: "0000:65:00.0" becomes "00000000:65:00.0", with capital letters. */
static void label_pci(struct metrics *metrics, const char *address)
{
    char theirs[sizeof((joule_device *)NULL)->pci_address + 4] = "0000";
    size_t length = strlen(address);
    for (size_t i = 0; i < length; i++)
        theirs[4 + i] = (char)(address[i] >= 'a' && address[i] <= 'f' ? address[i] - 'a' + 'A' : address[i]);
    if (strcspn(address, ":") == 4) /* otherwise the device is not on a PCI bus */
        metrics_label(metrics, "pci_bus_id", theirs);
}

/* Adds dcgm-exporter's labels of the pod that uses the device. Adds no label if the pod is unknown. */
static void label_pod(struct metrics *metrics, const char *device)
{
    const struct tenants *tenants = metrics->overview->tenants;
    const struct tenant_name *name = tenants ? tenants_pod_on(tenants, device) : NULL;
    if (!name)
        return;
    metrics_label(metrics, "container", name->container);
    metrics_label(metrics, "namespace", name->namespace);
    metrics_label(metrics, "pod", name->pod);
    metrics_label(metrics, "pod_uid", name->pod_uid);
}

/* Adds the labels of a GPU instance. Removes the compute instance's prefix from the profile: "1c.2g.35gb"
 * becomes "2g.35gb". */
static void label_instance(struct metrics *metrics, const joule_device_partition *info)
{
    char number[16];
    const char *profile = info->profile + strspn(info->profile, "0123456789");
    if (info->instance == JOULE_INSTANCE_UNKNOWN)
        return;
    string_print(number, sizeof number, "%u", info->instance);
    metrics_label(metrics, "GPU_I_PROFILE", string_starts(profile, "c.") ? profile + 2 : info->profile);
    metrics_label(metrics, "GPU_I_ID", number);
}

/* Adds dcgm-exporter's labels of a device or, if `info` is not NULL, of a part of it. The label `device` of
 * an NVIDIA board is the name of its device file, such as nvidia0. */
static void label_part(struct metrics *metrics, const joule_device *device,
                       const joule_device_partition *info)
{
    bool is_nvidia = strcmp(device->vendor, "nvidia") == 0;
    const char *version = strchr(device->driver, ' ');
    char number[16], file[24];
    string_print(number, sizeof number, "%d", device->index);
    string_print(file, sizeof file, "nvidia%d", device->index);
    metrics_label(metrics, "gpu", number);
    metrics_label(metrics, "UUID", device->uuid);
    label_pci(metrics, device->pci_address);
    metrics_label(metrics, "device", is_nvidia ? file : device->name);
    metrics_label(metrics, "modelName", device->model);
    if (info)
        label_instance(metrics, info);
    metrics_label(metrics, "Hostname", metrics->overview->hostname);
    metrics_label(metrics, "DCGM_FI_DRIVER_VERSION", version ? version + 1 : "");
    label_pod(metrics, device->name);
}

static void label_gpu(struct metrics *metrics, const void *row)
{
    label_part(metrics, &((const struct overview_device *)row)->device, NULL);
}

static void label_memory(struct metrics *metrics, const void *row)
{
    const struct overview_part *part = row;
    label_part(metrics, &metrics->overview->devices[part->device].device, &part->info);
}

/* Returns the reasons for low clocks as NVIDIA's bits. Omits reasons for which NVIDIA has no bit. */
static uint64_t reason_bits(uint32_t ours)
{
    static const struct {
        uint32_t ours;
        uint64_t theirs;
    } table[] = {
        {JOULE_CLOCKS_IDLE, 0x1},          {JOULE_CLOCKS_SET, 0x2},          {JOULE_CLOCKS_POWER, 0x4},
        {JOULE_CLOCKS_SLOWDOWN, 0x8},      {JOULE_CLOCKS_SYNC, 0x10},        {JOULE_CLOCKS_TEMPERATURE, 0x20},
        {JOULE_CLOCKS_HOT_HARDWARE, 0x40}, {JOULE_CLOCKS_POWER_BRAKE, 0x80}, {JOULE_CLOCKS_DISPLAY, 0x100},
    };
    uint64_t theirs = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (ours & table[i].ours)
            theirs |= table[i].theirs;
    return theirs;
}

/* Adds the reasons for low clocks, once under the name of DCGM 4 and once under the name of earlier
 * releases. */
static void add_reasons(struct metrics *metrics, const struct metric_table *gpus)
{
    static const struct metric_family families[] = {
        {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", METRIC_GAUGE, NULL, "Reasons for low clocks (bitmask)."},
        {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", METRIC_GAUGE, NULL, "Reasons for low clocks (bitmask)."},
    };
    const struct overview_device *rows = gpus->rows;
    for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
        metrics_begin(metrics, &families[k]);
        for (size_t i = 0; i < gpus->row_count; i++) {
            if (rows[i].device.clock_reasons == JOULE_CLOCKS_UNKNOWN)
                continue;
            metrics_open(metrics);
            label_gpu(metrics, &rows[i]);
            metrics_close(metrics, (double)reason_bits(rows[i].device.clock_reasons));
        }
    }
}

/* Note: GPUs come first in the list of devices. Other accelerators are omitted, because their numbers would
 * collide with those of GPUs. */
void metrics_add_dcgm(struct metrics *metrics)
{
    const struct overview *overview = metrics->overview;
    struct metric_table gpus = {overview->devices, 0, sizeof *overview->devices, label_gpu};
    struct metric_table memories = {overview->parts, 0, sizeof *overview->parts, label_memory};
    while (gpus.row_count < overview->device_count &&
           string_starts(overview->devices[gpus.row_count].device.name, "gpu:"))
        gpus.row_count++;
    while (memories.row_count < overview->part_count &&
           overview->parts[memories.row_count].device < gpus.row_count)
        memories.row_count++;
    metrics_add_columns(metrics, &gpus, columns, sizeof columns / sizeof *columns);
    add_reasons(metrics, &gpus);
    metrics_add_columns(metrics, &memories, memory_columns, sizeof memory_columns / sizeof *memory_columns);
}
