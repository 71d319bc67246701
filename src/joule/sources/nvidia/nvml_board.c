/* joule/sources/nvidia/nvml_board.c - finds what a board can report, and adds its channels. See nvml.h.
 *
 * This file contains the properties of GPU generations (update period, averaging), and the order of
 * preference among several views of a quantity. The first view that answers becomes a channel.
 * Note: a driver of any version may lack any function, so each function is checked separately. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/nvidia/nvml.h"

#define FALLBACK_LIMIT_WATTS 1500.0 /* limit of boards that do not report one */
#define LIMIT_MARGIN         1.5    /* a board exceeds its limit for short times */
#define GAIN_SD              0.03   /* published: -8 % to +13 %, mostly within 6 % (Yang et al., SC'24) */
#define MODULE_WATTS         5000.0 /* exceeds the power of two GPUs and a CPU on a module */
#define RANK_POWER           RANK_INTEGRATED

struct opening {
    struct source *source;
    const struct nvml_api *api;
    struct nvml_board *board;
    bool out_of_memory;
};

/* --- differences between generations -------------------------------------------------------------------- */

/* Returns true if nvmlDeviceGetPowerUsage returns a mean of 1 s. On GA100 (A100, A30), unlike other Ampere
 * chips, that function returns an instant value. */
static bool averages_usage(const struct nvml_board *board)
{
    bool is_ga100 = board->id.major == 8 && board->id.minor == 0;
    return board->architecture >= NVML_DEVICE_ARCH_AMPERE && !is_ga100;
}

static double sensor_period_s(const struct nvml_board *board)
{
    return board->architecture >= NVML_DEVICE_ARCH_AMPERE ? 0.1 : 0.02;
}

/* Returns the seconds of each sensor period over which instant power is measured. */
static double sensor_window_s(const struct nvml_board *board)
{
    return board->architecture >= NVML_DEVICE_ARCH_AMPERE ? 0.025 : 0.01;
}

/* --- channels ------------------------------------------------------------------------------------------- */

/* Adds a channel of this board with the common properties. `what` becomes part of the name: "gpu-0-what". */
static struct channel *add_channel(struct opening *m, const char *what, const char *label,
                                   enum channel_mode mode, joule_reading_kind reading)
{
    const struct nvml_board *board = m->board;
    struct channel *channel = source_add_channel(m->source);
    if (!channel) {
        m->out_of_memory = true;
        return NULL;
    }
    joule_domain *info = &channel->info;
    gpu_name_channel(channel, (int32_t)board->index, what);
    string_copy(info->label, sizeof info->label, label);
    string_copy(info->vendor, sizeof info->vendor, "nvidia");
    string_copy(info->model, sizeof info->model, board->id.name);
    string_copy(info->uuid, sizeof info->uuid, board->id.uuid);
    info->scope = JOULE_SCOPE_GPU;
    info->reading = reading;
    channel->mode = mode;
    channel->gain_sd = GAIN_SD;
    channel->cause = CAUSE(CAUSE_GPU_GAIN, board->index);
    double limit = isfinite(board->limit_watts) ? board->limit_watts : FALLBACK_LIMIT_WATTS;
    channel->counter.max_watts = channel->integrator.max_watts = LIMIT_MARGIN * limit;
    return channel;
}

static struct channel *add_counter(struct opening *m)
{
    const struct nvml_board *board = m->board;
    /* True if the counter measures the module and power only the GPU. */
    bool is_of_module = board->counter_scope != board->scope;
    struct channel *channel = add_channel(m, is_of_module ? "module" : "",
                                          is_of_module ? "energy counter of the module" : "energy counter",
                                          CHANNEL_COUNTER, JOULE_READING_ENERGY);
    if (!channel)
        return NULL;
    channel->info.scope = board->counter_scope;
    if (board->counter_scope == JOULE_SCOPE_MODULE)
        channel->counter.max_watts = MODULE_WATTS;
    string_copy(channel->zone, sizeof channel->zone, board->counter_zone);
    channel->rank = RANK_DRIVER;
    channel->counter.unit_joules = 1e-3;
    channel->counter.tick_s = channel->info.update_period_s = sensor_period_s(m->board);
    return channel;
}

