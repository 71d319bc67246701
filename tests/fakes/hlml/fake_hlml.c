/* tests/fakes/hlml/fake_hlml.c - a libhlml.so with the vendor's interface and scripted boards.
 *
 * All boards draw constant power. A script is a list of "key=value", separated by blanks; times are in
 * seconds from the script's start. Note: the clock is the machine's until fake_hlml_set_time is called. Then
 * the clock stands at the given time. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "joule/sources/gaudi/hlml_abi.h"

#define EXPORT                    __attribute__((visibility("default")))
#define DECLARE(name, parameters) EXPORT hlml_return hlml_##name parameters;
HLML_FUNCTIONS(DECLARE)

/* For tests. fake_hlml_script replaces the script, and returns false for an unknown key. fake_hlml_set_time
 * stops the clock. */
EXPORT bool fake_hlml_script(const char *text);
EXPORT void fake_hlml_set_time(int64_t monotonic_ns);

static struct script {
    double boards, watts;
    double init;   /* return code of hlml_init */
    double energy; /* 0 means not supported, as in Intel's own mock library */
    double first;  /* initial value of the counter, in millijoules */
    /* Times at which the counter stops, calls fail, calls hang, and other code shuts the library down. < 0
     * means never. */
    double freeze_s, fail_s, hang_s, shut_s;
    /* code: return code of failing calls. until_s: end of the failures; 0 means that they do not end. */
    double code, until_s;
    double silent; /* 1 means that the boards have neither energy nor power */
    double lost;   /* number of the board without a handle; < 0 means none */
} script;

static void make_usual(void)
{
    script = (struct script){.boards = 1,
                             .watts = 300,
                             .energy = 1,
                             .first = 1e9,
                             .freeze_s = -1,
                             .fail_s = -1,
                             .hang_s = -1,
                             .shut_s = -1,
                             .code = HLML_ERROR_UNKNOWN,
                             .lost = -1};
}

static _Atomic int64_t fixed_ns = -1, begin_ns;
static _Atomic bool is_ready, was_shut, has_script;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return fixed_ns >= 0 ? fixed_ns : (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static double now_s(void)
{
    return (double)(now_ns() - begin_ns) * 1e-9;
}

static double *value_of(const char *key)
{
    static const struct {
        const char *key;
        double *value;
    } keys[] = {{"boards", &script.boards}, {"watts", &script.watts},     {"init", &script.init},
                {"energy", &script.energy}, {"first", &script.first},     {"freeze_s", &script.freeze_s},
                {"fail_s", &script.fail_s}, {"hang_s", &script.hang_s},   {"shut_s", &script.shut_s},
                {"code", &script.code},     {"until_s", &script.until_s}, {"silent", &script.silent},
                {"lost", &script.lost}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i].key, key) == 0)
            return keys[i].value;
    return NULL;
}

bool fake_hlml_script(const char *text)
{
    char key[32];
    double value;
    int length;
    make_usual();
    has_script = true;
    fixed_ns = -1;
    is_ready = was_shut = false;
    begin_ns = now_ns();
    for (; sscanf(text, " %31[^= ]=%lf%n", key, &value, &length) == 2; text += length) {
        double *place = value_of(key);
        if (!place)
            return false;
        *place = value;
    }
    return true;
}

void fake_hlml_set_time(int64_t monotonic_ns)
{
    if (fixed_ns < 0)
        begin_ns = monotonic_ns;
    fixed_ns = monotonic_ns;
}

static bool has_come(double at_s)
{
    return at_s >= 0 && now_s() >= at_s;
}

/* --- the library ---------------------------------------------------------------------------------------- */

static hlml_return enter(void)
{
    if (has_come(script.shut_s) && !was_shut) { /* another user in this process shuts the library down */
        was_shut = true;
        is_ready = false;
    }
    if (!is_ready)
        return HLML_ERROR_UNINITIALIZED;
    while (has_come(script.hang_s))
        pause();
    if (has_come(script.fail_s) && (script.until_s <= 0 || now_s() < script.until_s))
        return (hlml_return)script.code;
    return HLML_SUCCESS;
}

#define ENTER()                                                                                              \
    hlml_return entered = enter();                                                                           \
    if (entered != HLML_SUCCESS)                                                                             \
    return entered

hlml_return hlml_init(void)
{
    if (!has_script)
        fake_hlml_script("");
    hlml_return code = (hlml_return)script.init;
    is_ready = code == HLML_SUCCESS || code == HLML_ERROR_ALREADY_INITIALIZED;
    return code;
}

hlml_return hlml_shutdown(void)
{
    is_ready = false;
    return HLML_SUCCESS;
}

