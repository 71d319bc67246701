/* joule/sources/intel/level_zero.c - opens and reads the GPUs of the source "level_zero". See level_zero.h.
 *
 * Note: the driver's timestamps may be on another clock than sink_now. Busy ratios use only the driver's
 * clock. The timestamp of an energy count is used as the time of the count only if it lies within the call.
 * If the timestamp has not changed since the last call, the count is not new and is ignored. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/hwmon/hwmon.h"
#include "joule/sources/intel/level_zero.h"

#define DRIVERS         "/sys/bus/pci/drivers/xe:/sys/bus/pci/drivers/i915"
#define LIBRARY         "JOULE_LEVEL_ZERO_LIB"
#define PERIOD_S        0.1 /* Intel advises against reading more often */
#define GAUGE_PERIOD_NS 500000000LL
#define EARLY_NS        (GAUGE_PERIOD_NS / 10) /* tolerance, because a lane's deadlines vary */
#define MIN_CELSIUS     (-60.0)
#define MAX_CELSIUS     200.0

/* --- opening -------------------------------------------------------------------------------------------- */

static joule_status open_boards(struct source *source, struct lz_source *lz)
{
    lz_handle devices[LZ_MAX_BOARDS];
    ssize_t count = lz_list_devices(source, &lz->api, devices, LZ_MAX_BOARDS);
    if (count < 0)
        return source->state;
    for (ssize_t i = 0; i < count; i++)
        if (!lz_board_open(source, devices[i]))
            return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    if (lz->board_count == 0)
        return source_set_state(source, JOULE_ABSENT, "Level Zero lists devices, but no GPU among them");
    return JOULE_OK;
}

static void level_zero_close(struct source *source)
{
    const struct lz_source *lz = source->data;
    for (size_t i = 0; i < lz->board_count; i++)
        host_close_handle(source->host, lz->boards[i].power_state);
}

