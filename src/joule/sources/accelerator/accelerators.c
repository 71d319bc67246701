/* joule/sources/accelerator/accelerators.c - the source "accelerators": accelerators on the PCI bus for which
 * there is no separate source.
 *
 * The source reports the identity of these accelerators, and why their energy is unknown. It also reports how
 * busy the NPUs in Intel's processors are. If an accelerator's driver has a hardware monitor, the source
 * "hwmon" reads its power. Gaudi boards are listed too, although other sources read their energy.
 * Note: an accelerator without a meter is listed with a remedy. An accelerator inside a CPU package has no
 * remedy, because the package's energy includes the accelerator's energy. */
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/accelerator/accelerator.h"
#include "joule/sources/detection.h"

#define PERIOD_S 0.5
#define NO_INTERFACE                                                                                         \
    "no public interface reports this device's power: measure the machine at its BMC, supply or PDU"
#define NO_DRIVER "no driver is bound to this board: run `modprobe habanalabs`"
#define CORE_ONLY                                                                                            \
    "the driver reports only the power of the chip's core, without memory and losses: measure the machine "  \
    "at its BMC, supply or PDU"

struct accelerators {
    struct busy {
        struct channel *channel;
        int handle; /* open file npu_busy_time_us: busy time in microseconds since the driver was loaded */
        /* value of the last reading, and its time on CLOCK_MONOTONIC; both are 0 before the first reading */
        int64_t last_us, last_ns;
    } busy[MAX_ACCELERATORS];
    size_t count;
};

static bool has_monitor(struct source *source, const struct accelerator *accelerator)
{
    char path[96], **names;
    string_print(path, sizeof path, PCI_FOLDER "/%s/hwmon", accelerator->pci.address);
    return source->host->ops->list(source->host, path, &source->arena, &names) > 0;
}

static struct channel *add_channel(struct source *source, const struct accelerator *accelerator,
                                   const char *what)
{
    struct channel *ch = source_add_channel(source);
    if (!ch)
        return NULL;
    accelerator_name_channel(ch, accelerator->kind, accelerator->index, what);
    string_copy(ch->info.vendor, sizeof ch->info.vendor, accelerator->vendor);
    string_copy(ch->info.model, sizeof ch->info.model, accelerator->model);
    string_copy(ch->info.uuid, sizeof ch->info.uuid, accelerator->pci.address);
    return ch;
}

static void add_unavailable(struct source *source, const struct accelerator *accelerator, const char *remedy)
{
    struct channel *ch = add_channel(source, accelerator, "");
    if (!ch)
        return;
    ch->mode = CHANNEL_POWER;
    ch->rank = RANK_MODEL;
    ch->info.scope = JOULE_SCOPE_GPU;
    ch->info.reading = JOULE_READING_POWER;
    ch->info.cls = JOULE_CLASS_DERIVED;
    ch->info.state = JOULE_UNSUPPORTED;
    string_copy(ch->info.remedy, sizeof ch->info.remedy, remedy);
    accelerator_zone(accelerator->kind, accelerator->index, ch->zone);
    ch->integrator.period_s = PERIOD_S;
}

/* Adds a gauge of the NPU's busy time if the driver reports it. Only Intel's driver does. */
static void add_busy(struct source *source, const struct accelerator *accelerator)
{
    struct accelerators *all = source->data;
    char path[96];
    string_print(path, sizeof path, PCI_FOLDER "/%s/npu_busy_time_us", accelerator->pci.address);
    int handle = source->host->ops->open_file(source->host, path);
    struct channel *ch = handle < 0 ? NULL : add_channel(source, accelerator, "busy");
    if (!ch) {
        host_close_handle(source->host, handle);
        return;
    }
    channel_set_gauge(ch, ROLE_BUSY, "");
    string_copy(ch->info.label, sizeof ch->info.label, "busy time");
    all->busy[all->count++] = (struct busy){.channel = ch, .handle = handle};
}

/* Adds the accelerator as a device, with a channel for its busy time or for the reason why its energy is
 * unknown. Skips accelerators of the sources "tpu" and "neuron", which add these devices themselves. Returns
 * false if out of memory. */
