/* tests/fakes/nvml/fake_nvml.c - a libnvidia-ml.so.1 with the vendor's interface and scripted boards.
 *
 * Owns the symbols and their manners: sizes asked for first, versions in structs, fields that fail one by one,
 * return codes. The boards and their power are fake_board.c's. With FAKE_535 it is a driver of the 535 line: process
 * records of 32 bytes and without the symbols that came later.
 * Newcomers: time is the machine's until fake_nvml_set_time is called, then it stands where it was put. A handle is a
 * pointer to a fake_board.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "fake_board.h"
#include "joule/sources/nvml_abi.h"

#define EXPORT                    __attribute__((visibility("default")))
#define DECLARE(name, parameters) EXPORT nvml_return nvml##name parameters;
NVML_FUNCTIONS(DECLARE)
EXPORT nvml_return nvmlInitWithFlags(unsigned flags);
EXPORT const char *nvmlErrorString(nvml_return code);
EXPORT nvml_return nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device);
EXPORT nvml_return nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvml_device *device);
EXPORT nvml_return nvmlDeviceGetIndex(nvml_device device, unsigned *index);
EXPORT nvml_return nvmlDeviceGetMinorNumber(nvml_device device, unsigned *number);
/* For tests: sets the script anew, as if the driver had just been loaded; and stops the clock at a time. */
EXPORT void fake_nvml_script(const char *text);
EXPORT void fake_nvml_set_time(int64_t monotonic_ns, int64_t realtime_ns);
EXPORT unsigned long fake_nvml_calls(void);

static struct fake_script script;
static pthread_once_t script_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t driver_lock =
    PTHREAD_MUTEX_INITIALIZER; /* as the driver has one: a blocked call blocks all */
static _Atomic int64_t fixed_monotonic_ns = -1, fixed_realtime_ns = -1, first_init_ns = -1, last_init_ns = -1;
static _Atomic bool has_blocked;
static _Atomic unsigned long calls;

static void script_load(void)
{
    static char text[8192];
    const char *value = getenv("JOULE_FAKE_NVML");
    if (value == NULL)
        value = "";
    if (value[0] == '@') {
        FILE *file = fopen(value + 1, "r");
        size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
        text[length] = '\0';
        if (file != NULL)
            fclose(file);
        value = text;
    }
    if (!fake_script_parse(&script, value))
        fprintf(stderr, "fake nvml: the script has a key that does not exist: %s\n", value);
}

void fake_nvml_script(const char *text)
{
    pthread_once(&script_once, script_load);
    if (!fake_script_parse(&script, text))
        abort();
    first_init_ns = last_init_ns = fixed_monotonic_ns = fixed_realtime_ns = -1;
    has_blocked = false;
}

void fake_nvml_set_time(int64_t monotonic_ns, int64_t realtime_ns)
{
    fixed_monotonic_ns = monotonic_ns;
    fixed_realtime_ns = realtime_ns;
}

unsigned long fake_nvml_calls(void)
{
    return calls;
}

