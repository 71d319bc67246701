/* tools/joule/devices.h - what `joule devices` has found, between gathering and printing.
 *
 * Owns the listing. devices.c fills it and prints the table, devices_json.c prints the object for programs.
 * Newcomers: names and remedies of sources are the meter's, which outlives the listing.
 */
#ifndef JOULE_TOOLS_DEVICES_H
#define JOULE_TOOLS_DEVICES_H

#include <joule/joule.h>
#include "device.h"

struct row {
    joule_domain domain;
    joule_quantity watts; /* of energy and power domains */
    double gauge;         /* of the others */
    size_t rank;          /* of its source among all */
};

struct source_row {
    const char *name, *measurement, *remedy;
    uint32_t tier;
    joule_status state;
    size_t domain_count;
};

struct listing {
    struct arena arena; /* rows, and what printing needs */
    struct row *rows;
    size_t row_count;
    struct source_row *sources;
    size_t source_count;
    struct device_row *devices;
    size_t device_count;
    joule_quantity total_watts;
    const char *total_cover;
    bool is_partial, colour;
    size_t width; /* of the page */
};

/* The listing (`context`) as one line of JSON, docs/devices.schema.json. */
void listing_json(const void *context, struct text *out);

#endif
