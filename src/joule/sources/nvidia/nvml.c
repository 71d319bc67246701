/* joule/sources/nvidia/nvml.c - opens and reads the boards of the source "nvml". See nvml.h.
 *
 * After a transient failure, a call is repeated at the next reading. If other code has shut the library down,
 * it is initialised again. A board that fell off the bus is no longer read.
 * Note: the energy counter is preferred to integrated power, but a counter is trusted only after its value
 * has risen. So a counter that does not move is reported as UNSUPPORTED, never as 0 J. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/detection.h"
#include "joule/sources/nvidia/nvml.h"
#include "joule/sources/sysfs.h"

#define GAUGE_PERIOD_NS  500000000LL  /* GPM needs at least 100 ms between two samples */
#define MAX_TRANSIENT_NS 1000000000LL /* longest time of transient failures; then the channel fails */

/* --- opening -------------------------------------------------------------------------------------------- */

static void nvml_close(struct source *source)
{
    struct nvml_source *nvml = source->data;
    for (size_t i = 0; i < nvml->board_count; i++)
        nvml_board_release(&nvml->api, &nvml->boards[i]);
    nvml_condition_end(nvml);
    if (nvml->api.Shutdown)
        nvml->api.Shutdown();
}

static joule_status open_boards(struct source *source, struct nvml_source *nvml)
{
    unsigned count = 0;
    nvml_return code = nvml->api.DeviceGetCount_v2(&count);
    if (code != NVML_SUCCESS || count == 0)
        return source_set_state(source, code != NVML_SUCCESS ? nvml_status(code) : JOULE_ABSENT,
                                "the NVIDIA driver lists no GPU for this process");
    for (; nvml->board_count < count && nvml->board_count < NVML_MAX_BOARDS; nvml->board_count++)
        if (!nvml_board_open(source, &nvml->boards[nvml->board_count], (unsigned)nvml->board_count))
            return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    return JOULE_OK;
}

static joule_status nvml_open(struct source *source)
{
    if (sysfs_gpus_are_suspended(source, "0x10de"))
        return source_set_state(
            source, JOULE_ABSENT,
            "the NVIDIA GPU is suspended and is not woken for a measurement: run a program on it");
    struct nvml_source *nvml = arena_alloc(&source->arena, sizeof *nvml);
    if (!nvml)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    source->data = nvml;
    char remedy[sizeof source->remedy];
    joule_status status = nvml_load(source->host, &nvml->api, remedy, sizeof remedy);
    if (status == JOULE_ABSENT)
        return detection_absent(source, DETECT_NVIDIA, remedy);
    if (status != JOULE_OK)
        return source_set_state(source, status, "%s", remedy);
    status = open_boards(source, nvml);
    if (status != JOULE_OK)
        nvml_close(source);
    return status;
}

/* --- failures ------------------------------------------------------------------------------------------- */

/* Writes the channels of a board, in the order of their creation. Returns their number. */
static size_t board_channels(const struct nvml_board *board, struct channel *out_channels[NVML_MAX_CHANNELS])
{
    struct channel *const all[] = {board->energy,
                                   board->power,
                                   board->memory,
                                   board->temperature,
                                   board->memory_temperature,
                                   board->sm_clock,
                                   board->memory_clock,
                                   board->busy,
                                   board->memory_busy,
                                   board->sm_activity,
                                   board->tensor_activity,
                                   board->dram_activity};
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i])
            out_channels[count++] = all[i];
    }
    return count;
}

static void set_lost(struct nvml_board *board, struct sink *sink)
{
    struct channel *channels[NVML_MAX_CHANNELS];
    size_t count = board_channels(board, channels);
    board->is_lost = true;
    for (size_t i = 0; i < count; i++)
        sink_fail(sink, channels[i], JOULE_FAILED);
    sink_device_fail(sink, board->device, JOULE_FAILED);
}

/* Initialises the library again and gets a new handle of the board, because other code in this process may
 * have shut the library down. Returns true if the new handle is that of the same board; a reloaded driver may
 * have other boards. */
static bool reinitialise(struct nvml_source *nvml, struct nvml_board *board)
{
    char uuid[NVML_NAME_SIZE] = "";
    if (nvml->api.Init_v2() != NVML_SUCCESS ||
        nvml->api.DeviceGetHandleByIndex_v2(board->index, &board->handle) != NVML_SUCCESS)
        return false;
    if (nvml->api.DeviceGetUUID)
        nvml->api.DeviceGetUUID(board->handle, uuid, sizeof uuid);
    return strcmp(uuid, board->id.uuid) == 0;
}

static bool is_transient(struct nvml_board *board, int64_t now_ns, nvml_return code)
{
    if (!nvml_is_transient(code))
        return false;
    if (board->failing_since_ns == 0)
        board->failing_since_ns = now_ns;
    return now_ns - board->failing_since_ns < MAX_TRANSIENT_NS;
}

