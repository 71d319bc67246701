/* joule/sources/intel/level_zero_board.c - finds what an Intel GPU can report, and adds its device and
 * channels. See level_zero.h.
 *
 * This file chooses the power domain that covers the whole board, and the sensors and engines to read.
 * Note: Level Zero's devices include neural processors, and a board's parts include the parts of its tiles. A
 * driver does not write to the structure of an extension that it does not know. A power domain of unknown
 * kind therefore comes from a driver that is older than the extension. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/intel/level_zero.h"
#include "joule/sources/sysfs.h"

#define GAIN_SD 0.05 /* assumed, as for all boards without a data sheet */
#define TICK_S  0.1  /* assumed: Intel advises against reading more often */
/* This rank comes after those of the two views of a board that hwmon may have (energy and power). Level Zero
 * reads the same registers, and some runtimes use a wrong range for them. */
#define RANK_LEVEL_ZERO (RANK_DRIVER + 2)

/* The state of lz_board_open. */
struct opening {
    struct source *source;
    const struct lz_api *api;
    struct lz_board *board;
    bool is_integrated;
    bool out_of_memory;
};

/* --- channels ------------------------------------------------------------------------------------------- */

static struct channel *add_channel(struct opening *o, const char *what, const char *label)
{
    const struct device *device = o->board->device;
    struct channel *ch = source_add_channel(o->source);
    if (!ch) {
        o->out_of_memory = true;
        return NULL;
    }
    gpu_name_channel(ch, device->index, what);
    string_copy(ch->info.label, sizeof ch->info.label, label);
    string_copy(ch->info.vendor, sizeof ch->info.vendor, device->vendor);
    string_copy(ch->info.model, sizeof ch->info.model, device->model);
    string_copy(ch->info.uuid, sizeof ch->info.uuid, device->uuid);
    ch->info.scope = JOULE_SCOPE_GPU;
    return ch;
}

static struct channel *add_gauge(struct opening *o, const char *what, const char *label, enum gauge_role role)
{
    struct channel *ch = add_channel(o, what, label);
    if (ch)
        channel_set_gauge(ch, role, o->board->zone);
    return ch;
}

static void add_counter(struct opening *o, const char *label)
{
    struct channel *ch = o->board->energy = add_channel(o, "", label);
    if (!ch)
        return;
    ch->mode = CHANNEL_COUNTER;
    ch->info.reading = JOULE_READING_ENERGY;
    string_copy(ch->zone, sizeof ch->zone, o->board->zone);
    ch->rank = RANK_LEVEL_ZERO;
    ch->gain_sd = GAIN_SD;
    ch->cause = CAUSE(CAUSE_GPU_GAIN, (uint32_t)o->board->device->index);
    ch->counter.unit_joules = 1e-6;
    ch->counter.tick_s = TICK_S;
}

/* Adds a channel that shows why the board's energy cannot be read. Adds none for a GPU inside a processor,
 * because the processor's counters include its energy. */
static void add_unavailable(struct opening *o, lz_code code)
{
    if (o->is_integrated)
        return;
    add_counter(o, "energy counter");
    struct channel *ch = o->board->energy;
    o->board->energy = NULL;
    if (!ch)
        return;
    ch->info.state = lz_status(code);
    string_copy(ch->info.remedy, sizeof ch->info.remedy,
                ch->info.state == JOULE_DENIED
                    ? "permission denied for Level Zero: run as root or with CAP_PERFMON; hwmon needs no "
                      "privileges (Linux 6.2 and newer)"
                    : "Level Zero reports no energy of this GPU: hwmon does, on Linux 6.2 (i915) or 6.5 (xe) "
                      "and newer");
}

/* --- energy --------------------------------------------------------------------------------------------- */

/* Returns how well a kind of domain represents the whole board; higher is better. 0 means that the domain
 * covers only a part of the board. */
static int preference_of(uint32_t domain)
{
    switch (domain) {
    case ZES_POWER_DOMAIN_CARD:
        return 3;
    case ZES_POWER_DOMAIN_PACKAGE:
        return 2;
    case ZES_POWER_DOMAIN_UNKNOWN:
        return 1;
    default:
        return 0;
    }
}

static double watts_of(int32_t milliwatts)
{
    return milliwatts > 0 ? milliwatts * 1e-3 : NAN;
}

/* Uses the domain `power` for the board if its preference is higher than `preference`, which is that of the
 * domain used so far. Returns the preference of the domain that is used after the call. */