static joule_status level_zero_open(struct source *source)
{
    struct lz_source *lz = source->data = arena_alloc(&source->arena, sizeof *lz);
    if (!lz)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    const char *own = source->host->ops->env(source->host, LIBRARY);
    if (!(source->is_named && own && *own) && !host_has_any(source->host, DRIVERS))
        return source_set_state(source, JOULE_ABSENT, "no GPU of this machine has one of Intel's drivers");
    if (sysfs_gpus_are_suspended(source, "0x8086"))
        return source_set_state(
            source, JOULE_ABSENT,
            "the Intel GPU is suspended and is not woken for a measurement: run a program on it");
    joule_status status = lz_load(source, &lz->api);
    if (status == JOULE_OK)
        status = open_boards(source, lz);
    if (status != JOULE_OK)
        level_zero_close(source);
    return status;
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void report_failure(struct sink *sink, struct channel *channel, lz_code code)
{
    if (!lz_is_transient(code)) /* if the failure lasts, the channel becomes STALE */
        sink_fail(sink, channel, lz_status(code));
}

static void read_energy(const struct lz_source *lz, struct lz_board *board, struct sink *sink)
{
    struct lz_energy_counter counter = {0};
    int64_t before_ns = sink_now(sink);
    lz_code code = lz->api.zesPowerGetEnergyCounter(board->power, &counter);
    int64_t after_ns = sink_now(sink), stamp_ns = (int64_t)(counter.time_us * 1000);
    if (code != ZE_RESULT_SUCCESS) {
        report_failure(sink, board->energy, code);
        return;
    }
    if (counter.time_us && counter.time_us == board->energy_us)
        return;
    board->energy_us = counter.time_us;
    if (before_ns <= stamp_ns && stamp_ns <= after_ns)
        before_ns = after_ns = stamp_ns;
    sink_counter(sink, board->energy, before_ns, after_ns, counter.microjoules);
}

static void read_sensor(const struct lz_source *lz, const struct lz_sensor *sensor, struct sink *sink)
{
    double celsius = NAN;
    lz_code code = lz->api.zesTemperatureGetState(sensor->handle, &celsius);
    if (code == ZE_RESULT_SUCCESS && !(celsius >= MIN_CELSIUS && celsius <= MAX_CELSIUS))
        code = ZE_RESULT_ERROR_UNKNOWN;
    if (code == ZE_RESULT_SUCCESS)
        sink_gauge(sink, sensor->channel, celsius);
    else
        report_failure(sink, sensor->channel, code);
}

/* Writes the fraction of time in which an engine was active since its last reading, or NaN if unknown. */
static lz_code read_engine(const struct lz_source *lz, struct lz_engine *engine, double *out_share)
{
    struct lz_engine_stats now = {0}, last = engine->last;
    lz_code code = lz->api.zesEngineGetActivity(engine->handle, &now);
    *out_share = NAN;
    if (code != ZE_RESULT_SUCCESS || now.time_us == last.time_us)
        return code;
    engine->last = now;
    /* counts that have not grown mean that the driver has restarted */
    if (now.time_us > last.time_us && now.active_us >= last.active_us)
        *out_share = fmin(1, (double)(now.active_us - last.active_us) / (double)(now.time_us - last.time_us));
    return code;
}

static void read_busy(const struct lz_source *lz, struct lz_board *board, struct sink *sink)
{
    double busiest = NAN;
    lz_code failure = ZE_RESULT_SUCCESS;
    for (size_t i = 0; i < board->engine_count; i++) {
        double share;
        lz_code code = read_engine(lz, &board->engines[i], &share);
        if (code != ZE_RESULT_SUCCESS)
            failure = code;
        busiest = fmax(busiest, share); /* fmax ignores NaN */
    }
    if (failure != ZE_RESULT_SUCCESS) /* the failed engine might be the busiest */
        report_failure(sink, board->busy, failure);
    else if (isfinite(busiest))
        sink_gauge(sink, board->busy, busiest);
}

static void read_gauges(const struct lz_source *lz, struct lz_board *board, struct sink *sink)
{
    for (size_t i = 0; i < board->sensor_count; i++)
        read_sensor(lz, &board->sensors[i], sink);
    if (board->engine_count)
        read_busy(lz, board, sink);
}

static void report_stale(struct lz_board *board, struct sink *sink)
{
    if (board->energy)
        sink_fail(sink, board->energy, JOULE_STALE);
    for (size_t i = 0; i < board->sensor_count; i++)
        sink_fail(sink, board->sensors[i].channel, JOULE_STALE);
    if (board->engine_count)
        sink_fail(sink, board->busy, JOULE_STALE);
}

static void level_zero_read(struct source *source, struct sink *sink)
{
    struct lz_source *lz = source->data;
    int64_t now_ns = sink_now(sink);
    bool gauges_are_due = now_ns >= lz->gauges_ns;
    if (gauges_are_due)
        lz->gauges_ns = now_ns + GAUGE_PERIOD_NS - EARLY_NS;
    for (size_t i = 0; i < lz->board_count; i++) {
        struct lz_board *board = &lz->boards[i];
        if (hwmon_is_suspended(source->host, board->power_state)) {
            report_stale(board, sink);
            continue;
        }
        if (board->energy)
            read_energy(lz, board, sink);
        if (gauges_are_due)
            read_gauges(lz, board, sink);
    }
}

/* --- facts ---------------------------------------------------------------------------------------------- */

/* Sets the memory facts to the sum over all memory modules. The sum is unknown if one module does not answer.
 */
static lz_code query_memory(const struct lz_source *lz, const struct lz_board *board,
                            struct device_facts *facts)
{
    uint64_t total_bytes = 0, free_bytes = 0;
    for (size_t i = 0; i < board->memory_count; i++) {
        struct lz_memory_state state = {.head.type = ZES_STRUCTURE_TYPE_MEM_STATE};
        lz_code code = lz->api.zesMemoryGetState(board->memories[i], &state);
        if (code != ZE_RESULT_SUCCESS)
            return code;
        if (state.free_bytes > state.total_bytes)
            return ZE_RESULT_ERROR_UNKNOWN;
        total_bytes += state.total_bytes;
        free_bytes += state.free_bytes;
    }
    if (total_bytes) {
        facts->memory_total_bytes = total_bytes;
        facts->memory_free_bytes = free_bytes;
        facts->memory_used_bytes = total_bytes - free_bytes;
    }
    return ZE_RESULT_SUCCESS;
}

static void query_board(const struct lz_source *lz, struct lz_board *board, struct sink *sink)
{
    struct device_facts facts = device_facts_unknown();
    if (board->busy && !board->has_searched_engines) {
        joule_status status = lz_board_find_engines(&lz->api, board);
        if (status != JOULE_OK)
            sink_fail(sink, board->busy, status);
    }
    if (query_memory(lz, board, &facts) == ZE_RESULT_ERROR_DEVICE_LOST) {
        sink_device_fail(sink, board->device, JOULE_FAILED);
        return;
    }
    facts.limit_watts = lz_board_limit(&lz->api, board);
    if (board->power) {
        facts.default_limit_watts = board->default_limit_watts;
        facts.min_limit_watts = board->min_limit_watts;
        facts.max_limit_watts = board->max_limit_watts;
    }
    sink_facts(sink, board->device, &facts);
}

static void level_zero_query(struct source *source, struct sink *sink)
{
    struct lz_source *lz = source->data;
    for (size_t i = 0; i < lz->board_count; i++)
        if (hwmon_is_suspended(source->host, lz->boards[i].power_state))
            sink_device_fail(sink, lz->boards[i].device, JOULE_STALE);
        else
            query_board(lz, &lz->boards[i], sink);
}

const struct source_ops source_level_zero = {
    .name = "level_zero",
    .measurement = "level_zero",
    .tier = 3,
    .is_slow = true,
    .folder = DRIVERS,
    .variable = LIBRARY,
    .period_s = PERIOD_S,
    .open = level_zero_open,
    .read = level_zero_read,
    .query = level_zero_query,
    .close = level_zero_close,
};
