/* joule/sources/jetson/jetson_board.c - see jetson_board.h.
 *
 * Note: the whole is the module: processor, GPU and memory. Known rails do not include all power of the
 * carrier board. If the whole is a sum, it excludes the losses of the regulators that feed the rails. */
#include "joule/sources/jetson/jetson_board.h"

#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/sysfs.h"

#define GAIN_SD     0.01 /* 1 % of the shunt, and 0.25 % of the INA3221 (data sheet) */
#define FIRST_CAUSE 256  /* index of the first rail; hwmon's chips have lower indices */
#define MAX_WATTS   1000.0
#define MODULE      "module0"

enum rail_kind {
    RAIL_PART,   /* a part of the whole */
    RAIL_WHOLE,  /* a rail that feeds all others */
    RAIL_CORES,  /* feeds only the CPU cores */
    RAIL_GPU,    /* feeds only the GPU */
    RAIL_CARRIER /* outside the module */
};

static const struct known_rail {
    const char *name;
    enum rail_kind kind;
    const char *what;
    const char *fed_by; /* the rail that feeds this rail; NULL: the whole */
} known_rails[] = {
    {"VDD_IN", RAIL_WHOLE, "the whole module", NULL},
    {"POM_5V_IN", RAIL_WHOLE, "the whole module", NULL},
    {"VIN", RAIL_WHOLE, "the whole module", NULL},
    {"VDD_GPU", RAIL_GPU, "GPU without memory", NULL},
    {"VDD_SYS_GPU", RAIL_GPU, "GPU without memory", NULL},
    {"POM_5V_GPU", RAIL_GPU, "GPU without memory", NULL},
    {"GPU", RAIL_GPU, "GPU without memory", NULL},
    {"VDD_CPU", RAIL_CORES, "CPU cores", NULL},
    {"VDD_SYS_CPU", RAIL_CORES, "CPU cores", NULL},
    {"POM_5V_CPU", RAIL_CORES, "CPU cores", NULL},
    {"CPU", RAIL_CORES, "CPU cores", NULL},
    {"VDD_CPU_GPU_CV", RAIL_PART, "CPU, GPU and vision engines", NULL},
    {"VDD_GPU_SOC", RAIL_PART, "GPU and system on chip", NULL},
    {"VDD_CPU_CV", RAIL_PART, "CPU and vision engines", NULL},
    {"VDD_CPU_SOC_MSS", RAIL_PART, "CPU, system on chip, memory system", NULL},
    {"VDD_SOC", RAIL_PART, "system on chip", NULL},
    {"VDD_SYS_SOC", RAIL_PART, "system on chip", NULL},
    {"SOC", RAIL_PART, "system on chip", NULL},
    {"CV", RAIL_PART, "vision engines", NULL},
    {"VDDRQ", RAIL_PART, "memory", NULL},
    {"VDD_DDR", RAIL_PART, "memory", NULL},
    {"VDD_SYS_DDR", RAIL_PART, "memory", NULL},
    {"SYS5V", RAIL_PART, "5 V system", NULL},
    {"VIN_SYS_5V0", RAIL_PART, "5 V system", NULL},
    {"VDDQ_VDD2_1V8AO", RAIL_PART, "memory and always-on", "VIN_SYS_5V0"},
    {"VDD_WIFI", RAIL_PART, "radio", NULL},
    {"VDD_4V0_WIFI", RAIL_PART, "radio", NULL},
    {"VDD_MUX", RAIL_CARRIER, "carrier board", NULL},
    {"VDD_5V_IO_SYS", RAIL_CARRIER, "carrier board", NULL},
    {"VDD_3V3_SYS", RAIL_CARRIER, "carrier board", NULL},
};

/* Rails that add up to the whole, for boards without a rail that feeds all others: AGX Xavier, AGX Orin. The
 * three rails of AGX Orin feed its other rails. */
static const char *const sums[][7] = {
    {"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V", NULL},
    {"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0", NULL},
};

