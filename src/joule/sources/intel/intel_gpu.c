/* joule/sources/intel/intel_gpu.c - opens and reads the boards of the source "intel_gpu". See intel_gpu.h.
 *
 * Note: open performance events of a board keep the board awake, which uses energy. The events are therefore
 * opened at the first query of devices, and stay closed if only energy is measured. A suspended board is not
 * read. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/detection.h"
#include "joule/sources/drm_processes.h"
#include "joule/sources/hwmon/hwmon.h"
#include "joule/sources/intel/intel_gpu.h"

#define MAX_BOARDS    32
#define PERIOD_S      0.5
#define MAX_MEGAHERTZ 20000

struct board {
    struct device *device;
    struct drm_card card;
    char zone[48], hwmon[96];
    int power_state; /* handle of the board's runtime_status, for hwmon_is_suspended */
    struct channel *clock, *busy;
    int actual_clock, requested_clock; /* handles; < 0: none */
    struct intel_pmu pmu;
    struct intel_memory memory;
};

struct intel_gpu {
    struct board boards[MAX_BOARDS];
    size_t count;
    struct drm_processes processes;
};

/* --- opening -------------------------------------------------------------------------------------------- */

static struct channel *add_gauge(struct source *source, const struct board *board, const char *what,
                                 const char *label, enum gauge_role role)
{
    const struct device *device = board->device;
    struct channel *ch = source_add_channel(source);
    if (!ch)
        return NULL;
    channel_set_gauge(ch, role, board->zone);
    ch->info.scope = JOULE_SCOPE_GPU;
    gpu_name_channel(ch, device->index, what);
    string_copy(ch->info.label, sizeof ch->info.label, label);
    string_copy(ch->info.vendor, sizeof ch->info.vendor, device->vendor);
    string_copy(ch->info.model, sizeof ch->info.model, device->model);
    string_copy(ch->info.uuid, sizeof ch->info.uuid, device->pci_address);
    return ch;
}

/* Opens the clock file of xe, i915, or an older i915. `which` is "act", the actual clock, or "cur", the
 * requested clock. Returns a handle or -errno. */
static int open_clock(struct source *source, const struct drm_card *card, const char *which)
{
    char paths[3][96];
    int handle = -1;
    string_print(paths[0], sizeof paths[0], "%s/tile0/gt0/freq0/%s_freq", card->folder, which);
    string_print(paths[1], sizeof paths[1], DRM_FOLDER "/%s/gt/gt0/rps_%s_freq_mhz", card->id, which);
    string_print(paths[2], sizeof paths[2], DRM_FOLDER "/%s/gt_%s_freq_mhz", card->id, which);
    for (size_t i = 0; i < 3 && handle < 0; i++)
        handle = source->host->ops->open_file(source->host, paths[i]);
    return handle;
}

static void find_clock(struct source *source, struct board *board)
{
    board->actual_clock = open_clock(source, &board->card, "act");
    board->requested_clock = open_clock(source, &board->card, "cur");
    if (board->actual_clock >= 0)
        board->clock = add_gauge(source, board, "clock", "GPU clock", ROLE_CLOCK);
}

static void find_busy(struct source *source, struct board *board)
{
    intel_pmu_find(source, &board->card, &board->pmu);
    if (board->pmu.folder[0])
        board->busy = add_gauge(source, board, "busy", "busiest engine", ROLE_BUSY);
    if (board->busy)
        string_copy(
            board->busy->info.remedy, sizeof board->busy->info.remedy,
            "performance events of the GPU need privileges: run as root, or sudo setcap cap_perfmon+ep on "
            "the program, or sudo sysctl kernel.perf_event_paranoid=0");
}

static void add_board(struct source *source, const struct drm_card *card)
{
    struct intel_gpu *gpus = source->data;
    struct device *device =
        gpus->count < MAX_BOARDS ? source_add_gpu(source, card->pci[0] ? card->pci : card->id) : NULL;
    if (!device)
        return;
    struct board *board = &gpus->boards[gpus->count++];
    board->device = device;
    board->card = *card;
    gpu_zone(device->index, false, board->zone);
    intel_gpu_set_identity(source, card, device);
    intel_gpu_find_hwmon(source, card, board->hwmon, sizeof board->hwmon);
    char path[96];
    string_print(path, sizeof path, "%s/power/runtime_status", card->folder);
    board->power_state = source->host->ops->open_file(source->host, path);
    find_clock(source, board);
    find_busy(source, board);
}