/* Adds a channel whose power is integrated. period_s, averaged_part and lag_s are the members of struct
 * integrator. */
static struct channel *add_power(struct opening *m, const char *what, const char *label, double period_s,
                                 double averaged_part, double lag_s)
{
    struct channel *channel = add_channel(m, what, label, CHANNEL_POWER, JOULE_READING_POWER);
    if (!channel)
        return NULL;
    channel->info.scope = m->board->scope;
    if (m->board->scope == JOULE_SCOPE_MODULE)
        channel->integrator.max_watts = MODULE_WATTS;
    string_copy(channel->zone, sizeof channel->zone, m->board->zone);
    channel->rank = RANK_POWER;
    channel->info.cls = JOULE_CLASS_DERIVED;
    channel->info.update_period_s = channel->integrator.period_s = period_s;
    channel->integrator.age_s = fmin(period_s, sensor_period_s(m->board));
    channel->integrator.averaged_part = averaged_part;
    channel->integrator.lag_s = lag_s;
    return channel;
}

static struct channel *add_gauge(struct opening *m, const char *what, const char *label,
                                 joule_reading_kind reading, enum gauge_role role)
{
    struct channel *channel = add_channel(m, what, label, CHANNEL_GAUGE, reading);
    if (!channel)
        return NULL;
    string_copy(channel->parent_zone, sizeof channel->parent_zone, m->board->zone);
    channel->role = role;
    return channel;
}

/* --- energy and power ----------------------------------------------------------------------------------- */

/* Reads a field that contains an energy count. */
static nvml_return energy_field(const struct nvml_api *api, nvml_device device, uint32_t id,
                                uint64_t *out_millijoules)
{
    double value = 0;
    nvml_return code = nvml_read_field(api, device, id, NVML_POWER_SCOPE_GPU, &value);
    if (code == NVML_SUCCESS && !(value >= 0 && value < 0x1p64))
        code = NVML_ERROR_NOT_SUPPORTED;
    *out_millijoules = code == NVML_SUCCESS ? (uint64_t)value : 0;
    return code;
}

nvml_return nvml_board_energy(const struct nvml_api *api, const struct nvml_board *board,
                              uint64_t *out_millijoules)
{
    unsigned long long millijoules = 0;
    nvml_return code = NVML_ERROR_NOT_SUPPORTED;
    switch (board->energy_view) {
    case NVML_ENERGY_SCOPED:
        return energy_field(api, board->handle, NVML_FI_DEV_ENERGY, out_millijoules);
    case NVML_ENERGY_FIELD:
        return energy_field(api, board->handle, NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, out_millijoules);
    case NVML_ENERGY_CALL:
        if (api->DeviceGetTotalEnergyConsumption)
            code = api->DeviceGetTotalEnergyConsumption(board->handle, &millijoules);
        break;
    case NVML_ENERGY_NONE:
        break;
    }
    *out_millijoules = millijoules;
    return code;
}

static void find_counter(struct opening *m)
{
    static const enum nvml_energy_view views[] = {NVML_ENERGY_SCOPED, NVML_ENERGY_FIELD, NVML_ENERGY_CALL};
    struct nvml_board *board = m->board;
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
        board->energy_view = views[i];
        nvml_return code = nvml_board_energy(m->api, board, &board->still.counts);
        if (code == NVML_SUCCESS || nvml_is_transient(code)) {
            board->energy = add_counter(m);
            return;
        }
    }
    board->energy_view = NVML_ENERGY_NONE;
}

/* Returns the clock of the timestamp, which differs between drivers. It is the clock whose current time is
 * nearest to the timestamp. */
static clockid_t clock_of_stamp(struct joule_host *host, uint64_t stamp_us)
{
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME};
    clockid_t nearest = CLOCK_REALTIME;
    double min = INFINITY;
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        double age = fabs((double)host->ops->clock_ns(host, clocks[i]) * 1e-9 - (double)stamp_us * 1e-6);
        if (age < min) {
            min = age;
            nearest = clocks[i];
        }
    }
    return nearest;
}

