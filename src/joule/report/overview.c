/* joule/report/overview.c - see overview.h.
 *
 * Note: while a lane opens a source, the source's state is JOULE_PENDING. Its other fields are not read,
 * because the lane may be writing them.
 */
#include "joule/report/overview.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "joule/meter/engine.h"
#include "joule/sources/device.h"

/* --- domains -------------------------------------------------------------------------------------------- */

/* Returns the seconds since the channel was last read; NaN: never. */
static double age_s(joule_meter *meter, size_t index, int64_t now_ns)
{
    const struct meter_channel *mc = &meter->channels[index];
    pthread_mutex_lock(&mc->lane->lock);
    int64_t read_ns = mc->channel->read_ns;
    pthread_mutex_unlock(&mc->lane->lock);
    return read_ns ? fmax(0, (double)(now_ns - read_ns) * 1e-9) : NAN;
}

/* Fills the values that exist for the row's kind of domain. The other values remain NaN. */
static void take_readings(struct overview_domain *row, joule_meter *meter, int64_t now_ns)
{
    int32_t id = row->domain.id;
    switch (row->domain.reading) {
    case JOULE_READING_ENERGY:
    case JOULE_READING_POWER:
        joule_energy_joules(meter, id, &row->joules);
        joule_power_watts(meter, id, &row->watts);
        row->age_s = age_s(meter, (size_t)id, now_ns);
        break;
    case JOULE_READING_TEMPERATURE:
        joule_gauge(meter, id, &row->temperature_celsius);
        break;
    case JOULE_READING_CLOCK:
        joule_gauge(meter, id, &row->clock_megahertz);
        break;
    case JOULE_READING_UTILISATION:
        joule_gauge(meter, id, &row->utilisation);
        break;
    }
}

static bool gather_domains(struct overview *overview, joule_meter *meter, const struct cover *total)
{
    size_t count = joule_domain_count(meter);
    int64_t now_ns = meter_now_ns(meter);
    overview->domain_count = 0;
    if (!array_reserve((void **)&overview->domains, &overview->domain_capacity, count,
                       sizeof *overview->domains))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct overview_domain *row = &overview->domains[overview->domain_count++];
        *row = (struct overview_domain){.joules = quantity_unknown(),
                                        .watts = quantity_unknown(),
                                        .temperature_celsius = NAN,
                                        .clock_megahertz = NAN,
                                        .utilisation = NAN,
                                        .age_s = NAN};
        meter_describe_domain(meter, i, total, &row->domain);
        take_readings(row, meter, now_ns);
    }
    return true;
}

/* --- devices -------------------------------------------------------------------------------------------- */

static double bytes_or_nan(uint64_t bytes)
{
    return bytes == JOULE_BYTES_UNKNOWN ? NAN : (double)bytes;
}

static void take_memory(struct overview_device *row)
{
    row->memory_total_bytes = bytes_or_nan(row->device.memory_total_bytes);
    row->memory_used_bytes = bytes_or_nan(row->device.memory_used_bytes);
    row->memory_free_bytes = bytes_or_nan(row->device.memory_free_bytes);
}

/* Sets the activities from the gauges of the row's device. */
static void take_activities(struct overview_device *row, joule_meter *meter)
{
    double *const places[] = {[ROLE_SM_ACTIVITY] = &row->sm_activity,
                              [ROLE_TENSOR_ACTIVITY] = &row->tensor_activity,
                              [ROLE_DRAM_ACTIVITY] = &row->dram_activity};
    for (size_t i = 0; i < meter_channel_count(meter); i++) {
        const struct channel *ch = meter->channels[i].channel;
        if (ch->role < sizeof places / sizeof *places && places[ch->role] &&
            strcmp(ch->info.device, row->device.name) == 0)
            joule_gauge(meter, (int32_t)i, places[ch->role]);
    }
}

static bool gather_devices(struct overview *overview, joule_meter *meter)
{
    size_t count = joule_device_count(meter);
    overview->device_count = 0;
    if (!array_reserve((void **)&overview->devices, &overview->device_capacity, count,
                       sizeof *overview->devices))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct overview_device *row = &overview->devices[overview->device_count];
        *row = (struct overview_device){.device.struct_size = sizeof row->device,
                                        .sm_activity = NAN,
                                        .tensor_activity = NAN,
                                        .dram_activity = NAN};
        if (joule_device_get(meter, i, &row->device) != JOULE_OK)
            continue;
        take_memory(row);
        take_activities(row, meter);
        row->process_count = row->device.has_process_list ? row->device.process_count : NAN;
        row->partition_count = row->device.partition_count ? row->device.partition_count : NAN;
        overview->device_count++;
    }
    return true;
}

/* --- parts of devices ----------------------------------------------------------------------------------- */

/* Adds a part of a device with its memory. Returns NULL if out of memory. */
static struct overview_part *add_part(struct overview *overview, size_t device,
                                      const joule_device_partition *info)
{
    if (!ARRAY_ROOM(overview->parts, overview->part_capacity, overview->part_count))
        return NULL;
    struct overview_part *part = &overview->parts[overview->part_count++];
    *part = (struct overview_part){.device = device,
                                   .info = *info,
                                   .memory_total_bytes = bytes_or_nan(info->memory_total_bytes),
                                   .memory_used_bytes = bytes_or_nan(info->memory_used_bytes),
                                   .memory_free_bytes = bytes_or_nan(info->memory_free_bytes)};
    double rest = part->memory_total_bytes - part->memory_used_bytes - part->memory_free_bytes;
    part->memory_reserved_bytes = rest > 0 ? rest : NAN; /* 0: the driver reports reserved memory as used */
    return part;
}

