/* joule/report/overview.c - see overview.h. Sources that still look for their hardware are PENDING; then their own fields are
 * not touched, as their lane may be writing them. */
#include "joule/report/overview.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "joule/engine.h"

static bool is_gauge(const joule_domain *domain)
{
    return domain->reading != JOULE_READING_ENERGY && domain->reading != JOULE_READING_POWER;
}

static double age_s(joule_meter *meter, size_t index, int64_t now_ns)
{
    const struct meter_channel *mc = &meter->channels[index];
    pthread_mutex_lock(&mc->lane->lock);
    int64_t read_ns = mc->channel->read_ns;
    pthread_mutex_unlock(&mc->lane->lock);
    return read_ns ? fmax(0, (double)(now_ns - read_ns) * 1e-9) : NAN;
}

static bool gather_domains(struct overview *overview, joule_meter *meter)
{
    size_t count = joule_domain_count(meter);
    int64_t now_ns = meter_now_ns(meter);
    overview->domain_count = 0;
    if (!array_reserve((void **)&overview->domains, &overview->domain_capacity, count,
                       sizeof *overview->domains))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct overview_domain row = {.domain.struct_size = sizeof row.domain,
                                      .joules = quantity_unknown(),
                                      .watts = quantity_unknown(),
                                      .gauge = NAN};
        if (joule_domain_get(meter, i, &row.domain) != JOULE_OK)
            continue;
        if (is_gauge(&row.domain)) {
            joule_gauge(meter, row.domain.id, &row.gauge);
        } else {
            joule_energy_joules(meter, row.domain.id, &row.joules);
            joule_power_watts(meter, row.domain.id, &row.watts);
        }
        row.age_s = age_s(meter, i, now_ns);
        overview->domains[overview->domain_count++] = row;
    }
    return true;
}

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

static void gather_sums(struct overview *overview, joule_meter *meter)
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
    gather_sums(overview, meter);
    return gather_domains(overview, meter) && gather_sources(overview, meter);
}

void overview_free(struct overview *overview)
{
    free(overview->domains);
    free(overview->sources);
    *overview = (struct overview){0};
}
