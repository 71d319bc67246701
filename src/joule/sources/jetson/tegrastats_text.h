/* joule/sources/jetson/tegrastats_text.h - a line of NVIDIA's tegrastats.
 *
 * Owns its words, as every generation writes them. Newcomers: of "NAME 900/943" the first figure is the power now, in
 * milliwatts with or without the unit, and the second the mean since tegrastats was started, which is of no use. On AGX
 * Xavier rails and temperatures have the same names: a rail is followed by a blank, a temperature by '@'.
 */
#ifndef JOULE_TEGRASTATS_TEXT_H
#define JOULE_TEGRASTATS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define TEGRASTATS_MOST_RAILS 24

struct tegrastats {
    size_t rail_count;
    struct tegrastats_rail {
        char name[32];
        double watts;
    } rails[TEGRASTATS_MOST_RAILS];
    double gpu_busy;                   /* 0 to 1; NaN: not told */
    double gpu_megahertz, gpu_celsius; /* NaN: not told, or the sensor is off */
};

/* What a line tells that says nothing: no rail, and all else NaN. */
struct tegrastats tegrastats_unknown(void);
/* The last whole line of `text`, which ends in a newline. False: there is none of tegrastats. */
bool tegrastats_parse(const char *text, struct tegrastats *out_stats);

#endif
