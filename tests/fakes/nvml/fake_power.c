/* tests/fakes/nvml/fake_power.c - energy and power of the fake library: calls, fields, the ring of samples,
 * limits.
 *
 * Note: the script defines which of these values a board supports. On real boards, the supported values
 * depend on the age of the board. */
#include "fake_driver.h"

static uint64_t counter_millijoules(const struct fake_board *board)
{
    if (board->energy < 0)
        return 600000;
    double joules = fake_counter_joules(board, fake_now_s());
    if (board->counts_module != 0)
        joules += board->module_watts * fake_now_s();
    if (fake_has_come(board->reset_at_ms))
        joules -= fake_joules(board, fake_time_of(board->reset_at_ms));
    return joules > 0 ? (uint64_t)(joules * 1e3) : 0;
}

nvml_return nvmlDeviceGetTotalEnergyConsumption(nvml_device device, unsigned long long *millijoules)
{
    ENTER(device);
    if (board->energy == 0 || board->part >= 0)
        return NVML_ERROR_NOT_SUPPORTED;
    *millijoules = counter_millijoules(board);
    return NVML_SUCCESS;
}

/* From Ampere on, the power usage is a mean over 1 s. GA100, whose compute capability is 8.0, is an
 * exception. */
static bool usage_is_average(const struct fake_board *board)
{
    return board->architecture >= NVML_DEVICE_ARCH_AMPERE && !(board->major == 8 && board->minor == 0);
}

nvml_return nvmlDeviceGetPowerUsage(nvml_device device, unsigned *milliwatts)
{
    ENTER(device);
    if (board->power == 0 || board->part >= 0)
        return NVML_ERROR_NOT_SUPPORTED;
    double watts = usage_is_average(board) ? fake_average_watts(board, fake_now_s())
                                           : fake_instant_watts(board, fake_now_s());
    *milliwatts = (unsigned)(watts * 1e3);
    return NVML_SUCCESS;
}

/* Returns the power of a scope in watts. `watts` is the board's power. A negative result means that the board
 * does not support the scope. */
static double in_scope(const struct fake_board *board, uint32_t scope, double watts)
{
    if (scope == NVML_POWER_SCOPE_GPU)
        return watts;
    if (scope == NVML_POWER_SCOPE_MEMORY)
        return board->memory_watts > 0 ? board->memory_watts : -1;
    return scope == NVML_POWER_SCOPE_MODULE && board->module_watts >= 0 ? watts + board->module_watts : -1;
}

static void put_milliwatts(struct nvml_field *field, double watts)
{
    field->status = watts < 0 ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
    field->value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
    field->value.u32 = watts < 0 ? 0 : (uint32_t)(watts * 1e3);
}

static void put_energy(const struct fake_board *board, struct nvml_field *field, bool works)
{
    bool is_module = field->scope == NVML_POWER_SCOPE_MODULE && board->module_energy != 0;
    works = works && board->energy != 0 && (field->scope == NVML_POWER_SCOPE_GPU || is_module);
    field->status = works ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
    field->value_type = (uint32_t)board->energy_field_type;
    field->value.u64 = works ? counter_millijoules(board) : 0;
    if (works && is_module && board->counts_module == 0)
        field->value.u64 += (uint64_t)(board->module_watts * fake_now_s() * 1e3);
}

