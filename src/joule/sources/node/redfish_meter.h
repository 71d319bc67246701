/* joule/sources/node/redfish_meter.h - reads power from a management controller over Redfish, for all sources
 * that need it. */
#ifndef JOULE_REDFISH_METER_H
#define JOULE_REDFISH_METER_H

#include "joule/sources/node/redfish_text.h"
#include "joule/sources/source.h"

/* Initialise with zeros. */
struct redfish_meter {
    const char *config;  /* the file that describes the controller */
    const char *program; /* path of joule-redfish; NULL: not found yet */
    char targets[REDFISH_MAX_READINGS][sizeof((struct redfish_reading *)0)->target];
    size_t target_count; /* 0: the next reading searches the sensors */
    unsigned readings;   /* number of readings since the meter was opened */
};

/* Finds and reads the sensors of the controller that the file `config` describes. On failure sets the
 * source's state and remedy, and returns this state. Blocks for up to a minute. */
joule_status redfish_meter_open(struct source *source, const char *config, struct redfish_meter *out_meter,
                                struct redfish_text *out_text);
/* Reads the sensors again into *out_text. Returns the program's status. Blocks for seconds. */
joule_status redfish_meter_read(struct source *source, struct redfish_meter *meter,
                                struct redfish_text *out_text);

#endif