static bool add(struct source *source, const struct accelerator *accelerator)
{
    bool is_gaudi = strcmp(accelerator->kind, "hpu") == 0;
    if (accelerator->power == ACCELERATOR_SOURCE && !is_gaudi)
        return true;
    if (is_gaudi && !accelerator->pci.driver[0])
        add_unavailable(source, accelerator, NO_DRIVER);
    else if (accelerator->power == ACCELERATOR_PACKAGE)
        add_busy(source, accelerator);
    else if (accelerator->power == ACCELERATOR_RAIL && has_monitor(source, accelerator))
        add_unavailable(source, accelerator, CORE_ONLY);
    else if (!is_gaudi && (accelerator->power != ACCELERATOR_HWMON || !has_monitor(source, accelerator)))
        add_unavailable(source, accelerator, NO_INTERFACE);
    return source_add_accelerator(source, accelerator) != NULL;
}

/* Adds Groq's devices from the driver's files, such as "/dev/groqA0.pci". These files are visible even in a
 * container that hides the PCI bus. Returns false if out of memory. */
static bool add_groq_files(struct source *source, const struct accelerator *found, size_t count)
{
    struct accelerator chip = {.kind = "npu", .vendor = "groq", .model = "GroqChip", .pci.driver = "groq"};
    char **names;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(found[i].vendor, "groq") == 0)
            return true; /* already found on the bus */
        chip.index += strcmp(found[i].kind, "npu") == 0;
    }
    ssize_t files = source->host->ops->list(source->host, "/dev", &source->arena, &names);
    for (ssize_t i = 0; i < files; i++) {
        if (!string_starts(names[i], "groq") || !string_ends(names[i], ".pci"))
            continue;
        add_unavailable(source, &chip, NO_INTERFACE);
        if (!source_add_accelerator(source, &chip))
            return false;
        chip.index++;
    }
    return true;
}

static joule_status accelerators_open(struct source *source)
{
    struct accelerator found[MAX_ACCELERATORS];
    size_t count = accelerators_find(source, NULL, found, MAX_ACCELERATORS);
    source->data = arena_alloc(&source->arena, sizeof(struct accelerators));
    bool has_memory = source->data != NULL;
    for (size_t i = 0; i < count && has_memory; i++)
        has_memory = add(source, &found[i]);
    has_memory = has_memory && add_groq_files(source, found, count);
    if (!has_memory)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    if (source->device_count == 0)
        return detection_absent(source, DETECT_GROQ,
                                "no other accelerator is on the PCI bus of this machine");
    return JOULE_OK;
}

static void read_busy(struct joule_host *host, struct busy *busy, struct sink *sink)
{
    int64_t us, now_ns = sink_now(sink), last_us = busy->last_us, last_ns = busy->last_ns;
    joule_status status = sysfs_read_i64(host, busy->handle, &us);
    if (status != JOULE_OK) {
        busy->last_ns = 0;
        sink_fail(sink, busy->channel, status);
        return;
    }
    busy->last_us = us;
    busy->last_ns = now_ns;
    if (last_ns == 0 || us < last_us || now_ns <= last_ns)
        return; /* the first reading, or the driver was reloaded: there is no earlier value to subtract */
    double share = (double)(us - last_us) * 1e3 / (double)(now_ns - last_ns);
    sink_gauge(sink, busy->channel, share > 1 ? 1 : share);
}

static void accelerators_read(struct source *source, struct sink *sink)
{
    struct accelerators *all = source->data;
    for (size_t i = 0; i < all->count; i++)
        read_busy(source->host, &all->busy[i], sink);
}

/* Reports that the devices are present. No facts are known. */
static void accelerators_query(struct source *source, struct sink *sink)
{
    struct device_facts facts = device_facts_unknown();
    for (size_t i = 0; i < source->device_count; i++)
        sink_facts(sink, source->devices[i], &facts);
}

static void accelerators_close(struct source *source)
{
    const struct accelerators *all = source->data;
    for (size_t i = 0; i < all->count; i++)
        host_close_handle(source->host, all->busy[i].handle);
}

const struct source_ops source_accelerators = {
    .name = "accelerators",
    .measurement = "external",
    .tier = 3,
    .is_slow = true, /* the PCI bus of a server has hundreds of devices to read */
    .is_late = true,
    .folder = PCI_FOLDER ":/dev/groq*",
    .period_s = PERIOD_S,
    .open = accelerators_open,
    .read = accelerators_read,
    .query = accelerators_query,
    .close = accelerators_close,
};