static int64_t clock_ns(clockid_t clock)
{
    int64_t fixed = clock == CLOCK_MONOTONIC ? fixed_monotonic_ns : fixed_realtime_ns;
    struct timespec now;
    clock_gettime(clock, &now);
    return fixed >= 0 ? fixed : (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static double now_s(void)
{
    return (double)clock_ns(CLOCK_MONOTONIC) / 1e9;
}

static bool is_past(double at_ms, int64_t since_ns)
{
    return at_ms >= 0 && since_ns >= 0 && (double)(clock_ns(CLOCK_MONOTONIC) - since_ns) / 1e6 >= at_ms;
}

/* What every call on a device goes through: the scripted misfortunes. */
static nvml_return enter(nvml_device device, const struct fake_board **out_board)
{
    struct fake_board *board = (struct fake_board *)device;
    calls++;
    if (first_init_ns < 0)
        return NVML_UNINITIALIZED;
    if (board == NULL)
        return NVML_INVALID_ARGUMENT;
    pthread_mutex_lock(&driver_lock);
    if (is_past(board->block_at_ms, first_init_ns) && !atomic_exchange(&has_blocked, true)) {
        struct timespec length = {(time_t)board->block_s, 0};
        nanosleep(&length, NULL);
    }
    pthread_mutex_unlock(&driver_lock);
    *out_board = board;
    if (is_past(board->uninitialized_at_ms, first_init_ns) && last_init_ns == first_init_ns)
        return NVML_UNINITIALIZED;
    if (is_past(board->lost_at_ms, first_init_ns))
        return NVML_GPU_IS_LOST;
    if (is_past(board->transient_at_ms, first_init_ns) &&
        !is_past(board->transient_at_ms + 300, first_init_ns))
        return NVML_TIMEOUT;
    return NVML_SUCCESS;
}

#define ENTER(device)                                                                                        \
    const struct fake_board *board;                                                                          \
    nvml_return entered = enter(device, &board);                                                             \
    if (entered != NVML_SUCCESS)                                                                             \
    return entered

nvml_return nvmlInit_v2(void)
{
    pthread_once(&script_once, script_load);
    if (script.init_code != 0)
        return (nvml_return)script.init_code;
    int64_t never = -1, now = clock_ns(CLOCK_MONOTONIC);
    if (!atomic_compare_exchange_strong(&first_init_ns, &never, now))
        last_init_ns = now > never ? now : never + 1;
    else
        last_init_ns = now;
    return NVML_SUCCESS;
}

nvml_return nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return nvmlInit_v2();
}

nvml_return nvmlShutdown(void)
{
    return first_init_ns < 0 ? NVML_UNINITIALIZED : NVML_SUCCESS;
}

const char *nvmlErrorString(nvml_return code)
{
    return code == NVML_SUCCESS ? "Success" : code == NVML_NOT_SUPPORTED ? "Not Supported" : "Fake error";
}

static nvml_return put_text(char *text, unsigned size, const char *value)
{
    if (text == NULL)
        return NVML_INVALID_ARGUMENT;
    return (size_t)snprintf(text, size, "%s", value) < size ? NVML_SUCCESS : NVML_INSUFFICIENT_SIZE;
}

nvml_return nvmlSystemGetDriverVersion(char *text, unsigned size)
{
#ifdef FAKE_535
    return put_text(text, size, "535.54.03");
#else
    return put_text(text, size, "580.00.00");
#endif
}

nvml_return nvmlSystemGetNVMLVersion(char *text, unsigned size)
{
    return put_text(text, size, "13.580.00.00");
}

nvml_return nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    *version = 13000;
    return NVML_SUCCESS;
}

/* --- finding boards ----------------------------------------------------------------------------------------- */

nvml_return nvmlDeviceGetCount_v2(unsigned *count)
{
    if (first_init_ns < 0)
        return NVML_UNINITIALIZED;
    *count = script.board_count;
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *device)
{
    if (first_init_ns < 0)
        return NVML_UNINITIALIZED;
    if (index >= script.board_count || device == NULL)
        return NVML_INVALID_ARGUMENT;
    if (script.boards[index].denied != 0)
        return NVML_NO_PERMISSION;
    *device = (nvml_device)&script.boards[index];
    return NVML_SUCCESS;
}

static void make_uuid(const struct fake_board *board, char *text, size_t size)
{
    snprintf(text, size, "%s-5eed0000-0000-4000-8000-0000000000%x%x", board->part < 0 ? "GPU" : "MIG",
             board->index, (unsigned)(board->part + 1));
}

static void make_bus_id(const struct fake_board *board, char *text, size_t size)
{
    snprintf(text, size, "%08X:%02X:00.0", 0u, 0x65u + board->index);
}

typedef void (*naming_fn)(const struct fake_board *board, char *text, size_t size);

static nvml_return find_board(const char *wanted, naming_fn make, nvml_device *device)
{
    for (unsigned i = 0; i < script.board_count; i++) {
        char name[NVML_NAME_SIZE];
        make(&script.boards[i], name, sizeof name);
        if (strcmp(name, wanted) == 0)
            return nvmlDeviceGetHandleByIndex_v2(i, device);
    }
    return NVML_NOT_FOUND;
}

nvml_return nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device)
{
    return find_board(uuid, make_uuid, device);
}

nvml_return nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvml_device *device)
{
    return find_board(bus_id, make_bus_id, device);
}