static int consider_domain(const struct opening *o, lz_handle power, int preference)
{
    struct lz_power_ext_properties kind = {.head.type = ZES_STRUCTURE_TYPE_POWER_EXT_PROPERTIES};
    struct lz_power_properties properties = {.head = {ZES_STRUCTURE_TYPE_POWER_PROPERTIES, &kind}};
    if (o->api->zesPowerGetProperties(power, &properties) != ZE_RESULT_SUCCESS || properties.on_subdevice)
        return preference;
    int own = preference_of(kind.domain);
    if (own <= preference)
        return preference;
    o->board->power = power;
    o->board->default_limit_watts = watts_of(properties.default_milliwatts);
    o->board->min_limit_watts = watts_of(properties.min_milliwatts);
    o->board->max_limit_watts = watts_of(properties.max_milliwatts);
    return own;
}

/* Finds the domain that covers the board. Returns its label, or NULL with the reason in *out_code. */
static const char *find_domain(struct opening *o, lz_code *out_code)
{
    const struct lz_api *api = o->api;
    lz_handle domains[LZ_MAX_PARTS], card = NULL;
    int preference = 0;
    *out_code = ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    if (!api->zesPowerGetProperties || !api->zesPowerGetEnergyCounter)
        return NULL;
    size_t count;
    *out_code = lz_list(api->zesDeviceEnumPowerDomains, o->board->handle, domains, LZ_MAX_PARTS, &count);
    for (size_t i = 0; i < count; i++)
        preference = consider_domain(o, domains[i], preference);
    if (preference == preference_of(ZES_POWER_DOMAIN_PACKAGE))
        return "package energy counter";
    /* Drivers that do not report the kinds of domains may still return the card's domain. */
    if (preference == preference_of(ZES_POWER_DOMAIN_UNKNOWN) && api->zesDeviceGetCardPowerDomain &&
        api->zesDeviceGetCardPowerDomain(o->board->handle, &card) == ZE_RESULT_SUCCESS && card)
        o->board->power = card;
    if (*out_code == ZE_RESULT_SUCCESS)
        *out_code = ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    return preference ? "energy counter" : NULL;
}

static void find_energy(struct opening *o)
{
    struct lz_energy_counter counter;
    lz_code code;
    const char *label = find_domain(o, &code);
    if (label)
        code = o->api->zesPowerGetEnergyCounter(o->board->power, &counter);
    if (label && (code == ZE_RESULT_SUCCESS || lz_is_transient(code)))
        add_counter(o, label);
    else
        add_unavailable(o, code);
}

/* Note: zesPowerGetLimitsExt lists limits of all kinds; older runtimes have only zesPowerGetLimits. */
double lz_board_limit(const struct lz_api *api, const struct lz_board *board)
{
    struct lz_sustained_limit sustained = {0};
    struct lz_power_limit limits[8];
    uint32_t count = sizeof limits / sizeof limits[0];
    for (size_t i = 0; i < count; i++)
        limits[i] = (struct lz_power_limit){.head.type = ZES_STRUCTURE_TYPE_POWER_LIMIT_EXT_DESC};
    if (!board->power)
        return NAN;
    if (api->zesPowerGetLimitsExt &&
        api->zesPowerGetLimitsExt(board->power, &count, limits) == ZE_RESULT_SUCCESS)
        for (size_t i = 0; i < count && i < sizeof limits / sizeof limits[0]; i++)
            if (limits[i].level == ZES_POWER_LEVEL_SUSTAINED && limits[i].unit == ZES_LIMIT_UNIT_POWER)
                return watts_of(limits[i].limit);
    if (api->zesPowerGetLimits &&
        api->zesPowerGetLimits(board->power, &sustained, NULL, NULL) == ZE_RESULT_SUCCESS &&
        sustained.is_enabled)
        return watts_of(sustained.milliwatts);
    return NAN;
}

/* --- temperatures --------------------------------------------------------------------------------------- */

