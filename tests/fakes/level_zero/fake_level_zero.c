/* tests/fakes/level_zero/fake_level_zero.c - a libze_loader.so.1 with the vendor's interface and scripted
 * cards.
 *
 * Models the loader's life cycle (two modes that exclude each other), its return codes, and a card's parts. A
 * structure from the caller must contain its type. Each list has one function, which returns the length or
 * fills the list. With FAKE_MINOR=3 the library has version 1.3, which has neither zesInit nor later
 * functions. Note: a handle is a pointer to a struct part. The clock is the machine's clock until
 * fake_level_zero_set_time is called. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../fake_words.h"
#include "fake_card.h"
#include "joule/sources/intel/level_zero_abi.h"

#define EXPORT                    __attribute__((visibility("default")))
#define DECLARE(name, parameters) EXPORT lz_code name parameters;
LZ_FUNCTIONS(DECLARE)
/* For tests. The first function replaces the script, as if the library had just been loaded. The second stops
 * the clock at a time. The third returns whether both modes of the loader were started. The fourth returns
 * the number of calls on cards. */
EXPORT void fake_level_zero_script(const char *text);
EXPORT void fake_level_zero_set_time(int64_t monotonic_ns);
EXPORT bool fake_level_zero_is_mixed(void);
EXPORT unsigned long fake_level_zero_calls(void);

enum part_kind { PART_DEVICE, PART_POWER, PART_TEMPERATURE, PART_ENGINE, PART_MEMORY };
#define MAX_PARTS 24

/* A part of a card or of a tile of the card. Handles point to parts. */
struct part {
    struct fake_card *card;
    enum part_kind kind;
    uint32_t type; /* the type's number in the vendor's interface */
    int tile;      /* -1 means the whole card */
};

static struct fake_script script;
static struct part devices[FAKE_MAX_CARDS], parts[FAKE_MAX_CARDS][MAX_PARTS];
static size_t part_counts[FAKE_MAX_CARDS];
static pthread_once_t script_once = PTHREAD_ONCE_INIT;
static _Atomic int64_t fixed_ns = -1, start_ns = -1;
static _Atomic bool is_core, is_sysman, has_blocked;
static _Atomic unsigned long calls;

/* --- cards and their parts ------------------------------------------------------------------------------ */

static void add_part(unsigned c, enum part_kind kind, uint32_t type, int tile)
{
    if (part_counts[c] < MAX_PARTS)
        parts[c][part_counts[c]++] = (struct part){&script.cards[c], kind, type, tile};
}

/* A card with tiles lists the parts of the tiles before its own parts. Its memory belongs to the tiles. */
static void add_parts(unsigned c)
{
    const struct fake_card *card = &script.cards[c];
    for (int tile = (int)card->tiles - 1; tile >= -1; tile--) {
        if (card->package != 0 && card->energy != 0)
            add_part(c, PART_POWER, ZES_POWER_DOMAIN_PACKAGE, tile);
        if (card->card != 0 && card->energy != 0 && tile < 0)
            add_part(c, PART_POWER, ZES_POWER_DOMAIN_CARD, tile);
        if (card->celsius > -273 && (tile >= 0 || card->tiles == 0))
            add_part(c, PART_TEMPERATURE, ZES_TEMP_SENSORS_GPU, tile);
        if (card->memory_celsius > -273 && (tile >= 0 || card->tiles == 0))
            add_part(c, PART_TEMPERATURE, ZES_TEMP_SENSORS_MEMORY, tile);
        for (uint32_t type = card->engine_all != 0 ? ZES_ENGINE_GROUP_ALL : 5; type <= 6; type++)
            /* types 5 and 6 are render and copy; copy has its own busy fraction */
            if (type == ZES_ENGINE_GROUP_ALL || type >= 5)
                add_part(c, PART_ENGINE, type, tile);
        if (card->memory_gib > 0 && (tile >= 0 || card->tiles == 0))
            add_part(c, PART_MEMORY, ZES_MEM_LOC_DEVICE, tile);
    }
}