static joule_status intel_gpu_open(struct source *source)
{
    char **ids;
    ssize_t count = source->host->ops->list(source->host, DRM_FOLDER, &source->arena, &ids);
    source->data = arena_alloc(&source->arena, sizeof(struct intel_gpu));
    if (!source->data)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    for (ssize_t i = 0; i < count; i++) {
        struct drm_card card;
        if (drm_card_open(source, ids[i], &card) &&
            (strcmp(card.driver, "i915") == 0 || strcmp(card.driver, "xe") == 0))
            add_board(source, &card);
    }
    if (source->device_count)
        return JOULE_OK;
    return detection_absent(source, DETECT_INTEL, "no GPU of this machine has one of Intel's drivers");
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void read_clock(struct joule_host *host, const struct board *board, struct sink *sink)
{
    int64_t megahertz;
    joule_status status = sysfs_read_i64(host, board->actual_clock, &megahertz);
    if (status == JOULE_OK && megahertz == 0 &&
        board->requested_clock >= 0) /* idle: report the requested clock */
        status = sysfs_read_i64(host, board->requested_clock, &megahertz);
    if (status == JOULE_OK && (megahertz < 0 || megahertz > MAX_MEGAHERTZ))
        status = JOULE_FAILED;
    if (status == JOULE_OK)
        sink_gauge(sink, board->clock, (double)megahertz);
    else
        sink_fail(sink, board->clock, status);
}

static void read_busy(struct joule_host *host, struct board *board, struct sink *sink)
{
    double share;
    joule_status status = intel_pmu_read(host, &board->pmu, sink_now(sink), &share);
    if (status != JOULE_OK)
        sink_fail(sink, board->busy, status);
    else if (isfinite(share))
        sink_gauge(sink, board->busy, share);
}

static void intel_gpu_read(struct source *source, struct sink *sink)
{
    struct intel_gpu *gpus = source->data;
    for (size_t i = 0; i < gpus->count; i++) {
        struct board *board = &gpus->boards[i];
        bool is_suspended = hwmon_is_suspended(source->host, board->power_state);
        if (board->clock && is_suspended)
            sink_fail(sink, board->clock, JOULE_STALE);
        else if (board->clock)
            read_clock(source->host, board, sink);
        if (board->pmu.count)
            read_busy(source->host, board, sink);
    }
}

static void query_board(struct source *source, struct board *board, struct sink *sink)
{
    const struct intel_gpu *gpus = source->data;
    if (hwmon_is_suspended(source->host, board->power_state)) {
        sink_device_fail(sink, board->device, JOULE_STALE);
        return;
    }
    if (board->busy && board->pmu.count == 0) {
        joule_status status = intel_pmu_open(source, &board->pmu);
        if (status != JOULE_OK) {
            sink_fail(sink, board->busy, status);
            board->busy = NULL; /* after one failure, do not try again */
        }
    }
    struct device_facts facts = intel_gpu_facts(source->host, &board->card, board->hwmon);
    intel_memory_query(source->host, &board->card, &board->memory);
    intel_memory_add_facts(&board->memory, &facts);
    drm_processes_add_facts(&gpus->processes, board->device->pci_address, &facts);
    sink_facts(sink, board->device, &facts);
}

static void intel_gpu_query(struct source *source, struct sink *sink)
{
    struct intel_gpu *gpus = source->data;
    drm_processes_query(&gpus->processes, source->host, sink_now(sink));
    for (size_t i = 0; i < gpus->count; i++)
        query_board(source, &gpus->boards[i], sink);
}

/* --- closing -------------------------------------------------------------------------------------------- */

static void intel_gpu_close(struct source *source)
{
    struct intel_gpu *gpus = source->data;
    drm_processes_free(&gpus->processes);
    for (size_t i = 0; i < gpus->count; i++) {
        host_close_handle(source->host, gpus->boards[i].power_state);
        host_close_handle(source->host, gpus->boards[i].actual_clock);
        host_close_handle(source->host, gpus->boards[i].requested_clock);
        intel_pmu_close(source->host, &gpus->boards[i].pmu);
    }
}

const struct source_ops source_intel_gpu = {
    .name = "intel_gpu",
    .measurement = "intel_gpu",
    .tier = 3,
    .is_slow = true, /* a read of registers waits for a lock, and blocks while the board resets */
    .folder = DRM_FOLDER,
    .period_s = PERIOD_S,
    .open = intel_gpu_open,
    .read = intel_gpu_read,
    .query = intel_gpu_query,
    .close = intel_gpu_close,
};
