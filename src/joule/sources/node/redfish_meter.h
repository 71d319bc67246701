/* joule/sources/node/redfish_meter.h - a management controller that is asked for power, for the sources that
 * have one. */
#ifndef JOULE_REDFISH_METER_H
#define JOULE_REDFISH_METER_H

#include "joule/sources/node/redfish_text.h"
#include "joule/sources/source.h"

/* Begins as zeros. */
struct redfish_meter {
    const char *config;  /* the file that describes the controller */
    const char *program; /* the one that has answered */
    char targets[REDFISH_MOST_READINGS][sizeof((struct redfish_reading *)0)->target];
    size_t target_count; /* 0: they have to be found */
    unsigned readings;   /* since they were */
};

/* Asks the controller that the file `config` describes what it tells. On failure sets the source's state and
 * remedy. */
joule_status redfish_meter_open(struct source *source, const char *config, struct redfish_meter *out_meter,
                                struct redfish_text *out_text);
/* Reads it again. Blocks for seconds. */
joule_status redfish_meter_read(struct source *source, struct redfish_meter *meter,
                                struct redfish_text *out_text);

#endif
