/* joule/sources/amd/amdgpu.c - the source "amdgpu": energy, load and clocks of AMD's boards, from the kernel
 * driver.
 *
 * Energy is read from the driver's table gpu_metrics. The source "hwmon" reads the boards' power, which is
 * another view of the same zone. The source "thermal" reads their temperatures.
 * Note: each revision of the table for boards contains an energy counter, but on many boards the counter is 0
 * or does not move. A counter at 0 is not used. Other counters are used only after they have moved; until
 * then, hwmon's power is used. A suspended board is not read, because reading would wake it. */
#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/amd/amdgpu.h"
#include "joule/sources/detection.h"
#include "joule/sources/drm_processes.h"
#include "joule/sources/amd/gpu_metrics.h"
#include "joule/sources/hwmon/hwmon.h"

#define MAX_BOARDS 64
#define PERIOD_S   0.1
#define TICK_S     1e-3      /* the driver caches the firmware's values for this time */
#define GAIN_SD    0.05      /* assumed, as for all boards without a data sheet */
#define MAX_WATTS  5000.0    /* several times the power of any board */
#define TABLE_NS   500000000 /* gauges use values of the table up to this age */

/* The origin of each gauge: a file or, if the file is missing or cannot be read, the driver's table. */
static const struct gauge_kind {
    const char *file;         /* file in the card's folder; NULL: the file of `clock` is used */
    const char *clock;        /* label of a frequency of hwmon */
    const char *what, *label; /* end of the channel's name; label for users */
    enum gauge_role role;
    double unit, max;    /* factor from the number in the file to the gauge; maximum of the number */
    double table_unit;   /* factor from the number in the table to the gauge */
    size_t table_offset; /* in struct gpu_metrics */
} gauge_kinds[] = {
    {"gpu_busy_percent", NULL, "busy", "graphics and compute busy", ROLE_BUSY, 0.01, 100, 0.01,
     offsetof(struct gpu_metrics, busy)},
    {"mem_busy_percent", NULL, "memory-busy", "memory busy", ROLE_MEMORY_BUSY, 0.01, 100, 0.01,
     offsetof(struct gpu_metrics, memory_busy)},
    {NULL, "sclk", "clock", "shader clock", ROLE_CLOCK, 1e-6, 2e10, 1,
     offsetof(struct gpu_metrics, clock_megahertz)},
    {NULL, "mclk", "memory-clock", "memory clock", ROLE_MEMORY_CLOCK, 1e-6, 2e10, 1,
     offsetof(struct gpu_metrics, memory_clock_megahertz)},
};
#define GAUGE_KINDS (sizeof gauge_kinds / sizeof gauge_kinds[0])

struct gauge {
    const struct gauge_kind *kind;
    struct channel *channel;
    int handle; /* open file; < 0: the gauge is read in the table */
};

struct board {
    struct device *device;
    char folder[48], hwmon[96]; /* folders of the card and of its hardware monitor */
    char zone[48];
    bool has_cpu;
    struct channel *energy; /* energy counter; NULL: the board has none */
    struct standstill still;
    int metrics;     /* open file gpu_metrics; < 0: none */
    int power_state; /* open file power/runtime_status, for hwmon_is_suspended */
    struct gauge gauges[GAUGE_KINDS];
    size_t gauge_count;
    struct gpu_metrics reported; /* the table as read at table_ns */
    int64_t table_ns;            /* 0: never */
};

struct amdgpu {
    struct board boards[MAX_BOARDS];
    size_t count;
    struct drm_processes processes;
    struct kfd kfd;
};

/* --- opening -------------------------------------------------------------------------------------------- */

static int open_file(struct source *source, const struct drm_card *card, const char *file)
{
    char path[96];
    string_print(path, sizeof path, "%s/%s", card->folder, file);
    return source->host->ops->open_file(source->host, path);
}

/* Adds a channel of the board. what: the end of the channel's name; may be empty. */
static struct channel *add_channel(struct source *source, const struct board *board, const char *what)
{
    struct channel *ch = source_add_channel(source);
    if (!ch)
        return NULL;
    const struct device *device = board->device;
    ch->info.scope = board->has_cpu ? JOULE_SCOPE_MODULE : JOULE_SCOPE_GPU;
    gpu_name_channel(ch, device->index, what);
    string_copy(ch->info.vendor, sizeof ch->info.vendor, device->vendor);
    string_copy(ch->info.uuid, sizeof ch->info.uuid, device->uuid[0] ? device->uuid : device->pci_address);
    string_copy(ch->info.model, sizeof ch->info.model, device->model);
    return ch;
}

/* Reads the table. Writes the energy count and its modulus, and stores the table's other values. */
static joule_status read_counts(struct joule_host *host, struct board *board, uint64_t *out_counts,
                                uint64_t *out_modulus)
{
    char table[GPU_METRICS_MAX_BYTES + 1];
    ssize_t length = host->ops->read_handle(host, board->metrics, table, sizeof table);
    board->reported = gpu_metrics_unknown();
    board->table_ns = host->ops->clock_ns(host, CLOCK_MONOTONIC);
    if (length < 0)
        return status_of_errno((int)-length);
    gpu_metrics_read(table, (size_t)length, &board->reported);
    return gpu_metrics_read_energy(table, (size_t)length, out_counts, out_modulus);
}

