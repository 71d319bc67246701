/* joule/sources/amd/amd_boards.c - see amd_boards.h.
 *
 * Note: a count of 0 and a power of 0 W are treated as unknown, even if the call succeeded. Boards without a
 * sensor report these values. So does the second die of a package, because the first die reports for both. */
#include "joule/sources/amd/amd_boards.h"

#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/amd/amdgpu.h"
#include "joule/sources/amd/gpu_metrics.h"
#include "joule/sources/hwmon/hwmon.h"

#define PERIOD_S         0.1
#define TICK_S           1e-3 /* the driver caches the firmware's values for this time */
#define GAIN_SD          0.05 /* assumed, as for all boards without a data sheet */
#define MAX_WATTS        5000.0
#define GAUGE_PERIOD_NS  500000000LL  /* no temperature sensor updates faster */
#define MAX_TRANSIENT_NS 1000000000LL /* a channel that is PENDING for this time has failed */

/* --- whether to open the source ------------------------------------------------------------------------- */

/* Returns true if the kernel provides a file with the board's power. The file is not read, because a read
 * would wake a suspended board. */
static bool has_power_file(struct source *source, const struct drm_card *card)
{
    struct arena arena = {0};
    char **files, folder[96];
    bool found = false;
    amdgpu_find_hwmon(source, card, folder, sizeof folder);
    ssize_t count = folder[0] ? source->host->ops->list(source->host, folder, &arena, &files) : 0;
    for (ssize_t i = 0; i < count && !found; i++)
        found = strcmp(files[i], "power1_average") == 0 || strcmp(files[i], "power1_input") == 0;
    arena_free(&arena);
    return found;
}

static bool has_counter(struct source *source, const struct drm_card *card)
{
    char path[96], table[GPU_METRICS_MAX_BYTES + 1];
    uint64_t counts = 0, modulus;
    string_print(path, sizeof path, "%s/gpu_metrics", card->folder);
    ssize_t length = source->host->ops->read_file(source->host, path, table, sizeof table);
    return length >= 0 && gpu_metrics_read_energy(table, (size_t)length, &counts, &modulus) == JOULE_OK &&
           counts != 0;
}

static bool is_suspended(struct source *source, const struct drm_card *card)
{
    char path[96], text[16];
    string_print(path, sizeof path, "%s/power/runtime_status", card->folder);
    return host_read_text(source->host, path, text, sizeof text) && strcmp(text, "suspended") == 0;
}

bool amd_boards_are_needed(struct source *source, const char *own)
{
    char **ids;
    size_t boards = 0;
    ssize_t count = source->host->ops->list(source->host, AMD_DRIVER, &source->arena, &ids);
    if (count > 0) /* without boards of the driver, no card is opened */
        count = source->host->ops->list(source->host, DRM_FOLDER, &source->arena, &ids);
    for (ssize_t i = 0; i < count; i++) {
        struct drm_card card;
        if (!drm_card_open(source, ids[i], &card) || strcmp(card.driver, "amdgpu") != 0)
            continue;
        boards++;
        if (!has_power_file(source, &card) && !is_suspended(source, &card) && !has_counter(source, &card))
            return true;
    }
    if (source->is_named && (boards || (own && *own)))
        return true;
    if (boards)
        source_set_state(source, JOULE_ABSENT,
                         "not needed: the kernel's files report these boards; to use the source %s too, "
                         "request it by name",
                         source->ops->name);
    else
        source_set_state(source, JOULE_ABSENT, "no board of this machine uses the driver amdgpu");
    return false;
}

void *amd_open_library(struct joule_host *host, const char *own, const char *const *names,
                       const char **out_name)
{
    const char *const own_names[] = {own, NULL};
    for (const char *const *name = own && *own ? own_names : names; *name; name++) {
        void *library = host->ops->open_library(host, *name);
        *out_name = *name;
        if (library)
            return library;
    }
    *out_name = NULL;
    return NULL;
}

bool amd_has_library(struct joule_host *host)
{
    const char *name;
    return amd_open_library(host, host->ops->env(host, "JOULE_AMD_SMI_LIB"), amd_smi_libraries, &name) ||
           amd_open_library(host, host->ops->env(host, "JOULE_ROCM_SMI_LIB"), rocm_smi_libraries, &name);
}

