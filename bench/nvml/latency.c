/* bench/nvml/latency.c - measures how long each NVML call takes, and writes latency.csv.
 *
 * Note: failing calls are also timed, because a source waits for them, too. A row of the table contains the
 * return code of the last call.
 */
#include <stdbool.h>
#include <stdlib.h>
#include "probe.h"

#define MAX_CALLS   300
#define MAX_TIME_US 2500000 /* time limit for each function, in us; allows 200 calls of 12 ms */

static char buffer[NVML_NAME_SIZE];
static struct nvml_gpm_metrics gpm;

/* X(name in the table, function, arguments); the arguments use `d`, the device. */
#define CALLS(X)                                                                                             \
    X("DeviceGetTotalEnergyConsumption", DeviceGetTotalEnergyConsumption, (d, &wide))                        \
    X("DeviceGetPowerUsage", DeviceGetPowerUsage, (d, &narrow))                                              \
    X("DeviceGetFieldValues(191)", DeviceGetFieldValues, (d, 1, field_list(1, NVML_FI_DEV_ENERGY, 0)))       \
    X("DeviceGetFieldValues(83)", DeviceGetFieldValues,                                                      \
      (d, 1, field_list(1, NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, 0)))                                        \
    X("DeviceGetFieldValues(186)", DeviceGetFieldValues,                                                     \
      (d, 1, field_list(1, NVML_FI_DEV_POWER_INSTANT, 0)))                                                   \
    X("DeviceGetFieldValues(185)", DeviceGetFieldValues,                                                     \
      (d, 1, field_list(1, NVML_FI_DEV_POWER_AVERAGE, 0)))                                                   \
    X("DeviceGetFieldValues(185 memory)", DeviceGetFieldValues,                                              \
      (d, 1, field_list(1, NVML_FI_DEV_POWER_AVERAGE, 2)))                                                   \
    X("DeviceGetFieldValues(191+186+185)", DeviceGetFieldValues, (d, 3, field_list(3, 0, 0)))                \
    X("DeviceGetFieldValues(82)", DeviceGetFieldValues, (d, 1, field_list(1, NVML_FI_DEV_MEMORY_TEMP, 0)))   \
    X("DeviceGetSamples(power, all)", DeviceGetSamples, (d, 0, 0, &type, ring_size(), ring))                 \
    X("DeviceGetSamples(power, count)", DeviceGetSamples, (d, 0, 0, &type, ring_size(), NULL))               \
    X("DeviceGetUtilizationRates", DeviceGetUtilizationRates, (d, &utilization))                             \
    X("DeviceGetTemperature", DeviceGetTemperature, (d, 0, &narrow))                                         \
    X("DeviceGetTemperatureV", DeviceGetTemperatureV, (d, temperature_request()))                            \
    X("DeviceGetClockInfo(SM)", DeviceGetClockInfo, (d, NVML_CLOCK_SM, &narrow))                             \
    X("DeviceGetClockInfo(memory)", DeviceGetClockInfo, (d, NVML_CLOCK_MEM, &narrow))                        \
    X("DeviceGetCurrentClocksEventReasons", DeviceGetCurrentClocksEventReasons, (d, &wide))                  \
    X("DeviceGetMemoryInfo", DeviceGetMemoryInfo, (d, &memory))                                              \
    X("DeviceGetMemoryInfo_v2", DeviceGetMemoryInfo_v2, (d, memory_request()))                               \
    X("DeviceGetComputeRunningProcesses_v3", DeviceGetComputeRunningProcesses_v3,                            \
      (d, process_count(), processes))                                                                       \
    X("DeviceGetEnforcedPowerLimit", DeviceGetEnforcedPowerLimit, (d, &narrow))                              \
    X("DeviceGetName", DeviceGetName, (d, buffer, sizeof buffer))                                            \
    X("DeviceGetUUID", DeviceGetUUID, (d, buffer, sizeof buffer))                                            \
    X("DeviceGetCount_v2", DeviceGetCount_v2, (&narrow))
#define GPM_CALLS(X)                                                                                         \
    X("GpmSampleGet", GpmSampleGet, (d, gpm.after))                                                          \
    X("GpmMetricsGet", GpmMetricsGet, (&gpm))

