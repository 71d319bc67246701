/* joule/sources/apple/apple_text.c - parses the output of macmon and powermetrics. See apple_power.h.
 *
 * Note: macmon's keys changed in version 0.8.0. Version 0.8.1 prints the old keys, too. The order of keys is
 * not fixed. A property list of powermetrics contains energies in millijoules per interval. The interval is a
 * few milliseconds longer than requested. The text form contains powers in milliwatts instead. */
#include <math.h>
#include <string.h>
#include "base/json.h"
#include "base/string.h"
#include "joule/sources/apple/apple_power.h"

#define MAX_WATTS 2000.0

static double check(double value, double max)
{
    return value >= 0 && value <= max ? value : NAN;
}

/* --- macmon --------------------------------------------------------------------------------------------- */

static double read_value(const struct json_value *line, const char *name, double max)
{
    const struct json_value *value = json_member(line, name);
    return value && value->kind == JSON_NUMBER ? check(json_double_of(value), max) : NAN;
}

/* Returns an item of "gpu_usage", which is [MHz, ratio] until macmon 0.7. */
static double read_usage(const struct json_value *line, size_t item, double max)
{
    const struct json_value *pair = json_member(line, "gpu_usage");
    const struct json_value *value = pair && pair->kind == JSON_ARRAY ? pair->first : NULL;
    for (; value && item; item--)
        value = value->next;
    return value && value->kind == JSON_NUMBER ? check(json_double_of(value), max) : NAN;
}

static double first_known(double a, double b)
{
    return isnan(a) ? b : a;
}

static bool parse_line(const struct json_value *line, struct apple_power *out_power)
{
    static const char *const names[APPLE_PARTS] = {"cpu_power", "gpu_power",     "ane_power",
                                                   "ram_power", "gpu_ram_power", "sys_power"};
    *out_power = apple_power_unknown();
    for (int part = 0; part < APPLE_PARTS; part++)
        out_power->watts[part] = read_value(line, names[part], MAX_WATTS);
    if (!(out_power->watts[APPLE_SYSTEM] > 0)) /* 0 if the sensor cannot be read */
        out_power->watts[APPLE_SYSTEM] = NAN;
    out_power->gpu_busy = first_known(read_value(line, "gpu_active_ratio", 1), read_usage(line, 1, 1));
    out_power->gpu_megahertz = first_known(read_value(line, "gpu_freq_mhz", 1e4), read_usage(line, 0, 1e4));
    out_power->gpu_celsius = read_value(json_member(line, "temp"), "gpu_temp_avg", 200);
    return !isnan(out_power->watts[APPLE_CPU]);
}

bool macmon_parse(char *text, struct apple_power *out_power)
{
    char *end = strrchr(text, '\n');
    if (!end)
        return false;
    *end = '\0';
    char *start = strrchr(text, '\n');
    start = start ? start + 1 : text;
    struct arena arena = {0};
    const struct json_value *line = json_parse(&arena, start, strlen(start), "macmon", NULL);
    bool found = line && parse_line(line, out_power);
    arena_free(&arena);
    return found;
}

/* --- powermetrics: text --------------------------------------------------------------------------------- */

/* Returns the watts on the line that begins with `label`, such as "CPU Power: 823 mW", or NaN if no such line
 * exists. */
static double find_milliwatts(const char *text, const char *label)
{
    double value;
    for (const char *at = strstr(text, label); at; at = strstr(at + 1, label)) {
        if (at != text && at[-1] != '\n')
            continue;
        const char *end = string_scan_double(at + strlen(label), &value);
        if (end && string_starts(end, " mW"))
            return check(value * 1e-3, MAX_WATTS);
    }
    return NAN;
}

static const char *find_last(const char *text, const char *wanted)
{
    const char *last = NULL;
    for (const char *at = strstr(text, wanted); at; at = strstr(at + 1, wanted))
        last = at;
    return last;
}

static bool parse_text(const char *text, struct apple_power *out_power)
{
    const char *report = find_last(text, "*** Sampled system activity");
    *out_power = apple_power_unknown();
    if (!report)
        return false;
    out_power->watts[APPLE_CPU] = find_milliwatts(report, "CPU Power: ");
    out_power->watts[APPLE_GPU] = find_milliwatts(report, "GPU Power: ");
    out_power->watts[APPLE_NEURAL] = find_milliwatts(report, "ANE Power: ");
    out_power->watts[APPLE_MEMORY] = find_milliwatts(report, "DRAM Power: "); /* up to macOS 12 */
    return !isnan(out_power->watts[APPLE_CPU]);
}

/* --- powermetrics: property lists ----------------------------------------------------------------------- */

/* Returns the number after a key, such as "<key>cpu_energy</key><integer>823</integer>", or NaN if the key is
 * missing. */
static double find_key(const char *list, const char *key)
{
    char tag[64];
    double value;
    string_print(tag, sizeof tag, "<key>%s</key>", key);
    const char *at = strstr(list, tag);
    if (!at)
        return NAN;
    at += strlen(tag);
    at += strspn(at, " \t\r\n");
    if (!string_starts(at, "<integer>") && !string_starts(at, "<real>"))
        return NAN;
    const char *end = string_scan_double(strchr(at, '>') + 1, &value);
    return end && *end == '<' && value >= 0 ? value : NAN;
}

/* Parses one property list. Returns false if the list is incomplete or contains no power of the CPU. */
static bool parse_list(const char *list, struct apple_power *out_power)
{
    double elapsed_s = find_key(list, "elapsed_ns") * 1e-9;
    const char *processor = strstr(list, "<key>processor</key>");
    *out_power = apple_power_unknown();
    if (!processor || !(elapsed_s > 0) || !strstr(processor, "</plist>"))
        return false;
    out_power->watts[APPLE_CPU] = check(find_key(processor, "cpu_energy") * 1e-3 / elapsed_s, MAX_WATTS);
    out_power->watts[APPLE_GPU] = check(find_key(processor, "gpu_energy") * 1e-3 / elapsed_s, MAX_WATTS);
    out_power->watts[APPLE_NEURAL] = check(find_key(processor, "ane_energy") * 1e-3 / elapsed_s, MAX_WATTS);
    out_power->watts[APPLE_MEMORY] = check(find_key(processor, "dram_energy") * 1e-3 / elapsed_s, MAX_WATTS);
    return !isnan(out_power->watts[APPLE_CPU]);
}

bool powermetrics_parse(const char *text, size_t length, struct apple_power *out_power)
{
    bool found = false;
    struct apple_power power;
    for (const char *part = text; part < text + length;
         part += strlen(part) + 1) /* the text itself also ends with NUL */
        if (parse_list(part, &power) || parse_text(part, &power)) {
            *out_power = power;
            found = true;
        }
    return found;
}