/* --- a board's channels --------------------------------------------------------------------------------- */

struct amd_boards *amd_boards_create(struct source *source, const struct amd_interface *interface,
                                     void *context)
{
    struct amd_boards *boards = source->data = arena_alloc(&source->arena, sizeof *boards);
    if (!boards)
        return NULL;
    boards->source = source;
    boards->interface = interface;
    boards->context = context;
    return boards;
}

/* Adds a channel of the board. what: the end of the channel's name; may be empty. */
static struct channel *add_channel(struct amd_boards *boards, const struct amd_board *board, const char *what,
                                   const char *label)
{
    struct channel *ch = source_add_channel(boards->source);
    if (!ch)
        return NULL;
    const struct device *device = board->device;
    ch->info.scope = board->has_cpu ? JOULE_SCOPE_MODULE : JOULE_SCOPE_GPU;
    gpu_name_channel(ch, device->index, what);
    string_print(ch->info.label, sizeof ch->info.label, "%s by %s", label, boards->interface->name);
    string_copy(ch->info.vendor, sizeof ch->info.vendor, device->vendor);
    string_copy(ch->info.uuid, sizeof ch->info.uuid, device->uuid[0] ? device->uuid : device->pci_address);
    string_copy(ch->info.model, sizeof ch->info.model, device->model);
    return ch;
}

static void set_sensor(const struct amd_board *board, struct channel *ch, uint32_t rank)
{
    ch->rank = rank;
    ch->gain_sd = GAIN_SD;
    ch->cause = CAUSE(CAUSE_GPU_GAIN, (uint32_t)board->device->index);
    string_copy(ch->zone, sizeof ch->zone, board->zone);
}

/* Returns true if the first call shows that the board reports the value, or may report it later (PENDING).
 * Records a denied call. */
static bool has_value(struct amd_boards *boards, joule_status status, bool is_positive)
{
    boards->is_denied = boards->is_denied || status == JOULE_DENIED;
    return status == JOULE_PENDING || (status == JOULE_OK && is_positive);
}

static void add_energy(struct amd_boards *boards, struct amd_board *board)
{
    const struct amd_interface *interface = boards->interface;
    uint64_t counts = 0;
    if (!interface->energy)
        return;
    joule_status status = interface->energy(boards->context, board->handle, &counts);
    if (!has_value(boards, status, counts != 0))
        return;
    struct channel *ch = board->energy = add_channel(boards, board, "", "energy accumulator");
    if (!ch)
        return;
    set_sensor(board, ch, interface->rank);
    ch->mode = CHANNEL_COUNTER;
    ch->info.reading = JOULE_READING_ENERGY;
    ch->counter.unit_joules = GPU_METRICS_UNIT_J;
    ch->counter.max_watts = MAX_WATTS;
    ch->counter.tick_s = TICK_S;
    ch->info.update_period_s = interface->period_s > 0 ? interface->period_s : TICK_S;
}

static void add_power(struct amd_boards *boards, struct amd_board *board)
{
    const struct amd_interface *interface = boards->interface;
    double watts = 0;
    if (!interface->power)
        return;
    joule_status status = interface->power(boards->context, board->handle, &watts);
    if (!has_value(boards, status, watts > 0))
        return;
    struct channel *ch = board->power =
        add_channel(boards, board, board->energy ? "power" : "", "socket power");
    if (!ch)
        return;
    set_sensor(board, ch, interface->rank + RANK_INTEGRATED - RANK_DRIVER);
    ch->mode = CHANNEL_POWER;
    ch->info.reading = JOULE_READING_POWER;
    ch->info.cls = JOULE_CLASS_DERIVED;
    ch->integrator.period_s = interface->period_s > 0 ? interface->period_s : PERIOD_S;
    ch->integrator.age_s = TICK_S;
    ch->integrator.max_watts = MAX_WATTS;
}

static struct channel *add_gauge(struct amd_boards *boards, const struct amd_board *board, const char *what,
                                 const char *label, enum gauge_role role)
{
    struct channel *ch = add_channel(boards, board, what, label);
    if (ch)
        channel_set_gauge(ch, role, board->zone);
    return ch;
}

