/* joule/sources/node/redfish_meter.h - reads power from a management controller, for the sources that use
 * one. */
#ifndef JOULE_REDFISH_METER_H
#define JOULE_REDFISH_METER_H

#include "joule/sources/node/redfish_text.h"
#include "joule/sources/source.h"

/* Initialise with zeros. */
struct redfish_meter {
    const char *config;  /* the file that describes the controller */
    const char *program; /* the program that answered */
    char targets[REDFISH_MAX_READINGS][sizeof((struct redfish_reading *)0)->target];
    size_t target_count; /* 0: sensors must be searched */
    unsigned readings;   /* number of readings since the last search */
};

/* Finds the sensors of the controller that the file `config` describes. On failure sets the source's state
 * and remedy. */
joule_status redfish_meter_open(struct source *source, const char *config, struct redfish_meter *out_meter,
                                struct redfish_text *out_text);
/* Reads the sensors again into *out_text. Returns the program's status. Blocks for seconds. */
joule_status redfish_meter_read(struct source *source, struct redfish_meter *meter,
                                struct redfish_text *out_text);

#endif
