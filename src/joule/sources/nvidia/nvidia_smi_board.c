/* joule/sources/nvidia/nvidia_smi_board.c - turns a board's values into a device with channels. See
 * nvidia_smi.h.
 *
 * Note: this file and nvml_board.c describe the same sensors with the same zones and properties. If both read
 * a sensor, NVML's view is used, because it has the lower rank. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/nvidia/nvidia_smi.h"
#include "joule/sources/nvidia/nvml.h"

#define GAIN_SD              0.03 /* as in nvml_board.c, because nvidia-smi reads its values from NVML */
#define LIMIT_MARGIN         1.5
#define FALLBACK_LIMIT_WATTS 1500.0
#define MODULE_TOLERANCE     0.02

static const struct {
    enum smi_field field;
    enum gauge_role role;
    const char *what, *label;
    double unit, max; /* unit: factor to the channel's unit; max: largest possible number */
} gauges[] = {
    {SMI_TEMPERATURE, ROLE_TEMPERATURE, "temperature", "GPU temperature", 1, 200},
    {SMI_MEMORY_TEMPERATURE, ROLE_MEMORY_TEMPERATURE, "memory-temperature", "memory temperature", 1, 200},
    {SMI_CLOCK, ROLE_CLOCK, "sm-clock", "SM clock", 1, 1e5},
    {SMI_MEMORY_CLOCK, ROLE_MEMORY_CLOCK, "memory-clock", "memory clock", 1, 1e5},
    {SMI_BUSY, ROLE_BUSY, "busy", "busy time", 0.01, 100},
    {SMI_MEMORY_BUSY, ROLE_MEMORY_BUSY, "memory-busy", "time in which memory was read or written", 0.01, 100},
};
#define GAUGES (sizeof gauges / sizeof gauges[0])
_Static_assert(GAUGES == NVIDIA_SMI_GAUGES, "one channel for each gauge");

/* --- opening -------------------------------------------------------------------------------------------- */

static struct channel *add_channel(struct source *source, const struct nvidia_smi_board *board,
                                   const char *what, const char *label)
{
    struct channel *channel = source_add_channel(source);
    if (!channel)
        return NULL;
    gpu_name_channel(channel, board->index, what);
    string_copy(channel->info.label, sizeof channel->info.label, label);
    string_copy(channel->info.vendor, sizeof channel->info.vendor, "nvidia");
    string_copy(channel->info.model, sizeof channel->info.model, board->device->model);
    string_copy(channel->info.uuid, sizeof channel->info.uuid, board->device->uuid);
    channel->info.scope = board->scope;
    return channel;
}

/* Sets the integrator's members for this board's power, as in nvml_board.c. Power is an instant value on
 * older generations and on GA100, and a mean of 1 s on the others. */
static void describe_power(struct integrator *in, const struct nvidia_smi_board *board, double pace_s)
{
    double generation = 0;
    string_scan_double(board->device->compute_capability, &generation);
    bool is_old = generation < 8;
    bool is_mean =
        board->power_field == SMI_POWER_AVERAGE || (board->power_field == SMI_POWER && generation > 8);
    double window_s = is_old ? 0.01 : 0.025;
    in->period_s = pace_s;
    in->age_s = is_old ? 0.02 : 0.1;
    in->averaged_part = is_mean ? 0 : window_s / pace_s;
    in->lag_s = is_mean ? 0.5 : window_s / 2;
}

/* Returns the power field to use, or SMI_FIELDS if none is a number. A continuous mean is better than one
 * instant in each second. */
static enum smi_field choose_power(const struct smi_board *reported)
{
    static const enum smi_field choice[] = {SMI_POWER_AVERAGE, SMI_POWER_INSTANT, SMI_POWER,
                                            SMI_MODULE_POWER};
    for (size_t i = 0; i < sizeof choice / sizeof choice[0]; i++)
        if (isfinite(smi_get_number(reported, choice[i])))
            return choice[i];
    return SMI_FIELDS;
}

static void add_power(struct source *source, struct nvidia_smi_board *board, const struct smi_board *reported)
{
    struct channel *channel = add_channel(source, board, "power", "power, by nvidia-smi");
    if (!channel)
        return;
    double limit_watts = smi_get_number(reported, SMI_LIMIT_ENFORCED);
    channel->mode = CHANNEL_POWER;
    channel->rank = RANK_PROGRAM;
    channel->info.reading = JOULE_READING_POWER;
    channel->info.cls = JOULE_CLASS_DERIVED;
    channel->gain_sd = GAIN_SD;
    channel->cause = CAUSE(CAUSE_GPU_GAIN, board->index);
    string_copy(channel->zone, sizeof channel->zone, board->zone);
    channel->integrator.max_watts = LIMIT_MARGIN * (limit_watts > 0 ? limit_watts : FALLBACK_LIMIT_WATTS);
    channel->info.update_period_s = source->period_s;
    describe_power(&channel->integrator, board, source->period_s);
    if (board->power_field != SMI_FIELDS) {
        board->power = channel;
        return;
    }
    channel->info.state = smi_value_status(reported->values[SMI_POWER]);
    if (channel->info.state == JOULE_OK)
        channel->info.state = JOULE_UNSUPPORTED;
    string_copy(
        channel->info.remedy, sizeof channel->info.remedy,
        "nvidia-smi reports no power of this board (virtual GPU or laptop part): measure the machine by "
        "other means");
}

