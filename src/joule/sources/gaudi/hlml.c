/* joule/sources/gaudi/hlml.c - opens and reads the Gaudi boards of the source "hlml". See hlml.h.
 *
 * Note: the energy counter counts millijoules since the driver was loaded. If its value changes, the counter
 * has priority over integrated power. A counter whose value does not change is reported as UNSUPPORTED, never
 * as 0 J. */
#include "joule/sources/gaudi/hlml.h"

#include <math.h>
#include "base/string.h"
#include "joule/sources/accelerator/accelerator.h"

#define MAX_BOARDS       64
#define PERIOD_S         0.1
#define GAUGE_PERIOD_NS  500000000LL
#define MAX_TRANSIENT_NS 1000000000LL /* a channel with transient failures for this time has failed */
#define GAIN_SD          0.05         /* assumed, as for all boards without a data sheet */
#define MAX_WATTS        2000.0       /* twice the limit of the largest board */

struct board {
    unsigned number; /* the library's index of the board */
    int32_t index;
    hlml_device handle; /* NULL: the library cannot open the board */
    struct device *device;
    struct channel *energy, *power, *temperature, *clock, *busy; /* NULL: not reported */
    char zone[48];
    bool is_lost;             /* the library cannot open the board or has lost it, so the board is not read */
    struct standstill still;  /* detects an energy counter that does not move */
    int64_t failing_since_ns; /* time of the first transient failure since the last success; 0: none */
};

struct hlml {
    struct hlml_api api;
    struct board boards[MAX_BOARDS];
    size_t count;
    int64_t gauges_ns; /* time of the last reading of gauges */
};

/* --- opening -------------------------------------------------------------------------------------------- */

static struct channel *add_channel(struct source *source, const struct board *board, const char *what,
                                   const char *label)
{
    struct channel *ch = source_add_channel(source);
    if (!ch)
        return NULL;
    accelerator_name_channel(ch, "hpu", board->index, what);
    string_copy(ch->info.label, sizeof ch->info.label, label);
    string_copy(ch->info.vendor, sizeof ch->info.vendor, board->device->vendor);
    string_copy(ch->info.model, sizeof ch->info.model, board->device->model);
    string_copy(ch->info.uuid, sizeof ch->info.uuid, board->device->uuid);
    return ch;
}

static struct channel *add_joules(struct source *source, const struct board *board, const char *what,
                                  const char *label)
{
    struct channel *ch = add_channel(source, board, what, label);
    if (!ch)
        return NULL;
    ch->info.scope = JOULE_SCOPE_GPU;
    string_copy(ch->zone, sizeof ch->zone, board->zone);
    ch->gain_sd = GAIN_SD;
    ch->cause = CAUSE(CAUSE_GPU_GAIN, ACCELERATOR_FIRST_CAUSE + (uint32_t)board->index);
    return ch;
}

static void find_energy(struct source *source, struct board *board)
{
    const struct hlml_api *api = &((struct hlml *)source->data)->api;
    unsigned long long millijoules;
    if (!api->device_get_total_energy_consumption ||
        api->device_get_total_energy_consumption(board->handle, &millijoules) != HLML_SUCCESS)
        return;
    struct channel *ch = board->energy = add_joules(source, board, "", "energy counter");
    if (!ch)
        return;
    ch->mode = CHANNEL_COUNTER;
    ch->rank = RANK_DRIVER;
    ch->info.reading = JOULE_READING_ENERGY;
    ch->info.cls = JOULE_CLASS_MEASURED;
    ch->counter.modulus = 0; /* 64 bits */
    ch->counter.unit_joules = 1e-3;
    ch->counter.max_watts = MAX_WATTS;
    ch->counter.tick_s = PERIOD_S; /* assumed: the update period is not documented */
}

static void find_power(struct source *source, struct board *board)
{
    const struct hlml_api *api = &((struct hlml *)source->data)->api;
    unsigned milliwatts;
    if (!api->device_get_power_usage ||
        api->device_get_power_usage(board->handle, &milliwatts) != HLML_SUCCESS)
        return;
    struct channel *ch = board->power = add_joules(source, board, "power", "power");
    if (!ch)
        return;
    ch->mode = CHANNEL_POWER;
    ch->rank = RANK_DRIVER + 1;
    ch->info.reading = JOULE_READING_POWER;
    ch->info.cls = JOULE_CLASS_DERIVED;
    ch->integrator.period_s = PERIOD_S;
    ch->integrator.max_watts = MAX_WATTS;
}