static bool find_ring(struct opening *m)
{
    struct nvml_sample *samples = ((struct nvml_source *)m->source->data)->ring;
    unsigned count = NVML_RING_SIZE;
    int type = NVML_VALUE_TYPE_UNSIGNED_INT;
    if (!m->api->DeviceGetSamples ||
        m->api->DeviceGetSamples(m->board->handle, NVML_TOTAL_POWER_SAMPLES, 0, &type, &count, samples) !=
            NVML_SUCCESS ||
        count < 2 || count > NVML_RING_SIZE)
        return false;
    uint64_t newest_us = samples[count - 1].time_us, oldest_us = samples[0].time_us;
    if (newest_us <= oldest_us)
        return false;
    m->board->ring_clock = clock_of_stamp(m->source->host, newest_us);
    m->board->ring_last_us = newest_us;
    double spacing_s = (double)(newest_us - oldest_us) * 1e-6 / (count - 1);
    m->board->power_view = NVML_POWER_RING;
    m->board->power = add_power(m, "power", "the driver's power samples", spacing_s, 1, 0);
    return true;
}

/* Adds a channel of instant power, which is the mean of a short window. The channel's period is the longer of
 * the sensor's update period and the lane's period. */
static struct channel *add_instant(struct opening *m, const char *label)
{
    double window_s = sensor_window_s(m->board), period_s = fmax(sensor_period_s(m->board), NVML_PERIOD_S);
    return add_power(m, "power", label, period_s, window_s / period_s, window_s / 2);
}

/* Adds a channel of average power, the mean of the last second. The mean is treated as the power of half a
 * second ago, without noise. */
static struct channel *add_average(struct opening *m, const char *what, const char *label)
{
    return add_power(m, what, label, fmax(sensor_period_s(m->board), NVML_PERIOD_S), 0, 0.5);
}

static void find_power(struct opening *m)
{
    struct nvml_board *board = m->board;
    double milliwatts;
    unsigned usage;
    if (find_ring(m))
        return;
    if (nvml_read_field(m->api, board->handle, NVML_FI_DEV_POWER_INSTANT, NVML_POWER_SCOPE_GPU,
                        &milliwatts) == NVML_SUCCESS) {
        board->power_view = NVML_POWER_INSTANT;
        board->power = add_instant(m, "instant power");
    } else if (m->api->DeviceGetPowerUsage &&
               m->api->DeviceGetPowerUsage(board->handle, &usage) == NVML_SUCCESS) {
        board->power_view = NVML_POWER_USAGE;
        board->power =
            averages_usage(board) ? add_average(m, "power", "power, mean of 1 s") : add_instant(m, "power");
    }
}

/* Finds the power of the memory. For the memory, only the field with the mean of 1 s is known to return a
 * value. A value of 0 means "not measured". */
static void find_memory_power(struct opening *m)
{
    double milliwatts = 0;
    struct nvml_board *board = m->board;
    if (nvml_read_field(m->api, board->handle, NVML_FI_DEV_POWER_AVERAGE, NVML_POWER_SCOPE_MEMORY,
                        &milliwatts) != NVML_SUCCESS ||
        milliwatts <= 0)
        return;
    board->memory = add_average(m, "memory", "memory power, mean of 1 s");
    if (!board->memory)
        return;
    struct channel *memory = board->memory;
    memory->info.scope = JOULE_SCOPE_GPU_MEMORY;
    string_copy(memory->parent_zone, sizeof memory->parent_zone, board->zone);
    string_print(memory->zone, sizeof memory->zone, "gpu%u/memory", board->index);
}

/* --- gauges --------------------------------------------------------------------------------------------- */

nvml_return nvml_board_celsius(const struct nvml_api *api, const struct nvml_board *board,
                               double *out_celsius)
{
    struct nvml_temperature temperature = {.version = NVML_TEMPERATURE_V1};
    unsigned celsius = 0;
    nvml_return code = NVML_ERROR_FUNCTION_NOT_FOUND;
    if (api->DeviceGetTemperatureV)
        code = api->DeviceGetTemperatureV(board->handle, &temperature);
    if (code == NVML_SUCCESS) {
        *out_celsius = temperature.celsius;
        return code;
    }
    if (!api->DeviceGetTemperature)
        return code;
    code = api->DeviceGetTemperature(board->handle, 0, &celsius);
    *out_celsius = celsius;
    return code;
}