nvml_return nvmlDeviceGetIndex(nvml_device device, unsigned *index)
{
    ENTER(device);
    *index = board->index;
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetMinorNumber(nvml_device device, unsigned *number)
{
    return nvmlDeviceGetIndex(device, number);
}

nvml_return nvmlDeviceGetName(nvml_device device, char *text, unsigned size)
{
    ENTER(device);
    if (board->part >= 0)
        return put_text(text, size, "NVIDIA Fake H200 MIG 1g.18gb");
    return put_text(text, size, board->superchip != 0 ? "NVIDIA GH200 480GB Fake" : "NVIDIA Fake H200");
}

nvml_return nvmlDeviceGetUUID(nvml_device device, char *text, unsigned size)
{
    ENTER(device);
    char uuid[NVML_NAME_SIZE];
    make_uuid(board, uuid, sizeof uuid);
    return put_text(text, size, uuid);
}

nvml_return nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *pci)
{
    ENTER(device);
    *pci = (struct nvml_pci){.bus = 0x65 + board->index, .device_id = 0x233510DE};
    make_bus_id(board, pci->bus_id, sizeof pci->bus_id);
    snprintf(pci->bus_id_legacy, sizeof pci->bus_id_legacy, "%s", pci->bus_id + 4);
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetCudaComputeCapability(nvml_device device, int *major, int *minor)
{
    ENTER(device);
    *major = (int)board->major;
    *minor = (int)board->minor;
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetArchitecture(nvml_device device, unsigned *architecture)
{
    ENTER(device);
    *architecture = (unsigned)board->architecture;
    return NVML_SUCCESS;
}

/* --- energy and power --------------------------------------------------------------------------------------- */

static uint64_t counter_millijoules(const struct fake_board *board)
{
    if (board->energy < 0)
        return 600000;
    double joules = fake_counter_joules(board, now_s());
    if (is_past(board->reset_at_ms, first_init_ns))
        joules -= fake_joules(board, (double)first_init_ns / 1e9 + board->reset_at_ms / 1e3);
    return joules > 0 ? (uint64_t)(joules * 1e3) : 0;
}

nvml_return nvmlDeviceGetTotalEnergyConsumption(nvml_device device, unsigned long long *millijoules)
{
    ENTER(device);
    if (board->energy == 0 || board->part >= 0)
        return NVML_NOT_SUPPORTED;
    *millijoules = counter_millijoules(board);
    return NVML_SUCCESS;
}

/* 1 s means from Ampere on, except GA100, whose compute capability is 8.0. */
static bool usage_is_average(const struct fake_board *board)
{
    return board->architecture >= NVML_ARCH_AMPERE && !(board->major == 8 && board->minor == 0);
}

nvml_return nvmlDeviceGetPowerUsage(nvml_device device, unsigned *milliwatts)
{
    ENTER(device);
    if (board->power == 0 || board->part >= 0)
        return NVML_NOT_SUPPORTED;
    double watts =
        usage_is_average(board) ? fake_average_watts(board, now_s()) : fake_instant_watts(board, now_s());
    *milliwatts = (unsigned)(watts * 1e3);
    return NVML_SUCCESS;
}

/* Adds what a scope has beside or instead of the board; negative: not supported. */
static double in_scope(const struct fake_board *board, uint32_t scope, double watts)
{
    if (scope == NVML_SCOPE_GPU)
        return watts;
    if (scope == NVML_SCOPE_MEMORY)
        return board->memory_watts > 0 ? board->memory_watts : -1;
    return scope == NVML_SCOPE_MODULE && board->module_watts >= 0 ? watts + board->module_watts : -1;
}

static void put_milliwatts(struct nvml_field *field, double watts)
{
    field->status = watts < 0 ? NVML_NOT_SUPPORTED : NVML_SUCCESS;
    field->value_type = NVML_VALUE_UINT;
    field->value.u32 = watts < 0 ? 0 : (uint32_t)(watts * 1e3);
}

static void put_energy(const struct fake_board *board, struct nvml_field *field, bool works)
{
    field->status = works && board->energy != 0 && field->scope == 0 ? NVML_SUCCESS : NVML_NOT_SUPPORTED;
    field->value_type = NVML_VALUE_ULONGLONG;
    field->value.u64 = field->status == NVML_SUCCESS ? counter_millijoules(board) : 0;
}

static void put_field(const struct fake_board *board, struct nvml_field *field)
{
    field->status = field->id >= 185 ? NVML_INVALID_ARGUMENT : NVML_NOT_SUPPORTED;
    field->time_us = clock_ns(CLOCK_REALTIME) / 1000;
    field->latency_us = 3;
    if (board->part >= 0 || (field->id >= 185 && board->fields == 0))
        return;
    switch (field->id) {
    case NVML_FIELD_TOTAL_ENERGY:
        put_energy(board, field, true);
        break;
    case NVML_FIELD_ENERGY:
        put_energy(board, field, board->scoped_energy_field != 0);
        break;
    case NVML_FIELD_POWER_AVERAGE:
        put_milliwatts(field, board->average_field != 0
                                  ? in_scope(board, field->scope, fake_average_watts(board, now_s()))
                                  : -1);
        break;
    case NVML_FIELD_POWER_INSTANT: /* no board is known whose memory answers this one */
        put_milliwatts(field, board->instant_field != 0 && field->scope != NVML_SCOPE_MEMORY
                                  ? in_scope(board, field->scope, fake_instant_watts(board, now_s()))
                                  : -1);
        break;
    case NVML_FIELD_POWER_MAX_LIMIT:
    case NVML_FIELD_POWER_DEFAULT_LIMIT:
    case NVML_FIELD_POWER_CURRENT_LIMIT:
        put_milliwatts(field, board->limit_watts);
        break;
    case NVML_FIELD_MEMORY_TEMPERATURE:
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
        return NVML_INVALID_ARGUMENT;
    for (int i = 0; i < count; i++)
        put_field(board, &fields[i]);
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetSamples(nvml_device device, int type, unsigned long long last_seen_us,
                                 int *value_type, unsigned *count, struct nvml_sample *samples)
{
    ENTER(device);
    if (type != NVML_SAMPLES_TOTAL_POWER || board->ring_ms <= 0 || board->part >= 0)
        return NVML_NOT_SUPPORTED;
    if (count == NULL || (samples != NULL && *count == 0))
        return NVML_INVALID_ARGUMENT;
    *value_type = NVML_VALUE_UINT;
    if (samples == NULL) {
        *count = FAKE_RING;
        return NVML_SUCCESS;
    }
    double spacing_s = board->ring_ms / 1e3, newest = (double)(int64_t)(now_s() / spacing_s);
    int64_t shift_ns = script.ring_monotonic != 0 ? 0 : clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
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
    return filled > 0 ? NVML_SUCCESS : NVML_NOT_FOUND;
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

/* --- state -------------------------------------------------------------------------------------------------- */

nvml_return nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilization *utilization)
{
    ENTER(device);
    if (board->mig > 0 || board->part >= 0)
        return NVML_NOT_SUPPORTED;
    utilization->gpu_percent = (uint32_t)(board->duty * 100);
    utilization->memory_percent = utilization->gpu_percent / 4;
    return NVML_SUCCESS;
}

static const uint64_t memory_bytes = 143771ull << 20, reserved_bytes = 600ull << 20,
                      used_bytes = 1024ull << 20;

nvml_return nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *memory)
{
    ENTER(device);
    (void)board;
    *memory = (struct nvml_memory){memory_bytes, memory_bytes - reserved_bytes - used_bytes,
                                   reserved_bytes + used_bytes};
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetMemoryInfo_v2(nvml_device device, struct nvml_memory_v2 *memory)
{
    ENTER(device);
    (void)board;
    if (memory->version != NVML_MEMORY_V2)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    *memory = (struct nvml_memory_v2){NVML_MEMORY_V2, memory_bytes, reserved_bytes,
                                      memory_bytes - reserved_bytes - used_bytes, used_bytes};
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned *celsius)
{
    ENTER(device);
    *celsius = (unsigned)board->celsius;
    return sensor == 0 ? NVML_SUCCESS : NVML_INVALID_ARGUMENT;
}

nvml_return nvmlDeviceGetClockInfo(nvml_device device, int clock, unsigned *megahertz)
{
    ENTER(device);
    *megahertz = clock == NVML_CLOCK_MEMORY ? 3201 : fake_power(board, now_s()) > board->watts ? 1980 : 345;
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device, unsigned long long *reasons)
{
    ENTER(device);
    *reasons = fake_power(board, now_s()) > board->watts ? NVML_REASON_SW_POWER_CAP : NVML_REASON_IDLE;
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetConfComputeMemSizeInfo(nvml_device device, void *unused)
{
    ENTER(device);
    (void)board;
    (void)unused;
    return NVML_NOT_SUPPORTED;
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
        return NVML_ARGUMENT_VERSION_MISMATCH;
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
    return NVML_NOT_SUPPORTED;
}
#endif

nvml_return nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device, unsigned *count, void *processes)
{
    ENTER(device);
    unsigned found = (unsigned)board->processes;
    if (*count < found) {
        *count = found;
        return NVML_INSUFFICIENT_SIZE;
    }
    *count = found;
    process_record *records = processes;
    for (unsigned i = 0; i < found; i++) {
        memset(&records[i], 0, sizeof records[i]);
        *PROCESS(&records[i]) = (struct nvml_process){1000 + i, used_bytes, 0xFFFFFFFF, 0xFFFFFFFF};
    }
    return NVML_SUCCESS;
}

/* --- MIG ---------------------------------------------------------------------------------------------------- */

nvml_return nvmlDeviceGetMigMode(nvml_device device, unsigned *current, unsigned *pending)
{
    ENTER(device);
    *current = *pending = board->mig > 0;
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetMaxMigDeviceCount(nvml_device device, unsigned *count)
{
    ENTER(device);
    *count = board->mig > 0 ? FAKE_MOST_PARTS : 0;
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetMigDeviceHandleByIndex(nvml_device device, unsigned index, nvml_device *instance)
{
    ENTER(device);
    if (index >= board->mig || index >= FAKE_MOST_PARTS)
        return NVML_NOT_FOUND;
    *instance = (nvml_device)&script.parts[board->index][index];
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetGpuInstanceId(nvml_device instance, unsigned *id)
{
    ENTER(instance);
    *id = (unsigned)(board->part + 7);
    return board->part >= 0 ? NVML_SUCCESS : NVML_NOT_SUPPORTED;
}

nvml_return nvmlDeviceGetComputeInstanceId(nvml_device instance, unsigned *id)
{
    ENTER(instance);
    *id = 0;
    return board->part >= 0 ? NVML_SUCCESS : NVML_NOT_SUPPORTED;
}

/* --- GPM: a sample is a moment, and activity follows the square wave ---------------------------------------- */

struct nvml_gpm_buffer {
    const struct fake_board *board;
    double time_s;
};

nvml_return nvmlGpmQueryDeviceSupport(nvml_device device, struct nvml_gpm_support *support)
{
    ENTER(device);
    if (support->version != 1)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    support->is_supported = board->gpm != 0;
    return NVML_SUCCESS;
}

nvml_return nvmlGpmSampleAlloc(nvml_gpm_sample *sample)
{
    *sample = calloc(1, sizeof **sample);
    return *sample != NULL ? NVML_SUCCESS : NVML_MEMORY;
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
        return NVML_NOT_SUPPORTED;
    *sample = (struct nvml_gpm_buffer){board, now_s()};
    return NVML_SUCCESS;
}

nvml_return nvmlGpmMetricsGet(struct nvml_gpm_metrics *metrics)
{
    if (metrics->version != 1 || metrics->count > NVML_GPM_CAPACITY)
        return NVML_INVALID_ARGUMENT;
    const struct fake_board *board = metrics->before->board;
    double length_s = metrics->after->time_s - metrics->before->time_s;
    if (board == NULL || board != metrics->after->board || length_s <= 0)
        return NVML_INVALID_ARGUMENT;
    double joules = fake_joules(board, metrics->after->time_s) - fake_joules(board, metrics->before->time_s);
    double active = (joules / length_s - board->watts) / (board->peak_watts - board->watts) * 100;
    for (unsigned i = 0; i < metrics->count; i++) {
        struct nvml_gpm_metric *metric = &metrics->metrics[i];
        metric->status = metric->id == NVML_GPM_SM || metric->id == NVML_GPM_GRAPHICS ||
                                 metric->id == NVML_GPM_TENSOR || metric->id == NVML_GPM_DRAM ||
                                 metric->id == NVML_GPM_FP32
                             ? NVML_SUCCESS
                             : NVML_NOT_SUPPORTED;
        metric->value = metric->id == NVML_GPM_TENSOR ? active / 2
                        : metric->id == NVML_GPM_DRAM ? active / 4
                                                      : active;
    }
    return NVML_SUCCESS;
}
