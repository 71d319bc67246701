/* bench/nvml/poll.c - polls each sensor as fast as it responds, and records when its value changes.
 *
 * There is one thread for each field, one for the driver's ring of samples, and one for GPM, because a slow
 * call would hide changes of other sensors. Note: a change happens between the end of the last call with the
 * old value and the end of the first call with the new one; both times are recorded.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include "probe.h"

#define MAX_EVENTS  40000
#define RING_SIZE   4096
#define IDLE_GAP_US 300 /* pause between polls, so that other threads can acquire the driver's locks */

enum poll_kind { POLL_FIELD, POLL_USAGE, POLL_COUNTER, POLL_RING, POLL_GPM };

struct event {
    /* before_us: end of the last call with the old value. after_us: end of the first call with the new
     * value. */
    int64_t before_us, after_us;
    int64_t stamp_us; /* the driver's timestamp; 0 means none */
    double value;
};

struct poller {
    struct probe *probe;
    enum poll_kind kind;
    const char *name;
    unsigned id, scope; /* id and scope of a field; for POLL_RING, id is the kind of samples */
    int64_t end_us;
    struct event *events;
    size_t count;
    uint64_t calls, failures;
    pthread_t thread;
    bool is_running;
};

static bool read_value(const struct poller *poller, double *out_value, int64_t *out_stamp_us)
{
    const struct nvml_api *api = &poller->probe->api;
    *out_stamp_us = 0;
    if (poller->kind == POLL_USAGE) {
        unsigned milliwatts = 0;
        if (api->DeviceGetPowerUsage == NULL ||
            api->DeviceGetPowerUsage(poller->probe->device, &milliwatts) != NVML_SUCCESS)
            return false;
        *out_value = milliwatts;
        return true;
    }
    if (poller->kind == POLL_COUNTER) {
        unsigned long long millijoules = 0;
        if (api->DeviceGetTotalEnergyConsumption == NULL ||
            api->DeviceGetTotalEnergyConsumption(poller->probe->device, &millijoules) != NVML_SUCCESS)
            return false;
        *out_value = (double)millijoules;
        return true;
    }
    struct nvml_field field = {.id = poller->id, .scope = poller->scope};
    if (api->DeviceGetFieldValues == NULL ||
        api->DeviceGetFieldValues(poller->probe->device, 1, &field) != NVML_SUCCESS ||
        field.status != NVML_SUCCESS)
        return false;
    *out_value = nvml_value_double(field.value_type, field.value);
    *out_stamp_us = field.time_us;
    return true;
}

static void keep(struct poller *poller, struct event event)
{
    if (poller->count < MAX_EVENTS)
        poller->events[poller->count++] = event;
}

static void poll_changes(struct poller *poller)
{
    double last = -1;
    int64_t before_us = now_us();
    while (before_us < poller->end_us) {
        struct event event = {.before_us = before_us};
        bool ok = read_value(poller, &event.value, &event.stamp_us);
        event.after_us = now_us();
        poller->calls++;
        if (!ok && ++poller->failures > 20)
            return;
        if (ok && event.value != last) {
            keep(poller, event);
            last = event.value;
        }
        before_us = event.after_us;
        sleep_us(IDLE_GAP_US);
    }
}

static void poll_ring(struct poller *poller)
{
    const struct nvml_api *api = &poller->probe->api;
    struct nvml_sample *samples = calloc(RING_SIZE, sizeof *samples);
    unsigned long long last_us = 0;
    while (api->DeviceGetSamples != NULL && samples != NULL && now_us() < poller->end_us) {
        int type = NVML_VALUE_TYPE_UNSIGNED_INT;
        unsigned count = RING_SIZE;
        int64_t before_us = now_us();
        nvml_return got =
            api->DeviceGetSamples(poller->probe->device, (int)poller->id, last_us, &type, &count, samples);
        int64_t after_us = now_us();
        poller->calls++;
        if (got != NVML_SUCCESS && got != NVML_ERROR_NOT_FOUND && ++poller->failures > 20)
            break;
        for (unsigned i = 0; got == NVML_SUCCESS && i < count && count <= RING_SIZE; i++) {
            keep(poller, (struct event){before_us, after_us, (int64_t)samples[i].time_us,
                                        nvml_value_double((uint32_t)type, samples[i].value)});
            if (samples[i].time_us > last_us)
                last_us = samples[i].time_us;
        }
        sleep_us(20000);
    }
    free(samples);
}

static const unsigned gpm_ids[] = {NVML_GPM_METRIC_GRAPHICS_UTIL, NVML_GPM_METRIC_SM_UTIL,
                                   NVML_GPM_METRIC_ANY_TENSOR_UTIL, NVML_GPM_METRIC_DRAM_BW_UTIL,
                                   NVML_GPM_METRIC_FP32_UTIL};
#define GPM_COUNT (sizeof gpm_ids / sizeof gpm_ids[0])

