/* joule/sources/nvml_describe.c - everything that a board says of itself, for people. See nvml.h.
 *
 * Owns the static facts beside what a board is: memory, limits, reasons for low clocks, processes, MIG instances. It
 * keeps nothing, and knows nothing of the running source.
 * Newcomers: one driver line writes process records of 32 bytes where all others write 24; which it is can only be told
 * from the symbols that it has.
 */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/nvml.h"

static void describe_identity(const struct nvml_api *api, nvml_device device, struct nvml_description *d)
{
    nvml_identify(api, device, &d->id);
    if (api->SystemGetDriverVersion)
        api->SystemGetDriverVersion(d->driver, sizeof d->driver);
}

/* The older call counts the driver's own memory as used; the newer one does not. */
static void describe_memory(const struct nvml_api *api, nvml_device device, struct nvml_description *d)
{
    struct nvml_memory_v2 memory = {.version = NVML_MEMORY_V2};
    struct nvml_memory older;
    if (api->DeviceGetMemoryInfo_v2 && api->DeviceGetMemoryInfo_v2(device, &memory) == NVML_SUCCESS) {
        d->memory_total_bytes = memory.total;
        d->memory_used_bytes = memory.used;
        d->memory_free_bytes = memory.free;
    } else if (api->DeviceGetMemoryInfo && api->DeviceGetMemoryInfo(device, &older) == NVML_SUCCESS) {
        d->memory_total_bytes = older.total;
        d->memory_used_bytes = older.used;
        d->memory_free_bytes = older.free;
    }
}

static double watts_of(nvml_return (*call)(nvml_device device, unsigned *milliwatts), nvml_device device)
{
    unsigned milliwatts;
    return call && call(device, &milliwatts) == NVML_SUCCESS ? milliwatts * 1e-3 : NAN;
}

static void describe_limits(const struct nvml_api *api, nvml_device device, struct nvml_description *d)
{
    unsigned least, most;
    unsigned long long reasons;
    d->limit_watts = watts_of(api->DeviceGetPowerManagementLimit, device);
    d->default_limit_watts = watts_of(api->DeviceGetPowerManagementDefaultLimit, device);
    d->enforced_limit_watts = watts_of(api->DeviceGetEnforcedPowerLimit, device);
    if (api->DeviceGetPowerManagementLimitConstraints &&
        api->DeviceGetPowerManagementLimitConstraints(device, &least, &most) == NVML_SUCCESS) {
        d->least_limit_watts = least * 1e-3;
        d->most_limit_watts = most * 1e-3;
    }
    nvml_return (*call)(nvml_device, unsigned long long *) = api->DeviceGetCurrentClocksEventReasons
                                                                 ? api->DeviceGetCurrentClocksEventReasons
                                                                 : api->DeviceGetCurrentClocksThrottleReasons;
    if (call && call(device, &reasons) == NVML_SUCCESS)
        d->clock_reasons = reasons;
}

/* Drivers 530 to early 535 have the first symbol and not yet the second. */
static size_t process_record_size(const struct nvml_api *api)
{
    bool is_long = api->DeviceGetConfComputeMemSizeInfo && !api->DeviceGetRunningProcessDetailList;
    return is_long ? sizeof(struct nvml_process_32) : sizeof(struct nvml_process);
}

static void describe_processes(const struct nvml_api *api, nvml_device device, struct nvml_description *d)
{
    struct nvml_process_32 room[NVML_MOST_PROCESSES]; /* for records of either size */
    unsigned count = NVML_MOST_PROCESSES;
    size_t record_size = process_record_size(api);
    if (!api->DeviceGetComputeRunningProcesses_v3 ||
        api->DeviceGetComputeRunningProcesses_v3(device, &count, room) != NVML_SUCCESS)
        return;
    for (unsigned i = 0; i < count && i < NVML_MOST_PROCESSES; i++) {
        struct nvml_process process;
        memcpy(&process, (const char *)room + i * record_size, sizeof process);
        d->processes[d->process_count++] = (struct nvml_user){process.pid, process.used_bytes};
    }
}