static void find_temperatures(struct opening *m)
{
    double value = 0;
    if (nvml_board_celsius(m->api, m->board, &value) == NVML_SUCCESS)
        m->board->temperature =
            add_gauge(m, "temperature", "GPU temperature", JOULE_READING_TEMPERATURE, ROLE_TEMPERATURE);
    if (nvml_read_field(m->api, m->board->handle, NVML_FI_DEV_MEMORY_TEMP, 0, &value) == NVML_SUCCESS &&
        value > 0)
        m->board->memory_temperature = add_gauge(m, "memory-temperature", "memory temperature",
                                                 JOULE_READING_TEMPERATURE, ROLE_MEMORY_TEMPERATURE);
}

static void find_clocks(struct opening *m)
{
    const struct nvml_api *api = m->api;
    struct nvml_board *board = m->board;
    unsigned megahertz;
    struct nvml_utilization busy;
    if (api->DeviceGetClockInfo) {
        if (api->DeviceGetClockInfo(board->handle, NVML_CLOCK_SM, &megahertz) == NVML_SUCCESS)
            board->sm_clock = add_gauge(m, "sm-clock", "SM clock", JOULE_READING_CLOCK, ROLE_CLOCK);
        if (api->DeviceGetClockInfo(board->handle, NVML_CLOCK_MEM, &megahertz) == NVML_SUCCESS)
            board->memory_clock =
                add_gauge(m, "memory-clock", "memory clock", JOULE_READING_CLOCK, ROLE_MEMORY_CLOCK);
    }
    /* Utilisation is the fraction of time in which a kernel ran, even on one multiprocessor. */
    if (!api->DeviceGetUtilizationRates ||
        api->DeviceGetUtilizationRates(board->handle, &busy) != NVML_SUCCESS)
        return;
    board->busy = add_gauge(m, "busy", "busy time", JOULE_READING_UTILISATION, ROLE_BUSY);
    board->memory_busy = add_gauge(m, "memory-busy", "time in which memory was read or written",
                                   JOULE_READING_UTILISATION, ROLE_MEMORY_BUSY);
}

/* Adds the gauges of GPM, which Hopper and later GPUs have: the activity of multiprocessors, tensor cores and
 * memory between two samples. */
static void find_activity(struct opening *m)
{
    const struct nvml_api *api = m->api;
    struct nvml_board *board = m->board;
    struct nvml_gpm_support support = {.version = 1};
    if (!api->GpmQueryDeviceSupport || !api->GpmSampleAlloc || !api->GpmSampleFree || !api->GpmSampleGet ||
        !api->GpmMetricsGet || api->GpmQueryDeviceSupport(board->handle, &support) != NVML_SUCCESS ||
        support.is_supported == 0 || api->GpmSampleAlloc(&board->gpm_samples[0]) != NVML_SUCCESS)
        return;
    if (api->GpmSampleAlloc(&board->gpm_samples[1]) != NVML_SUCCESS ||
        api->GpmSampleGet(board->handle, board->gpm_samples[0]) != NVML_SUCCESS) {
        nvml_board_release(api, board);
        return;
    }
    board->gpm_turn = 1;
    board->sm_activity =
        add_gauge(m, "sm-activity", "SM activity", JOULE_READING_UTILISATION, ROLE_SM_ACTIVITY);
    board->tensor_activity =
        add_gauge(m, "tensor-activity", "tensor activity", JOULE_READING_UTILISATION, ROLE_TENSOR_ACTIVITY);
    board->dram_activity =
        add_gauge(m, "dram-activity", "DRAM bandwidth in use", JOULE_READING_UTILISATION, ROLE_DRAM_ACTIVITY);
}

void nvml_board_release(const struct nvml_api *api, struct nvml_board *board)
{
    for (int i = 0; i < 2; i++) {
        if (board->gpm_samples[i] && api->GpmSampleFree)
            api->GpmSampleFree(board->gpm_samples[i]);
        board->gpm_samples[i] = NULL;
    }
}

/* --- a board -------------------------------------------------------------------------------------------- */

