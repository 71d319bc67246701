/* joule/sources/amd/amdgpu.c - AMD's boards: their energy, as the driver's table of figures has it, and how busy they are.
 *
 * Owns what hwmon does not have of them. Their power, which is another view of the same zone, and their temperatures are
 * hwmon's and thermal's.
 * Newcomers: the table has a counter in every revision, but many boards leave it at 0 or let it stand. At 0 it is left out;
 * one that stands is never trusted, as no counter is before it has moved, and hwmon's power is then taken. Reading would
 * wake a sleeping board, so such a board is left alone.
 */
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/amd/amdgpu.h"
#include "joule/sources/drm_processes.h"
#include "joule/sources/amd/gpu_metrics.h"
#include "joule/sources/hwmon/hwmon.h"

#define MOST_BOARDS 64
#define PERIOD_S    0.1
#define TICK_S      1e-3   /* for so long the driver keeps the firmware's answer */
#define GAIN_SD     0.05   /* assumed, as for all boards */
#define MOST_WATTS  5000.0 /* several times what any board may draw */

struct gauge {
    struct channel *channel;
    int handle;
};

struct board {
    struct device *device;
    char folder[48], hwmon[96]; /* where its facts lie */
    char zone[48];
    bool has_cpu;
    struct channel *energy; /* NULL: it counts none */
    struct standstill still;
    int metrics;     /* handle; < 0: none */
    int power_state; /* as hwmon_open_power_state */
    struct gauge gauges[2];
    size_t gauge_count;
};

struct amdgpu {
    struct board boards[MOST_BOARDS];
    size_t count;
    struct drm_processes processes;
    struct kfd kfd;
};

/* --- opening ------------------------------------------------------------------------------------------------ */

static int open_file(struct source *source, const struct drm_card *card, const char *file)
{
    char path[96];
    string_print(path, sizeof path, "%s/%s", card->folder, file);
    return source->host->ops->open_file(source->host, path);
}

/* `what` goes behind the board's name. */
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

static joule_status read_counts(struct joule_host *host, int handle, uint64_t *out_counts,
                                uint64_t *out_modulus)
{
    char table[GPU_METRICS_MOST_BYTES + 1];
    ssize_t length = host->ops->read_handle(host, handle, table, sizeof table);
    if (length < 0)
        return status_of_errno((int)-length);
    return gpu_metrics_energy(table, (size_t)length, out_counts, out_modulus);
}

static void add_energy(struct source *source, struct board *board)
{
    uint64_t counts = 0, modulus = 0;
    if (board->metrics < 0 || read_counts(source->host, board->metrics, &counts, &modulus) != JOULE_OK ||
        counts == 0)
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
    ch->counter.max_watts = MOST_WATTS;
    ch->counter.tick_s = ch->info.update_period_s = TICK_S;
}

static void add_gauge(struct source *source, const struct drm_card *card, struct board *board,
                      const char *file, const char *what, const char *label, enum gauge_role role)
{
    int handle = open_file(source, card, file);
    if (handle < 0)
        return;
    struct channel *ch = add_channel(source, board, what);
    if (!ch) {
        source->host->ops->close_handle(source->host, handle);
        return;
    }
    channel_set_gauge(ch, role, board->zone);
    string_copy(ch->info.label, sizeof ch->info.label, label);
    board->gauges[board->gauge_count++] = (struct gauge){ch, handle};
}

static void add_board(struct source *source, const struct drm_card *card)
{
    struct amdgpu *amdgpu = source->data;
    if (amdgpu->count == MOST_BOARDS)
        return;
    struct device *device = source_add_gpu(source, card->pci[0] ? card->pci : card->id);
    if (!device)
        return;
    struct board *board = &amdgpu->boards[amdgpu->count++];
    board->device = device;
    board->has_cpu = card->pci_device == HWMON_MI300A;
    gpu_zone(device->index, board->has_cpu, board->zone);
    amdgpu_introduce(source, card, &amdgpu->kfd, device);
    string_copy(board->folder, sizeof board->folder, card->folder);
    amdgpu_find_hwmon(source, card, board->hwmon, sizeof board->hwmon);
    board->power_state = open_file(source, card, "power/runtime_status");
    board->metrics = open_file(source, card, "gpu_metrics");
    if (!hwmon_is_asleep(source->host, board->power_state))
        add_energy(source, board);
    add_gauge(source, card, board, "gpu_busy_percent", "busy", "graphics and compute busy", ROLE_BUSY);
    add_gauge(source, card, board, "mem_busy_percent", "memory-busy", "memory busy", ROLE_MEMORY_BUSY);
}

