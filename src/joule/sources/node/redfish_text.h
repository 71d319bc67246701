/* joule/sources/node/redfish_text.h - what the program joule-redfish prints.
 *
 * Owns its lines: "model WORDS", "reading KIND WATTS PATH", "failed STATUS WORDS". Newcomers: the paths come from a machine on
 * the network and go back to the program as arguments, so only those that can be one are taken.
 */
#ifndef JOULE_REDFISH_TEXT_H
#define JOULE_REDFISH_TEXT_H

#include <stddef.h>
#include <joule/base.h>

#define REDFISH_MOST_READINGS 16

/* Best first: what goes in at the plugs, what the chassis says of itself, an older resource's figure. */
enum redfish_view { REDFISH_SUPPLIES, REDFISH_CHASSIS, REDFISH_CONTROL, REDFISH_VIEWS };

struct redfish_text {
    char model[96];
    size_t count;
    struct redfish_reading {
        enum redfish_view view;
        double watts;     /* NaN: not known */
        char target[224]; /* KIND:PATH */
    } readings[REDFISH_MOST_READINGS];
    joule_status status; /* of the program; OK: all of the readings are there */
    char reason[160];    /* where status is not OK */
};

/* Takes every line that it knows. */
void redfish_parse(const char *text, struct redfish_text *out_text);
/* The sum of a view's readings: NaN where one is not known, or there is none. */
double redfish_watts(const struct redfish_text *text, enum redfish_view view);

#endif
