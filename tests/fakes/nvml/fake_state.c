/* tests/fakes/nvml/fake_state.c - other values of the fake library: memory, clocks, processes, MIG, GPM. */
#include <stdlib.h>
#include <string.h>
#include "fake_driver.h"

nvml_return nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilization *utilization)
{
    ENTER(device);
    if (board->mig > 0 || board->part >= 0)
        return NVML_ERROR_NOT_SUPPORTED;
    utilization->gpu_percent = (uint32_t)(board->duty * 100);
    utilization->memory_percent = utilization->gpu_percent / 4;
    return NVML_SUCCESS;
}

static const uint64_t memory_bytes = 143771ull << 20, reserved_bytes = 600ull << 20,
                      used_bytes = 1024ull << 20;

/* A MIG instance has an eighth of the board's memory. Each instance uses 100 MiB more than the previous
 * one. */
static struct nvml_memory_v2 memory_of(const struct fake_board *board)
{
    uint64_t total = board->part < 0 ? memory_bytes : memory_bytes / 8;
    uint64_t used = board->part < 0 ? used_bytes : (uint64_t)(board->part + 1) * 100 << 20;
    uint64_t reserved = board->part < 0 ? reserved_bytes : 0;
    return (struct nvml_memory_v2){NVML_MEMORY_V2, total, reserved, total - reserved - used, used};
}

