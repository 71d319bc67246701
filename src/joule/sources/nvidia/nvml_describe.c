/* joule/sources/nvidia/nvml_describe.c - a board's identity, memory, limits, reasons for low clocks,
 * processes and MIG instances. See nvml.h.
 *
 * Note: some driver versions write process records of 32 bytes; all others write 24. These versions are
 * recognised by the symbols that the library contains. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/nvidia/nvml.h"

#define MAX_RECORDS  65536 /* maximum records that a driver may report */
#define MORE_RECORDS 64    /* for processes that start between two calls */

/* --- identity ------------------------------------------------------------------------------------------- */

static const char *architecture_name(unsigned architecture)
{
    static const char *const names[] = {
        [NVML_DEVICE_ARCH_KEPLER] = "Kepler",       [NVML_DEVICE_ARCH_MAXWELL] = "Maxwell",
        [NVML_DEVICE_ARCH_PASCAL] = "Pascal",       [NVML_DEVICE_ARCH_VOLTA] = "Volta",
        [NVML_DEVICE_ARCH_TURING] = "Turing",       [NVML_DEVICE_ARCH_AMPERE] = "Ampere",
        [NVML_DEVICE_ARCH_ADA] = "Ada Lovelace",    [NVML_DEVICE_ARCH_HOPPER] = "Hopper",
        [NVML_DEVICE_ARCH_BLACKWELL] = "Blackwell",
    };
    return architecture < sizeof names / sizeof names[0] && names[architecture] ? names[architecture] : "";
}

void nvml_board_set_identity(const struct nvml_api *api, struct nvml_board *board)
{
    struct device *d = board->device;
    char version[80];
    string_copy(d->vendor, sizeof d->vendor, "nvidia");
    string_copy(d->model, sizeof d->model, board->id.name);
    string_copy(d->uuid, sizeof d->uuid, board->id.uuid);
    string_copy(d->pci_address, sizeof d->pci_address, board->id.bus_id);
    string_copy(d->architecture, sizeof d->architecture, architecture_name(board->architecture));
    if (board->id.major > 0)
        string_print(d->compute_capability, sizeof d->compute_capability, "%d.%d", board->id.major,
                     board->id.minor);
    if (api->SystemGetDriverVersion && api->SystemGetDriverVersion(version, sizeof version) == NVML_SUCCESS)
        string_print(d->driver, sizeof d->driver, "nvidia %s", version);
}

/* --- facts ---------------------------------------------------------------------------------------------- */

/* Reads the memory in bytes. nvmlDeviceGetMemoryInfo_v2 is preferred, because nvmlDeviceGetMemoryInfo counts
 * the driver's own memory as used. */
static void read_memory(const struct nvml_api *api, nvml_device handle, uint64_t *out_total,
                        uint64_t *out_used, uint64_t *out_free)
{
    struct nvml_memory_v2 memory = {.version = NVML_MEMORY_V2};
    struct nvml_memory older;
    if (api->DeviceGetMemoryInfo_v2 && api->DeviceGetMemoryInfo_v2(handle, &memory) == NVML_SUCCESS) {
        *out_total = memory.total;
        *out_used = memory.used;
        *out_free = memory.free;
    } else if (api->DeviceGetMemoryInfo && api->DeviceGetMemoryInfo(handle, &older) == NVML_SUCCESS) {
        *out_total = older.total;
        *out_used = older.used;
        *out_free = older.free;
    }
}

static double watts_of(nvml_return (*call)(nvml_device device, unsigned *milliwatts), nvml_device handle)
{
    unsigned milliwatts;
    return call && call(handle, &milliwatts) == NVML_SUCCESS ? milliwatts * 1e-3 : NAN;
}

static void add_limits(const struct nvml_api *api, nvml_device handle, struct device_facts *facts)
{
    unsigned min, max;
    facts->limit_watts = watts_of(api->DeviceGetPowerManagementLimit, handle);
    facts->default_limit_watts = watts_of(api->DeviceGetPowerManagementDefaultLimit, handle);
    facts->enforced_limit_watts = watts_of(api->DeviceGetEnforcedPowerLimit, handle);
    if (api->DeviceGetPowerManagementLimitConstraints &&
        api->DeviceGetPowerManagementLimitConstraints(handle, &min, &max) == NVML_SUCCESS) {
        facts->min_limit_watts = min * 1e-3;
        facts->max_limit_watts = max * 1e-3;
    }
}