/* Returns the table's values, at most TABLE_NS old. */
static const struct gpu_metrics *refresh_table(struct joule_host *host, struct board *board)
{
    uint64_t counts, modulus;
    int64_t now_ns = host->ops->clock_ns(host, CLOCK_MONOTONIC);
    if (board->metrics >= 0 && (board->table_ns == 0 || now_ns - board->table_ns >= TABLE_NS))
        read_counts(host, board, &counts, &modulus);
    return &board->reported;
}

static void add_energy(struct source *source, struct board *board)
{
    uint64_t counts = 0, modulus = 0;
    if (board->metrics < 0 || read_counts(source->host, board, &counts, &modulus) != JOULE_OK || counts == 0)
        return;
    struct channel *ch = board->energy = add_channel(source, board, "");
    if (!ch)
        return;
    ch->mode = CHANNEL_COUNTER;
    ch->rank = RANK_DRIVER;
    ch->info.reading = JOULE_READING_ENERGY;
    ch->info.cls = JOULE_CLASS_MEASURED;
    string_copy(ch->info.label, sizeof ch->info.label, "energy accumulator");
    ch->gain_sd = GAIN_SD;
    ch->cause = CAUSE(CAUSE_GPU_GAIN, (uint32_t)board->device->index);
    string_copy(ch->zone, sizeof ch->zone, board->zone);
    ch->counter.modulus = modulus;
    ch->counter.unit_joules = GPU_METRICS_UNIT_J;
    ch->counter.max_watts = MAX_WATTS;
    ch->counter.tick_s = ch->info.update_period_s = TICK_S;
}

/* Opens the file of hwmon's frequency with this label. Returns a negative number if there is none. */
static int open_clock(struct source *source, const struct board *board, const char *label)
{
    char path[128], text[16];
    for (unsigned number = 1; board->hwmon[0]; number++) {
        string_print(path, sizeof path, "%s/freq%u_label", board->hwmon, number);
        if (!host_read_text(source->host, path, text, sizeof text))
            return -1;
        if (strcmp(text, label) != 0)
            continue;
        string_print(path, sizeof path, "%s/freq%u_input", board->hwmon, number);
        return source->host->ops->open_file(source->host, path);
    }
    return -1;
}

static double table_value(const struct gauge_kind *kind, const struct gpu_metrics *reported)
{
    return *(const double *)((const char *)reported + kind->table_offset) * kind->table_unit;
}

static void add_gauge(struct source *source, const struct drm_card *card, struct board *board,
                      const struct gauge_kind *kind)
{
    int handle = kind->file ? open_file(source, card, kind->file) : open_clock(source, board, kind->clock);
    if (handle < 0 && isnan(table_value(kind, &board->reported)))
        return;
    struct channel *ch = add_channel(source, board, kind->what);
    if (!ch) {
        host_close_handle(source->host, handle);
        return;
    }
    channel_set_gauge(ch, kind->role, board->zone);
    string_copy(ch->info.label, sizeof ch->info.label, kind->label);
    board->gauges[board->gauge_count++] = (struct gauge){kind, ch, handle};
}

static void add_board(struct source *source, const struct drm_card *card)
{
    struct amdgpu *amdgpu = source->data;
    if (amdgpu->count == MAX_BOARDS)
        return;
    struct device *device = source_add_gpu(source, card->pci[0] ? card->pci : card->id);
    if (!device)
        return;
    struct board *board = &amdgpu->boards[amdgpu->count++];
    board->device = device;
    board->has_cpu = card->pci_device == HWMON_MI300A;
    gpu_zone(device->index, board->has_cpu, board->zone);
    amdgpu_set_identity(source, card, &amdgpu->kfd, device);
    string_copy(board->folder, sizeof board->folder, card->folder);
    amdgpu_find_hwmon(source, card, board->hwmon, sizeof board->hwmon);
    board->power_state = open_file(source, card, "power/runtime_status");
    board->metrics = open_file(source, card, "gpu_metrics");
    board->reported = gpu_metrics_unknown();
    if (!hwmon_is_suspended(source->host, board->power_state))
        add_energy(source, board);
    for (size_t i = 0; i < GAUGE_KINDS; i++)
        add_gauge(source, card, board, &gauge_kinds[i]);
}

