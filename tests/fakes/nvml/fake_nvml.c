/* tests/fakes/nvml/fake_nvml.c - a libnvidia-ml.so.1 with the vendor's interface and scripted boards.
 *
 * Models the driver's life cycle, its rules (size queries, versions in structs, a separate status for each
 * field, return codes) and the search for boards. fake_board.c models the boards and their power. If FAKE_535
 * is defined, the library is that of driver 535: it has process records of 32 bytes and lacks later symbols.
 * Note: the clock is the machine's clock until fake_nvml_set_time is called. Then the clock stands at the
 * given time. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../fake_words.h"
#include "fake_driver.h"

EXPORT nvml_return nvmlInitWithFlags(unsigned flags);
EXPORT const char *nvmlErrorString(nvml_return code);
EXPORT nvml_return nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device);
EXPORT nvml_return nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvml_device *device);
EXPORT nvml_return nvmlDeviceGetIndex(nvml_device device, unsigned *index);
EXPORT nvml_return nvmlDeviceGetMinorNumber(nvml_device device, unsigned *number);
/* For tests. The first function replaces the script, as if the driver had just been loaded. The second stops
 * the clock at a time. The third returns the number of calls. */
EXPORT void fake_nvml_script(const char *text);
EXPORT void fake_nvml_set_time(int64_t monotonic_ns, int64_t realtime_ns);
EXPORT unsigned long fake_nvml_calls(void);

struct fake_script fake_script;
static pthread_once_t script_once = PTHREAD_ONCE_INIT;
/* Like the real driver, the fake has one lock. A call that blocks also blocks all other calls. */
static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int64_t fixed_monotonic_ns = -1, fixed_realtime_ns = -1, first_init_ns = -1, last_init_ns = -1;
static _Atomic bool has_blocked;
static _Atomic unsigned long calls;

static void script_load(void)
{
    const char *text = fake_words_find("JOULE_FAKE_NVML");
    if (!fake_script_parse(&fake_script, text))
        fprintf(stderr, "fake nvml: the script has a key that does not exist: %s\n", text);
}

void fake_nvml_script(const char *text)
{
    pthread_once(&script_once, script_load);
    if (!fake_script_parse(&fake_script, text))
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

int64_t fake_clock_ns(clockid_t clock)
{
    int64_t fixed = clock == CLOCK_MONOTONIC ? fixed_monotonic_ns : fixed_realtime_ns;
    struct timespec now;
    clock_gettime(clock, &now);
    return fixed >= 0 ? fixed : (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

double fake_now_s(void)
{
    return (double)fake_clock_ns(CLOCK_MONOTONIC) / 1e9;
}

bool fake_has_come(double at_ms)
{
    return at_ms >= 0 && first_init_ns >= 0 &&
           (double)(fake_clock_ns(CLOCK_MONOTONIC) - first_init_ns) / 1e6 >= at_ms;
}

double fake_time_of(double at_ms)
{
    return (double)first_init_ns / 1e9 + at_ms / 1e3;
}

nvml_return fake_enter(nvml_device device, const struct fake_board **out_board)
{
    struct fake_board *board = (struct fake_board *)device;
    calls++;
    if (first_init_ns < 0)
        return NVML_ERROR_UNINITIALIZED;
    if (board == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&driver_lock);
    if (fake_has_come(board->block_at_ms) && !atomic_exchange(&has_blocked, true)) {
        struct timespec length = {(time_t)board->block_s, 0};
        nanosleep(&length, NULL);
    }
    pthread_mutex_unlock(&driver_lock);
    *out_board = board;
    if (fake_has_come(board->uninitialized_at_ms) && last_init_ns == first_init_ns)
        return NVML_ERROR_UNINITIALIZED;
    if (fake_has_come(board->lost_at_ms))
        return NVML_ERROR_GPU_IS_LOST;
    if (fake_has_come(board->transient_at_ms) && !fake_has_come(board->transient_at_ms + 300))
        return NVML_ERROR_TIMEOUT;
    return NVML_SUCCESS;
}

nvml_return nvmlInit_v2(void)
{
    pthread_once(&script_once, script_load);
    if (fake_script.init_code != 0)
        return (nvml_return)fake_script.init_code;
    int64_t never = -1, now = fake_clock_ns(CLOCK_MONOTONIC);
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
    return first_init_ns < 0 ? NVML_ERROR_UNINITIALIZED : NVML_SUCCESS;
}

const char *nvmlErrorString(nvml_return code)
{
    return code == NVML_SUCCESS               ? "Success"
           : code == NVML_ERROR_NOT_SUPPORTED ? "Not Supported"
                                              : "Fake error";
}

static nvml_return put_text(char *text, unsigned size, const char *value)
{
    if (text == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    return (size_t)snprintf(text, size, "%s", value) < size ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
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

/* --- finding boards ------------------------------------------------------------------------------------- */

nvml_return nvmlDeviceGetCount_v2(unsigned *count)
{
    if (first_init_ns < 0)
        return NVML_ERROR_UNINITIALIZED;
    *count = fake_script.board_count;
    return NVML_SUCCESS;
}

nvml_return nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *device)
{
    if (first_init_ns < 0)
        return NVML_ERROR_UNINITIALIZED;
    if (index >= fake_script.board_count || device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (fake_script.boards[index].denied != 0)
        return NVML_ERROR_NO_PERMISSION;
    *device = (nvml_device)&fake_script.boards[index];
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
    for (unsigned i = 0; i < fake_script.board_count; i++) {
        char name[NVML_NAME_SIZE];
        make(&fake_script.boards[i], name, sizeof name);
        if (strcmp(name, wanted) == 0)
            return nvmlDeviceGetHandleByIndex_v2(i, device);
    }
    return NVML_ERROR_NOT_FOUND;
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