static bool add_sensor(struct opening *o, lz_handle handle,
                       const struct lz_temperature_properties *properties)
{
    struct lz_board *board = o->board;
    bool is_memory = properties->type == ZES_TEMP_SENSORS_MEMORY;
    const char *word = is_memory ? "memory-temperature" : "temperature";
    char what[48];
    double celsius;
    if (board->sensor_count == LZ_MAX_SENSORS ||
        lz_status(o->api->zesTemperatureGetState(handle, &celsius)) == JOULE_UNSUPPORTED)
        return false;
    if (properties->on_subdevice)
        string_print(what, sizeof what, "tile-%u-%s", properties->subdevice, word);
    else
        string_copy(what, sizeof what, word);
    struct channel *ch = add_gauge(o, what, is_memory ? "memory, highest" : "GPU, highest",
                                   is_memory ? ROLE_MEMORY_TEMPERATURE : ROLE_TEMPERATURE);
    if (ch)
        board->sensors[board->sensor_count++] = (struct lz_sensor){handle, ch};
    return ch != NULL;
}

/* Adds the sensors of one type, of the board or of each tile. Returns their number. */
static size_t find_sensors(struct opening *o, const lz_handle *handles, size_t count, uint32_t type)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        struct lz_temperature_properties properties = {.head.type = ZES_STRUCTURE_TYPE_TEMP_PROPERTIES};
        if (o->api->zesTemperatureGetProperties(handles[i], &properties) == ZE_RESULT_SUCCESS &&
            properties.type == type)
            found += add_sensor(o, handles[i], &properties);
    }
    return found;
}

static void find_temperatures(struct opening *o)
{
    lz_handle handles[LZ_MAX_PARTS];
    size_t count;
    if (!o->api->zesTemperatureGetProperties || !o->api->zesTemperatureGetState)
        return;
    lz_list(o->api->zesDeviceEnumTemperatureSensors, o->board->handle, handles, LZ_MAX_PARTS, &count);
    if (find_sensors(o, handles, count, ZES_TEMP_SENSORS_GPU) == 0)
        find_sensors(o, handles, count, ZES_TEMP_SENSORS_GLOBAL);
    find_sensors(o, handles, count, ZES_TEMP_SENSORS_MEMORY);
}

/* --- engines and memory --------------------------------------------------------------------------------- */

/* Adds the engine groups whose activity can be read to the board. If wants_all is true, adds only groups that
 * cover all engines of a board or tile (ZES_ENGINE_GROUP_ALL). Otherwise adds only other groups. */
static joule_status add_engines(const struct lz_api *api, struct lz_board *board, const lz_handle *handles,
                                size_t count, bool wants_all)
{
    joule_status status = JOULE_UNSUPPORTED;
    for (size_t i = 0; i < count; i++) {
        struct lz_engine_properties properties = {.head.type = ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES};
        struct lz_engine engine = {.handle = handles[i]};
        if (api->zesEngineGetProperties(handles[i], &properties) != ZE_RESULT_SUCCESS ||
            (properties.type == ZES_ENGINE_GROUP_ALL) != wants_all)
            continue;
        lz_code code = api->zesEngineGetActivity(handles[i], &engine.last);
        if (code == ZE_RESULT_SUCCESS)
            board->engines[board->engine_count++] = engine;
        else if (lz_status(code) == JOULE_DENIED)
            status = JOULE_DENIED;
    }
    return board->engine_count ? JOULE_OK : status;
}

joule_status lz_board_find_engines(const struct lz_api *api, struct lz_board *board)
{
    lz_handle handles[LZ_MAX_PARTS];
    size_t count;
    board->has_searched_engines = true;
    lz_code code = lz_list(api->zesDeviceEnumEngineGroups, board->handle, handles, LZ_MAX_PARTS, &count);
    if (code != ZE_RESULT_SUCCESS)
        return lz_status(code);
    joule_status all = add_engines(api, board, handles, count, true);
    if (all == JOULE_OK)
        return JOULE_OK;
    joule_status single = add_engines(api, board, handles, count, false);
    return single == JOULE_UNSUPPORTED ? all : single;
}

static void add_busy(struct opening *o)
{
    if (!o->api->zesDeviceEnumEngineGroups || !o->api->zesEngineGetProperties ||
        !o->api->zesEngineGetActivity)
        return;
    struct channel *ch = o->board->busy = add_gauge(o, "busy", "busiest engine", ROLE_BUSY);
    if (ch)
        string_copy(ch->info.remedy, sizeof ch->info.remedy,
                    "reading the activity of the GPU's engines needs privileges: run as root, or sudo setcap "
                    "cap_perfmon+ep on the program");
}

