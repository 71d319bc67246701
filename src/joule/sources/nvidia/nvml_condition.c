/* joule/sources/nvidia/nvml_condition.c - fans, video engines, the PCIe link and errors of a board. See
 * nvml.h.
 *
 * Note: nvmlDeviceGetPcieThroughput blocks for 20 ms. So it is called only for boards whose driver does not
 * count bytes, and once a second, for one board and one direction. */
#include <math.h>
#include "joule/sources/nvidia/nvml.h"

#define MAX_EVENTS           256 /* maximum events that one query reads */
#define MAX_FANS             16
#define MAX_RPM              30000
#define MAX_BYTES_PER_SECOND 1e12 /* several times the rate of any link */

/* --- Xid errors ----------------------------------------------------------------------------------------- */

/* Registers for the Xid errors of a board. Returns false if the board does not report them. */
static bool register_board(const struct nvml_source *nvml, const struct nvml_board *board)
{
    const struct nvml_api *api = &nvml->api;
    unsigned long long types = 0;
    return board->handle && api->DeviceGetSupportedEventTypes(board->handle, &types) == NVML_SUCCESS &&
           (types & nvmlEventTypeXidCriticalError) &&
           api->DeviceRegisterEvents(board->handle, nvmlEventTypeXidCriticalError, nvml->events) ==
               NVML_SUCCESS;
}

void nvml_condition_begin(struct nvml_source *nvml)
{
    const struct nvml_api *api = &nvml->api;
    nvml->has_begun = true;
    for (size_t i = 0; i < nvml->board_count; i++) {
        struct nvml_board *board = &nvml->boards[i];
        board->xid_count = board->last_xid = board->traffic.rates[0] = board->traffic.rates[1] = NAN;
    }
    if (!api->EventSetCreate || !api->EventSetWait_v2 || !api->EventSetFree ||
        !api->DeviceGetSupportedEventTypes || !api->DeviceRegisterEvents ||
        api->EventSetCreate(&nvml->events) != NVML_SUCCESS)
        return;
    for (size_t i = 0; i < nvml->board_count; i++)
        if (register_board(nvml, &nvml->boards[i]))
            nvml->boards[i].xid_count = nvml->boards[i].last_xid = 0;
}

static void collect_errors(struct nvml_source *nvml)
{
    struct nvml_event event;
    for (int k = 0; k < MAX_EVENTS && nvml->events; k++) {
        if (nvml->api.EventSetWait_v2(nvml->events, &event, 0) != NVML_SUCCESS)
            return;
        for (size_t i = 0; i < nvml->board_count && event.type == nvmlEventTypeXidCriticalError; i++) {
            struct nvml_board *board = &nvml->boards[i];
            if (board->handle != event.device || isnan(board->xid_count))
                continue;
            board->xid_count++;
            board->last_xid = (double)event.data;
        }
    }
}

void nvml_condition_end(struct nvml_source *nvml)
{
    if (nvml->events)
        nvml->api.EventSetFree(nvml->events);
    nvml->events = NULL;
}

/* --- the PCIe link -------------------------------------------------------------------------------------- */

static void sample_traffic(const struct nvml_api *api, struct nvml_board *board, int direction)
{
    unsigned kilobytes = 0;
    bool is_known = api->DeviceGetPcieThroughput(board->handle, direction, &kilobytes) == NVML_SUCCESS &&
                    kilobytes * 1e3 <= MAX_BYTES_PER_SECOND;
    board->traffic.rates[direction] = is_known ? kilobytes * 1e3 : NAN;
}

void nvml_condition_refresh(struct nvml_source *nvml)
{
    collect_errors(nvml);
    for (size_t tries = 0; tries < nvml->board_count && nvml->api.DeviceGetPcieThroughput; tries++) {
        unsigned turn = nvml->turn++;
        struct nvml_board *board = &nvml->boards[turn / 2 % nvml->board_count];
        if (board->handle && board->traffic.is_sampled && !board->is_lost) {
            sample_traffic(&nvml->api, board, (int)(turn % 2));
            return;
        }
        nvml->turn++; /* skip the other direction of this board */
    }
}

/* Reads a count of bytes. Returns true only for a count of 64 bits, because a 32-bit count wraps several
 * times between two readings. */
static bool read_count(const struct nvml_api *api, nvml_device device, uint32_t id, uint64_t *out_bytes)
{
    struct nvml_field field = {.id = id};
    if (!api->DeviceGetFieldValues || api->DeviceGetFieldValues(device, 1, &field) != NVML_SUCCESS ||
        field.status != NVML_SUCCESS ||
        (field.value_type != NVML_VALUE_TYPE_UNSIGNED_LONG_LONG &&
         field.value_type != NVML_VALUE_TYPE_UNSIGNED_LONG))
        return false;
    *out_bytes = field.value.u64;
    return true;
}

static double rate_of(uint64_t before, uint64_t after, int64_t length_ns)
{
    double rate = length_ns > 0 && after >= before ? (double)(after - before) * 1e9 / (double)length_ns : NAN;
    return rate <= MAX_BYTES_PER_SECOND ? rate : NAN;
}