hlml_return hlml_device_get_count(unsigned *count)
{
    ENTER();
    *count = (unsigned)script.boards;
    return HLML_SUCCESS;
}

/* A handle is the board's number plus 1, so that no handle is NULL. */
hlml_return hlml_device_get_handle_by_index(unsigned index, hlml_device *device)
{
    ENTER();
    if (index >= script.boards)
        return HLML_ERROR_INVALID_ARGUMENT;
    if (script.lost >= 0 && index == (unsigned)script.lost)
        return HLML_ERROR_AIP_IS_LOST;
    *device = (hlml_device)(uintptr_t)(index + 1);
    return HLML_SUCCESS;
}

static unsigned number_of(hlml_device device)
{
    return (unsigned)(uintptr_t)device - 1;
}

static hlml_return put_text(char *text, unsigned size, const char *value)
{
    if (strlen(value) >= size)
        return HLML_ERROR_INSUFFICIENT_SIZE;
    strcpy(text, value);
    return HLML_SUCCESS;
}

hlml_return hlml_device_get_name(hlml_device device, char *text, unsigned size)
{
    ENTER();
    (void)device;
    return put_text(text, size, "HL-325L");
}

hlml_return hlml_device_get_uuid(hlml_device device, char *text, unsigned size)
{
    char uuid[48];
    ENTER();
    snprintf(uuid, sizeof uuid, "01P4-HL3090A0-18-U4V193-22-07-%02u", number_of(device));
    return put_text(text, size, uuid);
}

hlml_return hlml_get_driver_version(char *text, unsigned size)
{
    return put_text(text, size, "1.22.1-97ec1a4");
}

/* The library's first board is the last one on the bus. */
hlml_return hlml_device_get_pci_info(hlml_device device, struct hlml_pci_info *pci)
{
    ENTER();
    unsigned bus = 0x30 + (unsigned)script.boards - number_of(device);
    *pci = (struct hlml_pci_info){.bus = bus, .pci_device_id = 0x10601da3};
    snprintf(pci->bus_id, sizeof pci->bus_id, "0000:%02x:00.0", bus);
    return HLML_SUCCESS;
}

hlml_return hlml_device_get_power_usage(hlml_device device, unsigned *milliwatts)
{
    ENTER();
    (void)device;
    *milliwatts = (unsigned)(script.watts * 1e3);
    return script.silent > 0 ? HLML_ERROR_NOT_SUPPORTED : HLML_SUCCESS;
}

hlml_return hlml_device_get_power_management_default_limit(hlml_device device, unsigned *milliwatts)
{
    ENTER();
    (void)device;
    *milliwatts = 850000;
    return HLML_SUCCESS;
}

hlml_return hlml_device_get_total_energy_consumption(hlml_device device, unsigned long long *millijoules)
{
    ENTER();
    (void)device;
    if (script.energy <= 0 || script.silent > 0)
        return HLML_ERROR_NOT_SUPPORTED;
    double seconds = script.freeze_s >= 0 && now_s() > script.freeze_s ? script.freeze_s : now_s();
    *millijoules = (unsigned long long)script.first + (unsigned long long)(seconds * script.watts * 1e3);
    return HLML_SUCCESS;
}

hlml_return hlml_device_get_temperature(hlml_device device, int sensor, unsigned *celsius)
{
    ENTER();
    (void)device;
    *celsius = sensor == HLML_TEMPERATURE_ON_AIP ? 52 : 36;
    return HLML_SUCCESS;
}

hlml_return hlml_device_get_memory_info(hlml_device device, struct hlml_memory *memory)
{
    ENTER();
    (void)device;
    *memory = (struct hlml_memory){.free = 130400ull << 20, .total = 131072ull << 20, .used = 672ull << 20};
    return HLML_SUCCESS;
}

hlml_return hlml_device_get_utilization_rates(hlml_device device, struct hlml_utilization *utilization)
{
    ENTER();
    (void)device;
    utilization->aip = 42;
    return HLML_SUCCESS;
}

hlml_return hlml_device_get_clock_info(hlml_device device, int type, unsigned *megahertz)
{
    ENTER();
    (void)device;
    *megahertz = type == HLML_CLOCK_SOC ? 1600 : 1200;
    return HLML_SUCCESS;
}

hlml_return hlml_device_get_current_clocks_throttle_reasons(hlml_device device, unsigned long long *reasons)
{
    ENTER();
    (void)device;
    *reasons = HLML_CLOCKS_THROTTLE_REASON_POWER;
    return HLML_SUCCESS;
}