static struct channel *add_gauge(struct source *source, const struct board *board, const char *what,
                                 const char *label, enum gauge_role role)
{
    struct channel *ch = add_channel(source, board, what, label);
    if (ch)
        channel_set_gauge(ch, role, board->zone);
    return ch;
}

static void find_gauges(struct source *source, struct board *board)
{
    const struct hlml_api *api = &((struct hlml *)source->data)->api;
    unsigned value;
    struct hlml_utilization busy;
    if (api->device_get_temperature &&
        api->device_get_temperature(board->handle, HLML_TEMPERATURE_ON_AIP, &value) == HLML_SUCCESS)
        board->temperature = add_gauge(source, board, "temperature", "chip temperature", ROLE_TEMPERATURE);
    if (api->device_get_clock_info &&
        api->device_get_clock_info(board->handle, HLML_CLOCK_SOC, &value) == HLML_SUCCESS)
        board->clock = add_gauge(source, board, "clock", "SoC clock", ROLE_CLOCK);
    if (api->device_get_utilization_rates &&
        api->device_get_utilization_rates(board->handle, &busy) == HLML_SUCCESS)
        board->busy = add_gauge(source, board, "busy", "busy time", ROLE_BUSY);
}

/* Sets the identity of the board. Its index is found by PCI address, as in all sources. If the address is
 * unknown, the library's index is used. */
static void identify(struct source *source, struct board *board)
{
    const struct hlml_api *api = &((struct hlml *)source->data)->api;
    struct hlml_pci_info pci = {0};
    char address[SYSFS_PCI_SIZE] = "", version[48] = "";
    board->index = -1;
    if (board->handle && api->device_get_pci_info &&
        api->device_get_pci_info(board->handle, &pci) == HLML_SUCCESS) {
        pci.bus_id[sizeof pci.bus_id - 1] = '\0';
        sysfs_find_pci(pci.bus_id, address);
        board->index = accelerator_index(source, "hpu", address);
    }
    if (board->index < 0)
        board->index = (int32_t)board->number;
    accelerator_zone("hpu", board->index, board->zone);
    struct device *device = board->device = source_add_device(source, "hpu", board->index);
    if (!device)
        return;
    string_copy(device->vendor, sizeof device->vendor, "intel");
    string_copy(device->pci_address, sizeof device->pci_address, address);
    if (!board->handle)
        return;
    if (api->device_get_name)
        api->device_get_name(board->handle, device->model, sizeof device->model);
    if (api->device_get_uuid)
        api->device_get_uuid(board->handle, device->uuid, sizeof device->uuid);
    if (api->get_driver_version && api->get_driver_version(version, sizeof version) == HLML_SUCCESS)
        string_print(device->driver, sizeof device->driver, "habanalabs %s", version);
}

/* Adds a channel that shows why the board's energy is unknown. */
static void add_unavailable(struct source *source, const struct board *board, joule_status state,
                            const char *remedy)
{
    struct channel *ch = add_joules(source, board, "", "energy counter");
    if (!ch)
        return;
    ch->rank = RANK_DRIVER;
    ch->info.state = state;
    string_copy(ch->info.remedy, sizeof ch->info.remedy, remedy);
}

static bool open_board(struct source *source, struct board *board, unsigned number)
{
    const struct hlml_api *api = &((struct hlml *)source->data)->api;
    *board = (struct board){.number = number};
    hlml_return code = api->device_get_handle_by_index(number, &board->handle);
    if (code != HLML_SUCCESS)
        board->handle = NULL;
    identify(source, board);
    if (!board->device)
        return false;
    if (!board->handle) {
        board->is_lost = true;
        board->device->state = hlml_status(code);
        add_unavailable(source, board, hlml_status(code),
                        "Habana's library cannot open this board: see `hl-smi` and `dmesg`");
        return true;
    }
    find_energy(source, board);
    find_power(source, board);
    if (!board->energy && !board->power)
        add_unavailable(
            source, board, JOULE_UNSUPPORTED,
            "the driver reports neither energy nor power of this board: measure the machine by other means");
    find_gauges(source, board);
    return true;
}

