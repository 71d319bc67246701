/* joule/sources/jetson/jetson.c - the source "jetson": the supply rails of NVIDIA's Jetson boards, from
 * sysfs.
 *
 * The source finds and reads the chips that measure rails (INA3221: voltage and current of three rails), in
 * both layouts of NVIDIA's kernels. jetson_board.c lists the known rails; jetson_gpu.c reads the GPU's load.
 * Note: kernels up to L4T 32 show a chip as an IIO device with a file for power. Later kernels show it as a
 * hardware monitor without such a file. The source "hwmon" skips these chips, because one reading takes a
 * millisecond on a slow bus. */
#include "joule/sources/jetson/jetson.h"

#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/jetson/jetson_board.h"
#include "joule/sources/jetson/jetson_gpu.h"
#include "joule/sources/sysfs.h"

#define PERIOD_S 0.05
#define SENSOR_S 0.0066 /* assumed if the chip reports no period; the chip measures three rails in turn */
#define CHIPS    16

/* The open files of a rail: power, or voltage and current. Power in watts is the product of the numbers in
 * the files, times unit_watts. */
struct input {
    int first, second; /* handles; second < 0: there is only one file */
    double unit_watts;
};

struct chip {
    char folder[96];
    bool is_iio; /* an IIO device, not a hardware monitor */
};

struct jetson {
    struct jetson_board board;
    struct input inputs[JETSON_MAX_RAILS]; /* inputs[i] belongs to the rail with index i */
    struct chip chips[CHIPS];
    size_t chip_count;
    struct jetson_gpu gpu;
};

/* --- finding a Jetson's chips --------------------------------------------------------------------------- */

/* Returns true if the device tree names a Tegra chip. The file is a list of texts, each ended by NUL. */
static bool is_tegra(struct joule_host *host)
{
    char texts[512];
    ssize_t length = host->ops->read_file(host, "/proc/device-tree/compatible", texts, sizeof texts);
    for (ssize_t at = 0; at < length; at += (ssize_t)strlen(texts + at) + 1)
        if (string_starts(texts + at, "nvidia,tegra"))
            return true;
    return false;
}

bool jetson_has_chip(struct source *source, const char *folder, const char *chip)
{
    char path[160], label[32];
    if (strcmp(chip, "ina3221") != 0)
        return false;
    for (unsigned k = 1; k <= 3; k++) {
        string_print(path, sizeof path, "%s/in%u_label", folder, k);
        if (sysfs_read_text(source, path, label, sizeof label) && jetson_knows_rail(label))
            return true;
    }
    return is_tegra(source->host); /* the device tree of a Tegra may not name the rails */
}

static bool has_folder(const struct jetson *jetson, const char *id)
{
    for (size_t i = 0; i < jetson->chip_count; i++)
        if (string_ends(jetson->chips[i].folder, id))
            return true;
    return false;
}

/* Adds the chip with the folder parent/id, unless a chip with the same `id` was added before. */
static void add_chip(struct source *source, struct jetson *jetson, const char *parent, const char *id,
                     bool is_iio)
{
    struct chip *chip = &jetson->chips[jetson->chip_count];
    char end[40];
    string_print(end, sizeof end, "/%s", id);
    if (jetson->chip_count == CHIPS || has_folder(jetson, end))
        return;
    string_print(chip->folder, sizeof chip->folder, "%s%s", parent, end);
    chip->is_iio = is_iio;
    if (is_iio || jetson_has_chip(source, chip->folder, "ina3221"))
        jetson->chip_count++;
}

/* Adds the chips below the folder of a device on the I2C bus. */
static void find_below(struct source *source, struct jetson *jetson, const char *device)
{
    char path[96], **ids;
    ssize_t count = source->host->ops->list(source->host, device, &source->arena, &ids);
    for (ssize_t i = 0; i < count; i++)
        if (string_starts(ids[i], "iio:device"))
            add_chip(source, jetson, device, ids[i], true);
    string_print(path, sizeof path, "%s/hwmon", device);
    count = source->host->ops->list(source->host, path, &source->arena, &ids);
    for (ssize_t i = 0; i < count; i++)
        if (string_starts(ids[i], "hwmon"))
            add_chip(source, jetson, path, ids[i], false);
}

