/* joule/sources/accelerator/tpu.c - the source "tpu": Google's TPUs, found on the bus, with power modelled
 * from their duty cycle.
 *
 * The source queries libtpu's runtime metric service for duty cycles and memory. A TPU reports neither power
 * nor energy. libtpu itself is never loaded, because it terminates a process that cannot acquire the chips.
 * Note: the service runs inside the program that uses the TPUs. Without such a program nothing is known, not
 * even that the chips are idle. The duty cycle is the fraction of time in which a chip worked. Waiting for
 * memory counts as work. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/accelerator/accelerator.h"
#include "joule/sources/accelerator/grpc.h"
#include "joule/sources/accelerator/tpu_metrics.h"
#include "joule/sources/detection.h"
#include "joule/sources/hwmon/watts_pair.h"

#define METHOD      "/tpu.monitoring.runtime.RuntimeMetricService/GetRuntimeMetric"
#define PERIOD_S    1.0
#define MAX_WAIT_NS INT64_C(500000000) /* timeout of one query of one port */
#define MAX_PORTS   16
#define GAIN_SD     0.35 /* assumed: a duty cycle shows how long a chip worked, not how hard */
#define CAUSE_INDEX 1001 /* index of CAUSE_GPU_GAIN: one model for all chips, so their errors are common */
#define UNKNOWN     "power and use are unknown until a program that uses this machine's TPUs reports them"
#define NO_WATTS                                                                                             \
    "Google publishes no watts for this chip: set JOULE_TPU_WATTS=IDLE,MAX to its watts when idle and at "   \
    "full load"

/* Kinds of TPU and their published power: measured minimum and maximum ("TPU v3", "TPU v4" in Cloud TPU's
 * documentation). For TPU v2 only the maximum is published ("Ten Lessons From Three Generations"). Its
 * minimum is assumed: the same fraction of the maximum as for TPU v3 and v4. */
static const struct generation {
    const char *model;
    unsigned cores;          /* number of cores that programs see in one chip */
    struct watts_pair watts; /* max == 0: not published */
} generations[] = {
    {"TPU v2", 2, {132, 280}}, {"TPU v3", 2, {123, 262}}, {"TPU v4", 1, {90, 192}}, {"TPU v5e", 1, {0, 0}},
    {"TPU v5p", 1, {0, 0}},    {"TPU v6e", 1, {0, 0}},    {"TPU 7x", 2, {0, 0}},
};

struct tpu {
    struct chip {
        struct device *device;
        struct channel *power, *busy; /* power is NULL if the chip's watts are unknown */
        struct watts_pair watts;
    } chips[MAX_ACCELERATORS];
    size_t count;
    unsigned cores;
    char addresses[MAX_PORTS][2][32]; /* two addresses of each port: on 127.0.0.1 and on ::1 */
    size_t port_count;
    struct grpc_response response; /* buffer of query_port */
};

/* --- opening -------------------------------------------------------------------------------------------- */

static bool add_port(struct tpu *tpu, const char *text)
{
    uint64_t port;
    if (!string_to_u64(text, 10, &port) || port == 0 || port > UINT16_MAX || tpu->port_count == MAX_PORTS)
        return false;
    char(*addresses)[32] = tpu->addresses[tpu->port_count++];
    string_print(addresses[0], sizeof addresses[0], "tcp:127.0.0.1:%u", (unsigned)port);
    string_print(addresses[1], sizeof addresses[1], "tcp:[::1]:%u", (unsigned)port);
    return true;
}

static bool find_ports(struct source *source, struct tpu *tpu)
{
    const char *given = source->host->ops->env(source->host, "TPU_RUNTIME_METRICS_PORTS");
    char list[128], *rest = list;
    if (!given || !*given)
        given = TPU_METRICS_PORT;
    bool is_valid = string_copy(list, sizeof list, given);
    for (char *port; is_valid && (port = strsep(&rest, ",")) != NULL;)
        is_valid = add_port(tpu, port);
    return is_valid;
}

static struct channel *add_channel(struct source *source, const struct chip *chip, const char *what)
{
    struct channel *ch = source_add_channel(source);
    if (!ch)
        return NULL;
    accelerator_name_channel(ch, "tpu", chip->device->index, what);
    string_copy(ch->info.vendor, sizeof ch->info.vendor, chip->device->vendor);
    string_copy(ch->info.model, sizeof ch->info.model, chip->device->model);
    string_copy(ch->info.remedy, sizeof ch->info.remedy, UNKNOWN);
    return ch;
}