static joule_status open_boards(struct source *source, struct hlml *hlml)
{
    unsigned count = 0;
    hlml_return code = hlml->api.device_get_count(&count);
    if (code != HLML_SUCCESS || count == 0)
        return source_set_state(source, code != HLML_SUCCESS ? hlml_status(code) : JOULE_ABSENT,
                                "Habana's driver lists no Gaudi board for this process");
    for (; hlml->count < count && hlml->count < MAX_BOARDS; hlml->count++)
        if (!open_board(source, &hlml->boards[hlml->count], (unsigned)hlml->count))
            return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    return JOULE_OK;
}

static joule_status hlml_open(struct source *source)
{
    char remedy[sizeof source->remedy];
    if (!hlml_has_driver(source, "JOULE_HLML_LIB"))
        return source_set_state(source, JOULE_ABSENT,
                                "this machine has no driver for Gaudi boards (habanalabs)");
    struct hlml *hlml = source->data = arena_alloc(&source->arena, sizeof *hlml);
    if (!hlml)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    joule_status status = hlml_load(source->host, &hlml->api, remedy, sizeof remedy);
    if (status != JOULE_OK)
        return source_set_state(source, status, "%s", remedy);
    return open_boards(source, hlml);
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void set_lost(struct board *board, struct sink *sink)
{
    struct channel *const channels[] = {board->energy, board->power, board->temperature, board->clock,
                                        board->busy};
    board->is_lost = true;
    for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++)
        if (channels[i])
            sink_fail(sink, channels[i], JOULE_FAILED);
}

/* Handles a failed call of the library. Returns true if the caller should repeat the call at once. */
static bool handle_failure(const struct hlml *hlml, struct board *board, struct sink *sink,
                           struct channel *channel, hlml_return code, bool is_first_try)
{
    bool is_transient = code == HLML_ERROR_TIMEOUT || code == HLML_ERROR_NO_DATA;
    int64_t now_ns = sink_now(sink);
    if (code == HLML_ERROR_AIP_IS_LOST) {
        set_lost(board, sink);
        return false;
    }
    /* Other code in this process may have shut the library down. */
    if (code == HLML_ERROR_UNINITIALIZED && is_first_try) {
        hlml_return again = hlml->api.init();
        return (again == HLML_SUCCESS || again == HLML_ERROR_ALREADY_INITIALIZED) &&
               hlml->api.device_get_handle_by_index(board->number, &board->handle) == HLML_SUCCESS;
    }
    if (is_transient && board->failing_since_ns == 0)
        board->failing_since_ns = now_ns;
    if (!is_transient || now_ns - board->failing_since_ns >= MAX_TRANSIENT_NS)
        sink_fail(sink, channel, hlml_status(code));
    return false;
}

static void read_energy(const struct hlml *hlml, struct board *board, struct sink *sink)
{
    for (int try = 0; try < 2 && !board->is_lost; try++) {
        unsigned long long millijoules = 0;
        int64_t before_ns = sink_now(sink);
        hlml_return code = hlml->api.device_get_total_energy_consumption(board->handle, &millijoules);
        int64_t after_ns = sink_now(sink);
        if (code == HLML_SUCCESS) {
            board->failing_since_ns = 0;
            if (standstill_check(&board->still, after_ns, millijoules))
                sink_fail(sink, board->energy, JOULE_UNSUPPORTED);
            else
                sink_counter(sink, board->energy, before_ns, after_ns, millijoules);
            return;
        }
        if (!handle_failure(hlml, board, sink, board->energy, code, try == 0))
            return;
    }
}

static void read_power(const struct hlml *hlml, struct board *board, struct sink *sink)
{
    for (int try = 0; try < 2 && !board->is_lost; try++) {
        unsigned milliwatts = 0;
        hlml_return code = hlml->api.device_get_power_usage(board->handle, &milliwatts);
        if (code == HLML_SUCCESS) {
            board->failing_since_ns = board->energy ? board->failing_since_ns : 0;
            sink_power(sink, board->power, 0, milliwatts * 1e-3);
            return;
        }
        if (!handle_failure(hlml, board, sink, board->power, code, try == 0))
            return;
    }
}