/* Adds the chips of all entries of `folder`. If by_name is true, skips entries whose file `name` does not
 * contain "ina3221". is_class: the entries are hardware monitors, not devices on the bus. */
static void find_in(struct source *source, struct jetson *jetson, const char *folder, bool by_name,
                    bool is_class)
{
    char path[96], name[32], **ids;
    ssize_t count = source->host->ops->list(source->host, folder, &source->arena, &ids);
    for (ssize_t i = 0; i < count; i++) {
        string_print(path, sizeof path, "%s/%s/name", folder, ids[i]);
        if (by_name && !(sysfs_read_text(source, path, name, sizeof name) && strstr(name, "ina3221")))
            continue;
        string_print(path, sizeof path, "%s/%s", folder, ids[i]);
        if (is_class)
            add_chip(source, jetson, folder, ids[i], false);
        else
            find_below(source, jetson, path);
    }
}

static void find_chips(struct source *source, struct jetson *jetson)
{
    find_in(source, jetson, "/sys/bus/i2c/drivers/ina3221x", false, false);
    find_in(source, jetson, "/sys/bus/i2c/drivers/ina3221", false, false);
    find_in(source, jetson, "/sys/bus/i2c/devices", true, false);
    find_in(source, jetson, "/sys/class/hwmon", true, true);
}

/* --- rails ---------------------------------------------------------------------------------------------- */

/* Opens a file of rail `k`. pattern: the file's name, with '#' in place of the rail's number. */
static int open_file(struct source *source, const struct chip *chip, const char *pattern, unsigned k)
{
    char path[128], file[32];
    const char *mark = strchr(pattern, '#');
    string_print(file, sizeof file, "%.*s%u%s", (int)(mark - pattern), pattern, k, mark + 1);
    string_print(path, sizeof path, "%s/%s", chip->folder, file);
    return source->host->ops->open_file(source->host, path);
}

static struct input open_product(struct source *source, const struct chip *chip, unsigned k)
{
    return (struct input){
        .first = open_file(source, chip, chip->is_iio ? "in_voltage#_input" : "in#_input", k),
        .second = open_file(source, chip, chip->is_iio ? "in_current#_input" : "curr#_input", k),
        .unit_watts = 1e-6, /* millivolts times milliamperes */
    };
}

static struct input open_input(struct source *source, const struct chip *chip, unsigned k)
{
    struct input power = {.first = -1, .second = -1, .unit_watts = 1e-3};
    if (chip->is_iio)
        power.first = open_file(source, chip, "in_power#_input", k);
    return power.first >= 0 ? power : open_product(source, chip, k);
}

static void close_input(struct source *source, const struct input *input)
{
    host_close_handle(source->host, input->first);
    host_close_handle(source->host, input->second);
}

static bool is_enabled(struct source *source, const struct chip *chip, unsigned k)
{
    char path[128];
    uint64_t enable;
    string_print(path, sizeof path, "%s/in%u_enable", chip->folder, k);
    return !host_read_u64(source->host, path, &enable) || enable != 0;
}

static void name_rail(struct source *source, const struct chip *chip, unsigned k, char out_name[32])
{
    char path[128];
    string_print(path, sizeof path, chip->is_iio ? "%s/rail_name_%u" : "%s/in%u_label", chip->folder, k);
    if (!sysfs_read_text(source, path, out_name, 32))
        string_print(out_name, 32, "%s-%u", strrchr(chip->folder, '/') + 1, k);
}

static void add_rail(struct source *source, struct jetson *jetson, const struct chip *chip, unsigned k)
{
    char name[32];
    struct input input = open_input(source, chip, k);
    int error = input.first < 0                               ? input.first
                : input.unit_watts < 1e-3 && input.second < 0 ? input.second
                                                              : 0;
    name_rail(source, chip, k, name);
    struct jetson_rail *rail = NULL;
    if (status_of_errno(-error) != JOULE_ABSENT && is_enabled(source, chip, k))
        rail = jetson_add_rail(&jetson->board, name);
    if (!rail) {
        close_input(source, &input);
        return;
    }
    rail->status = error ? status_of_errno(-error) : JOULE_OK;
    jetson->inputs[rail - jetson->board.rails] = input;
}