nvml_return nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *memory)
{
    ENTER(device);
    struct nvml_memory_v2 all = memory_of(board);
    *memory = (struct nvml_memory){all.total, all.free, all.reserved + all.used};
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetMemoryInfo_v2(nvml_device device, struct nvml_memory_v2 *memory)
{
    ENTER(device);
    if (memory->version != NVML_MEMORY_V2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    *memory = memory_of(board);
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned *celsius)
{
    ENTER(device);
    *celsius = (unsigned)board->celsius;
    return sensor == 0 ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvml_return nvmlDeviceGetClockInfo(nvml_device device, int clock, unsigned *megahertz)
{
    ENTER(device);
    *megahertz = clock == NVML_CLOCK_MEM ? 3201 : fake_power(board, fake_now_s()) > board->watts ? 1980 : 345;
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device, unsigned long long *reasons)
{
    ENTER(device);
    *reasons = fake_power(board, fake_now_s()) > board->watts ? nvmlClocksEventReasonSwPowerCap
                                                              : nvmlClocksEventReasonGpuIdle;
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetConfComputeMemSizeInfo(nvml_device device, void *unused)
{
    ENTER(device);
    (void)board;
    (void)unused;
    return NVML_ERROR_NOT_SUPPORTED;
}

#ifdef FAKE_535
typedef struct nvml_process_32 process_record;
#define PROCESS(record) (&(record)->process)
#else
typedef struct nvml_process process_record;
#define PROCESS(record) (record)

nvml_return nvmlDeviceGetTemperatureV(nvml_device device, struct nvml_temperature *temperature)
{
    unsigned celsius = 0;
    if (temperature->version != NVML_TEMPERATURE_V1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvml_return got = nvmlDeviceGetTemperature(device, temperature->sensor, &celsius);
    temperature->celsius = (int32_t)celsius;
    return got;
}

nvml_return nvmlDeviceGetCurrentClocksEventReasons(nvml_device device, unsigned long long *reasons)
{
    return nvmlDeviceGetCurrentClocksThrottleReasons(device, reasons);
}

nvml_return nvmlDeviceGetRunningProcessDetailList(nvml_device device, void *unused)
{
    ENTER(device);
    (void)board;
    (void)unused;
    return NVML_ERROR_NOT_SUPPORTED;
}

/* Process i uses the board for the fraction duty / 2^i of the time. As in the real driver, the result also
 * contains older samples, and a sample of a process that has ended. */
nvml_return nvmlDeviceGetProcessUtilization(nvml_device device, struct nvml_process_sample *samples,
                                            unsigned *count, unsigned long long last_seen_us)
{
    ENTER(device);
    uint64_t now_us = (uint64_t)(fake_now_s() * 1e6);
    unsigned found = 0, wanted = 2 * (unsigned)board->processes + 1;
    if (board->mig > 0)
        return NVML_ERROR_NOT_SUPPORTED;
    if (samples == NULL || *count < wanted) {
        *count = wanted;
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    for (unsigned age = 0; age < 2; age++)
        for (unsigned i = 0; i < (unsigned)board->processes; i++)
            samples[found++] =
                (struct nvml_process_sample){1000 + i,
                                             now_us - 1000 * (age + 1),
                                             age ? 99 : i < 32 ? (uint32_t)(board->duty * 100) >> i : 0,
                                             1,
                                             0,
                                             0};
    samples[found++] = (struct nvml_process_sample){7, now_us, 50, 1, 0, 0};
    *count = found;
    return last_seen_us >= now_us ? NVML_ERROR_NOT_FOUND : NVML_SUCCESS;
}
#endif

nvml_return nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device, unsigned *count, void *processes)
{
    ENTER(device);
    unsigned found = (unsigned)board->processes;
    if (*count < found) {
        *count = found;
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    *count = found;
    process_record *records = processes;
    for (unsigned i = 0; i < found; i++) {
        memset(&records[i], 0, sizeof records[i]);
        *PROCESS(&records[i]) = (struct nvml_process){1000 + i, used_bytes, 0xFFFFFFFF, 0xFFFFFFFF};
    }
    return NVML_SUCCESS;
}

/* --- MIG ------------------------------------------------------------------------------------------------ */

nvml_return nvmlDeviceGetMigMode(nvml_device device, unsigned *current, unsigned *pending)
{
    ENTER(device);
    *current = *pending = board->mig > 0;
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetMaxMigDeviceCount(nvml_device device, unsigned *count)
{
    ENTER(device);
    *count = board->mig > 0 ? FAKE_MAX_PARTS : 0;
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetMigDeviceHandleByIndex(nvml_device device, unsigned index, nvml_device *instance)
{
    ENTER(device);
    if (index >= board->mig || index >= FAKE_MAX_PARTS)
        return NVML_ERROR_NOT_FOUND;
    *instance = (nvml_device)&fake_script.parts[board->index][index];
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetGpuInstanceId(nvml_device instance, unsigned *id)
{
    ENTER(instance);
    *id = (unsigned)(board->part + 7);
    return board->part >= 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvml_return nvmlDeviceGetComputeInstanceId(nvml_device instance, unsigned *id)
{
    ENTER(instance);
    *id = 0;
    return board->part >= 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

/* --- GPM ------------------------------------------------------------------------------------------------ */

/* A sample contains only its time. Activity between two samples is computed from the square wave of power. */
struct nvml_gpm_buffer {
    const struct fake_board *board;
    double time_s;
};

nvml_return nvmlGpmQueryDeviceSupport(nvml_device device, struct nvml_gpm_support *support)
{
    ENTER(device);
    if (support->version != 1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    support->is_supported = board->gpm != 0;
    return NVML_SUCCESS;
}

nvml_return nvmlGpmSampleAlloc(nvml_gpm_sample *sample)
{
    *sample = calloc(1, sizeof **sample);
    return *sample != NULL ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

nvml_return nvmlGpmSampleFree(nvml_gpm_sample sample)
{
    free(sample);
    return NVML_SUCCESS;
}

nvml_return nvmlGpmSampleGet(nvml_device device, nvml_gpm_sample sample)
{
    ENTER(device);
    if (board->gpm == 0)
        return NVML_ERROR_NOT_SUPPORTED;
    *sample = (struct nvml_gpm_buffer){board, fake_now_s()};
    return NVML_SUCCESS;
}

nvml_return nvmlGpmMetricsGet(struct nvml_gpm_metrics *metrics)
{
    if (metrics->version != 1 || metrics->count > NVML_GPM_METRIC_MAX)
        return NVML_ERROR_INVALID_ARGUMENT;
    const struct fake_board *board = metrics->before->board;
    double length_s = metrics->after->time_s - metrics->before->time_s;
    if (board == NULL || board != metrics->after->board || length_s <= 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    double joules = fake_joules(board, metrics->after->time_s) - fake_joules(board, metrics->before->time_s);
    double active = (joules / length_s - board->watts) / (board->peak_watts - board->watts) * 100;
    for (unsigned i = 0; i < metrics->count; i++) {
        struct nvml_gpm_metric *metric = &metrics->metrics[i];
        metric->status =
            metric->id == NVML_GPM_METRIC_SM_UTIL || metric->id == NVML_GPM_METRIC_GRAPHICS_UTIL ||
                    metric->id == NVML_GPM_METRIC_ANY_TENSOR_UTIL ||
                    metric->id == NVML_GPM_METRIC_DRAM_BW_UTIL || metric->id == NVML_GPM_METRIC_FP32_UTIL
                ? NVML_SUCCESS
                : NVML_ERROR_NOT_SUPPORTED;
        metric->value = metric->id == NVML_GPM_METRIC_ANY_TENSOR_UTIL ? active / 2
                        : metric->id == NVML_GPM_METRIC_DRAM_BW_UTIL  ? active / 4
                                                                      : active;
    }
    return NVML_SUCCESS;
}