static void forget_memory(struct overview_part *part)
{
    part->memory_total_bytes = part->memory_used_bytes = part->memory_free_bytes =
        part->memory_reserved_bytes = NAN;
}

/* Adds the MIG devices of a device, with the memory of each GPU instance once. Sets *out_tells to true if
 * the used memory of at least one GPU instance is known. Returns false if out of memory. */
static bool add_partitions(struct overview *overview, joule_meter *meter, size_t device, bool *out_tells)
{
    joule_device_partition list[DEVICE_MAX_PARTITIONS];
    size_t count =
        joule_device_partitions(meter, overview->devices[device].device.name, list, DEVICE_MAX_PARTITIONS);
    for (size_t i = 0; i < count && i < DEVICE_MAX_PARTITIONS; i++) {
        struct overview_part *part = add_part(overview, device, &list[i]);
        if (!part)
            return false;
        bool is_first = list[i].instance != JOULE_INSTANCE_UNKNOWN;
        for (size_t k = 0; k < i; k++)
            is_first = is_first && list[k].instance != list[i].instance;
        if (!is_first)
            forget_memory(part);
        *out_tells = *out_tells || !isnan(part->memory_used_bytes);
    }
    return true;
}

static bool gather_parts(struct overview *overview, joule_meter *meter)
{
    overview->part_count = 0;
    for (size_t i = 0; i < overview->device_count; i++) {
        const joule_device *device = &overview->devices[i].device;
        const joule_device_partition whole = {.instance = JOULE_INSTANCE_UNKNOWN,
                                              .compute_instance = JOULE_INSTANCE_UNKNOWN,
                                              .memory_total_bytes = device->memory_total_bytes,
                                              .memory_used_bytes = device->memory_used_bytes,
                                              .memory_free_bytes = device->memory_free_bytes};
        bool is_told = false;
        size_t at = overview->part_count;
        if (!add_part(overview, i, &whole) ||
            (device->partition_count && !add_partitions(overview, meter, i, &is_told)))
            return false;
        if (is_told)
            forget_memory(&overview->parts[at]);
    }
    return true;
}

/* --- sources and sums ----------------------------------------------------------------------------------- */

/* Returns the state of a source; JOULE_PENDING while its lane opens it. */
static struct overview_source describe(struct lane *lane, const struct source *source)
{
    pthread_mutex_lock(&lane->lock);
    joule_status state = lane->opened ? source->state : JOULE_PENDING;
    pthread_mutex_unlock(&lane->lock);
    return (struct overview_source){source->ops->name, source->ops->measurement, source->ops->tier, state};
}

static bool gather_sources(struct overview *overview, joule_meter *meter)
{
    overview->source_count = 0;
    for (size_t l = 0; l < meter->lane_count; l++)
        for (size_t s = 0; s < meter->lanes[l]->source_count; s++) {
            if (!ARRAY_ROOM(overview->sources, overview->source_capacity, overview->source_count))
                return false;
            overview->sources[overview->source_count++] =
                describe(meter->lanes[l], meter->lanes[l]->sources[s]);
        }
    return true;
}

/* Fills the sums. *out_total is the cover of JOULE_TOTAL. */
static void gather_sums(struct overview *overview, joule_meter *meter, struct cover *out_total)
{
    static const struct {
        int32_t id;
        const char *part;
    } sums[OVERVIEW_SUMS] = {[OVERVIEW_TOTAL] = {JOULE_TOTAL, "all"},
                             [OVERVIEW_CPU] = {JOULE_CPU, "cpu"},
                             [OVERVIEW_GPU] = {JOULE_GPU, "gpu"}};
    for (size_t i = 0; i < OVERVIEW_SUMS; i++) {
        struct overview_sum *sum = &overview->sums[i];
        struct cover cover;
        *sum = (struct overview_sum){.part = sums[i].part};
        meter_cover(meter, sums[i].id, meter->begin_ns, meter_now_ns(meter), &cover);
        meter_cover_name(meter, &cover, sum->cover, sizeof sum->cover);
        sum->is_partial = cover.is_partial;
        joule_energy_joules(meter, sums[i].id, &sum->joules);
        joule_power_watts(meter, sums[i].id, &sum->watts);
        if (i == OVERVIEW_TOTAL)
            *out_total = cover;
    }
}

bool overview_gather(struct overview *overview, joule_meter *meter)
{
    struct joule_host *host = meter->host;
    host_read_text(host, "/proc/sys/kernel/hostname", overview->hostname, sizeof overview->hostname);
    overview->unix_time_s = (double)host->ops->clock_ns(host, CLOCK_REALTIME) * 1e-9;
    overview->age_s = (double)(meter_now_ns(meter) - meter->begin_ns) * 1e-9;
    overview->period_s = meter->period_s;
    overview->overhead_cpu_s = meter_overhead_cpu_s(meter);
    struct cover total;
    gather_sums(overview, meter, &total);
    return gather_domains(overview, meter, &total) && gather_devices(overview, meter) &&
           gather_parts(overview, meter) && gather_sources(overview, meter);
}

void overview_free(struct overview *overview)
{
    free(overview->domains);
    free(overview->devices);
    free(overview->parts);
    free(overview->sources);
    *overview = (struct overview){0};
}
