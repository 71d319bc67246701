/* runtime/telemetry.c - see <forge/telemetry.h>.
 *
 * Note: forge_reset_counters only stores the time. Later queries ask libjoule for the joules from this time
 * to the present.
 */
#include <forge/telemetry.h>

#include <joule/meter.h>
#include <math.h>
#include <string.h>
#include "base/clock.h"
#include "forge/hal/backend.h"

static joule_quantity unknown(void)
{
    return (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
}

joule_status forge_reset_counters(forge_device *device)
{
    if (device->ops->expect) {
        device->ops->expect->reset(device);
        return JOULE_OK;
    }
    joule_status status = joule_sample_now(NULL);
    if (status == JOULE_OK)
        atomic_store(&device->reset_ns, clock_now_ns());
    return status;
}

joule_status forge_energy_consumed(forge_device *device, joule_quantity *out_joules)
{
    if (device->ops->expect) {
        *out_joules = device->ops->expect->consumed_joules(device);
        return JOULE_OK;
    }
    int64_t since_ns = atomic_load(&device->reset_ns);
    joule_status status = joule_sample_now(NULL);
    *out_joules = unknown();
    if (status != JOULE_OK)
        return status;
    if (since_ns == 0)
        return joule_energy_joules(NULL, device->ops->energy, out_joules);
    return joule_window_joules(NULL, device->ops->energy, since_ns, clock_now_ns(), out_joules, NULL);
}

joule_status forge_power_draw(forge_device *device, joule_quantity *out_watts)
{
    if (!device->ops->expect)
        return joule_power_watts(NULL, device->ops->energy, out_watts);
    *out_watts = device->ops->expect->power_watts(device);
    return JOULE_OK;
}

static bool is_of(const forge_device *device, const joule_domain *domain)
{
    const char *kind = device->ops->energy == JOULE_GPU ? "gpu" : "cpu";
    return domain->reading == JOULE_READING_TEMPERATURE && strncmp(domain->device, kind, strlen(kind)) == 0;
}

joule_status forge_temperature(forge_device *device, joule_quantity *out_celsius)
{
    *out_celsius = unknown();
    if (device->ops->expect)
        return JOULE_ABSENT;
    for (size_t i = 0; i < joule_domain_count(NULL); i++) {
        joule_domain domain = {.struct_size = sizeof domain};
        double celsius;
        if (joule_domain_get(NULL, i, &domain) == JOULE_OK && is_of(device, &domain) &&
            joule_gauge(NULL, domain.id, &celsius) == JOULE_OK && !(celsius <= out_celsius->value)) {
            out_celsius->value = celsius;
            out_celsius->cls = JOULE_CLASS_MEASURED;
        }
    }
    return isnan(out_celsius->value) ? JOULE_ABSENT : JOULE_OK;
}

double forge_energy_consumed_joules(forge_device *device)
{
    joule_quantity joules;
    forge_energy_consumed(device, &joules);
    return joules.value;
}

double forge_power_draw_watts(forge_device *device)
{
    joule_quantity watts;
    return forge_power_draw(device, &watts) == JOULE_OK ? watts.value : NAN;
}

double forge_temperature_celsius(forge_device *device)
{
    joule_quantity celsius;
    forge_temperature(device, &celsius);
    return celsius.value;
}
