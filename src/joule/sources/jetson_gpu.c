/* joule/sources/jetson_gpu.c - see jetson_gpu.h.
 *
 * Newcomers: the GPU is known by its node's name in the device tree, which is that of the chip and not of the board; where a
 * recording lacks it, by the last word of the device's own name.
 */
#include "joule/sources/jetson_gpu.h"

#include <string.h>
#include "base/string.h"
#include "joule/sources/sysfs.h"

#define DEVFREQ        "/sys/class/devfreq"
#define MOST_MEGAHERTZ 10000

static bool is_gpu_name(const char *name)
{
    static const char *const names[] = {"gp10b", "gv11b", "ga10b", "gb10b", "gpu"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* `id`: "17000000.ga10b" */
static bool is_gpu(struct source *source, const char *id)
{
    char path[128], name[32];
    string_print(path, sizeof path, DEVFREQ "/%s/device/of_node/name", id);
    if (sysfs_text(source, path, name, sizeof name))
        return is_gpu_name(name);
    const char *dot = strrchr(id, '.');
    return dot && is_gpu_name(dot + 1);
}

static struct jetson_gauge *add_gauge(struct source *source, struct jetson_gpu *gpu, const char *path)
{
    int handle = source->host->ops->open_file(source->host, path);
    if (handle < 0)
        return NULL;
    struct channel *ch = source_add_channel(source);
    if (!ch) {
        source->host->ops->close_handle(source->host, handle);
        return NULL;
    }
    struct jetson_gauge *gauge = &gpu->gauges[gpu->count++];
    *gauge = (struct jetson_gauge){.channel = ch, .handle = handle};
    ch->mode = CHANNEL_GAUGE;
    ch->info.tier = 3;
    ch->info.scope = JOULE_SCOPE_GPU;
    ch->info.cls = JOULE_CLASS_NONE;
    ch->info.device_index = 0;
    string_copy(ch->info.device, sizeof ch->info.device, "gpu:0");
    string_copy(ch->info.vendor, sizeof ch->info.vendor, "nvidia");
    string_copy(ch->parent_zone, sizeof ch->parent_zone, "gpu0/board");
    return gauge;
}

static void add_load(struct source *source, struct jetson_gpu *gpu, const char *path)
{
    struct jetson_gauge *gauge = add_gauge(source, gpu, path);
    if (!gauge)
        return;
    gauge->unit = 1e-3;
    gauge->most = 1;
    gauge->channel->info.reading = JOULE_READING_UTILISATION;
    string_copy(gauge->channel->info.name, sizeof gauge->channel->info.name, "gpu-0-busy");
    string_copy(gauge->channel->info.label, sizeof gauge->channel->info.label, "GPU busy");
}

static void add_clock(struct source *source, struct jetson_gpu *gpu, const char *path)
{
    struct jetson_gauge *gauge = add_gauge(source, gpu, path);
    if (!gauge)
        return;
    gauge->unit = 1e-6;
    gauge->most = MOST_MEGAHERTZ;
    gauge->channel->info.reading = JOULE_READING_CLOCK;
    string_copy(gauge->channel->info.name, sizeof gauge->channel->info.name, "gpu-0-clock");
    string_copy(gauge->channel->info.label, sizeof gauge->channel->info.label, "GPU clock");
}

void jetson_gpu_open(struct source *source, struct jetson_gpu *gpu)
{
    char path[128], **ids;
    ssize_t count = source->host->ops->list(source->host, DEVFREQ, &source->arena, &ids);
    for (ssize_t i = 0; i < count && gpu->count == 0; i++) {
        if (!is_gpu(source, ids[i]))
            continue;
        string_print(path, sizeof path, DEVFREQ "/%s/device/load", ids[i]);
        add_load(source, gpu, path);
        string_print(path, sizeof path, DEVFREQ "/%s/cur_freq", ids[i]);
        add_clock(source, gpu, path);
    }
    if (gpu->count == 0)
        add_load(source, gpu, "/sys/devices/gpu.0/load");
}

void jetson_gpu_read(struct source *source, const struct jetson_gpu *gpu, struct sink *sink)
{
    for (size_t i = 0; i < gpu->count; i++) {
        const struct jetson_gauge *gauge = &gpu->gauges[i];
        int64_t counts;
        joule_status status = sysfs_read_i64(source->host, gauge->handle, &counts);
        double value = status == JOULE_OK ? (double)counts * gauge->unit : 0;
        if (status == JOULE_OK && value >= 0 && value <= gauge->most)
            sink_gauge(sink, gauge->channel, value);
        else
            sink_fail(sink, gauge->channel, status == JOULE_OK ? JOULE_FAILED : status);
    }
}

void jetson_gpu_close(struct source *source, const struct jetson_gpu *gpu)
{
    for (size_t i = 0; i < gpu->count; i++)
        source->host->ops->close_handle(source->host, gpu->gauges[i].handle);
}
