/* tests/fakes/amd_smi/fake_amd_smi.c - a libamd_smi with AMD's interface and scripted boards.
 *
 * FAKE_AMD is the library's major version. Version 1 has the function names of ROCm 5.5, and temperatures in
 * millidegrees. Versions 24 and 25 have the later function names. Each of the two has its own layout of the
 * power result. In this interface, boards are called sockets, and partitions of a board are called
 * processors. A handle contains a generation, so that handles from before a shutdown are refused. */
#include <string.h>
#include "fake_boards.h"
#include "joule/sources/amd/amd_smi_abi.h"

#if FAKE_AMD < 23
#define NAME(name, old_name) amdsmi_##old_name
#else
#define NAME(name, old_name) amdsmi_##name
#endif
#define GET_SOCKETS      amdsmi_get_socket_handles
#define GET_PROCESSORS   NAME(get_processor_handles, get_device_handles)
#define GET_TYPE         NAME(get_processor_type, get_device_type)
#define GET_BDF          NAME(get_gpu_device_bdf, get_device_bdf)
#define GET_ENERGY       NAME(get_energy_count, dev_get_energy_count)
#define GET_POWER        NAME(get_power_info, get_power_measure)
#define GET_TEMPERATURE  NAME(get_temp_metric, dev_get_temp_metric)
#define GET_MEMORY_TOTAL NAME(get_gpu_memory_total, dev_get_memory_total)
#define GET_MEMORY_USAGE NAME(get_gpu_memory_usage, dev_get_memory_usage)
#define GET_ASIC         NAME(get_gpu_asic_info, get_asic_info)
#define GET_UUID         NAME(get_gpu_device_uuid, get_device_uuid)

EXPORT amd_code amdsmi_init(uint64_t flags);
EXPORT amd_code amdsmi_shut_down(void);
EXPORT amd_code GET_SOCKETS(uint32_t *count, amd_handle *sockets);
EXPORT amd_code GET_PROCESSORS(amd_handle socket, uint32_t *count, amd_handle *processors);
EXPORT amd_code GET_TYPE(amd_handle processor, int *type);
EXPORT amd_code GET_BDF(amd_handle processor, uint64_t *bdf);
EXPORT amd_code GET_ENERGY(amd_handle processor, uint64_t *counter, float *microjoules, uint64_t *time_ns);
EXPORT amd_code GET_POWER(amd_handle processor, void *answer);
EXPORT amd_code GET_TEMPERATURE(amd_handle processor, int place, int metric, int64_t *degrees);
EXPORT amd_code amdsmi_get_gpu_activity(amd_handle processor, void *answer);
EXPORT amd_code GET_MEMORY_TOTAL(amd_handle processor, int kind, uint64_t *bytes);
EXPORT amd_code GET_MEMORY_USAGE(amd_handle processor, int kind, uint64_t *bytes);
EXPORT amd_code amdsmi_get_power_cap_info(amd_handle processor, uint32_t sensor, void *answer);
EXPORT amd_code GET_ASIC(amd_handle processor, void *answer);
EXPORT amd_code GET_UUID(amd_handle processor, unsigned *length, char *uuid);

static unsigned generation;

static amd_code code_of(enum fake_fate fate)
{
    static const amd_code codes[] = {
        [FATE_FINE] = AMDSMI_STATUS_SUCCESS,   [FATE_UNSUPPORTED] = AMDSMI_STATUS_NOT_SUPPORTED,
        [FATE_DENIED] = AMDSMI_STATUS_NO_PERM, [FATE_BUSY] = AMDSMI_STATUS_BUSY,
        [FATE_FAILS] = 14 /* FILE_ERROR */,    [FATE_NOT_FOUND] = AMDSMI_STATUS_NOT_FOUND};
    return codes[fate];
}

/* The library has no reference count: one shutdown ends it for all users. */
amd_code amdsmi_init(uint64_t flags)
{
    if (flags != AMDSMI_INIT_AMD_GPUS)
        return AMDSMI_STATUS_INVAL;
    if (fake_is_started())
        return AMDSMI_STATUS_SUCCESS;
    generation++;
    return fake_start();
}

amd_code amdsmi_shut_down(void)
{
    if (fake_is_started())
        fake_stop();
    return AMDSMI_STATUS_SUCCESS;
}

static amd_handle handle_of(unsigned number)
{
    return (amd_handle)(uintptr_t)(generation << 8 | (number + 1));
}

static const struct fake_board *board_of(amd_handle handle)
{
    unsigned value = (unsigned)(uintptr_t)handle, partition;
    return value >> 8 == generation ? fake_device((value & 0xff) - 1, &partition) : NULL;
}

#define STARTED                                                                                              \
    if (!fake_is_started())                                                                                  \
    return AMDSMI_STATUS_NOT_INIT
#define BOARD(handle)                                                                                        \
    STARTED;                                                                                                 \
    const struct fake_board *board = board_of(handle);                                                       \
    if (!board)                                                                                              \
    return AMDSMI_STATUS_NOT_FOUND

/* The handle of a socket is also the handle of its first processor. */
amd_code GET_SOCKETS(uint32_t *count, amd_handle *sockets)
{
    STARTED;
    uint32_t found = 0;
    for (unsigned i = 0, partition; i < fake_device_count(); i++) {
        fake_device(i, &partition);
        if (partition == 0 && sockets && found < *count)
            sockets[found] = handle_of(i);
        found += partition == 0;
    }
    *count = found;
    return AMDSMI_STATUS_SUCCESS;
}