static void describe_instance(const struct nvml_api *api, nvml_device device, struct nvml_instance *instance)
{
    if (api->DeviceGetUUID)
        api->DeviceGetUUID(device, instance->uuid, sizeof instance->uuid);
    if (api->DeviceGetGpuInstanceId)
        api->DeviceGetGpuInstanceId(device, &instance->gpu_instance);
    if (api->DeviceGetComputeInstanceId)
        api->DeviceGetComputeInstanceId(device, &instance->compute_instance);
}

static void describe_instances(const struct nvml_api *api, nvml_device device, struct nvml_description *d)
{
    unsigned current = 0, pending = 0, most = 0;
    if (!api->DeviceGetMigMode || api->DeviceGetMigMode(device, &current, &pending) != NVML_SUCCESS ||
        current == 0)
        return;
    d->is_mig = true;
    if (!api->DeviceGetMaxMigDeviceCount || !api->DeviceGetMigDeviceHandleByIndex ||
        api->DeviceGetMaxMigDeviceCount(device, &most) != NVML_SUCCESS)
        return;
    for (unsigned i = 0; i < most && d->instance_count < NVML_MOST_INSTANCES; i++) {
        nvml_device instance;
        if (api->DeviceGetMigDeviceHandleByIndex(device, i, &instance) == NVML_SUCCESS)
            describe_instance(api, instance, &d->instances[d->instance_count++]);
    }
}

static void describe_board(const struct nvml_api *api, unsigned index, struct nvml_description *d)
{
    nvml_device device;
    *d = (struct nvml_description){.index = index,
                                   .memory_total_bytes = NVML_BYTES_UNKNOWN,
                                   .memory_used_bytes = NVML_BYTES_UNKNOWN,
                                   .memory_free_bytes = NVML_BYTES_UNKNOWN,
                                   .limit_watts = NAN,
                                   .default_limit_watts = NAN,
                                   .least_limit_watts = NAN,
                                   .most_limit_watts = NAN,
                                   .enforced_limit_watts = NAN,
                                   .clock_reasons = NVML_REASONS_UNKNOWN};
    d->state = nvml_status(api->DeviceGetHandleByIndex_v2(index, &device));
    if (d->state != JOULE_OK)
        return;
    describe_identity(api, device, d);
    describe_memory(api, device, d);
    describe_limits(api, device, d);
    describe_processes(api, device, d);
    describe_instances(api, device, d);
}

joule_status nvml_describe(struct joule_host *host, struct nvml_description *out_boards, size_t size,
                           size_t *out_count, char *out_remedy, size_t remedy_size)
{
    struct nvml_api api;
    unsigned count = 0;
    *out_count = 0;
    joule_status status = nvml_load(host, &api, out_remedy, remedy_size);
    if (status != JOULE_OK)
        return status;
    status = nvml_status(api.DeviceGetCount_v2(&count));
    for (; status == JOULE_OK && *out_count < count && *out_count < size; ++*out_count)
        describe_board(&api, (unsigned)*out_count, &out_boards[*out_count]);
    if (api.Shutdown)
        api.Shutdown();
    return status;
}

const char *nvml_reason_words(unsigned bit)
{
    static const struct {
        uint64_t reason;
        const char *words;
    } table[] = {
        {NVML_REASON_IDLE, "idle"},
        {NVML_REASON_APPLICATION_CLOCKS, "clocks set by a user"},
        {NVML_REASON_SW_POWER_CAP, "power limit"},
        {NVML_REASON_HW_SLOWDOWN, "hardware slowdown"},
        {NVML_REASON_SYNC_BOOST, "boost in step with other boards"},
        {NVML_REASON_SW_THERMAL, "temperature"},
        {NVML_REASON_HW_THERMAL, "temperature (hardware)"},
        {NVML_REASON_HW_POWER_BRAKE, "power brake"},
        {NVML_REASON_DISPLAY_CLOCKS, "display clocks"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (bit < 64 && table[i].reason == UINT64_C(1) << bit)
            return table[i].words;
    return "a reason without a name";
}
