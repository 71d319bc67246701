/* tests/fakes/nvml/fake_condition.c - fans, video engines, the PCIe link and errors of the fake library.
 *
 * Traffic is constant, so byte counts are traffic times time. A board has one Xid error, at xid_at_ms. */
#include <stdlib.h>
#include "fake_driver.h"

static nvml_return put_share(double percent, unsigned *out_percent, unsigned *period_us)
{
    if (percent < 0)
        return NVML_ERROR_NOT_SUPPORTED;
    *out_percent = (unsigned)percent;
    *period_us = 167000;
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetEncoderUtilization(nvml_device device, unsigned *percent, unsigned *period_us)
{
    ENTER(device);
    return put_share(board->mig > 0 ? -1 : board->encoder, percent, period_us);
}

nvml_return nvmlDeviceGetDecoderUtilization(nvml_device device, unsigned *percent, unsigned *period_us)
{
    ENTER(device);
    return put_share(board->mig > 0 ? -1 : board->decoder, percent, period_us);
}

/* --- fans ----------------------------------------------------------------------------------------------- */

nvml_return nvmlDeviceGetNumFans(nvml_device device, unsigned *count)
{
    ENTER(device);
    *count = (unsigned)board->fans;
    return NVML_SUCCESS;
}

/* Each fan turns 1 % slower than the previous fan. */
nvml_return nvmlDeviceGetFanSpeed_v2(nvml_device device, unsigned fan, unsigned *percent)
{
    ENTER(device);
    if (fan >= board->fans)
        return NVML_ERROR_INVALID_ARGUMENT;
    *percent = (unsigned)board->fan_percent - fan;
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetFanSpeed(nvml_device device, unsigned *percent)
{
    ENTER(device);
    *percent = (unsigned)board->fan_percent;
    return board->fans > 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

#ifndef FAKE_535
nvml_return nvmlDeviceGetFanSpeedRPM(nvml_device device, struct nvml_fan *fan)
{
    ENTER(device);
    if (fan->version != NVML_FAN_V1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (fan->fan >= board->fans)
        return NVML_ERROR_INVALID_ARGUMENT;
    fan->rpm = (uint32_t)(uint64_t)(board->fan_percent * 30) - fan->fan;
    return NVML_SUCCESS;
}
#endif

/* --- the PCIe link -------------------------------------------------------------------------------------- */

/* Writes the byte count into the field. If the driver counts in 32 bits, the count wraps. */
void fake_put_bytes(const struct fake_board *board, struct nvml_field *field)
{
    double megabytes = field->id == NVML_FI_DEV_PCIE_COUNT_TX_BYTES ? board->transmit_mb : board->receive_mb;
    if (board->pcie_counts == 0)
        return;
    field->status = NVML_SUCCESS;
    field->value_type =
        board->pcie_counts > 1 ? NVML_VALUE_TYPE_UNSIGNED_INT : NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    uint64_t bytes = (uint64_t)(megabytes * 1e6 * fake_now_s());
    field->value.u64 = board->pcie_counts > 1 ? bytes & UINT32_MAX : bytes;
}

nvml_return nvmlDeviceGetPcieThroughput(nvml_device device, int direction, unsigned *kilobytes_per_second)
{
    ENTER(device);
    if (direction != NVML_PCIE_UTIL_TX_BYTES && direction != NVML_PCIE_UTIL_RX_BYTES)
        return NVML_ERROR_INVALID_ARGUMENT;
    double megabytes = direction == NVML_PCIE_UTIL_TX_BYTES ? board->transmit_mb : board->receive_mb;
    *kilobytes_per_second = (unsigned)(megabytes * 1e3);
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetPcieReplayCounter(nvml_device device, unsigned *count)
{
    ENTER(device);
    *count = (unsigned)board->replays;
    return NVML_SUCCESS;
}

/* --- errors --------------------------------------------------------------------------------------------- */

nvml_return nvmlDeviceGetTotalEccErrors(nvml_device device, int kind, int period, unsigned long long *count)
{
    ENTER(device);
    if (board->ecc < 0)
        return NVML_ERROR_NOT_SUPPORTED;
    double errors = kind == NVML_MEMORY_ERROR_TYPE_CORRECTED ? board->ecc : board->ecc_uncorrected;
    *count = (unsigned long long)errors + (period == NVML_AGGREGATE_ECC ? 10 : 0);
    return NVML_SUCCESS;
}

struct nvml_event_queue {
    bool is_registered[FAKE_MAX_BOARDS], is_delivered[FAKE_MAX_BOARDS];
};

nvml_return nvmlDeviceGetSupportedEventTypes(nvml_device device, unsigned long long *types)
{
    ENTER(device);
    *types = board->xid_events != 0 ? nvmlEventTypeXidCriticalError | 0x10 : 0x10;
    return NVML_SUCCESS;
}

nvml_return nvmlEventSetCreate(nvml_event_set *set)
{
    *set = calloc(1, sizeof **set);
    return *set != NULL ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

nvml_return nvmlDeviceRegisterEvents(nvml_device device, unsigned long long types, nvml_event_set set)
{
    ENTER(device);
    if (set == NULL || (types & ~(nvmlEventTypeXidCriticalError | 0x10)) ||
        (board->xid_events == 0 && types & nvmlEventTypeXidCriticalError))
        return NVML_ERROR_NOT_SUPPORTED;
    set->is_registered[board->index] = true;
    return NVML_SUCCESS;
}

/* As in the real driver, errors before the registration are lost. The tests' errors come later. */
nvml_return nvmlEventSetWait_v2(nvml_event_set set, struct nvml_event *event, unsigned timeout_ms)
{
    (void)timeout_ms;
    for (unsigned i = 0; i < fake_script.board_count; i++) {
        struct fake_board *board = &fake_script.boards[i];
        if (!set->is_registered[i] || set->is_delivered[i] || !fake_has_come(board->xid_at_ms))
            continue;
        set->is_delivered[i] = true;
        *event = (struct nvml_event){(nvml_device)board, nvmlEventTypeXidCriticalError, (uint64_t)board->xid,
                                     0xFFFFFFFF, 0xFFFFFFFF};
        return NVML_SUCCESS;
    }
    return NVML_ERROR_TIMEOUT;
}

nvml_return nvmlEventSetFree(nvml_event_set set)
{
    free(set);
    return NVML_SUCCESS;
}