static void find_memories(struct opening *o)
{
    lz_handle handles[LZ_MAX_PARTS];
    struct lz_board *board = o->board;
    bool is_whole = false; /* the whole board's memory was found; ignore the memory of tiles */
    size_t count;
    if (!o->api->zesMemoryGetProperties || !o->api->zesMemoryGetState)
        return;
    lz_list(o->api->zesDeviceEnumMemoryModules, board->handle, handles, LZ_MAX_PARTS, &count);
    for (size_t i = 0; i < count; i++) {
        struct lz_memory_properties properties = {.head.type = ZES_STRUCTURE_TYPE_MEM_PROPERTIES};
        if (o->api->zesMemoryGetProperties(handles[i], &properties) != ZE_RESULT_SUCCESS ||
            properties.location != ZES_MEM_LOC_DEVICE || (is_whole && properties.on_subdevice))
            continue;
        if (!properties.on_subdevice && !is_whole) {
            is_whole = true;
            board->memory_count = 0;
        }
        board->memories[board->memory_count++] = handles[i];
    }
}

/* --- a board -------------------------------------------------------------------------------------------- */

/* Copies a text unless it is "unknown", which some drivers write for a missing text. */
static void copy_known(char *out_text, size_t size, const char *text, size_t text_size)
{
    string_print(out_text, size, "%.*s", (int)strnlen(text, text_size), text);
    if (strcmp(out_text, "unknown") == 0)
        out_text[0] = '\0';
}

/* Writes a uuid in the format of Intel's other tools, or an empty text if all bytes are 0. */
static void print_uuid(const uint8_t bytes[16], char *out_text, size_t size)
{
    static const uint8_t none[16];
    size_t length = 0;
    for (size_t i = 0; i < 16 && memcmp(bytes, none, sizeof none) != 0; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        string_print(out_text + length, size - length, dash ? "-%02x" : "%02x", bytes[i]);
        length += dash ? 3 : 2;
    }
}

static bool is_known(const struct lz_source *lz, const char *address)
{
    for (size_t i = 0; i < lz->board_count; i++)
        if (strcmp(lz->boards[i].device->pci_address, address) == 0)
            return true;
    return false;
}

static void identify(struct device *device, const struct lz_device_properties *properties)
{
    string_copy(device->vendor, sizeof device->vendor, "intel");
    copy_known(device->model, sizeof device->model, properties->core.name, sizeof properties->core.name);
    if (!device->model[0])
        copy_known(device->model, sizeof device->model, properties->model, sizeof properties->model);
    print_uuid(properties->core.uuid, device->uuid, sizeof device->uuid);
}

/* Reads a device's properties and PCI address. Returns false if the device is not a GPU or has no address. */
static bool read_properties(const struct lz_api *api, lz_handle handle,
                            struct lz_device_properties *out_properties, char out_address[SYSFS_PCI_SIZE])
{
    struct lz_pci_properties pci = {.head.type = ZES_STRUCTURE_TYPE_PCI_PROPERTIES};
    *out_properties = (struct lz_device_properties){.head.type = ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES,
                                                    .core.head.type = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    if (api->zesDeviceGetProperties(handle, out_properties) != ZE_RESULT_SUCCESS ||
        out_properties->core.type != ZE_DEVICE_TYPE_GPU ||
        api->zesDevicePciGetProperties(handle, &pci) != ZE_RESULT_SUCCESS)
        return false;
    string_print(out_address, SYSFS_PCI_SIZE, "%04x:%02x:%02x.%x", pci.domain, pci.bus, pci.device,
                 pci.function);
    return true;
}

bool lz_board_open(struct source *source, lz_handle handle)
{
    struct lz_source *lz = source->data;
    struct lz_device_properties properties;
    char address[SYSFS_PCI_SIZE], path[80];
    if (lz->board_count == LZ_MAX_BOARDS || !read_properties(&lz->api, handle, &properties, address) ||
        is_known(lz, address))
        return true;
    struct lz_board *board = &lz->boards[lz->board_count];
    struct opening o = {source, &lz->api, board, properties.core.flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED,
                        false};
    *board = (struct lz_board){.handle = handle, .device = source_add_gpu(source, address)};
    if (!board->device)
        return false;
    lz->board_count++;
    identify(board->device, &properties);
    gpu_zone(board->device->index, false, board->zone);
    string_print(path, sizeof path, "/sys/bus/pci/devices/%s/power/runtime_status", address);
    board->power_state = source->host->ops->open_file(source->host, path);
    find_energy(&o);
    find_temperatures(&o);
    add_busy(&o);
    find_memories(&o);
    return !o.out_of_memory;
}