static struct channel *add_power(struct source *source, const struct chip *chip, joule_class cls)
{
    struct channel *ch = add_channel(source, chip, "");
    if (!ch)
        return NULL;
    ch->mode = CHANNEL_POWER;
    ch->rank = RANK_MODEL;
    ch->info.scope = JOULE_SCOPE_GPU;
    ch->info.reading = JOULE_READING_POWER;
    ch->info.cls = cls;
    string_print(ch->info.label, sizeof ch->info.label, "duty cycle between %g and %g W", chip->watts.idle,
                 chip->watts.max);
    accelerator_zone("tpu", chip->device->index, ch->zone);
    ch->gain_sd = GAIN_SD;
    ch->cause = CAUSE(CAUSE_GPU_GAIN, CAUSE_INDEX);
    ch->integrator.period_s = PERIOD_S;
    ch->integrator.max_watts = chip->watts.max;
    return ch;
}

static void add_busy(struct source *source, struct chip *chip)
{
    struct channel *ch = chip->busy = add_channel(source, chip, "busy");
    if (!ch)
        return;
    channel_set_gauge(ch, ROLE_BUSY, "");
    string_copy(ch->info.label, sizeof ch->info.label, "duty cycle");
    accelerator_zone("tpu", chip->device->index, ch->parent_zone);
}

static const struct generation *generation_of(const char *model)
{
    for (size_t i = 0; i < sizeof generations / sizeof generations[0]; i++)
        if (strcmp(generations[i].model, model) == 0)
            return &generations[i];
    return NULL;
}

/* Adds the chip with its channels. `given` is the power that the user set, or NULL to use the published
 * power. Returns false if out of memory. */
static bool add_chip(struct source *source, const struct accelerator *accelerator,
                     const struct watts_pair *given)
{
    struct tpu *tpu = source->data;
    struct chip *chip = &tpu->chips[tpu->count];
    const struct generation *generation = generation_of(accelerator->model);
    chip->device = source_add_accelerator(source, accelerator);
    if (!chip->device || !generation)
        return chip->device != NULL;
    tpu->count++;
    tpu->cores = generation->cores;
    chip->watts = given ? *given : generation->watts;
    struct channel *ch = add_power(source, chip, given ? JOULE_CLASS_ASSUMED : JOULE_CLASS_MODELLED);
    if (ch && chip->watts.max <= 0) {
        ch->info.state = JOULE_UNSUPPORTED;
        string_copy(ch->info.label, sizeof ch->info.label, "");
        string_copy(ch->info.remedy, sizeof ch->info.remedy, NO_WATTS);
    } else {
        chip->power = ch;
    }
    add_busy(source, chip);
    return true;
}

static joule_status tpu_open(struct source *source)
{
    struct accelerator found[MAX_ACCELERATORS];
    struct watts_pair watts;
    bool is_wrong;
    size_t count = accelerators_find(source, "tpu", found, MAX_ACCELERATORS);
    if (count == 0)
        return detection_absent(source, DETECT_TPU, "this machine has no TPU on its PCI bus");
    struct tpu *tpu = source->data = arena_alloc(&source->arena, sizeof *tpu);
    if (!tpu)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    bool is_given = watts_pair_of_env(source->host, "JOULE_TPU_WATTS", &watts, &is_wrong);
    if (is_wrong)
        return source_set_state(
            source, JOULE_INVALID,
            "JOULE_TPU_WATTS must be the idle and full-load watts of one chip: JOULE_TPU_WATTS=IDLE,MAX");
    if (!find_ports(source, tpu))
        return source_set_state(source, JOULE_INVALID,
                                "TPU_RUNTIME_METRICS_PORTS must be at most %d ports, separated by commas",
                                MAX_PORTS);
    for (size_t i = 0; i < count; i++)
        if (!add_chip(source, &found[i], is_given ? &watts : NULL))
            return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    return JOULE_OK;
}

/* --- queries -------------------------------------------------------------------------------------------- */

static int query_port(struct joule_host *host, struct tpu *tpu, size_t port, const char *metric,
                      struct tpu_point *out_points, size_t *out_count)
{
    uint8_t request[TPU_MESSAGE_BYTES];
    const uint8_t *message;
    size_t size, length = tpu_write_request(metric, request);
    int64_t deadline_ns = host->ops->clock_ns(host, CLOCK_MONOTONIC) + MAX_WAIT_NS;
    int result = -ECONNREFUSED;
    for (int i = 0; i < 2 && result == -ECONNREFUSED; i++)
        result = grpc_call(host, tpu->addresses[port][i], METHOD, request, length, deadline_ns,
                           &tpu->response, &message, &size);
    if (result == 0 && !tpu_parse_points(message, size, out_points, out_count))
        result = -EPROTO;
    return result;
}

static int compare_devices(const void *a, const void *b)
{
    const struct tpu_point *left = a, *right = b;
    return left->device < right->device ? -1 : left->device > right->device;
}

/* Replaces each point's device number by a place on this machine, which is a number from 0 to `places` - 1.
 * The device number is unique within the slice, a group of TPUs that may span several machines. If there are
 * as many points as places, points are assigned in order of their numbers. If there are fewer, their numbers
 * must be valid places. Returns JOULE_FAILED for other numbers. */
