/* support/sensor.c - see sensor.h. */
#include "support/sensor.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct load load_steady(double watts)
{
    return (struct load){.levels = {{0, watts}}, .count = 1};
}

void load_add(struct load *load, double from_s, double watts)
{
    if (load->count < LOAD_LEVELS) {
        load->levels[load->count].from_s = from_s;
        load->levels[load->count++].watts = watts;
    }
}

/* Returns the joules from time 0 to t_s. The last level continues to apply; the list of levels is not
 * repeated. */
static double joules_of_levels(const struct load *load, double t_s)
{
    double joules = 0;
    for (size_t i = 0; i < load->count && load->levels[i].from_s < t_s; i++) {
        double end_s = i + 1 < load->count ? fmin(load->levels[i + 1].from_s, t_s) : t_s;
        joules += load->levels[i].watts * (end_s - load->levels[i].from_s);
    }
    return joules;
}

double load_joules(const struct load *load, double t_s)
{
    if (!(load->repeat_s > 0))
        return joules_of_levels(load, t_s);
    double rounds = floor(t_s / load->repeat_s);
    return rounds * joules_of_levels(load, load->repeat_s) +
           joules_of_levels(load, t_s - rounds * load->repeat_s);
}

/* --- the register --------------------------------------------------------------------------------------- */

static bool is_on(const struct trouble *trouble, double t_s)
{
    return t_s >= trouble->from_s && (!(trouble->until_s > 0) || t_s < trouble->until_s);
}

static double tick_before(const struct sensor *sensor, double t_s)
{
    return sensor->tick_s > 0 ? floor(t_s / sensor->tick_s + 1e-9) * sensor->tick_s : t_s;
}

int sensor_count(void *context, int64_t time_ns, uint64_t *out_count)
{
    const struct sensor *sensor = context;
    double t_s = (double)time_ns * 1e-9, gain = sensor->gain > 0 ? sensor->gain : 1;
    double start_joules = sensor->start_joules, origin_s = 0;
    for (size_t i = 0; i < SENSOR_TROUBLES; i++) {
        const struct trouble *trouble = &sensor->troubles[i];
        if (trouble->kind == TROUBLE_NONE || !is_on(trouble, t_s))
            continue;
        if (trouble->kind == TROUBLE_REFUSE)
            return -trouble->error;
        if (trouble->kind == TROUBLE_FREEZE)
            t_s = trouble->from_s;
        else if (trouble->kind == TROUBLE_STEP)
            start_joules += trouble->joules;
        else {
            origin_s = trouble->from_s;
            start_joules = 0;
        }
    }
    double joules = load_joules(sensor->load, tick_before(sensor, t_s)) - load_joules(sensor->load, origin_s);
    uint64_t count = (uint64_t)(fmax(0, start_joules + gain * joules) / sensor->unit_joules);
    *out_count = sensor->modulus ? count % sensor->modulus : count;
    return 0;
}

ssize_t sensor_microjoules(void *context, int64_t time_ns, char *text, size_t size)
{
    const struct sensor *sensor = context;
    uint64_t count;
    int rc = sensor_count(context, time_ns, &count);
    if (rc != 0)
        return rc;
    return snprintf(text, size, "%" PRIu64 "\n", (uint64_t)((double)count * sensor->unit_joules * 1e6));
}

ssize_t sensor_microwatts(void *context, int64_t time_ns, char *text, size_t size)
{
    const struct sensor *sensor = context;
    uint64_t count;
    int rc = sensor_count(context, time_ns, &count);
    if (rc != 0)
        return rc;
    double tick_s = tick_before(sensor, (double)time_ns * 1e-9) + 1e-6;
    double watts = (load_joules(sensor->load, tick_s) - load_joules(sensor->load, tick_s - 1e-6)) / 1e-6;
    return snprintf(text, size, "%.0f\n", watts * 1e6);
}

/* --- the kernel's count --------------------------------------------------------------------------------- */

static int kernel_count_at(struct kernel_count *kernel, int64_t time_ns)
{
    uint64_t raw;
    int rc = sensor_count(kernel->sensor, time_ns, &raw);
    if (rc != 0)
        return rc;
    int32_t step = (int32_t)((uint32_t)raw - kernel->previous);
    if (kernel->is_open)
        kernel->count += (uint64_t)((int64_t)step * (INT64_C(1) << (32 - kernel->register_bits)));
    kernel->is_open = true;
    kernel->previous = (uint32_t)raw;
    return 0;
}

int kernel_count_value(void *context, int64_t time_ns, uint64_t *out_count)
{
    struct kernel_count *kernel = context;
    int64_t period_ns = (int64_t)(kernel->timer_s * 1e9);
    if (!kernel->is_open)
        kernel->beat_ns = time_ns;
    while (period_ns > 0 && kernel->beat_ns + period_ns < time_ns)
        kernel_count_at(kernel, kernel->beat_ns += period_ns);
    int rc = kernel_count_at(kernel, time_ns);
    *out_count = kernel->count;
    return rc;
}