static joule_status amdgpu_open(struct source *source)
{
    char **ids;
    ssize_t count = source->host->ops->list(source->host, DRM_FOLDER, &source->arena, &ids);
    source->data = arena_alloc(&source->arena, sizeof(struct amdgpu));
    if (!source->data)
        return source_say(source, JOULE_NO_MEMORY, "no memory");
    kfd_read_nodes(&((struct amdgpu *)source->data)->kfd, source->host);
    for (ssize_t i = 0; i < count; i++) {
        struct drm_card card;
        if (drm_card_open(source, ids[i], &card) && strcmp(card.driver, "amdgpu") == 0)
            add_board(source, &card);
    }
    if (source->device_count)
        return JOULE_OK;
    return source_say(source, JOULE_ABSENT, "no board of this machine has the driver amdgpu");
}

/* --- reading ------------------------------------------------------------------------------------------------ */

static void read_energy(struct joule_host *host, struct board *board, struct sink *sink)
{
    uint64_t counts = 0, modulus;
    int64_t before_ns = sink_now(sink);
    joule_status status = read_counts(host, board->metrics, &counts, &modulus);
    int64_t after_ns = sink_now(sink);
    if (status == JOULE_OK && standstill_notice(&board->still, after_ns, counts))
        status = JOULE_UNSUPPORTED;
    if (status == JOULE_OK)
        sink_counter(sink, board->energy, before_ns, after_ns, counts);
    else
        sink_fail(sink, board->energy, status);
}

static void read_gauge(struct joule_host *host, const struct gauge *gauge, struct sink *sink)
{
    int64_t percent;
    joule_status status = sysfs_read_i64(host, gauge->handle, &percent);
    if (status == JOULE_OK && (percent < 0 || percent > 100))
        status = JOULE_FAILED;
    if (status == JOULE_OK)
        sink_gauge(sink, gauge->channel, (double)percent / 100);
    else
        sink_fail(sink, gauge->channel, status);
}

static void read_board(struct joule_host *host, struct board *board, struct sink *sink)
{
    bool is_asleep = hwmon_is_asleep(host, board->power_state);
    if (board->energy && is_asleep)
        sink_fail(sink, board->energy, JOULE_STALE);
    else if (board->energy)
        read_energy(host, board, sink);
    for (size_t i = 0; i < board->gauge_count; i++)
        if (is_asleep)
            sink_fail(sink, board->gauges[i].channel, JOULE_STALE);
        else
            read_gauge(host, &board->gauges[i], sink);
}

static void amdgpu_read(struct source *source, struct sink *sink)
{
    struct amdgpu *amdgpu = source->data;
    for (size_t i = 0; i < amdgpu->count; i++)
        read_board(source->host, &amdgpu->boards[i], sink);
}

/* A container counts its processes by numbers of its own, and the compute driver's are the kernel's: there they are taken
 * where no others are known. */
static void tell_processes(const struct amdgpu *amdgpu, const struct board *board, struct device_facts *facts)
{
    const char *place = board->device->pci_address;
    drm_processes_tell(&amdgpu->processes, place, facts);
    if (amdgpu->processes.has_kernels_numbers || facts->process_count == 0)
        kfd_tell_processes(&amdgpu->kfd, place, facts);
}

static void look_at_board(struct source *source, const struct board *board, struct sink *sink)
{
    const struct amdgpu *amdgpu = source->data;
    char mode[32];
    if (hwmon_is_asleep(source->host, board->power_state)) {
        sink_device_fail(sink, board->device, JOULE_STALE);
        return;
    }
    struct device_facts facts = amdgpu_facts(source->host, board->folder, board->hwmon);
    tell_processes(amdgpu, board, &facts);
    amdgpu_mode(source->host, board->folder, mode, sizeof mode);
    if (*mode)
        kfd_tell_partitions(&amdgpu->kfd, board->device->pci_address, mode, &facts);
    sink_facts(sink, board->device, &facts);
}

static void amdgpu_look(struct source *source, struct sink *sink)
{
    struct amdgpu *amdgpu = source->data;
    drm_processes_look(&amdgpu->processes, source->host, sink_now(sink));
    kfd_look(&amdgpu->kfd, source->host);
    for (size_t i = 0; i < amdgpu->count; i++)
        look_at_board(source, &amdgpu->boards[i], sink);
}

/* --- closing ------------------------------------------------------------------------------------------------ */

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
    .is_slow = true, /* the firmware is asked, and a board in reset lets one wait */
    .folder = DRM_FOLDER,
    .period_s = PERIOD_S,
    .open = amdgpu_open,
    .read = amdgpu_read,
    .look = amdgpu_look,
    .close = amdgpu_close,
};