static void make_cards(void)
{
    for (unsigned c = 0; c < script.card_count; c++) {
        devices[c] = (struct part){&script.cards[c], PART_DEVICE, 0, -1};
        part_counts[c] = 0;
        add_parts(c);
    }
}

static void script_load(void)
{
    const char *text = fake_words_find("JOULE_FAKE_LEVEL_ZERO");
    if (!fake_script_parse(&script, text))
        fprintf(stderr, "fake level zero: the script has a key that does not exist: %s\n", text);
    make_cards();
}

void fake_level_zero_script(const char *text)
{
    pthread_once(&script_once, script_load);
    if (!fake_script_parse(&script, text))
        abort();
    make_cards();
    fixed_ns = start_ns = -1;
    is_core = is_sysman = has_blocked = false;
}

void fake_level_zero_set_time(int64_t monotonic_ns)
{
    fixed_ns = monotonic_ns;
}

bool fake_level_zero_is_mixed(void)
{
    return is_core && is_sysman;
}

unsigned long fake_level_zero_calls(void)
{
    return calls;
}

/* --- time and faults ------------------------------------------------------------------------------------ */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return fixed_ns >= 0 ? fixed_ns : (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Returns the seconds since an event of the script. A negative result means that the event is in the future
 * or never happens. */
static double since_s(double at_ms)
{
    return at_ms < 0 || start_ns < 0 ? -1 : (double)(now_ns() - start_ns) / 1e9 - at_ms / 1e3;
}

static void block_once(const struct fake_card *card)
{
    if (since_s(card->block_at_ms) < 0 || atomic_exchange(&has_blocked, true))
        return;
    struct timespec length = {(time_t)card->block_s, 0};
    nanosleep(&length, NULL);
}

/* Every call on a card or part begins with this function. Checks the handle. Returns the error that the
 * script requests, or ZE_RESULT_SUCCESS. */
static lz_code enter(lz_handle handle, enum part_kind kind, const struct part **out_part)
{
    const struct part *part = handle;
    calls++;
    if (start_ns < 0)
        return ZE_RESULT_ERROR_UNINITIALIZED;
    if (part == NULL || part->kind != kind)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *out_part = part;
    block_once(part->card);
    if (since_s(part->card->lost_at_ms) >= 0)
        return ZE_RESULT_ERROR_DEVICE_LOST;
    double asleep_s = since_s(part->card->sleep_at_ms);
    if (asleep_s >= 0 && asleep_s < 3)
        return ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE;
    return part->card->denied != 0 && kind != PART_DEVICE ? ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS
                                                          : ZE_RESULT_SUCCESS;
}

#define ENTER(handle, kind)                                                                                  \
    const struct part *part;                                                                                 \
    lz_code entered = enter(handle, kind, &part);                                                            \
    if (entered != ZE_RESULT_SUCCESS)                                                                        \
    return entered

#define NEED(condition)                                                                                      \
    if (!(condition))                                                                                        \
    return ZE_RESULT_ERROR_INVALID_ARGUMENT

#define TELL_TILE(properties)                                                                                \
    (properties)->on_subdevice = part->tile >= 0;                                                            \
    (properties)->subdevice = part->tile >= 0 ? (uint32_t)part->tile : 0

/* --- start and end -------------------------------------------------------------------------------------- */

static lz_code begin(_Atomic bool *mode)
{
    pthread_once(&script_once, script_load);
    *mode = true;
    if (script.init_code != 0)
        return (lz_code)script.init_code;
    if (start_ns < 0)
        start_ns = now_ns();
    return ZE_RESULT_SUCCESS;
}

lz_code zeInit(uint32_t flags)
{
    (void)flags;
    return begin(&is_core);
}

/* If *count is 0, sets it to the number of handles; otherwise, fills the list with up to *count handles. */
static lz_code give(uint32_t *count, lz_handle *list, const lz_handle *source, size_t source_count)
{
    NEED(count && (*count == 0 || list));
    if (*count == 0 || *count > source_count)
        *count = (uint32_t)source_count;
    for (uint32_t i = 0; list && i < *count; i++)
        list[i] = source[i];
    return ZE_RESULT_SUCCESS;
}

static lz_code give_driver(bool is_started, uint32_t *count, lz_handle *drivers)
{
    lz_handle driver = &script;
    return is_started ? give(count, drivers, &driver, script.card_count > 0) : ZE_RESULT_ERROR_UNINITIALIZED;
}

static lz_code give_devices(lz_handle driver, uint32_t *count, lz_handle *list)
{
    lz_handle source[FAKE_MAX_CARDS];
    NEED(driver == &script);
    for (unsigned c = 0; c < script.card_count; c++)
        source[c] = &devices[c];
    return script.device_code != 0 ? (lz_code)script.device_code
                                   : give(count, list, source, script.card_count);
}

lz_code zeDriverGet(uint32_t *count, lz_handle *drivers)
{
    return give_driver(is_core, count, drivers);
}

lz_code zeDeviceGet(lz_handle driver, uint32_t *count, lz_handle *list)
{
    return give_devices(driver, count, list);
}

#if FAKE_MINOR >= 5
lz_code zesInit(uint32_t flags)
{
    (void)flags;
    lz_code code = begin(&is_sysman);
    return script.sysman != 0 ? ZE_RESULT_ERROR_UNINITIALIZED : code;
}

lz_code zesDriverGet(uint32_t *count, lz_handle *drivers)
{
    return give_driver(is_sysman, count, drivers);
}

lz_code zesDeviceGet(lz_handle driver, uint32_t *count, lz_handle *list)
{
    return give_devices(driver, count, list);
}
#endif

/* --- identity of a card --------------------------------------------------------------------------------- */

/* System management accepts handles of the compute interface only if ZES_ENABLE_SYSMAN=1 was set or zesInit
 * was called. */
static bool may_manage(void)
{
    return is_sysman || script.sysman != 0;
}

lz_code zesDeviceGetProperties(lz_handle device, struct lz_device_properties *properties)
{
    ENTER(device, PART_DEVICE);
    if (!may_manage())
        return ZE_RESULT_ERROR_UNINITIALIZED;
    NEED(properties && properties->head.type == ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES &&
         !properties->head.next);
    properties->core.type = (uint32_t)part->card->type;
    properties->core.vendor_id = 0x8086;
    properties->core.device_id = 0xe223;
    properties->core.flags = part->card->integrated != 0 ? ZE_DEVICE_PROPERTY_FLAG_INTEGRATED : 0;
    memcpy(properties->core.uuid, "\x86\x80\x23\xe2\0\0\0\0\3\0\0\0\0\0\0", 16);
    properties->core.uuid[8] = (uint8_t)part->card->bus;
    strcpy(properties->core.name, "Intel(R) Arc(TM) Pro B70 Graphics");
    strcpy(properties->model, "unknown");
    strcpy(properties->driver_version, "unknown");
    properties->subdevice_count = (uint32_t)part->card->tiles;
    return ZE_RESULT_SUCCESS;
}

lz_code zesDevicePciGetProperties(lz_handle device, struct lz_pci_properties *properties)
{
    ENTER(device, PART_DEVICE);
    NEED(properties && properties->head.type == ZES_STRUCTURE_TYPE_PCI_PROPERTIES && !properties->head.next);
    properties->bus = (uint32_t)part->card->bus;
    properties->device = part->card->integrated != 0 ? 2 : 0;
    return ZE_RESULT_SUCCESS;
}

static lz_code give_parts(lz_handle device, enum part_kind kind, uint32_t *count, lz_handle *list)
{
    const struct part *part;
    lz_handle source[MAX_PARTS];
    size_t source_count = 0;
    lz_code code = enter(device, PART_DEVICE, &part);
    if (code != ZE_RESULT_SUCCESS)
        return code;
    size_t c = (size_t)(part - devices);
    for (size_t i = 0; i < part_counts[c]; i++)
        if (parts[c][i].kind == kind)
            source[source_count++] = &parts[c][i];
    return give(count, list, source, source_count);
}

/* --- power ---------------------------------------------------------------------------------------------- */

lz_code zesDeviceEnumPowerDomains(lz_handle device, uint32_t *count, lz_handle *list)
{
    return give_parts(device, PART_POWER, count, list);
}

lz_code zesDeviceGetCardPowerDomain(lz_handle device, lz_handle *power)
{
    ENTER(device, PART_DEVICE);
    size_t c = (size_t)(part - devices);
    for (size_t i = 0; i < part_counts[c]; i++)
        if (parts[c][i].kind == PART_POWER && parts[c][i].type == ZES_POWER_DOMAIN_CARD) {
            *power = &parts[c][i];
            return ZE_RESULT_SUCCESS;
        }
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

lz_code zesPowerGetProperties(lz_handle power, struct lz_power_properties *properties)
{
    ENTER(power, PART_POWER);
    NEED(properties && properties->head.type == ZES_STRUCTURE_TYPE_POWER_PROPERTIES);
    struct lz_power_ext_properties *extension = properties->head.next;
    NEED(!extension || (extension->head.type == ZES_STRUCTURE_TYPE_POWER_EXT_PROPERTIES &&
                        !extension->head.next && !extension->default_limit));
    TELL_TILE(properties);
    properties->default_milliwatts = properties->max_milliwatts = (int32_t)(part->card->limit_watts * 1e3);
    properties->min_milliwatts = -1;
    if (extension && part->card->extension != 0)
        extension->domain = part->type;
    return ZE_RESULT_SUCCESS;
}

/* Returns the power of a power domain. The card has all of the power, and the package has nine tenths of it.
 * Each tile has an equal part of the package's power. */
static double domain_watts(const struct part *part)
{
    double share = part->type == ZES_POWER_DOMAIN_CARD ? 1 : 0.9;
    return part->card->watts * (part->tile >= 0 ? share / part->card->tiles : share);
}

lz_code zesPowerGetEnergyCounter(lz_handle power, struct lz_energy_counter *counter)
{
    ENTER(power, PART_POWER);
    const struct fake_card *card = part->card;
    if (card->energy == -2)
        return ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS;
    int64_t time_ns = now_ns(), refresh_ns = (int64_t)(card->refresh_ms * 1e6);
    if (refresh_ns > 0)
        time_ns -= (time_ns - start_ns) % refresh_ns;
    double since_start_s = (double)(time_ns - start_ns) / 1e9, fallen_s = since_s(card->fall_at_ms);
    double joules = fallen_s >= 0 ? card->fall_joules + domain_watts(part) * fallen_s
                                  : card->start_joules + domain_watts(part) * since_start_s;
    counter->microjoules = (uint64_t)((card->energy < 0 ? card->start_joules : joules) * 1e6);
    counter->time_us = (uint64_t)(time_ns / 1000 + (int64_t)(card->stamp_s * 1e6));
    return ZE_RESULT_SUCCESS;
}

lz_code zesPowerGetLimits(lz_handle power, struct lz_sustained_limit *sustained, void *burst, void *peak)
{
    ENTER(power, PART_POWER);
    NEED(sustained && !burst && !peak);
    *sustained = (struct lz_sustained_limit){1, (int32_t)(part->card->limit_watts * 1e3), 28000};
    return ZE_RESULT_SUCCESS;
}

#if FAKE_MINOR >= 4
lz_code zesPowerGetLimitsExt(lz_handle power, uint32_t *count, struct lz_power_limit *limits)
{
    ENTER(power, PART_POWER);
    if (part->card->limits_extended == 0)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    NEED(count && *count >= 2 && limits && limits[0].head.type == ZES_STRUCTURE_TYPE_POWER_LIMIT_EXT_DESC);
    limits[0].level = 3; /* the limit of the peak current, in milliamperes */
    limits[0].unit = 1;
    limits[0].limit = 40000;
    limits[1].level = ZES_POWER_LEVEL_SUSTAINED;
    limits[1].unit = ZES_LIMIT_UNIT_POWER;
    limits[1].limit = (int32_t)(part->card->limit_watts * 1e3);
    *count = 2;
    return ZE_RESULT_SUCCESS;
}
#endif

/* --- other values --------------------------------------------------------------------------------------- */

lz_code zesDeviceEnumTemperatureSensors(lz_handle device, uint32_t *count, lz_handle *list)
{
    return give_parts(device, PART_TEMPERATURE, count, list);
}

lz_code zesTemperatureGetProperties(lz_handle sensor, struct lz_temperature_properties *properties)
{
    ENTER(sensor, PART_TEMPERATURE);
    NEED(properties && properties->head.type == ZES_STRUCTURE_TYPE_TEMP_PROPERTIES && !properties->head.next);
    properties->type = part->type;
    TELL_TILE(properties);
    return ZE_RESULT_SUCCESS;
}

lz_code zesTemperatureGetState(lz_handle sensor, double *celsius)
{
    ENTER(sensor, PART_TEMPERATURE);
    double own = part->type == ZES_TEMP_SENSORS_MEMORY ? part->card->memory_celsius : part->card->celsius;
    /* Each tile is 1 degree warmer than the previous tile. */
    *celsius = own + (part->tile > 0 ? part->tile : 0);
    return ZE_RESULT_SUCCESS;
}

lz_code zesDeviceEnumMemoryModules(lz_handle device, uint32_t *count, lz_handle *list)
{
    return give_parts(device, PART_MEMORY, count, list);
}

lz_code zesMemoryGetProperties(lz_handle memory, struct lz_memory_properties *properties)
{
    ENTER(memory, PART_MEMORY);
    NEED(properties && properties->head.type == ZES_STRUCTURE_TYPE_MEM_PROPERTIES && !properties->head.next);
    properties->location = part->type;
    TELL_TILE(properties);
    return ZE_RESULT_SUCCESS;
}

lz_code zesMemoryGetState(lz_handle memory, struct lz_memory_state *state)
{
    ENTER(memory, PART_MEMORY);
    NEED(state && state->head.type == ZES_STRUCTURE_TYPE_MEM_STATE && !state->head.next);
    double share = (part->tile >= 0 ? 1 / part->card->tiles : 1) * 1024 * 1024 * 1024;
    state->total_bytes = (uint64_t)(part->card->memory_gib * share);
    state->free_bytes = (uint64_t)((part->card->memory_gib - part->card->used_gib) * share);
    return ZE_RESULT_SUCCESS;
}

lz_code zesDeviceEnumEngineGroups(lz_handle device, uint32_t *count, lz_handle *list)
{
    return give_parts(device, PART_ENGINE, count, list);
}

lz_code zesEngineGetProperties(lz_handle engine, struct lz_engine_properties *properties)
{
    ENTER(engine, PART_ENGINE);
    NEED(properties && properties->head.type == ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES &&
         !properties->head.next);
    properties->type = part->type;
    TELL_TILE(properties);
    return ZE_RESULT_SUCCESS;
}

lz_code zesEngineGetActivity(lz_handle engine, struct lz_engine_stats *stats)
{
    ENTER(engine, PART_ENGINE);
    if (part->card->engines <= 0)
        return part->card->engines < 0 ? ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS
                                       : ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    double share = part->type == 6 ? part->card->copy_busy : part->card->busy;
    double since_start_us = (double)(now_ns() - start_ns) / 1e3;
    stats->time_us = (uint64_t)(since_start_us + 5e6); /* the timestamp comes from the hardware's own clock */
    stats->active_us = (uint64_t)(since_start_us * share + 7e6);
    return ZE_RESULT_SUCCESS;
}
