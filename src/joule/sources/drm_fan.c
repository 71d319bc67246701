/* joule/sources/drm_fan.c - see drm_fan.h. */
#include "joule/sources/drm_fan.h"

#include <math.h>
#include "base/string.h"

#define MAX_FANS 8
#define MAX_RPM  30000 /* drivers report 65535 for "unknown" */
#define MAX_DUTY 255   /* maximum of pwm1 if there is no file pwm1_max */

static double read_number(struct joule_host *host, const char *hwmon, const char *file)
{
    char path[128];
    uint64_t value;
    string_print(path, sizeof path, "%s/%s", hwmon, file);
    return host_read_u64(host, path, &value) ? (double)value : NAN;
}

static double read_fan(struct joule_host *host, const char *hwmon, unsigned number, const char *suffix)
{
    char file[24];
    string_print(file, sizeof file, "fan%u_%s", number, suffix);
    double rpm = read_number(host, hwmon, file);
    return rpm <= MAX_RPM ? rpm : NAN;
}

static double read_duty(struct joule_host *host, const char *hwmon)
{
    double duty = read_number(host, hwmon, "pwm1"), max = read_number(host, hwmon, "pwm1_max");
    if (!(max > 0))
        max = MAX_DUTY;
    return duty <= max ? duty / max : NAN;
}

void drm_fan_read(struct joule_host *host, const char *hwmon, bool has_duty, struct device_facts *facts)
{
    for (unsigned number = 1; number <= MAX_FANS; number++) {
        double rpm = read_fan(host, hwmon, number, "input"), max = read_fan(host, hwmon, number, "max");
        if (isnan(rpm))
            break;
        if (rpm <= facts->fan_rpm)
            continue;
        facts->fan_rpm = rpm;
        facts->fan_ratio = max > 0 ? rpm / max : NAN;
    }
    if (has_duty && isfinite(read_duty(host, hwmon)))
        facts->fan_ratio = read_duty(host, hwmon);
}
