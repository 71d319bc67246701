/* joule/sources/gaudi/hl_smi.c - the source "hl_smi": Gaudi boards, read with Habana's program hl-smi.
 *
 * The source is used if Habana's library cannot be loaded and the driver's hardware monitor reports no power.
 * JOULE_HL_SMI names a program to run instead of hl-smi.
 * Note: each run of hl-smi uses a large part of a second of CPU time. hl-smi runs at most once a second, and
 * less often if a run takes long. hl-smi does not run at all if there is a better source. */
#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/accelerator/accelerator.h"
#include "joule/sources/gaudi/hl_smi_text.h"
#include "joule/sources/gaudi/hlml.h"

#define MAX_BOARDS   64
#define TEXT_SIZE    (32 << 10)
#define TIMEOUT_NS   INT64_C(5000000000)
#define PERIOD_S     1.0
#define MAX_PERIOD_S 10.0
#define CALLS_SHARE  0.05 /* largest fraction of time in which the program runs */
#define GAIN_SD      0.05 /* assumed, as for all boards without a data sheet */
#define MAX_WATTS    2000.0
#define MIB          1048576.0

struct hl_smi {
    struct board {
        struct device *device;
        struct channel *power, *temperature, *busy;
        int32_t number;                      /* the index that the program prints */
        const struct hl_smi_board *reported; /* this board in the last output; NULL: not listed */
    } boards[MAX_BOARDS];
    size_t count;
    struct hl_smi_board reported[MAX_BOARDS];
    size_t reported_count;
    joule_status state; /* status of the last run */
    char text[TEXT_SIZE];
};

/* --- running hl-smi ------------------------------------------------------------------------------------- */

static joule_status run_hl_smi(struct source *source)
{
    struct hl_smi *smi = source->data;
    static const char query[] = HL_SMI_QUERY;
    const char *own = source->host->ops->env(source->host, "JOULE_HL_SMI");
    const char *program = own && *own ? own : "hl-smi";
    const char *const argv[] = {program, "-Q", query, "-f", "csv,noheader,nounits", NULL};
    int exit_status = 0;
    ssize_t length =
        source->host->ops->run(source->host, argv, TIMEOUT_NS, smi->text, sizeof smi->text, &exit_status);
    smi->reported_count = length >= 0 ? hl_smi_parse(smi->text, smi->reported, MAX_BOARDS) : 0;
    smi->state = length < 0 ? status_of_errno((int)-length) : smi->reported_count ? JOULE_OK : JOULE_FAILED;
    return smi->state;
}

/* --- opening -------------------------------------------------------------------------------------------- */

static bool has_monitor(struct source *source, const char *address)
{
    char folder[96], path[192], text[24], **names;
    string_print(folder, sizeof folder, PCI_FOLDER "/%s/hwmon", address);
    if (source->host->ops->list(source->host, folder, &source->arena, &names) <= 0)
        return false;
    string_print(path, sizeof path, "%s/%s/power1_input", folder, names[0]);
    return host_read_text(source->host, path, text, sizeof text);
}

/* Returns true if there are boards and hwmon can read the power of all of them. */
static bool all_have_monitors(struct source *source)
{
    struct accelerator found[MAX_ACCELERATORS];
    size_t count = accelerators_find(source, "hpu", found, MAX_ACCELERATORS);
    for (size_t i = 0; i < count; i++)
        if (!has_monitor(source, found[i].pci.address))
            return false;
    return count > 0;
}

static struct channel *add_channel(struct source *source, const struct board *board, const char *what,
                                   const char *label)
{
    struct channel *ch = source_add_channel(source);
    if (!ch)
        return NULL;
    accelerator_name_channel(ch, "hpu", board->device->index, what);
    string_copy(ch->info.label, sizeof ch->info.label, label);
    string_copy(ch->info.vendor, sizeof ch->info.vendor, board->device->vendor);
    string_copy(ch->info.model, sizeof ch->info.model, board->device->model);
    string_copy(ch->info.uuid, sizeof ch->info.uuid, board->device->uuid);
    return ch;
}

static struct channel *add_power(struct source *source, const struct board *board, double max_watts)
{
    struct channel *ch = add_channel(source, board, "", "power.draw");
    if (!ch)
        return NULL;
    ch->mode = CHANNEL_POWER;
    ch->rank = RANK_BOARD;
    ch->info.scope = JOULE_SCOPE_GPU;
    ch->info.reading = JOULE_READING_POWER;
    ch->info.cls = JOULE_CLASS_DERIVED;
    accelerator_zone("hpu", board->device->index, ch->zone);
    ch->gain_sd = GAIN_SD;
    ch->cause = CAUSE(CAUSE_GPU_GAIN, ACCELERATOR_FIRST_CAUSE + (uint32_t)board->device->index);
    ch->integrator.period_s = source->period_s;
    ch->integrator.max_watts = max_watts > 0 ? 2 * max_watts : MAX_WATTS;
    return ch;
}

static struct channel *add_gauge(struct source *source, const struct board *board, const char *what,
                                 enum gauge_role role)
{
    struct channel *ch = add_channel(source, board, what, what);
    if (ch)
        channel_set_gauge(ch, role, "");
    return ch;
}

