/* joule/sources/jetson/jetson_gpu.c - see jetson_gpu.h.
 *
 * Note: the GPU is recognised by the name of its node in the device tree, which is the chip's name. If a
 * recording does not contain that name, the last part of the device's name is used. */
#include "joule/sources/jetson/jetson_gpu.h"

#include <string.h>
#include "base/string.h"
#include "joule/sources/jetson/jetson_board.h"
#include "joule/sources/sysfs.h"

#define DEVFREQ       "/sys/class/devfreq"
#define MAX_MEGAHERTZ 10000

/* Returns the architecture of the GPU with this node name, "" if it is unknown, or NULL if the node is not a
 * GPU. */
static const char *architecture_of(const char *node)
{
    static const struct {
        const char *node, *architecture;
    } known[] = {{"gpu", ""},        {"gm20b", "Maxwell"}, {"gp10b", "Pascal"},
                 {"gv11b", "Volta"}, {"ga10b", "Ampere"},  {"gb10b", "Blackwell"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].node, node) == 0)
            return known[i].architecture;
    return NULL;
}

/* Returns the same as architecture_of, for the device `id`, such as "17000000.ga10b". */
static const char *find_architecture(struct source *source, const char *id)
{
    char path[128], name[32];
    string_print(path, sizeof path, DEVFREQ "/%s/device/of_node/name", id);
    if (sysfs_read_text(source, path, name, sizeof name))
        return architecture_of(name);
    const char *dot = strrchr(id, '.');
    return dot ? architecture_of(dot + 1) : NULL;
}

static void add_gauge(struct source *source, struct jetson_gpu *gpu, const char *path, enum gauge_role role)
{
    bool is_clock = role == ROLE_CLOCK;
    int handle = source->host->ops->open_file(source->host, path);
    const char *what = is_clock ? "clock" : "busy";
    struct channel *ch = handle < 0 ? NULL : gpu_add_gauge(source, jetson_gpu_device(source), role, what);
    if (!ch) {
        host_close_handle(source->host, handle);
        return;
    }
    gpu->gauges[gpu->count++] = (struct jetson_gauge){
        .channel = ch, .handle = handle, .unit = is_clock ? 1e-6 : 1e-3, .max = is_clock ? MAX_MEGAHERTZ : 1};
}

void jetson_gpu_open(struct source *source, struct jetson_gpu *gpu)
{
    char path[128], **ids;
    ssize_t count = source->host->ops->list(source->host, DEVFREQ, &source->arena, &ids);
    for (ssize_t i = 0; i < count && gpu->count == 0; i++) {
        const char *architecture = find_architecture(source, ids[i]);
        if (!architecture)
            continue;
        string_print(path, sizeof path, DEVFREQ "/%s/device/load", ids[i]);
        add_gauge(source, gpu, path, ROLE_BUSY);
        string_print(path, sizeof path, DEVFREQ "/%s/cur_freq", ids[i]);
        add_gauge(source, gpu, path, ROLE_CLOCK);
        if (gpu->count)
            string_copy(source->devices[0]->architecture, sizeof source->devices[0]->architecture,
                        architecture);
    }
    if (gpu->count == 0)
        add_gauge(source, gpu, "/sys/devices/gpu.0/load", ROLE_BUSY);
}

void jetson_gpu_read(struct source *source, const struct jetson_gpu *gpu, struct sink *sink)
{
    for (size_t i = 0; i < gpu->count; i++) {
        const struct jetson_gauge *gauge = &gpu->gauges[i];
        int64_t counts;
        joule_status status = sysfs_read_i64(source->host, gauge->handle, &counts);
        double value = status == JOULE_OK ? (double)counts * gauge->unit : 0;
        if (status == JOULE_OK && value >= 0 && value <= gauge->max)
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
