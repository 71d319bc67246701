/* joule/sources/node/redfish_text.h - parses the output of joule-redfish.
 *
 * The lines of the output are "model TEXT", "reading KIND WATTS PATH" and "failed STATUS TEXT".
 * Note: the paths come from a machine on the network and become arguments of the program, so only words that
 * begin with '/' are accepted. */
#ifndef JOULE_REDFISH_TEXT_H
#define JOULE_REDFISH_TEXT_H

#include <stddef.h>
#include <joule/base.h>

#define REDFISH_MAX_READINGS 16

/* Views, best first: input of the power supplies, the chassis' EnvironmentMetrics, the older PowerControl. */
enum redfish_view { REDFISH_SUPPLIES, REDFISH_CHASSIS, REDFISH_CONTROL, REDFISH_VIEWS };

struct redfish_text {
    char model[96];
    size_t count;
    struct redfish_reading {
        enum redfish_view view;
        double watts;     /* NaN: unknown */
        char target[224]; /* KIND:PATH */
    } readings[REDFISH_MAX_READINGS];
    joule_status status; /* status of the program; OK: all readings are present */
    char reason[160];    /* set if status is not OK */
};

/* Parses the output. Ignores lines that are invalid or unknown. */
void redfish_parse(const char *text, struct redfish_text *out_text);
/* Returns the sum of a view's readings, or NaN if one is unknown or if there is none. */
double redfish_watts(const struct redfish_text *text, enum redfish_view view);

#endif