static void report_gauge(struct sink *sink, struct channel *channel, hlml_return code, double value)
{
    if (code == HLML_SUCCESS)
        sink_gauge(sink, channel, value);
    else
        sink_fail(sink, channel, hlml_status(code));
}

static void read_gauges(const struct hlml_api *api, const struct board *board, struct sink *sink)
{
    unsigned value = 0;
    struct hlml_utilization busy = {0};
    hlml_return code;
    if (board->temperature) {
        code = api->device_get_temperature(board->handle, HLML_TEMPERATURE_ON_AIP, &value);
        report_gauge(sink, board->temperature, code, value);
    }
    if (board->clock) {
        code = api->device_get_clock_info(board->handle, HLML_CLOCK_SOC, &value);
        report_gauge(sink, board->clock, code, value);
    }
    if (board->busy) {
        code = api->device_get_utilization_rates(board->handle, &busy);
        report_gauge(sink, board->busy, code == HLML_SUCCESS && busy.aip > 100 ? HLML_ERROR_UNKNOWN : code,
                     busy.aip * 0.01);
    }
}

static void hlml_read(struct source *source, struct sink *sink)
{
    struct hlml *hlml = source->data;
    int64_t now_ns = sink_now(sink);
    bool gauges_are_due = hlml->gauges_ns == 0 || now_ns - hlml->gauges_ns >= GAUGE_PERIOD_NS;
    for (size_t i = 0; i < hlml->count; i++) {
        struct board *board = &hlml->boards[i];
        if (board->energy && !board->is_lost)
            read_energy(hlml, board, sink);
        if (board->power && !board->is_lost)
            read_power(hlml, board, sink);
        if (gauges_are_due && !board->is_lost)
            read_gauges(&hlml->api, board, sink);
    }
    if (gauges_are_due)
        hlml->gauges_ns = now_ns;
}

/* --- facts ---------------------------------------------------------------------------------------------- */

static void query_device(const struct hlml_api *api, const struct board *board, struct sink *sink)
{
    struct device_facts facts = device_facts_unknown();
    struct hlml_memory memory;
    unsigned milliwatts;
    unsigned long long reasons;
    hlml_return code = HLML_ERROR_NOT_SUPPORTED;
    if (api->device_get_memory_info &&
        (code = api->device_get_memory_info(board->handle, &memory)) == HLML_SUCCESS) {
        facts.memory_total_bytes = memory.total;
        facts.memory_used_bytes = memory.used;
        facts.memory_free_bytes = memory.free;
    }
    if (api->device_get_power_management_default_limit &&
        api->device_get_power_management_default_limit(board->handle, &milliwatts) == HLML_SUCCESS)
        facts.default_limit_watts = milliwatts * 1e-3;
    if (api->device_get_current_clocks_throttle_reasons &&
        api->device_get_current_clocks_throttle_reasons(board->handle, &reasons) == HLML_SUCCESS)
        facts.clock_reasons = (reasons & HLML_CLOCKS_THROTTLE_REASON_POWER ? JOULE_CLOCKS_POWER : 0) |
                              (reasons & HLML_CLOCKS_THROTTLE_REASON_THERMAL ? JOULE_CLOCKS_TEMPERATURE : 0);
    if (code == HLML_SUCCESS || code == HLML_ERROR_NOT_SUPPORTED)
        sink_facts(sink, board->device, &facts);
    else
        sink_device_fail(sink, board->device, hlml_status(code));
}

static void hlml_query(struct source *source, struct sink *sink)
{
    const struct hlml *hlml = source->data;
    for (size_t i = 0; i < hlml->count; i++) {
        const struct board *board = &hlml->boards[i];
        if (board->is_lost)
            sink_device_fail(sink, board->device, JOULE_FAILED);
        else
            query_device(&hlml->api, board, sink);
    }
}

const struct source_ops source_hlml = {
    .name = "hlml",
    .measurement = "hlml",
    .tier = 3,
    .is_slow = true,
    .folder = HLML_FOLDER,
    .variable = "JOULE_HLML_LIB",
    .period_s = PERIOD_S,
    .open = hlml_open,
    .read = hlml_read,
    /* No close: a shutdown of the library would also affect other code in this process that uses it. */
    .query = hlml_query,
};
