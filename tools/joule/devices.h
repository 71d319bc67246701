/* tools/joule/devices.h - the data of `joule devices`, between gathering and printing.
 *
 * joule_devices.c fills the listing and prints the table; devices_json.c prints the JSON object.
 *
 * Note: names and remedies of sources belong to the meter, which must outlive the listing.
 */
#ifndef JOULE_TOOLS_DEVICES_H
#define JOULE_TOOLS_DEVICES_H

#include <joule/joule.h>
#include "devices_entry.h"

struct row {
    joule_domain domain;
    joule_quantity watts; /* power of energy and power domains; else unknown */
    double gauge;         /* for a gauge: its value, see joule_gauge; NaN: unknown */
    size_t rank;          /* position of the domain's source in `sources` */
};

struct source_row {
    const char *name, *measurement, *remedy;
    uint32_t tier;
    joule_status state;
    size_t domain_count;
};

struct listing {
    struct arena arena; /* memory of all arrays */
    struct row *rows;
    size_t row_count;
    struct source_row *sources;
    size_t source_count;
    struct device_row *devices;
    size_t device_count;
    joule_quantity total_watts;
    const char *total_cover;
    bool is_partial, colour;
    size_t width; /* in characters */
};

/* Prints the listing (`context`) as one line of JSON, see docs/devices.schema.json. */
void listing_json(const void *context, struct text *out);

#endif