static unsigned long long wide;
static unsigned narrow, count;
static int type;
static struct nvml_sample ring[4096];
static struct nvml_utilization utilization;
static struct nvml_memory memory;
static struct nvml_memory_v2 memory_v2;
static struct nvml_temperature temperature;
static struct nvml_process_32 processes[256];
static struct nvml_field fields[3];

static struct nvml_field *field_list(int many, unsigned id, unsigned scope)
{
    fields[0] = (struct nvml_field){.id = many == 1 ? id : NVML_FI_DEV_ENERGY, .scope = scope};
    fields[1] = (struct nvml_field){.id = NVML_FI_DEV_POWER_INSTANT};
    fields[2] = (struct nvml_field){.id = NVML_FI_DEV_POWER_AVERAGE};
    return fields;
}

static unsigned *ring_size(void)
{
    count = sizeof ring / sizeof ring[0];
    return &count;
}

static unsigned *process_count(void)
{
    count = sizeof processes / sizeof processes[0];
    return &count;
}

static struct nvml_temperature *temperature_request(void)
{
    temperature = (struct nvml_temperature){.version = NVML_TEMPERATURE_V1};
    return &temperature;
}

static struct nvml_memory_v2 *memory_request(void)
{
    memory_v2 = (struct nvml_memory_v2){.version = NVML_MEMORY_V2};
    return &memory_v2;
}

static bool prepare_gpm(struct probe *probe)
{
    const struct nvml_api *api = &probe->api;
    gpm = (struct nvml_gpm_metrics){.version = 1, .count = 3};
    gpm.metrics[0].id = NVML_GPM_METRIC_SM_UTIL;
    gpm.metrics[1].id = NVML_GPM_METRIC_ANY_TENSOR_UTIL;
    gpm.metrics[2].id = NVML_GPM_METRIC_DRAM_BW_UTIL;
    if (api->GpmSampleAlloc == NULL || api->GpmSampleGet == NULL ||
        api->GpmSampleAlloc(&gpm.before) != NVML_SUCCESS || api->GpmSampleAlloc(&gpm.after) != NVML_SUCCESS)
        return false;
    api->GpmSampleGet(probe->device, gpm.before);
    sleep_us(200000);
    return api->GpmSampleGet(probe->device, gpm.after) == NVML_SUCCESS;
}

static int by_size(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void write_row(FILE *file, const char *condition, const char *call, int64_t *ns, size_t calls,
                      size_t failures, int code)
{
    qsort(ns, calls, sizeof *ns, by_size);
    fprintf(file, "%s,%s,%zu,%zu,%d,%.1f,%.1f,%.1f\n", condition, call, calls, failures, code,
            (double)ns[calls / 2] / 1e3, (double)ns[calls * 99 / 100] / 1e3, (double)ns[calls - 1] / 1e3);
    fflush(file);
}

/* Times a call repeatedly until MAX_CALLS or MAX_TIME_US is reached. */
#define MEASURE(word, call, arguments)                                                                       \
    if (p->api.call == NULL) {                                                                               \
        fprintf(p->latency, "%s,%s,0,0,%d,,,\n", condition, word, NVML_ERROR_FUNCTION_NOT_FOUND);            \
    } else {                                                                                                 \
        size_t calls = 0, failures = 0;                                                                      \
        int code = 0;                                                                                        \
        for (int64_t start_us = now_us(); calls < MAX_CALLS && now_us() - start_us < MAX_TIME_US;) {         \
            int64_t before_ns = clock_ns();                                                                  \
            nvml_return got = p->api.call arguments;                                                         \
            ns[calls++] = clock_ns() - before_ns;                                                            \
            failures += got != NVML_SUCCESS;                                                                 \
            code = got;                                                                                      \
        }                                                                                                    \
        write_row(p->latency, condition, word, ns, calls, failures, code);                                   \
    }

void latency_measure(struct probe *p, const char *condition)
{
    static int64_t ns[MAX_CALLS];
    nvml_device d = p->device;
    CALLS(MEASURE)
    if (prepare_gpm(p)) {
        GPM_CALLS(MEASURE)
    }
    if (p->api.GpmSampleFree != NULL) {
        if (gpm.before != NULL)
            p->api.GpmSampleFree(gpm.before);
        if (gpm.after != NULL)
            p->api.GpmSampleFree(gpm.after);
    }
}