static joule_status amdgpu_open(struct source *source)
{
    char **ids;
    ssize_t count = source->host->ops->list(source->host, DRM_FOLDER, &source->arena, &ids);
    source->data = arena_alloc(&source->arena, sizeof(struct amdgpu));
    if (!source->data)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    kfd_read_nodes(&((struct amdgpu *)source->data)->kfd, source->host);
    for (ssize_t i = 0; i < count; i++) {
        struct drm_card card;
        if (drm_card_open(source, ids[i], &card) && strcmp(card.driver, "amdgpu") == 0)
            add_board(source, &card);
    }
    if (source->device_count)
        return JOULE_OK;
    return detection_absent(source, DETECT_AMD, "no board of this machine uses the driver amdgpu");
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void read_energy(struct joule_host *host, struct board *board, struct sink *sink)
{
    uint64_t counts = 0, modulus;
    int64_t before_ns = sink_now(sink);
    joule_status status = read_counts(host, board, &counts, &modulus);
    int64_t after_ns = sink_now(sink);
    if (status == JOULE_OK && standstill_check(&board->still, after_ns, counts))
        status = JOULE_UNSUPPORTED;
    if (status == JOULE_OK)
        sink_counter(sink, board->energy, before_ns, after_ns, counts);
    else
        sink_fail(sink, board->energy, status);
}

static void read_gauge(struct joule_host *host, struct board *board, const struct gauge *gauge,
                       struct sink *sink)
{
    int64_t raw = 0;
    joule_status status = JOULE_UNSUPPORTED;
    if (gauge->handle >= 0)
        status = sysfs_read_i64(host, gauge->handle, &raw);
    if (status == JOULE_OK && (raw < 0 || (double)raw > gauge->kind->max))
        status = JOULE_FAILED;
    double value = status == JOULE_OK ? (double)raw * gauge->kind->unit
                                      : table_value(gauge->kind, refresh_table(host, board));
    if (isfinite(value))
        sink_gauge(sink, gauge->channel, value);
    else
        sink_fail(sink, gauge->channel, status);
}

static void read_board(struct joule_host *host, struct board *board, struct sink *sink)
{
    bool is_suspended = hwmon_is_suspended(host, board->power_state);
    if (board->energy && is_suspended)
        sink_fail(sink, board->energy, JOULE_STALE);
    else if (board->energy)
        read_energy(host, board, sink);
    for (size_t i = 0; i < board->gauge_count; i++)
        if (is_suspended)
            sink_fail(sink, board->gauges[i].channel, JOULE_STALE);
        else
            read_gauge(host, board, &board->gauges[i], sink);
}

static void amdgpu_read(struct source *source, struct sink *sink)
{
    struct amdgpu *amdgpu = source->data;
    for (size_t i = 0; i < amdgpu->count; i++)
        read_board(source->host, &amdgpu->boards[i], sink);
}

/* Adds the processes of both drivers. In a container, the graphics driver (DRM) reports the container's
 * process ids, but the compute driver (KFD) reports the kernel's process ids. KFD's processes are then added
 * only if DRM reports none. */
static void add_processes(const struct amdgpu *amdgpu, const struct board *board, struct device_facts *facts)
{
    const char *address = board->device->pci_address;
    drm_processes_add_facts(&amdgpu->processes, address, facts);
    if (amdgpu->processes.has_kernels_numbers || facts->process_count == 0)
        kfd_add_processes(&amdgpu->kfd, address, facts);
}

static void query_board(struct source *source, struct board *board, struct sink *sink)
{
    const struct amdgpu *amdgpu = source->data;
    char mode[32];
    if (hwmon_is_suspended(source->host, board->power_state)) {
        sink_device_fail(sink, board->device, JOULE_STALE);
        return;
    }
    struct device_facts facts = amdgpu_facts(source->host, board->folder, board->hwmon);
    const struct gpu_metrics *reported = refresh_table(source->host, board);
    facts.clock_reasons = reported->clock_reasons;
    if (isnan(facts.fan_rpm))
        facts.fan_rpm = reported->fan_rpm;
    add_processes(amdgpu, board, &facts);
    amdgpu_mode(source->host, board->folder, mode, sizeof mode);
    if (*mode)
        kfd_add_partitions(&amdgpu->kfd, board->device->pci_address, mode, &facts);
    sink_facts(sink, board->device, &facts);
}

static void amdgpu_query(struct source *source, struct sink *sink)
{
    struct amdgpu *amdgpu = source->data;
    drm_processes_query(&amdgpu->processes, source->host, sink_now(sink));
    kfd_query(&amdgpu->kfd, source->host);
    for (size_t i = 0; i < amdgpu->count; i++)
        query_board(source, &amdgpu->boards[i], sink);
}

/* --- closing -------------------------------------------------------------------------------------------- */

static void amdgpu_close(struct source *source)
{
    struct amdgpu *amdgpu = source->data;
    if (!amdgpu)
        return;
    drm_processes_free(&amdgpu->processes);
    kfd_free(&amdgpu->kfd);
    for (size_t i = 0; i < amdgpu->count; i++) {
        struct board *board = &amdgpu->boards[i];
        host_close_handle(source->host, board->power_state);
        host_close_handle(source->host, board->metrics);
        for (size_t k = 0; k < board->gauge_count; k++)
            host_close_handle(source->host, board->gauges[k].handle);
    }
}

const struct source_ops source_amdgpu = {
    .name = "amdgpu",
    .measurement = "amdgpu",
    .tier = 3,
    .is_slow = true, /* a read waits for the firmware, and blocks while the board resets */
    .folder = DRM_FOLDER,
    .period_s = PERIOD_S,
    .open = amdgpu_open,
    .read = amdgpu_read,
    .query = amdgpu_query,
    .close = amdgpu_close,
};