static const struct known_rail *find_known(const char *name)
{
    for (size_t i = 0; i < sizeof known_rails / sizeof known_rails[0]; i++)
        if (strcmp(known_rails[i].name, name) == 0)
            return &known_rails[i];
    return NULL;
}

bool jetson_knows_rail(const char *name)
{
    return find_known(name) != NULL;
}

static struct jetson_rail *find_rail(struct jetson_board *board, const char *name)
{
    for (size_t i = 0; i < board->count; i++)
        if (strcmp(board->rails[i].name, name) == 0)
            return &board->rails[i];
    return NULL;
}

struct jetson_rail *jetson_add_rail(struct jetson_board *board, const char *name)
{
    if (strcmp(name, "NC") == 0 || board->count == JETSON_MAX_RAILS)
        return NULL;
    struct jetson_rail *rail = &board->rails[board->count++];
    string_copy(rail->name, sizeof rail->name, name);
    return rail;
}

/* A Jetson has one GPU, without a PCI address. "tegra" takes the place of the address. */
struct device *jetson_gpu_device(struct source *source)
{
    struct device *gpu = source->device_count ? source->devices[0] : source_add_gpu(source, "tegra");
    if (!gpu)
        return NULL;
    gpu->pci_address[0] = '\0';
    string_copy(gpu->vendor, sizeof gpu->vendor, "nvidia");
    host_read_text(source->host, "/proc/device-tree/model", gpu->model, sizeof gpu->model);
    return gpu;
}

/* --- rails that make up the whole ----------------------------------------------------------------------- */

static bool has_whole(const struct jetson_board *board)
{
    for (size_t i = 0; i < board->count; i++) {
        const struct known_rail *known = find_known(board->rails[i].name);
        if (known && known->kind == RAIL_WHOLE)
            return true;
    }
    return false;
}

static bool has_all(struct jetson_board *board, const char *const *names)
{
    for (; *names; names++)
        if (!find_rail(board, *names))
            return false;
    return true;
}

/* Returns the names of the rails that add up to the whole, or NULL if they are unknown or one rail is the
 * whole. */
static const char *const *find_sum(struct jetson_board *board)
{
    for (size_t i = 0; i < sizeof sums / sizeof sums[0] && !has_whole(board); i++)
        if (has_all(board, sums[i]))
            return sums[i];
    return NULL;
}

/* --- channels ------------------------------------------------------------------------------------------- */

static struct channel *add_channel(struct source *source, const struct jetson_sensor *sensor, size_t number)
{
    struct channel *ch = source_add_channel(source);
    if (!ch)
        return NULL;
    ch->mode = CHANNEL_POWER;
    ch->rank = RANK_BOARD;
    ch->gain_sd = GAIN_SD;
    ch->cause = CAUSE(CAUSE_HWMON_GAIN, FIRST_CAUSE + number);
    ch->info.scope = JOULE_SCOPE_RAIL;
    ch->info.reading = JOULE_READING_POWER;
    ch->info.cls = JOULE_CLASS_DERIVED;
    ch->info.update_period_s = sensor->period_is_known ? sensor->period_s : NAN;
    ch->integrator.period_s = fmax(sensor->period_s, sensor->pace_s);
    ch->integrator.age_s = sensor->period_s;
    ch->integrator.averaged_part = sensor->coverage * fmin(1, sensor->period_s / sensor->pace_s);
    ch->integrator.lag_s = sensor->coverage * sensor->period_s / 2;
    ch->integrator.max_watts = MAX_WATTS;
    string_copy(ch->info.device, sizeof ch->info.device, "node");
    string_copy(ch->info.vendor, sizeof ch->info.vendor, "nvidia");
    host_read_text(source->host, "/proc/device-tree/model", ch->info.model, sizeof ch->info.model);
    return ch;
}

