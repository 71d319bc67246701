/* tools/top/format.c - see format.h. */
#include "format.h"

#include <joule/devices.h>
#include <math.h>
#include <string.h>
#include "base/string.h"

static char *unknown(char out[FORMAT_SIZE])
{
    string_copy(out, FORMAT_SIZE, UNKNOWN);
    return out;
}

/* Shows values below 0.001 as 0, because microwatts are not useful in a live view. */
static char *quantity(double value, joule_dimension dimension, char out[FORMAT_SIZE])
{
    if (isnan(value))
        return unknown(out);
    double shown = fabs(value) < 1e-3 ? 0 : value;
    if (shown == 0)
        string_print(out, FORMAT_SIZE, "0 %s", dimension == JOULE_DIMENSION_POWER ? "W" : "J");
    else
        joule_format(shown, dimension, 3, out, FORMAT_SIZE);
    return out;
}

char *format_power(double watts, char out[FORMAT_SIZE])
{
    return quantity(watts, JOULE_DIMENSION_POWER, out);
}

char *format_energy(double joules, char out[FORMAT_SIZE])
{
    return quantity(joules, JOULE_DIMENSION_ENERGY, out);
}

char *format_range(joule_quantity q, char *(*format)(double, char *), char out[FORMAT_SIZE])
{
    char low[FORMAT_SIZE], high[FORMAT_SIZE];
    *out = '\0';
    if (isnan(q.value))
        return out;
    format(q.low, low);
    format(q.high, high);
    char *unit = strchr(low, ' '), *same = strchr(high, ' ');
    if (unit && same && strcmp(unit, same) == 0)
        *unit = '\0';
    string_print(out, FORMAT_SIZE, "%s to %s", low, high);
    return out;
}

char *format_share(double share, char out[FORMAT_SIZE])
{
    if (isnan(share))
        return unknown(out);
    double percent = 100 * share;
    string_print(out, FORMAT_SIZE, "%.*f%%", percent > 0 && percent < 9.95 ? 1 : 0, percent);
    return out;
}

char *format_celsius(double celsius, char out[FORMAT_SIZE])
{
    if (isnan(celsius))
        return unknown(out);
    string_print(out, FORMAT_SIZE, "%.0f C", celsius);
    return out;
}

/* Returns the index into `units` with which the number is below 1000. *out_scale: bytes per unit. */
static int unit_of(uint64_t bytes, double *out_scale)
{
    int unit = 0;
    for (*out_scale = 1; unit < 5 && (double)bytes / *out_scale >= 999.5; unit++)
        *out_scale *= 1024;
    return unit;
}

static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};

static int decimals(double value)
{
    return value != 0 && value < 9.95 ? 1 : 0;
}

char *format_bytes(uint64_t bytes, char out[FORMAT_SIZE])
{
    if (bytes == JOULE_BYTES_UNKNOWN)
        return unknown(out);
    double scale;
    int unit = unit_of(bytes, &scale);
    double value = (double)bytes / scale;
    string_print(out, FORMAT_SIZE, "%.*f %s", unit ? decimals(value) : 0, value, units[unit]);
    return out;
}

char *format_memory(uint64_t used, uint64_t total, char out[FORMAT_SIZE])
{
    if (used == JOULE_BYTES_UNKNOWN || total == JOULE_BYTES_UNKNOWN) {
        format_bytes(used == JOULE_BYTES_UNKNOWN ? total : used, out);
        if (used == JOULE_BYTES_UNKNOWN && total != JOULE_BYTES_UNKNOWN) {
            char alone[FORMAT_SIZE];
            string_copy(alone, sizeof alone, out);
            string_print(out, FORMAT_SIZE, "-/%s", alone);
        }
        return out;
    }
    double scale;
    int unit = unit_of(total, &scale);
    double part = (double)used / scale, whole = (double)total / scale;
    string_print(out, FORMAT_SIZE, "%.*f/%.*f %s", decimals(part), part, decimals(whole), whole, units[unit]);
    return out;
}

char *format_time(double seconds, char out[FORMAT_SIZE])
{
    if (isnan(seconds) || seconds < 0)
        return unknown(out);
    long long s = (long long)seconds;
    string_print(out, FORMAT_SIZE, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    return out;
}

char class_letter(joule_class cls)
{
    static const char letters[] = " md~?";
    return (unsigned)cls < sizeof letters - 1 ? letters[cls] : '?';
}

enum style class_style(joule_class cls)
{
    static const enum style styles[] = {STYLE_DIM, STYLE_MEASURED, STYLE_DERIVED, STYLE_MODELLED,
                                        STYLE_ASSUMED};
    return (unsigned)cls < sizeof styles / sizeof *styles ? styles[cls] : STYLE_ASSUMED;
}
