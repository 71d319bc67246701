/* joule/sources/jetson/tegrastats_text.c - see tegrastats_text.h.
 *
 * A line consists of words, separated by single blanks. Unknown words are skipped. */
#include "joule/sources/jetson/tegrastats_text.h"

#include <math.h>
#include <string.h>
#include "base/string.h"

#define OFF_CELSIUS (-256) /* temperature of a sensor that is switched off */
#define MAX_DIGITS  9

/* Parses digits at *at and advances *at past them. Returns false if there are none or too many. */
static bool scan_digits(const char **at, double *out_value)
{
    size_t digits = strspn(*at, "0123456789");
    double value = 0;
    for (size_t i = 0; i < digits; i++)
        value = 10 * value + ((*at)[i] - '0');
    *at += digits;
    *out_value = value;
    return digits > 0 && digits <= MAX_DIGITS;
}

static bool scan_milliwatts(const char **at, double *out_value)
{
    if (!scan_digits(at, out_value))
        return false;
    *at += 2 * string_starts(*at, "mW");
    return true;
}

/* Parses a word such as "900/943", "4654mW/4654mW" or "5139mW/5139mW/5139mW". */
static bool scan_power(const char *word, double *out_watts)
{
    double now, mean, max;
    const char *at = word;
    if (!scan_milliwatts(&at, &now) || *at++ != '/' || !scan_milliwatts(&at, &mean))
        return false;
    if (*at == '/' && (at++, !scan_milliwatts(&at, &max)))
        return false;
    *out_watts = now * 1e-3;
    return *at == '\0';
}

static bool is_rail_name(const char *word)
{
    return *word >= 'A' && *word <= 'Z' &&
           strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(word) &&
           strlen(word) < sizeof((struct tegrastats_rail *)0)->name;
}

/* Parses "12%@[1300,1300]", "0%@76", "0%" or "@[1000,1000,1000]". Uses the first clock. */
static void scan_load(const char *word, struct tegrastats *stats)
{
    double percent, megahertz;
    const char *at = word;
    if (scan_digits(&at, &percent) && *at == '%' && percent <= 100)
        stats->gpu_busy = percent / 100;
    const char *clock = strchr(word, '@');
    if (!clock)
        return;
    clock += 1 + (clock[1] == '[');
    if (scan_digits(&clock, &megahertz))
        stats->gpu_megahertz = megahertz;
}

/* Parses "gpu@47.625C/47.625C" or "GPU@41C". */
static void scan_temperature(const char *word, struct tegrastats *stats)
{
    double celsius;
    if (!string_starts(word, "gpu@") && !string_starts(word, "GPU@"))
        return;
    const char *end = string_scan_double(word + strlen("gpu@"), &celsius);
    if (end && *end == 'C' && celsius > OFF_CELSIUS && celsius < 1000)
        stats->gpu_celsius = celsius;
}

static void parse_word(const char *previous, const char *word, struct tegrastats *stats)
{
    double watts;
    if (strcmp(previous, "GR3D_FREQ") == 0)
        scan_load(word, stats);
    scan_temperature(word, stats);
    if (stats->rail_count == TEGRASTATS_MAX_RAILS || !is_rail_name(previous) || !scan_power(word, &watts))
        return;
    struct tegrastats_rail *rail = &stats->rails[stats->rail_count++];
    string_copy(rail->name, sizeof rail->name, previous);
    rail->watts = watts;
}

struct tegrastats tegrastats_unknown(void)
{
    return (struct tegrastats){.gpu_busy = NAN, .gpu_megahertz = NAN, .gpu_celsius = NAN};
}

/* Returns the start of the last complete line, or NULL if there is none. Sets *out_end to its end. */
static const char *find_last_line(const char *text, const char **out_end)
{
    const char *end = strrchr(text, '\n');
    if (!end)
        return NULL;
    *out_end = end;
    while (end > text && end[-1] != '\n')
        end--;
    return end;
}

bool tegrastats_parse(const char *text, struct tegrastats *out_stats)
{
    char words[2][64] = {"", ""};
    const char *end = NULL, *at = find_last_line(text, &end);
    *out_stats = tegrastats_unknown();
    bool has_memory = false;
    for (size_t i = 0; at && at < end; i++) {
        at += strspn(at, " \r");
        size_t length = strcspn(at, " \r\n");
        struct text word;
        text_init(&word, words[i % 2], sizeof words[0]);
        words[i % 2][0] = '\0';
        text_add_bytes(&word, at, length);
        at += length;
        has_memory = has_memory || strcmp(words[i % 2], "RAM") == 0;
        if (i)
            parse_word(words[(i + 1) % 2], words[i % 2], out_stats);
    }
    return has_memory || out_stats->rail_count > 0;
}