static void add_gauges(struct amd_boards *boards, struct amd_board *board)
{
    const struct amd_interface *interface = boards->interface;
    double value;
    if (interface->busy && interface->busy(boards->context, board->handle, &value) == JOULE_OK)
        board->busy = add_gauge(boards, board, "busy", "busy", ROLE_BUSY);
    if (!interface->celsius)
        return;
    board->warmest = AMD_JUNCTION;
    if (interface->celsius(boards->context, board->handle, AMD_JUNCTION, &value) != JOULE_OK)
        board->warmest = AMD_EDGE;
    if (interface->celsius(boards->context, board->handle, board->warmest, &value) == JOULE_OK)
        board->temperature = add_gauge(boards, board, "temperature", "chip temperature", ROLE_TEMPERATURE);
    if (interface->celsius(boards->context, board->handle, AMD_MEMORY, &value) == JOULE_OK)
        board->memory_temperature =
            add_gauge(boards, board, "memory-temperature", "memory temperature", ROLE_MEMORY_TEMPERATURE);
}

static bool has_cpu_cores(struct source *source, const char *pci)
{
    char path[64], text[16];
    uint64_t id;
    string_print(path, sizeof path, "/sys/bus/pci/devices/%s/device", pci);
    return host_read_text(source->host, path, text, sizeof text) && string_to_u64(text, 0, &id) &&
           id == HWMON_MI300A;
}

/* Returns the board at this PCI address, or NULL if no such board was added. */
static struct amd_board *find_board(struct amd_boards *boards, const char *pci)
{
    for (size_t i = 0; i < boards->count; i++)
        if (strcmp(boards->list[i].device->pci_address, pci) == 0)
            return &boards->list[i];
    return NULL;
}

/* Writes the address with function 0. All partitions of a board then have the same address. */
static void print_pci(char out_pci[SYSFS_PCI_SIZE], unsigned domain, unsigned bus, unsigned slot)
{
    string_print(out_pci, SYSFS_PCI_SIZE, "%04x:%02x:%02x.0", domain, bus, slot);
}

bool amd_boards_replace(struct amd_boards *boards, unsigned domain, unsigned bus, unsigned slot,
                        amd_device handle)
{
    char pci[SYSFS_PCI_SIZE];
    print_pci(pci, domain, bus, slot);
    struct amd_board *board = find_board(boards, pci);
    bool is_new = board && board->handle != handle;
    if (is_new)
        board->handle = handle;
    return is_new;
}

void amd_boards_add(struct amd_boards *boards, unsigned domain, unsigned bus, unsigned slot,
                    amd_device handle)
{
    char pci[SYSFS_PCI_SIZE];
    print_pci(pci, domain, bus, slot);
    if (find_board(boards, pci) || boards->count == AMD_MAX_BOARDS)
        return;
    struct device *device = source_add_gpu(boards->source, pci);
    if (!device)
        return;
    struct amd_board *board = &boards->list[boards->count++];
    board->device = device;
    board->handle = handle;
    board->has_cpu = has_cpu_cores(boards->source, pci);
    gpu_zone(device->index, board->has_cpu, board->zone);
    string_copy(device->vendor, sizeof device->vendor, "amd");
    string_copy(device->driver, sizeof device->driver, "amdgpu");
    boards->interface->set_identity(boards->context, handle, device);
    add_energy(boards, board);
    add_power(boards, board);
    add_gauges(boards, board);
}

joule_status amd_boards_set_state(struct amd_boards *boards)
{
    if (boards->count == 0)
        return source_set_state(boards->source, JOULE_ABSENT, "%s lists no board for this process",
                                boards->interface->name);
    if (boards->source->channel_count == 0 && boards->is_denied)
        return source_set_state(boards->source, JOULE_DENIED,
                                "permission denied for %s: join the groups `render` and `video`",
                                boards->interface->name);
    if (boards->source->channel_count == 0)
        return source_set_state(boards->source, JOULE_UNSUPPORTED,
                                "%s reports neither energy nor power of these boards: measure the machine by "
                                "other means",
                                boards->interface->name);
    return JOULE_OK;
}

/* --- reading -------------------------------------------------------------------------------------------- */