static void add_gauges(struct source *source, struct nvidia_smi_board *board,
                       const struct smi_board *reported)
{
    for (size_t i = 0; i < GAUGES; i++) {
        if (!isfinite(smi_get_number(reported, gauges[i].field)))
            continue;
        struct channel *channel = board->gauges[i] =
            add_channel(source, board, gauges[i].what, gauges[i].label);
        if (!channel)
            return;
        channel_set_gauge(channel, gauges[i].role, board->zone);
        channel->info.scope = JOULE_SCOPE_GPU;
    }
}

static void set_identity(struct device *d, const struct smi_board *reported, const char *pci_address)
{
    const char *driver = smi_get_text(reported, SMI_DRIVER);
    string_copy(d->vendor, sizeof d->vendor, "nvidia");
    string_copy(d->model, sizeof d->model, smi_get_text(reported, SMI_NAME));
    string_copy(d->uuid, sizeof d->uuid, smi_get_text(reported, SMI_UUID));
    string_copy(d->compute_capability, sizeof d->compute_capability, smi_get_text(reported, SMI_CAPABILITY));
    string_copy(d->architecture, sizeof d->architecture, smi_architecture(d->compute_capability));
    string_copy(d->pci_address, sizeof d->pci_address, pci_address);
    string_print(d->driver, sizeof d->driver, *driver ? "nvidia %s" : "nvidia", driver);
}

/* Sets the power field, scope and zone of the board. On superchips (GPU and CPU on one module), the reported
 * power of the GPU may be that of the whole module; see nvml_module.c. */
static void set_zone(struct joule_host *host, struct nvidia_smi_board *board,
                     const struct smi_board *reported)
{
    double gpu = smi_get_number(reported, SMI_POWER_INSTANT),
           module = smi_get_number(reported, SMI_MODULE_POWER);
    board->power_field = choose_power(reported);
    bool is_module = nvml_is_superchip(board->device->model) && module > 0 &&
                     !(fabs(gpu - module) > MODULE_TOLERANCE * module);
    if (!is_module && board->power_field == SMI_MODULE_POWER)
        board->power_field = SMI_FIELDS;
    board->scope = is_module ? JOULE_SCOPE_MODULE : JOULE_SCOPE_GPU;
    if (is_module)
        nvml_module_zone(host, board->device->model, board->pci_address, (unsigned)board->index, board->zone);
    else
        gpu_zone(board->index, false, board->zone);
}

/* Note: a board is numbered by the driver. The XML description has no indices, but lists boards in the same
 * order. */
bool nvidia_smi_board_open(struct source *source, const struct smi_board *reported)
{
    struct nvidia_smi *smi = source->data;
    struct nvidia_smi_board *board = &smi->boards[smi->count];
    uint64_t index = smi->count;
    if (reported->values[SMI_INDEX] &&
        (!string_to_u64(reported->values[SMI_INDEX], 10, &index) || index >= SMI_MAX_BOARDS))
        index = smi->count;
    for (size_t i = 0; i < smi->count; i++)
        if (smi->boards[i].index == (int32_t)index)
            return true; /* the board is listed twice */
    *board = (struct nvidia_smi_board){.index = (int32_t)index, .facts = device_facts_unknown()};
    board->device = source_add_device(source, "gpu", board->index);
    if (!board->device)
        return false;
    smi->count++;
    smi_pci_address(reported, board->pci_address);
    set_identity(board->device, reported, board->pci_address);
    smi_set_facts(reported, &board->facts);
    set_zone(source->host, board, reported);
    add_power(source, board, reported);
    add_gauges(source, board, reported);
    return true;
}

/* --- reading -------------------------------------------------------------------------------------------- */

void nvidia_smi_board_fail(const struct nvidia_smi_board *board, struct sink *sink)
{
    if (board->power)
        sink_fail(sink, board->power, board->state);
    for (size_t i = 0; i < GAUGES; i++)
        if (board->gauges[i])
            sink_fail(sink, board->gauges[i], board->state);
}

/* Returns the status of a number that is missing now but was reported when the board was opened. */
static joule_status status_of_missing(const struct smi_board *reported, enum smi_field field)
{
    joule_status status = smi_value_status(reported->values[field]);
    return status == JOULE_OK ? JOULE_FAILED : status;
}

void nvidia_smi_board_read(const struct nvidia_smi_board *board, struct sink *sink,
                           const struct smi_board *reported)
{
    double watts = board->power ? smi_get_number(reported, board->power_field) : NAN;
    if (board->power && watts >= 0)
        sink_power(sink, board->power, 0, watts);
    else if (board->power)
        sink_fail(sink, board->power, status_of_missing(reported, board->power_field));
    for (size_t i = 0; i < GAUGES; i++) {
        double value = smi_get_number(reported, gauges[i].field);
        if (board->gauges[i] && fabs(value) <= gauges[i].max)
            sink_gauge(sink, board->gauges[i], value * gauges[i].unit);
        else if (board->gauges[i])
            sink_fail(sink, board->gauges[i], status_of_missing(reported, gauges[i].field));
    }
}