/* Handles a failed call. Returns true if the call may be repeated at once. */
static bool handle_failure(struct nvml_source *nvml, struct nvml_board *board, struct sink *sink,
                           struct channel *channel, nvml_return code, bool is_first_try)
{
    if (code == NVML_ERROR_UNINITIALIZED || code == NVML_ERROR_GPU_IS_LOST) {
        if (is_first_try && reinitialise(nvml, board))
            return true;
        set_lost(board, sink);
    } else if (!is_transient(board, sink_now(sink), code)) {
        sink_fail(sink, channel, nvml_status(code));
    }
    return false;
}

/* --- energy and power ----------------------------------------------------------------------------------- */

static void read_energy(struct nvml_source *nvml, struct nvml_board *board, struct sink *sink)
{
    for (int try = 0; try < 2; try++) {
        uint64_t millijoules;
        int64_t before_ns = sink_now(sink);
        nvml_return code = nvml_board_energy(&nvml->api, board, &millijoules);
        int64_t after_ns = sink_now(sink);
        if (code == NVML_SUCCESS) {
            board->failing_since_ns = 0;
            if (standstill_check(&board->still, after_ns, millijoules))
                sink_fail(sink, board->energy, JOULE_UNSUPPORTED);
            else
                sink_counter(sink, board->energy, before_ns, after_ns, millijoules);
            return;
        }
        if (!handle_failure(nvml, board, sink, board->energy, code, try == 0))
            return;
    }
}

static nvml_return read_ring(struct nvml_source *nvml, struct nvml_board *board, struct sink *sink,
                             struct joule_host *host)
{
    unsigned count = NVML_RING_SIZE;
    int type = NVML_VALUE_TYPE_UNSIGNED_INT;
    nvml_return code = nvml->api.DeviceGetSamples(board->handle, NVML_TOTAL_POWER_SAMPLES,
                                                  board->ring_last_us, &type, &count, nvml->ring);
    if (code == NVML_ERROR_NOT_FOUND)
        return NVML_SUCCESS; /* no new sample */
    if (code != NVML_SUCCESS)
        return code;
    int64_t shift_ns = sink_now(sink) - host->ops->clock_ns(host, board->ring_clock);
    for (unsigned i = 0; i < count && i < NVML_RING_SIZE; i++) {
        const struct nvml_sample *sample = &nvml->ring[i];
        if (sample->time_us <= board->ring_last_us)
            continue;
        board->ring_last_us = sample->time_us;
        sink_power(sink, board->power, (int64_t)sample->time_us * 1000 + shift_ns,
                   nvml_value_double((uint32_t)type, sample->value) * 1e-3);
    }
    return NVML_SUCCESS;
}

static nvml_return read_power_once(struct nvml_source *nvml, struct nvml_board *board, struct sink *sink,
                                   struct joule_host *host)
{
    double milliwatts = 0;
    unsigned usage = 0;
    nvml_return code;
    if (board->power_view == NVML_POWER_RING)
        return read_ring(nvml, board, sink, host);
    if (board->power_view == NVML_POWER_INSTANT) {
        code = nvml_read_field(&nvml->api, board->handle, NVML_FI_DEV_POWER_INSTANT, NVML_POWER_SCOPE_GPU,
                               &milliwatts);
    } else {
        code = nvml->api.DeviceGetPowerUsage(board->handle, &usage);
        milliwatts = usage;
    }
    if (code == NVML_SUCCESS)
        sink_power(sink, board->power, 0, milliwatts * 1e-3);
    return code;
}

static void read_power(struct nvml_source *nvml, struct nvml_board *board, struct sink *sink,
                       struct joule_host *host)
{
    nvml_return code = read_power_once(nvml, board, sink, host);
    if (code != NVML_SUCCESS && handle_failure(nvml, board, sink, board->power, code, true)) {
        code = read_power_once(nvml, board, sink, host);
        if (code != NVML_SUCCESS)
            handle_failure(nvml, board, sink, board->power, code, false);
    } else if (code == NVML_SUCCESS && !board->energy) {
        board->failing_since_ns = 0;
    }
}

static void read_memory_power(struct nvml_source *nvml, struct nvml_board *board, struct sink *sink)
{
    double milliwatts = 0;
    nvml_return code = nvml_read_field(&nvml->api, board->handle, NVML_FI_DEV_POWER_AVERAGE,
                                       NVML_POWER_SCOPE_MEMORY, &milliwatts);
    if (code == NVML_SUCCESS)
        sink_power(sink, board->memory, 0, milliwatts * 1e-3);
    else
        handle_failure(nvml, board, sink, board->memory, code, false);
}

/* --- gauges --------------------------------------------------------------------------------------------- */