uint32_t nvml_clock_reasons(uint64_t reasons)
{
    static const struct {
        uint64_t nvml_bit;
        uint32_t joule_bit;
    } table[] = {
        {nvmlClocksEventReasonGpuIdle, JOULE_CLOCKS_IDLE},
        {nvmlClocksEventReasonApplicationsClocksSetting, JOULE_CLOCKS_SET},
        {nvmlClocksEventReasonSwPowerCap, JOULE_CLOCKS_POWER},
        {nvmlClocksEventReasonSwThermalSlowdown, JOULE_CLOCKS_TEMPERATURE},
        {nvmlClocksEventReasonHwThermalSlowdown, JOULE_CLOCKS_HOT_HARDWARE},
        {nvmlClocksEventReasonHwSlowdown, JOULE_CLOCKS_SLOWDOWN},
        {nvmlClocksEventReasonHwPowerBrakeSlowdown, JOULE_CLOCKS_POWER_BRAKE},
        {nvmlClocksEventReasonSyncBoost, JOULE_CLOCKS_SYNC},
        {nvmlClocksEventReasonDisplayClockSetting, JOULE_CLOCKS_DISPLAY},
    };
    uint32_t bits = 0;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (reasons & table[i].nvml_bit)
            bits |= table[i].joule_bit;
        reasons &= ~table[i].nvml_bit;
    }
    return reasons ? bits | JOULE_CLOCKS_OTHER : bits;
}

static void add_reasons(const struct nvml_api *api, nvml_device handle, struct device_facts *facts)
{
    unsigned long long reasons;
    nvml_return (*call)(nvml_device, unsigned long long *) = api->DeviceGetCurrentClocksEventReasons
                                                                 ? api->DeviceGetCurrentClocksEventReasons
                                                                 : api->DeviceGetCurrentClocksThrottleReasons;
    if (call && call(handle, &reasons) == NVML_SUCCESS)
        facts->clock_reasons = nvml_clock_reasons(reasons);
}

/* --- processes ------------------------------------------------------------------------------------------ */

/* Returns the size of a process record in bytes. Only drivers 530 to early 535, which write the longer
 * record, have the first symbol and lack the second. */
static size_t process_record_size(const struct nvml_api *api)
{
    bool is_long = api->DeviceGetConfComputeMemSizeInfo && !api->DeviceGetRunningProcessDetailList;
    return is_long ? sizeof(struct nvml_process_32) : sizeof(struct nvml_process);
}

static joule_device_process *find_process(struct device_facts *facts, uint64_t pid)
{
    for (size_t i = 0; i < facts->process_count; i++)
        if (facts->processes[i].pid == pid)
            return &facts->processes[i];
    return NULL;
}

/* Allocates space for *count records, the number that the driver needs, and for MORE_RECORDS more. Adds
 * MORE_RECORDS to *count. Returns NULL if out of memory or if *count exceeds MAX_RECORDS. */
static void *allocate_records(unsigned *count, size_t record_size)
{
    if (*count > MAX_RECORDS)
        return NULL;
    *count += MORE_RECORDS;
    return malloc(*count * record_size);
}

static void set_busy(const struct nvml_process_sample *samples, unsigned count, struct nvml_board *board,
                     struct device_facts *facts)
{
    uint64_t latest_us[DEVICE_MAX_PROCESSES] = {0};
    for (unsigned i = 0; i < count; i++) {
        joule_device_process *process = find_process(facts, samples[i].pid);
        if (samples[i].time_us > board->process_us)
            board->process_us = samples[i].time_us;
        if (!process || samples[i].time_us < latest_us[process - facts->processes] ||
            samples[i].sm_percent > 100)
            continue;
        latest_us[process - facts->processes] = samples[i].time_us;
        process->busy = samples[i].sm_percent * 0.01;
    }
}

/* Sets the busy ratios of processes. For each process, the driver reports several samples of the last
 * seconds; the latest one is used. A process that did nothing has no sample, so its ratio remains unknown. */
static void add_busy(const struct nvml_api *api, struct nvml_board *board, struct device_facts *facts)
{
    struct nvml_process_sample first[2 * DEVICE_MAX_PROCESSES], *samples = first, *larger = NULL;
    unsigned count = sizeof first / sizeof first[0], size = count;
    if (!api->DeviceGetProcessUtilization)
        return;
    nvml_return code = api->DeviceGetProcessUtilization(board->handle, samples, &count, board->process_us);
    if (code == NVML_ERROR_INSUFFICIENT_SIZE && (larger = allocate_records(&count, sizeof *larger))) {
        samples = larger;
        size = count;
        code = api->DeviceGetProcessUtilization(board->handle, samples, &count, board->process_us);
    }
    if (code == NVML_SUCCESS)
        set_busy(samples, count < size ? count : size, board, facts);
    free(larger);
}