static bool add_board(struct source *source, const struct hl_smi_board *reported)
{
    struct hl_smi *smi = source->data;
    struct board *board = &smi->boards[smi->count++];
    int32_t index = accelerator_index(source, "hpu", reported->pci_address);
    struct device *device = board->device =
        source_add_device(source, "hpu", index >= 0 ? index : reported->index);
    if (!device)
        return false;
    board->number = reported->index;
    string_copy(device->vendor, sizeof device->vendor, "intel");
    string_copy(device->model, sizeof device->model, reported->name);
    string_copy(device->uuid, sizeof device->uuid, reported->uuid);
    string_copy(device->pci_address, sizeof device->pci_address, reported->pci_address);
    if (reported->driver[0])
        string_print(device->driver, sizeof device->driver, "habanalabs %s", reported->driver);
    board->power = add_power(source, board, reported->max_watts);
    if (!isnan(reported->celsius))
        board->temperature = add_gauge(source, board, "temperature", ROLE_TEMPERATURE);
    if (!isnan(reported->busy_percent))
        board->busy = add_gauge(source, board, "busy", ROLE_BUSY);
    return board->power != NULL;
}

static joule_status open_boards(struct source *source, struct hl_smi *smi)
{
    const struct host_ops *ops = source->host->ops;
    int64_t begin_ns = ops->clock_ns(source->host, CLOCK_MONOTONIC);
    joule_status status = run_hl_smi(source);
    double call_s = (double)(ops->clock_ns(source->host, CLOCK_MONOTONIC) - begin_ns) * 1e-9;
    if (status != JOULE_OK)
        return source_set_state(source, status,
                                "hl-smi is missing or lists no board: run `hl-smi` to see why");
    source->period_s = fmin(fmax(PERIOD_S, call_s / CALLS_SHARE), MAX_PERIOD_S);
    for (size_t i = 0; i < smi->reported_count; i++)
        if (!add_board(source, &smi->reported[i]))
            return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    return JOULE_OK;
}

static joule_status hl_smi_open(struct source *source)
{
    if (!hlml_has_driver(source, "JOULE_HL_SMI"))
        return source_set_state(source, JOULE_ABSENT,
                                "this machine has no driver for Gaudi boards (habanalabs)");
    if (!source->is_named && (hlml_is_available(source->host) || all_have_monitors(source)))
        return source_set_state(source, JOULE_ABSENT,
                                "not needed: Habana's library or the driver's hardware monitor is available");
    struct hl_smi *smi = source->data = arena_alloc(&source->arena, sizeof *smi);
    if (!smi)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    return open_boards(source, smi);
}

/* --- reading -------------------------------------------------------------------------------------------- */

static const struct hl_smi_board *find_reported(const struct hl_smi *smi, int32_t number)
{
    for (size_t i = 0; i < smi->reported_count; i++)
        if (smi->reported[i].index == number)
            return &smi->reported[i];
    return NULL;
}

static void report_gauge(struct sink *sink, struct channel *channel, double value, double max)
{
    if (!channel)
        return;
    if (value >= 0 && value <= max)
        sink_gauge(sink, channel, value);
    else
        sink_fail(sink, channel, JOULE_FAILED);
}

static void hl_smi_read(struct source *source, struct sink *sink)
{
    struct hl_smi *smi = source->data;
    run_hl_smi(source);
    for (size_t i = 0; i < smi->count; i++) {
        struct board *board = &smi->boards[i];
        const struct hl_smi_board *reported = board->reported = find_reported(smi, board->number);
        if (reported && !isnan(reported->power_watts))
            sink_power(sink, board->power, 0, reported->power_watts);
        else
            sink_fail(sink, board->power, reported ? JOULE_UNSUPPORTED : JOULE_FAILED);
        report_gauge(sink, board->temperature, reported ? reported->celsius : NAN, 200);
        report_gauge(sink, board->busy, reported ? reported->busy_percent / 100 : NAN, 1);
    }
}

static uint64_t bytes_of(double mib)
{
    return mib < 1e9 ? (uint64_t)(mib * MIB) : JOULE_BYTES_UNKNOWN; /* for NaN the comparison is false */
}

static void hl_smi_query(struct source *source, struct sink *sink)
{
    const struct hl_smi *smi = source->data;
    for (size_t i = 0; i < smi->count; i++) {
        const struct hl_smi_board *reported = smi->boards[i].reported;
        struct device_facts facts = device_facts_unknown();
        if (!reported) {
            sink_device_fail(sink, smi->boards[i].device, JOULE_FAILED);
            continue;
        }
        facts.memory_total_bytes = bytes_of(reported->memory_total_mib);
        facts.memory_used_bytes = bytes_of(reported->memory_used_mib);
        facts.memory_free_bytes = bytes_of(reported->memory_free_mib);
        facts.limit_watts = reported->max_watts;
        sink_facts(sink, smi->boards[i].device, &facts);
    }
}

const struct source_ops source_hl_smi = {
    .name = "hl_smi",
    .measurement = "hlml",
    .tier = 3,
    .is_slow = true,
    .folder = HLML_FOLDER,
    .variable = "JOULE_HL_SMI",
    .period_s = PERIOD_S,
    .open = hl_smi_open,
    .read = hl_smi_read,
    .query = hl_smi_query,
};