static void report_gauge(struct sink *sink, struct channel *channel, nvml_return code, double value)
{
    if (!channel)
        return;
    if (code == NVML_SUCCESS)
        sink_gauge(sink, channel, value);
    else if (!nvml_is_transient(code))
        sink_fail(sink, channel, nvml_status(code));
}

static void read_activity(struct nvml_source *nvml, struct nvml_board *board, struct sink *sink)
{
    struct channel *const channels[] = {board->sm_activity, board->tensor_activity, board->dram_activity};
    static const uint32_t ids[] = {NVML_GPM_METRIC_SM_UTIL, NVML_GPM_METRIC_ANY_TENSOR_UTIL,
                                   NVML_GPM_METRIC_DRAM_BW_UTIL};
    struct nvml_gpm_metrics *gpm = &nvml->gpm;
    nvml_return code = nvml->api.GpmSampleGet(board->handle, board->gpm_samples[board->gpm_turn]);
    *gpm = (struct nvml_gpm_metrics){.version = 1,
                                     .count = 3,
                                     .before = board->gpm_samples[board->gpm_turn ^ 1],
                                     .after = board->gpm_samples[board->gpm_turn]};
    for (size_t i = 0; i < 3; i++)
        gpm->metrics[i].id = ids[i];
    if (code == NVML_SUCCESS) {
        code = nvml->api.GpmMetricsGet(gpm);
        board->gpm_turn ^= 1;
    }
    for (size_t i = 0; i < 3; i++)
        report_gauge(sink, channels[i], code != NVML_SUCCESS ? code : gpm->metrics[i].status,
                     gpm->metrics[i].value * 0.01);
}

static void read_gauges(struct nvml_source *nvml, struct nvml_board *board, struct sink *sink)
{
    const struct nvml_api *api = &nvml->api;
    double value = 0;
    unsigned megahertz = 0;
    struct nvml_utilization busy = {0};
    nvml_return code;
    if (board->temperature) {
        code = nvml_board_celsius(api, board, &value);
        report_gauge(sink, board->temperature, code, value);
    }
    if (board->memory_temperature) {
        code = nvml_read_field(api, board->handle, NVML_FI_DEV_MEMORY_TEMP, 0, &value);
        report_gauge(sink, board->memory_temperature, code, value);
    }
    if (board->sm_clock) {
        code = api->DeviceGetClockInfo(board->handle, NVML_CLOCK_SM, &megahertz);
        report_gauge(sink, board->sm_clock, code, megahertz);
    }
    if (board->memory_clock) {
        code = api->DeviceGetClockInfo(board->handle, NVML_CLOCK_MEM, &megahertz);
        report_gauge(sink, board->memory_clock, code, megahertz);
    }
    if (board->busy) {
        code = api->DeviceGetUtilizationRates(board->handle, &busy);
        report_gauge(sink, board->busy, code, busy.gpu_percent * 0.01);
        report_gauge(sink, board->memory_busy, code, busy.memory_percent * 0.01);
    }
    if (board->sm_activity)
        read_activity(nvml, board, sink);
}

/* --- one reading of all boards -------------------------------------------------------------------------- */

static void nvml_read(struct source *source, struct sink *sink)
{
    struct nvml_source *nvml = source->data;
    int64_t now_ns = sink_now(sink);
    bool gauges_are_due = nvml->gauges_ns == 0 || now_ns - nvml->gauges_ns >= GAUGE_PERIOD_NS;
    for (size_t i = 0; i < nvml->board_count; i++) {
        struct nvml_board *board = &nvml->boards[i];
        if (board->energy && !board->is_lost)
            read_energy(nvml, board, sink);
        if (board->power && !board->is_lost)
            read_power(nvml, board, sink, source->host);
        if (board->memory && !board->is_lost)
            read_memory_power(nvml, board, sink);
        if (gauges_are_due && !board->is_lost)
            read_gauges(nvml, board, sink);
    }
    if (gauges_are_due)
        nvml->gauges_ns = now_ns;
}

static void nvml_query(struct source *source, struct sink *sink)
{
    struct nvml_source *nvml = source->data;
    if (!nvml->has_begun)
        nvml_condition_begin(nvml);
    nvml_condition_refresh(nvml);
    for (size_t i = 0; i < nvml->board_count; i++) {
        struct nvml_board *board = &nvml->boards[i];
        if (board->is_lost || !board->handle)
            continue;
        struct device_facts facts = nvml_board_facts(&nvml->api, board);
        nvml_condition_add(&nvml->api, board, sink_now(sink), &facts);
        sink_facts(sink, board->device, &facts);
    }
}

const struct source_ops source_nvml = {
    .name = "nvml",
    .measurement = "nvml",
    .tier = 3,
    .is_slow = true,
    .period_s = NVML_PERIOD_S,
    .open = nvml_open,
    .read = nvml_read,
    .query = nvml_query,
    .close = nvml_close,
};