/* Reports a failed reading. PENDING is reported, as FAILED, only after MAX_TRANSIENT_NS without a value. */
static void fail(struct amd_board *board, struct sink *sink, struct channel *channel, joule_status status)
{
    int64_t now_ns = sink_now(sink);
    if (status != JOULE_PENDING) {
        sink_fail(sink, channel, status);
        return;
    }
    if (board->failing_since_ns == 0)
        board->failing_since_ns = now_ns;
    if (now_ns - board->failing_since_ns >= MAX_TRANSIENT_NS)
        sink_fail(sink, channel, JOULE_FAILED);
}

static void read_energy(struct amd_boards *boards, struct amd_board *board, struct sink *sink)
{
    uint64_t counts = 0;
    int64_t before_ns = sink_now(sink);
    joule_status status = boards->interface->energy(boards->context, board->handle, &counts);
    int64_t after_ns = sink_now(sink);
    /* if false, a program has read the counter at an unknown time */
    bool is_read_now = boards->interface->period_s == 0;
    if (status != JOULE_OK) {
        fail(board, sink, board->energy, status);
        return;
    }
    board->failing_since_ns = 0;
    if (standstill_check(&board->still, after_ns, counts))
        sink_fail(sink, board->energy, JOULE_UNSUPPORTED);
    else
        sink_counter(sink, board->energy, is_read_now ? before_ns : 0, is_read_now ? after_ns : 0, counts);
}

static void read_power(struct amd_boards *boards, struct amd_board *board, struct sink *sink)
{
    double watts = 0;
    joule_status status = boards->interface->power(boards->context, board->handle, &watts);
    if (status != JOULE_OK) {
        fail(board, sink, board->power, status);
        return;
    }
    board->failing_since_ns = 0;
    sink_power(sink, board->power, 0, watts);
}

static void report_gauge(struct sink *sink, struct channel *channel, joule_status status, double value)
{
    if (status == JOULE_OK)
        sink_gauge(sink, channel, value);
    else if (status != JOULE_PENDING)
        sink_fail(sink, channel, status);
}

static void read_gauges(struct amd_boards *boards, struct amd_board *board, struct sink *sink)
{
    const struct amd_interface *interface = boards->interface;
    double value = NAN;
    if (board->busy) {
        joule_status status = interface->busy(boards->context, board->handle, &value);
        report_gauge(sink, board->busy, status, value);
    }
    if (board->temperature) {
        joule_status status = interface->celsius(boards->context, board->handle, board->warmest, &value);
        report_gauge(sink, board->temperature, status, value);
    }
    if (board->memory_temperature) {
        joule_status status = interface->celsius(boards->context, board->handle, AMD_MEMORY, &value);
        report_gauge(sink, board->memory_temperature, status, value);
    }
}

void amd_boards_read(struct source *source, struct sink *sink)
{
    struct amd_boards *boards = source->data;
    int64_t now_ns = sink_now(sink);
    bool gauges_are_due = boards->gauges_ns == 0 || now_ns - boards->gauges_ns >= GAUGE_PERIOD_NS;
    for (size_t i = 0; i < boards->count; i++) {
        struct amd_board *board = &boards->list[i];
        if (board->energy)
            read_energy(boards, board, sink);
        if (board->power)
            read_power(boards, board, sink);
        if (gauges_are_due)
            read_gauges(boards, board, sink);
    }
    if (gauges_are_due)
        boards->gauges_ns = now_ns;
}

void amd_boards_query(struct source *source, struct sink *sink)
{
    const struct amd_boards *boards = source->data;
    for (size_t i = 0; i < boards->count; i++) {
        const struct amd_board *board = &boards->list[i];
        struct device_facts facts = device_facts_unknown();
        joule_status status = boards->interface->facts(boards->context, board->handle, &facts);
        if (facts.memory_total_bytes != JOULE_BYTES_UNKNOWN &&
            facts.memory_used_bytes <= facts.memory_total_bytes)
            facts.memory_free_bytes = facts.memory_total_bytes - facts.memory_used_bytes;
        if (status == JOULE_OK)
            sink_facts(sink, board->device, &facts);
        else if (status != JOULE_PENDING)
            sink_device_fail(sink, board->device, status);
    }
}