static void set_whole(struct channel *ch, const char *label)
{
    ch->info.scope = JOULE_SCOPE_MODULE;
    ch->info.device_index = 0;
    string_copy(ch->info.name, sizeof ch->info.name, "module-0");
    string_copy(ch->info.label, sizeof ch->info.label, label);
    string_copy(ch->zone, sizeof ch->zone, MODULE);
    ch->parent_zone[0] = '\0';
}

static void set_gpu(struct source *source, struct channel *ch)
{
    const struct device *gpu = jetson_gpu_device(source);
    if (!gpu)
        return;
    ch->info.scope = JOULE_SCOPE_GPU;
    ch->info.tier = 3;
    gpu_name_channel(ch, gpu->index, "");
    gpu_zone(gpu->index, false, ch->zone);
}

static void name_zone(char out_zone[48], const char *rail)
{
    char slug[32];
    sysfs_slug(slug, sizeof slug, rail);
    string_print(out_zone, 48, MODULE "/%s", slug);
}

static void describe_rail(struct source *source, struct channel *ch, const struct jetson_rail *rail)
{
    const struct known_rail *known = find_known(rail->name);
    char slug[32];
    sysfs_slug(slug, sizeof slug, rail->name);
    string_print(ch->info.name, sizeof ch->info.name, "rail-%s", slug);
    string_copy(ch->info.label, sizeof ch->info.label, rail->name);
    name_zone(ch->zone, rail->name);
    if (!known) /* an unknown rail may be inside or outside of the module */
        return;
    string_print(ch->info.label, sizeof ch->info.label, "%s: %s", rail->name, known->what);
    if (known->fed_by)
        name_zone(ch->parent_zone, known->fed_by);
    else if (known->kind != RAIL_CARRIER)
        string_copy(ch->parent_zone, sizeof ch->parent_zone, MODULE);
    if (known->kind == RAIL_WHOLE)
        set_whole(ch, ch->info.label);
    else if (known->kind == RAIL_GPU)
        set_gpu(source, ch);
    else if (known->kind == RAIL_CORES)
        ch->info.scope = JOULE_SCOPE_CORE;
}

static void add_sum(struct source *source, struct jetson_board *board, const struct jetson_sensor *sensor)
{
    const char *const *names = find_sum(board);
    char label[64];
    struct text text;
    if (!names)
        return;
    text_init(&text, label, sizeof label);
    for (size_t i = 0; names[i]; i++) {
        find_rail(board, names[i])->is_summed = true;
        text_printf(&text, "%s%s", i ? " + " : "", names[i]);
    }
    board->sum = add_channel(source, sensor, JETSON_MAX_RAILS);
    if (board->sum)
        set_whole(board->sum, label);
}

void jetson_add_channels(struct source *source, struct jetson_board *board,
                         const struct jetson_sensor *sensor)
{
    for (size_t i = 0; i < board->count; i++) {
        struct jetson_rail *rail = &board->rails[i];
        rail->channel = add_channel(source, sensor, i);
        if (!rail->channel)
            continue;
        describe_rail(source, rail->channel, rail);
        rail->channel->info.state = rail->status;
    }
    add_sum(source, board, sensor);
}

/* --- readings ------------------------------------------------------------------------------------------- */

static void report_one(struct channel *ch, joule_status status, double watts, struct sink *sink)
{
    if (status == JOULE_OK && !(watts >= 0 && watts <= MAX_WATTS))
        status = JOULE_FAILED;
    if (status == JOULE_OK)
        sink_power(sink, ch, 0, watts);
    else
        sink_fail(sink, ch, status);
}

void jetson_report(const struct jetson_board *board, struct sink *sink)
{
    joule_status status = JOULE_OK;
    double sum_watts = 0;
    for (size_t i = 0; i < board->count; i++) {
        const struct jetson_rail *rail = &board->rails[i];
        if (rail->channel)
            report_one(rail->channel, rail->status, rail->watts, sink);
        if (!rail->is_summed)
            continue;
        sum_watts += rail->watts;
        if (rail->status != JOULE_OK)
            status = rail->status;
    }
    if (board->sum)
        report_one(board->sum, status, sum_watts, sink);
}
