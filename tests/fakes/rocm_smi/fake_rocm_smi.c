/* tests/fakes/rocm_smi/fake_rocm_smi.c - a librocm_smi64 with AMD's interface and scripted boards.
 *
 * Note: if FAKE_ROCM_5 is defined, the library is that of ROCm 5, whose only power call is
 * rsmi_dev_power_ave_get. As in the real library, a call with a NULL result pointer asks whether the call is
 * supported. */
#include "fake_boards.h"
#include "joule/sources/amd/rocm_smi_abi.h"

#define DECLARE(name, parameters) EXPORT rocm_code rsmi_##name parameters;
ROCM_FUNCTIONS(DECLARE)

static rocm_code code_of(enum fake_fate fate)
{
    static const rocm_code codes[] = {
        [FATE_FINE] = RSMI_STATUS_SUCCESS,      [FATE_UNSUPPORTED] = RSMI_STATUS_NOT_SUPPORTED,
        [FATE_DENIED] = RSMI_STATUS_PERMISSION, [FATE_BUSY] = RSMI_STATUS_BUSY,
        [FATE_FAILS] = RSMI_STATUS_FILE_ERROR,  [FATE_NOT_FOUND] = RSMI_STATUS_NOT_FOUND};
    return codes[fate];
}

rocm_code rsmi_init(uint64_t flags)
{
    return flags & ~(RSMI_INIT_FLAG_THRAD_ONLY_MUTEX | 1) ? RSMI_STATUS_INVALID_ARGS : fake_start();
}

rocm_code rsmi_shut_down(void)
{
    fake_stop();
    return RSMI_STATUS_SUCCESS;
}

rocm_code rsmi_num_monitor_devices(uint32_t *count)
{
    *count = fake_device_count();
    return RSMI_STATUS_SUCCESS;
}

#define BOARD(device)                                                                                        \
    unsigned partition;                                                                                      \
    const struct fake_board *board = fake_device(device, &partition);                                        \
    if (!board || !fake_is_started())                                                                        \
    return board ? RSMI_STATUS_INIT_ERROR : RSMI_STATUS_INVALID_ARGS

rocm_code rsmi_dev_pci_id_get(uint32_t device, uint64_t *bdfid)
{
    BOARD(device);
    *bdfid = (uint64_t)fake_bus(board) << 8;
#ifdef FAKE_ROCM_5
    *bdfid |= partition; /* the partition number is in the bits of the PCI function */
#else
    *bdfid |= (uint64_t)partition << 28;
#endif
    return RSMI_STATUS_SUCCESS;
}

rocm_code rsmi_dev_energy_count_get(uint32_t device, uint64_t *counter, float *microjoules, uint64_t *time_ns)
{
    BOARD(device);
    if (!counter || !time_ns)
        return RSMI_STATUS_INVALID_ARGS;
    *microjoules = 15.3F;
    *time_ns = (uint64_t)fake_now_ns();
    return code_of(fake_counts(board, counter));
}

/* Writes the board's power in microwatts if the board supports this kind of power. */
static rocm_code put_watts(const struct fake_board *board, double kind, uint64_t *microwatts)
{
    double watts = 0;
    enum fake_fate fate = fake_watts(board, &watts);
    if (fate == FATE_FINE && board->power > 0 && board->power != kind)
        fate = FATE_UNSUPPORTED;
    *microwatts = (uint64_t)(watts * 1e6);
    return code_of(fate);
}

rocm_code rsmi_dev_power_ave_get(uint32_t device, uint32_t sensor, uint64_t *microwatts)
{
    BOARD(device);
    return sensor != 0 ? RSMI_STATUS_NOT_SUPPORTED : put_watts(board, 1, microwatts);
}

#ifndef FAKE_ROCM_5
rocm_code rsmi_dev_power_get(uint32_t device, uint64_t *microwatts, uint32_t *kind)
{
    BOARD(device);
    *kind = board->power == 2 ? RSMI_CURRENT_POWER : RSMI_AVERAGE_POWER;
    return put_watts(board, board->power, microwatts);
}
#endif

rocm_code rsmi_dev_power_cap_get(uint32_t device, uint32_t sensor, uint64_t *microwatts)
{
    BOARD(device);
    *microwatts = 300000000;
    return sensor != 0 ? RSMI_STATUS_NOT_SUPPORTED : code_of(fake_enter(board));
}

rocm_code rsmi_dev_power_cap_default_get(uint32_t device, uint64_t *microwatts)
{
    return rsmi_dev_power_cap_get(device, 0, microwatts);
}

rocm_code rsmi_dev_power_cap_range_get(uint32_t device, uint32_t sensor, uint64_t *most, uint64_t *least)
{
    *least = 0;
    return rsmi_dev_power_cap_get(device, sensor, most);
}

rocm_code rsmi_dev_temp_metric_get(uint32_t device, uint32_t place, int metric, int64_t *millidegrees)
{
    static const int offsets[] = {-10, 0, 5};
    BOARD(device);
    if (place > 2 || metric != RSMI_TEMP_CURRENT || board->celsius == 0)
        return RSMI_STATUS_NOT_SUPPORTED;
    *millidegrees = (int64_t)(board->celsius + offsets[place]) * 1000;
    return code_of(fake_enter(board));
}

rocm_code rsmi_dev_memory_total_get(uint32_t device, int kind, uint64_t *bytes)
{
    BOARD(device);
    *bytes = UINT64_C(64) << 30;
    return kind != RSMI_MEM_TYPE_VRAM ? RSMI_STATUS_NOT_SUPPORTED : code_of(fake_enter(board));
}

rocm_code rsmi_dev_memory_usage_get(uint32_t device, int kind, uint64_t *bytes)
{
    rocm_code code = rsmi_dev_memory_total_get(device, kind, bytes);
    *bytes = UINT64_C(3) << 30;
    return code;
}

rocm_code rsmi_dev_busy_percent_get(uint32_t device, uint32_t *percent)
{
    BOARD(device);
    *percent = (uint32_t)board->busy;
    return code_of(fake_enter(board));
}

rocm_code rsmi_dev_name_get(uint32_t device, char *name, size_t size)
{
    BOARD(device);
    size_t i = 0;
    for (const char *letter = "AMD Fake Instinct"; *letter && i + 1 < size; letter++)
        name[i++] = *letter;
    name[i] = '\0';
    return i + 1 == size ? 11 /* INSUFFICIENT_SIZE */ : RSMI_STATUS_SUCCESS;
}

rocm_code rsmi_dev_unique_id_get(uint32_t device, uint64_t *id)
{
    BOARD(device);
    *id = UINT64_C(0xa32343daf8971600) + board->index;
    return RSMI_STATUS_SUCCESS;
}
