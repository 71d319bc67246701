/* joule/sources/jetson/tegrastats_text.h - parses a line of NVIDIA's tegrastats, from any kind of Jetson.
 *
 * Note: in "NAME 900/943" the first number is the current power in milliwatts, with or without the unit. The
 * second is the mean since tegrastats was started, which is not used. On AGX Xavier, rails and temperatures
 * have the same names. A blank follows the name of a rail, '@' the name of a temperature. */
#ifndef JOULE_TEGRASTATS_TEXT_H
#define JOULE_TEGRASTATS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define TEGRASTATS_MAX_RAILS 24

struct tegrastats {
    size_t rail_count;
    struct tegrastats_rail {
        char name[32];
        double watts;
    } rails[TEGRASTATS_MAX_RAILS];
    double gpu_busy;                   /* 0 to 1; NaN: not reported */
    double gpu_megahertz, gpu_celsius; /* NaN: not reported, or the sensor is off */
};

/* Returns stats with no rail and all values NaN. */
struct tegrastats tegrastats_unknown(void);
/* Parses the last complete line of `text`. Returns false if it is not a line of tegrastats. */
bool tegrastats_parse(const char *text, struct tegrastats *out_stats);

#endif