static void find_rails(struct source *source, struct jetson *jetson)
{
    find_chips(source, jetson);
    for (size_t i = 0; i < jetson->chip_count; i++)
        for (unsigned k = 0; k < 3; k++)
            add_rail(source, jetson, &jetson->chips[i], k + !jetson->chips[i].is_iio);
}

static void close_rails(struct source *source, const struct jetson *jetson)
{
    for (size_t i = 0; i < jetson->board.count; i++)
        close_input(source, &jetson->inputs[i]);
}

bool jetson_has_rails(struct source *source)
{
    struct jetson *jetson = arena_alloc(&source->arena, sizeof *jetson);
    bool has_any = false;
    if (!jetson)
        return false;
    find_rails(source, jetson);
    for (size_t i = 0; i < jetson->board.count; i++)
        has_any = has_any || jetson->board.rails[i].status == JOULE_OK;
    close_rails(source, jetson);
    return has_any;
}

/* --- opening -------------------------------------------------------------------------------------------- */

static struct jetson_sensor sensor_of(struct source *source, const struct jetson *jetson)
{
    struct jetson_sensor sensor = {.period_s = SENSOR_S, .coverage = 1.0 / 3, .pace_s = PERIOD_S};
    char path[128];
    uint64_t interval_ms;
    string_print(path, sizeof path, "%s/update_interval", jetson->chips[0].folder);
    sensor.period_is_known =
        host_read_u64(source->host, path, &interval_ms) && interval_ms >= 1 && interval_ms <= 10000;
    if (sensor.period_is_known)
        sensor.period_s = (double)interval_ms * 1e-3;
    return sensor;
}

static void set_denied_remedies(const struct jetson *jetson)
{
    for (size_t i = 0; i < jetson->board.count; i++) {
        struct channel *ch = jetson->board.rails[i].channel;
        if (ch && ch->info.state == JOULE_DENIED)
            string_print(ch->info.remedy, sizeof ch->info.remedy,
                         "run as root, or: sudo chmod a+r %s/*_input", jetson->chips[0].folder);
    }
}

static joule_status jetson_open(struct source *source)
{
    struct jetson *jetson = source->data = arena_alloc(&source->arena, sizeof *jetson);
    if (!jetson)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    find_rails(source, jetson);
    struct jetson_sensor sensor = sensor_of(source, jetson);
    jetson_add_channels(source, &jetson->board, &sensor);
    set_denied_remedies(jetson);
    jetson_gpu_open(source, &jetson->gpu);
    if (source->channel_count)
        return JOULE_OK;
    return source_set_state(source, JOULE_ABSENT, "this machine has no power monitor of a Jetson board");
}

/* --- reading -------------------------------------------------------------------------------------------- */

/* Reads voltage and current in immediate succession, so that both are from nearly the same time. */
static joule_status read_input(struct joule_host *host, const struct input *input, double *out_watts)
{
    int64_t first, second = 1;
    joule_status status = sysfs_read_i64(host, input->first, &first);
    if (status == JOULE_OK && input->second >= 0)
        status = sysfs_read_i64(host, input->second, &second);
    if (status == JOULE_OK)
        *out_watts = (double)first * (double)second * input->unit_watts;
    return status;
}

static void jetson_read(struct source *source, struct sink *sink)
{
    struct jetson *jetson = source->data;
    for (size_t i = 0; i < jetson->board.count; i++) {
        struct jetson_rail *rail = &jetson->board.rails[i];
        if (jetson->inputs[i].first >= 0)
            rail->status = read_input(source->host, &jetson->inputs[i], &rail->watts);
    }
    jetson_report(&jetson->board, sink);
    jetson_gpu_read(source, &jetson->gpu, sink);
}

static void jetson_close(struct source *source)
{
    struct jetson *jetson = source->data;
    if (!jetson)
        return;
    close_rails(source, jetson);
    jetson_gpu_close(source, &jetson->gpu);
}

const struct source_ops source_jetson = {
    .name = "jetson",
    .measurement = "hwmon",
    .tier = 2,
    .is_slow = true,
    .folder = "/sys/class/devfreq", /* contains the GPU's clock */
    .period_s = PERIOD_S,
    .open = jetson_open,
    .read = jetson_read,
    .close = jetson_close,
};