static void put_field(const struct fake_board *board, struct nvml_field *field)
{
    field->status = field->id >= 185 ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_SUPPORTED;
    field->time_us = fake_clock_ns(CLOCK_REALTIME) / 1000;
    field->latency_us = 3;
    if (board->part >= 0 || (field->id >= 185 && board->fields == 0))
        return;
    switch (field->id) {
    case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION:
        put_energy(board, field, true);
        break;
    case NVML_FI_DEV_ENERGY:
        put_energy(board, field, board->scoped_energy_field != 0);
        break;
    case NVML_FI_DEV_POWER_AVERAGE:
        put_milliwatts(field, board->average_field != 0
                                  ? in_scope(board, field->scope, fake_average_watts(board, fake_now_s()))
                                  : -1);
        break;
    case NVML_FI_DEV_POWER_INSTANT: /* no known board supports the memory scope in this field */
        put_milliwatts(field, board->instant_field != 0 && field->scope != NVML_POWER_SCOPE_MEMORY
                                  ? in_scope(board, field->scope, fake_instant_watts(board, fake_now_s()))
                                  : -1);
        break;
    case NVML_FI_DEV_POWER_MAX_LIMIT:
    case NVML_FI_DEV_POWER_DEFAULT_LIMIT:
    case NVML_FI_DEV_POWER_CURRENT_LIMIT:
        put_milliwatts(field, board->limit_watts);
        break;
#ifndef FAKE_535
    case NVML_FI_DEV_PCIE_COUNT_TX_BYTES:
    case NVML_FI_DEV_PCIE_COUNT_RX_BYTES:
        fake_put_bytes(board, field);
        break;
#endif
    case NVML_FI_DEV_MEMORY_TEMP:
        put_milliwatts(field, board->memory_celsius / 1e3);
        break;
    default:
        break;
    }
}

nvml_return nvmlDeviceGetFieldValues(nvml_device device, int count, struct nvml_field *fields)
{
    ENTER(device);
    if (count <= 0 || fields == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < count; i++)
        put_field(board, &fields[i]);
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetSamples(nvml_device device, int type, unsigned long long last_seen_us,
                                 int *value_type, unsigned *count, struct nvml_sample *samples)
{
    ENTER(device);
    if (type != NVML_TOTAL_POWER_SAMPLES || board->ring_ms <= 0 || board->part >= 0)
        return NVML_ERROR_NOT_SUPPORTED;
    if (count == NULL || (samples != NULL && *count == 0))
        return NVML_ERROR_INVALID_ARGUMENT;
    *value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
    if (samples == NULL) {
        *count = FAKE_RING;
        return NVML_SUCCESS;
    }
    double spacing_s = board->ring_ms / 1e3, newest = (double)(int64_t)(fake_now_s() / spacing_s);
    int64_t shift_ns =
        fake_script.ring_monotonic != 0 ? 0 : fake_clock_ns(CLOCK_REALTIME) - fake_clock_ns(CLOCK_MONOTONIC);
    unsigned filled = 0;
    for (int back = FAKE_RING - 1; back >= 0 && filled < *count; back--) {
        double time_s = (newest - back) * spacing_s;
        uint64_t stamp_us = (uint64_t)((int64_t)(time_s * 1e9) + shift_ns) / 1000;
        if (time_s <= 1 || stamp_us <= last_seen_us)
            continue;
        double joules = fake_joules(board, time_s) - fake_joules(board, time_s - spacing_s);
        samples[filled].time_us = stamp_us;
        samples[filled++].value.u32 = (uint32_t)(joules / spacing_s * 1e3);
    }
    *count = filled;
    return filled > 0 ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

static nvml_return put_limit(nvml_device device, unsigned *milliwatts)
{
    ENTER(device);
    *milliwatts = (unsigned)(board->limit_watts * 1e3);
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetPowerManagementLimit(nvml_device device, unsigned *milliwatts)
{
    return put_limit(device, milliwatts);
}

nvml_return nvmlDeviceGetPowerManagementDefaultLimit(nvml_device device, unsigned *milliwatts)
{
    return put_limit(device, milliwatts);
}

nvml_return nvmlDeviceGetEnforcedPowerLimit(nvml_device device, unsigned *milliwatts)
{
    return put_limit(device, milliwatts);
}

nvml_return nvmlDeviceGetPowerManagementLimitConstraints(nvml_device device, unsigned *least, unsigned *most)
{
    *least = 200000;
    return put_limit(device, most);
}