void nvml_identify(const struct nvml_api *api, nvml_device device, struct nvml_identity *out_identity)
{
    struct nvml_pci pci;
    *out_identity = (struct nvml_identity){0};
    if (api->DeviceGetName)
        api->DeviceGetName(device, out_identity->name, sizeof out_identity->name);
    if (api->DeviceGetUUID)
        api->DeviceGetUUID(device, out_identity->uuid, sizeof out_identity->uuid);
    if (api->DeviceGetPciInfo_v3 && api->DeviceGetPciInfo_v3(device, &pci) == NVML_SUCCESS)
        string_print(out_identity->bus_id, sizeof out_identity->bus_id, "%04x:%02x:%02x.0", pci.domain,
                     pci.bus, pci.device);
    if (api->DeviceGetCudaComputeCapability)
        api->DeviceGetCudaComputeCapability(device, &out_identity->major, &out_identity->minor);
}

/* Reads the architecture and the power limit. A value that the driver does not report remains unknown. */
static void find_traits(const struct nvml_api *api, struct nvml_board *board)
{
    unsigned milliwatts;
    if (api->DeviceGetArchitecture)
        api->DeviceGetArchitecture(board->handle, &board->architecture);
    if (api->DeviceGetEnforcedPowerLimit &&
        api->DeviceGetEnforcedPowerLimit(board->handle, &milliwatts) == NVML_SUCCESS && milliwatts > 0)
        board->limit_watts = milliwatts * 1e-3;
}

/* Sets zones and scopes of the board's power and energy counter. The zone of a module is the one that the
 * source hwmon uses for it. */
static void set_zones(struct opening *m)
{
    struct nvml_board *board = m->board;
    char module[48];
    bool is_module = board->handle && nvml_power_covers_module(m->api, board);
    bool counts_module = is_module || (board->handle && nvml_counter_covers_module(m->api, board));
    nvml_module_zone(m->source->host, board->id.name, board->id.bus_id, board->index, module);
    gpu_zone((int32_t)board->index, false, board->zone);
    string_copy(board->counter_zone, sizeof board->counter_zone, counts_module ? module : board->zone);
    if (is_module)
        string_copy(board->zone, sizeof board->zone, module);
    board->scope = is_module ? JOULE_SCOPE_MODULE : JOULE_SCOPE_GPU;
    board->counter_scope = counts_module ? JOULE_SCOPE_MODULE : JOULE_SCOPE_GPU;
}

/* Adds a channel in the state `state`, for a board whose energy and power cannot be read. */
static void add_unavailable(struct opening *m, joule_status state, const char *remedy)
{
    struct channel *channel = add_counter(m);
    if (!channel)
        return;
    channel->info.state = state;
    string_copy(channel->info.remedy, sizeof channel->info.remedy, remedy);
}

bool nvml_board_open(struct source *source, struct nvml_board *board, unsigned index)
{
    struct nvml_source *nvml = source->data;
    struct opening m = {source, &nvml->api, board, false};
    *board = (struct nvml_board){.index = index, .limit_watts = NAN};
    board->device = source_add_device(source, "gpu", (int32_t)index);
    if (!board->device)
        return false;
    string_copy(board->device->vendor, sizeof board->device->vendor, "nvidia");
    nvml_return code = m.api->DeviceGetHandleByIndex_v2(index, &board->handle);
    if (code != NVML_SUCCESS) {
        board->is_lost = true;
        board->handle = NULL;
        board->device->state = nvml_status(code);
        set_zones(&m);
        add_unavailable(
            &m, nvml_status(code),
            code == NVML_ERROR_NO_PERMISSION
                ? "permission denied for the board's /dev/nvidia* file: join its group, or ask the "
                  "container or job for this GPU"
                : "the driver gives no access to this board: see `nvidia-smi` and `dmesg`");
        return !m.out_of_memory;
    }
    nvml_identify(m.api, board->handle, &board->id);
    find_traits(m.api, board);
    nvml_board_set_identity(m.api, board);
    set_zones(&m);
    find_counter(&m);
    find_power(&m);
    if (!board->energy && !board->power)
        add_unavailable(&m, JOULE_UNSUPPORTED,
                        "the driver reports neither energy nor power of this board (virtual GPU "
                        "or laptop part): measure the machine by other means");
    find_memory_power(&m);
    find_temperatures(&m);
    find_clocks(&m);
    find_activity(&m);
    return !m.out_of_memory;
}