static void count_traffic(const struct nvml_api *api, struct nvml_board *board, int64_t now_ns)
{
    static const uint32_t ids[2] = {[NVML_PCIE_UTIL_TX_BYTES] = NVML_FI_DEV_PCIE_COUNT_TX_BYTES,
                                    [NVML_PCIE_UTIL_RX_BYTES] = NVML_FI_DEV_PCIE_COUNT_RX_BYTES};
    struct nvml_traffic *traffic = &board->traffic;
    uint64_t bytes[2];
    if (traffic->is_sampled)
        return;
    if (!read_count(api, board->handle, ids[0], &bytes[0]) ||
        !read_count(api, board->handle, ids[1], &bytes[1])) {
        /* if the board counted bytes before, this failure is transient */
        traffic->is_sampled = traffic->time_ns == 0;
        traffic->rates[0] = traffic->rates[1] = NAN;
        return;
    }
    for (int i = 0; i < 2; i++) {
        traffic->rates[i] =
            traffic->time_ns ? rate_of(traffic->bytes[i], bytes[i], now_ns - traffic->time_ns) : NAN;
        traffic->bytes[i] = bytes[i];
    }
    traffic->time_ns = now_ns;
}

/* --- fans and engines ----------------------------------------------------------------------------------- */

static double busy_ratio(nvml_return (*call)(nvml_device, unsigned *, unsigned *), nvml_device device)
{
    unsigned percent = 0, period_us = 0;
    return call && call(device, &percent, &period_us) == NVML_SUCCESS && percent <= 100 ? percent * 0.01
                                                                                        : NAN;
}

static double fan_rpm(const struct nvml_api *api, nvml_device device, unsigned fan)
{
    struct nvml_fan speed = {.version = NVML_FAN_V1, .fan = fan};
    return api->DeviceGetFanSpeedRPM && api->DeviceGetFanSpeedRPM(device, &speed) == NVML_SUCCESS &&
                   speed.rpm <= MAX_RPM
               ? speed.rpm
               : NAN;
}

static double fan_ratio(const struct nvml_api *api, nvml_device device, unsigned fan)
{
    unsigned percent = 0;
    nvml_return code = NVML_ERROR_FUNCTION_NOT_FOUND;
    if (api->DeviceGetFanSpeed_v2)
        code = api->DeviceGetFanSpeed_v2(device, fan, &percent);
    else if (api->DeviceGetFanSpeed)
        code = api->DeviceGetFanSpeed(device, &percent);
    return code == NVML_SUCCESS && percent <= 1000 ? percent * 0.01 : NAN;
}

static void add_fans(const struct nvml_api *api, nvml_device device, struct device_facts *facts)
{
    unsigned count = 1;
    if (api->DeviceGetNumFans && api->DeviceGetNumFans(device, &count) != NVML_SUCCESS)
        return;
    for (unsigned fan = 0; fan < count && fan < MAX_FANS; fan++) {
        facts->fan_rpm = fmax(facts->fan_rpm, fan_rpm(api, device, fan)); /* fmax ignores NaN */
        facts->fan_ratio = fmax(facts->fan_ratio, fan_ratio(api, device, fan));
    }
}

/* --- summary of a board --------------------------------------------------------------------------------- */

static double ecc_errors(const struct nvml_api *api, nvml_device device, int kind, int period)
{
    unsigned long long count = 0;
    return api->DeviceGetTotalEccErrors &&
                   api->DeviceGetTotalEccErrors(device, kind, period, &count) == NVML_SUCCESS &&
                   count < UINT32_MAX
               ? (double)count
               : NAN;
}

void nvml_condition_add(const struct nvml_api *api, struct nvml_board *board, int64_t now_ns,
                        struct device_facts *facts)
{
    nvml_device device = board->handle;
    unsigned replays = 0;
    add_fans(api, device, facts);
    facts->encoder_busy = busy_ratio(api->DeviceGetEncoderUtilization, device);
    facts->decoder_busy = busy_ratio(api->DeviceGetDecoderUtilization, device);
    count_traffic(api, board, now_ns);
    facts->pcie_transmit_bytes_per_second = board->traffic.rates[NVML_PCIE_UTIL_TX_BYTES];
    facts->pcie_receive_bytes_per_second = board->traffic.rates[NVML_PCIE_UTIL_RX_BYTES];
    if (api->DeviceGetPcieReplayCounter &&
        api->DeviceGetPcieReplayCounter(device, &replays) == NVML_SUCCESS && replays != UINT32_MAX)
        facts->pcie_replays = replays;
    facts->ecc_corrected = ecc_errors(api, device, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC);
    facts->ecc_uncorrected = ecc_errors(api, device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC);
    facts->ecc_corrected_lifetime =
        ecc_errors(api, device, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC);
    facts->ecc_uncorrected_lifetime =
        ecc_errors(api, device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC);
    facts->xid_count = board->xid_count;
    facts->last_xid = board->last_xid;
}