amd_code GET_PROCESSORS(amd_handle socket, uint32_t *count, amd_handle *processors)
{
    BOARD(socket);
    unsigned first = ((unsigned)(uintptr_t)socket & 0xff) - 1, found = 0, partition;
    while (fake_device(first + found, &partition) == board) {
        if (processors && found < *count)
            processors[found] = handle_of(first + found);
        found++;
    }
    *count = found;
    return AMDSMI_STATUS_SUCCESS;
}

amd_code GET_TYPE(amd_handle processor, int *type)
{
    BOARD(processor);
    *type = AMDSMI_PROCESSOR_TYPE_AMD_GPU;
    return AMDSMI_STATUS_SUCCESS;
}

amd_code GET_BDF(amd_handle processor, uint64_t *bdf)
{
    unsigned partition;
    BOARD(processor);
    fake_device(((unsigned)(uintptr_t)processor & 0xff) - 1, &partition);
    *bdf = (uint64_t)fake_bus(board) << 8 | partition;
    return AMDSMI_STATUS_SUCCESS;
}

amd_code GET_ENERGY(amd_handle processor, uint64_t *counter, float *microjoules, uint64_t *time_ns)
{
    BOARD(processor);
    *microjoules = 15.3F;
    *time_ns = (uint64_t)fake_now_ns();
    return code_of(fake_counts(board, counter));
}

#if FAKE_AMD < 23
struct power_answer {
    uint32_t average_watts;
    uint64_t energy;
    uint32_t millivolts[3], limit_watts, reserved[9];
};
#elif FAKE_AMD == 24
struct power_answer {
    uint32_t current_watts, average_watts, millivolts[3], limit_watts, reserved[11];
};
#else
struct power_answer {
    uint64_t socket_watts;
    uint32_t current_watts, average_watts;
    uint64_t millivolts[3];
    uint32_t limit_watts;
    uint64_t reserved[18];
};
#endif

amd_code GET_POWER(amd_handle processor, void *answer)
{
    BOARD(processor);
    double watts = 0;
    enum fake_fate fate = fake_watts(board, &watts);
    struct power_answer power = {.average_watts = board->power == 2 ? 0xffff : (uint32_t)watts};
#if FAKE_AMD >= 24
    power.current_watts = board->power == 2 ? (uint32_t)watts : 0xffff;
#endif
#if FAKE_AMD > 24
    power.socket_watts = (uint64_t)watts;
#endif
    power.limit_watts = 300;
    memcpy(answer, &power, sizeof power);
    return code_of(fate);
}

amd_code GET_TEMPERATURE(amd_handle processor, int place, int metric, int64_t *degrees)
{
    static const int offsets[] = {-10, 0, 5};
    BOARD(processor);
    if (place > 2 || metric != AMDSMI_TEMP_CURRENT || board->celsius == 0)
        return AMDSMI_STATUS_NOT_SUPPORTED;
    *degrees = (int64_t)(board->celsius + offsets[place]) * (FAKE_AMD < 23 ? 1000 : 1);
    return code_of(fake_enter(board));
}

amd_code amdsmi_get_gpu_activity(amd_handle processor, void *answer)
{
    BOARD(processor);
    uint32_t shares[16] = {(uint32_t)board->busy, 0, 0xffff};
    memcpy(answer, shares, sizeof shares);
    return code_of(fake_enter(board));
}

amd_code GET_MEMORY_TOTAL(amd_handle processor, int kind, uint64_t *bytes)
{
    BOARD(processor);
    *bytes = UINT64_C(64) << 30;
    return kind != AMDSMI_MEM_TYPE_VRAM ? AMDSMI_STATUS_NOT_SUPPORTED : code_of(fake_enter(board));
}

amd_code GET_MEMORY_USAGE(amd_handle processor, int kind, uint64_t *bytes)
{
    amd_code code = GET_MEMORY_TOTAL(processor, kind, bytes);
    *bytes = UINT64_C(3) << 30;
    return code;
}

amd_code amdsmi_get_power_cap_info(amd_handle processor, uint32_t sensor, void *answer)
{
    BOARD(processor);
    uint64_t unit = FAKE_AMD < 23 ? 1 : 1000000;
    struct amd_power_cap cap = {300 * unit, 300 * unit, 1700, 0, 300 * unit};
    memcpy(answer, &cap, sizeof cap);
    return sensor != 0 ? AMDSMI_STATUS_INVAL : code_of(fake_enter(board));
}

amd_code GET_ASIC(amd_handle processor, void *answer)
{
    BOARD(processor);
    memcpy(answer, "AMD Fake Instinct", 18);
    return code_of(fake_enter(board));
}

amd_code GET_UUID(amd_handle processor, unsigned *length, char *uuid)
{
    static const char text[] = "ceff740f-0000-1000-8000-5eed00000000";
    BOARD(processor);
    if (*length < sizeof text)
        return 41; /* INSUFFICIENT_SIZE */
    memcpy(uuid, text, sizeof text);
    *length = sizeof text;
    return code_of(fake_enter(board));
}