/* Polls GPM metrics. Only one thread does this, so the file needs no lock. */
static void poll_gpm(struct poller *poller)
{
    const struct nvml_api *api = &poller->probe->api;
    nvml_gpm_sample samples[2] = {NULL, NULL};
    struct nvml_gpm_metrics *metrics = calloc(1, sizeof *metrics);
    if (metrics == NULL || api->GpmSampleAlloc == NULL || api->GpmSampleGet == NULL ||
        api->GpmMetricsGet == NULL || api->GpmSampleAlloc(&samples[0]) != NVML_SUCCESS ||
        api->GpmSampleAlloc(&samples[1]) != NVML_SUCCESS)
        goto done;
    if (api->GpmSampleGet(poller->probe->device, samples[0]) != NVML_SUCCESS)
        goto done;
    for (int turn = 1; now_us() < poller->end_us; turn ^= 1) {
        sleep_us(250000);
        int64_t before_us = now_us();
        nvml_return got = api->GpmSampleGet(poller->probe->device, samples[turn]);
        int64_t sampled_us = now_us();
        *metrics = (struct nvml_gpm_metrics){.version = 1, .count = GPM_COUNT};
        metrics->before = samples[turn ^ 1];
        metrics->after = samples[turn];
        for (size_t i = 0; i < GPM_COUNT; i++)
            metrics->metrics[i].id = gpm_ids[i];
        nvml_return computed = api->GpmMetricsGet(metrics);
        fprintf(poller->probe->gpm, "%s,%lld,%lld,%lld,%d,%d", poller->name, (long long)sampled_us,
                (long long)(sampled_us - before_us), (long long)(now_us() - sampled_us), got, computed);
        for (size_t i = 0; i < GPM_COUNT; i++)
            fprintf(poller->probe->gpm, ",%d,%.3f", metrics->metrics[i].status, metrics->metrics[i].value);
        fputc('\n', poller->probe->gpm);
    }
done:
    for (int i = 0; i < 2; i++) {
        if (samples[i] != NULL && api->GpmSampleFree != NULL)
            api->GpmSampleFree(samples[i]);
    }
    free(metrics);
}

static void *poll_main(void *argument)
{
    struct poller *poller = argument;
    if (poller->kind == POLL_RING)
        poll_ring(poller);
    else if (poller->kind == POLL_GPM)
        poll_gpm(poller);
    else
        poll_changes(poller);
    return NULL;
}

static void write_events(const struct poller *poller, const char *phase)
{
    FILE *file = poller->kind == POLL_RING ? poller->probe->ring : poller->probe->polls;
    for (size_t i = 0; i < poller->count; i++) {
        const struct event *event = &poller->events[i];
        fprintf(file, "%s,%s,%lld,%lld,%lld,%.0f\n", phase, poller->name, (long long)event->before_us,
                (long long)event->after_us, (long long)event->stamp_us, event->value);
    }
    fprintf(poller->probe->facts, "polled %s %s: %llu calls, %llu failures, %zu values kept\n", phase,
            poller->name, (unsigned long long)poller->calls, (unsigned long long)poller->failures,
            poller->count);
}

void poll_sensors(struct probe *probe, const char *phase, double seconds)
{
    int64_t end_us = now_us() + (int64_t)(seconds * 1e6);
    struct poller pollers[] = {
        {.kind = POLL_COUNTER, .name = "counter"},
        {.kind = POLL_FIELD, .name = "energy191", .id = NVML_FI_DEV_ENERGY},
        {.kind = POLL_FIELD, .name = "instant186", .id = NVML_FI_DEV_POWER_INSTANT},
        {.kind = POLL_FIELD, .name = "average185", .id = NVML_FI_DEV_POWER_AVERAGE},
        {.kind = POLL_FIELD,
         .name = "memory185",
         .id = NVML_FI_DEV_POWER_AVERAGE,
         .scope = NVML_POWER_SCOPE_MEMORY},
        {.kind = POLL_FIELD,
         .name = "memory186",
         .id = NVML_FI_DEV_POWER_INSTANT,
         .scope = NVML_POWER_SCOPE_MEMORY},
        {.kind = POLL_FIELD,
         .name = "module186",
         .id = NVML_FI_DEV_POWER_INSTANT,
         .scope = NVML_POWER_SCOPE_MODULE},
        {.kind = POLL_USAGE, .name = "usage"},
        {.kind = POLL_RING, .name = "ring", .id = NVML_TOTAL_POWER_SAMPLES},
        {.kind = POLL_GPM, .name = phase},
    };
    const size_t count = sizeof pollers / sizeof pollers[0];
    for (size_t i = 0; i < count; i++) {
        pollers[i].probe = probe;
        pollers[i].end_us = end_us;
        pollers[i].events = malloc(MAX_EVENTS * sizeof *pollers[i].events);
        pollers[i].is_running = pollers[i].events != NULL &&
                                pthread_create(&pollers[i].thread, NULL, poll_main, &pollers[i]) == 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (pollers[i].is_running)
            pthread_join(pollers[i].thread, NULL);
        if (pollers[i].kind != POLL_GPM)
            write_events(&pollers[i], phase);
        free(pollers[i].events);
    }
}