static void set_processes(const void *records, unsigned count, size_t record_size, struct device_facts *facts)
{
    facts->has_process_list = true;
    for (unsigned i = 0; i < count && i < DEVICE_MAX_PROCESSES; i++) {
        struct nvml_process process;
        memcpy(&process, (const char *)records + i * record_size, sizeof process);
        facts->processes[facts->process_count++] =
            (joule_device_process){.pid = process.pid, .memory_bytes = process.used_bytes, .busy = NAN};
    }
}

/* Adds the processes on the board, at most DEVICE_MAX_PROCESSES. */
static void add_processes(const struct nvml_api *api, struct nvml_board *board, struct device_facts *facts)
{
    /* The driver writes records of 32 or 24 bytes; both fit. */
    struct nvml_process_32 first[DEVICE_MAX_PROCESSES], *records = first, *larger = NULL;
    unsigned count = DEVICE_MAX_PROCESSES;
    if (!api->DeviceGetComputeRunningProcesses_v3)
        return;
    nvml_return code = api->DeviceGetComputeRunningProcesses_v3(board->handle, &count, records);
    if (code == NVML_ERROR_INSUFFICIENT_SIZE && (larger = allocate_records(&count, sizeof *larger))) {
        records = larger;
        code = api->DeviceGetComputeRunningProcesses_v3(board->handle, &count, records);
    }
    if (code == NVML_SUCCESS) {
        set_processes(records, count, process_record_size(api), facts);
        add_busy(api, board, facts);
    }
    free(larger);
}

/* --- MIG instances -------------------------------------------------------------------------------------- */

/* Reads the profile from a name such as "NVIDIA H200 MIG 1g.18gb". */
static void read_profile(const struct nvml_api *api, nvml_device handle, joule_device_partition *partition)
{
    char name[NVML_NAME_SIZE];
    if (!api->DeviceGetName || api->DeviceGetName(handle, name, sizeof name) != NVML_SUCCESS)
        return;
    const char *profile = strstr(name, " MIG ");
    if (profile)
        string_copy(partition->profile, sizeof partition->profile, profile + strlen(" MIG "));
}

static void add_instance(const struct nvml_api *api, nvml_device handle, joule_device_partition *partition)
{
    *partition = device_partition_unknown();
    read_profile(api, handle, partition);
    read_memory(api, handle, &partition->memory_total_bytes, &partition->memory_used_bytes,
                &partition->memory_free_bytes);
    if (api->DeviceGetUUID)
        api->DeviceGetUUID(handle, partition->uuid, sizeof partition->uuid);
    if (api->DeviceGetGpuInstanceId)
        api->DeviceGetGpuInstanceId(handle, &partition->instance);
    if (api->DeviceGetComputeInstanceId)
        api->DeviceGetComputeInstanceId(handle, &partition->compute_instance);
}

static void add_instances(const struct nvml_api *api, nvml_device handle, struct device_facts *facts)
{
    unsigned current = 0, pending = 0, max = 0;
    if (!api->DeviceGetMigMode || api->DeviceGetMigMode(handle, &current, &pending) != NVML_SUCCESS ||
        current == 0 || !api->DeviceGetMaxMigDeviceCount || !api->DeviceGetMigDeviceHandleByIndex ||
        api->DeviceGetMaxMigDeviceCount(handle, &max) != NVML_SUCCESS)
        return;
    for (unsigned i = 0; i < max && facts->partition_count < DEVICE_MAX_PARTITIONS; i++) {
        nvml_device instance;
        if (api->DeviceGetMigDeviceHandleByIndex(handle, i, &instance) == NVML_SUCCESS)
            add_instance(api, instance, &facts->partitions[facts->partition_count++]);
    }
}

struct device_facts nvml_board_facts(const struct nvml_api *api, struct nvml_board *board)
{
    struct device_facts facts = device_facts_unknown();
    read_memory(api, board->handle, &facts.memory_total_bytes, &facts.memory_used_bytes,
                &facts.memory_free_bytes);
    add_limits(api, board->handle, &facts);
    add_reasons(api, board->handle, &facts);
    add_processes(api, board, &facts);
    add_instances(api, board->handle, &facts);
    return facts;
}