static joule_status assign_places(struct tpu_point *points, size_t count, size_t places)
{
    qsort(points, count, sizeof *points, compare_devices);
    for (size_t i = 0; i < count; i++) {
        if (count == places)
            points[i].device = (int64_t)i;
        else if (points[i].device < 0 || (uint64_t)points[i].device >= places)
            return JOULE_FAILED;
    }
    return JOULE_OK;
}

/* Queries a metric from all programs that use chips, and assigns its points to places. Returns JOULE_STALE if
 * there is no such program. */
static joule_status query_metric(struct source *source, const char *metric, size_t places,
                                 struct tpu_point *out_points, size_t *out_count)
{
    struct tpu *tpu = source->data;
    struct tpu_point points[TPU_MAX_POINTS];
    joule_status failure = JOULE_STALE;
    *out_count = 0;
    for (size_t i = 0; i < tpu->port_count; i++) {
        size_t count = 0;
        int result = query_port(source->host, tpu, i, metric, points, &count);
        if (result == -ENOSYS)
            failure = JOULE_UNSUPPORTED;
        else if (result != 0 && result != -ECONNREFUSED)
            failure = status_of_errno(-result);
        for (size_t k = 0; k < count && *out_count < TPU_MAX_POINTS; k++)
            out_points[(*out_count)++] = points[k];
    }
    return *out_count ? assign_places(out_points, *out_count, places) : failure;
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void report_chip(const struct chip *chip, struct sink *sink, joule_status status, double percent)
{
    if (status == JOULE_OK && !(percent >= 0 && percent <= 100))
        status = JOULE_FAILED;
    if (status == JOULE_OK) {
        if (chip->busy)
            sink_gauge(sink, chip->busy, percent / 100);
        if (chip->power)
            sink_power(sink, chip->power, 0, watts_pair_at(chip->watts, percent / 100));
        return;
    }
    if (chip->busy)
        sink_fail(sink, chip->busy, status);
    if (chip->power)
        sink_fail(sink, chip->power, status);
}

static void tpu_read(struct source *source, struct sink *sink)
{
    struct tpu *tpu = source->data;
    struct tpu_point points[TPU_MAX_POINTS];
    size_t count, next = 0;
    joule_status status = query_metric(source, TPU_METRIC_DUTY, tpu->count, points, &count);
    for (size_t i = 0; i < tpu->count; i++) {
        bool has_point = status == JOULE_OK && next < count && points[next].device == (int64_t)i;
        if (has_point)
            report_chip(&tpu->chips[i], sink, JOULE_OK, points[next++].value);
        else
            report_chip(&tpu->chips[i], sink, status == JOULE_OK ? JOULE_STALE : status, 0);
    }
}

/* --- facts ---------------------------------------------------------------------------------------------- */

/* Returns the sum over all cores of a chip, or JOULE_BYTES_UNKNOWN if a core's value is missing. */
static uint64_t chip_bytes(const struct tpu *tpu, const struct tpu_point *points, size_t count, size_t chip)
{
    double sum = 0;
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if ((size_t)points[i].device / tpu->cores == chip && points[i].value >= 0) {
            sum += points[i].value;
            found++;
        }
    return found == tpu->cores && sum < 0x1p60 ? (uint64_t)sum : JOULE_BYTES_UNKNOWN;
}

static void tpu_query(struct source *source, struct sink *sink)
{
    struct tpu *tpu = source->data;
    struct tpu_point totals[TPU_MAX_POINTS], used[TPU_MAX_POINTS];
    size_t total_count, used_count, cores = tpu->count * tpu->cores;
    joule_status status = query_metric(source, TPU_METRIC_TOTAL, cores, totals, &total_count);
    if (status == JOULE_OK)
        status = query_metric(source, TPU_METRIC_USED, cores, used, &used_count);
    for (size_t i = 0; i < tpu->count; i++) {
        struct device_facts facts = device_facts_unknown();
        if (status == JOULE_OK) {
            facts.memory_total_bytes = chip_bytes(tpu, totals, total_count, i);
            facts.memory_used_bytes = chip_bytes(tpu, used, used_count, i);
        }
        if (facts.memory_total_bytes != JOULE_BYTES_UNKNOWN &&
            facts.memory_used_bytes <= facts.memory_total_bytes)
            facts.memory_free_bytes = facts.memory_total_bytes - facts.memory_used_bytes;
        /* Reported even without facts, to show that the device is present. */
        sink_facts(sink, tpu->chips[i].device, &facts);
    }
}

const struct source_ops source_tpu = {
    .name = "tpu",
    .measurement = "tpu",
    .tier = 1,
    .is_slow = true,
    .folder = "/sys/class/accel:/dev/vfio",
    .period_s = PERIOD_S,
    .open = tpu_open,
    .read = tpu_read,
    .query = tpu_query,
};
