/* joule/sources/rack/rack.h - accelerators in a separate rack, which report no power.
 *
 * Their power comes from plugs, a management controller or watts, as the user sets in one variable:
 *   JOULE_CEREBRAS="pdu raritan:pdu1:outlet.1.7"   as JOULE_PDU; derived
 *   JOULE_CEREBRAS="redfish /etc/joule/cs.conf"    as JOULE_REDFISH; derived
 *   JOULE_CEREBRAS="watts 9000,20000"              idle and full load; assumed */
#ifndef JOULE_RACK_H
#define JOULE_RACK_H

#include "joule/sources/device.h"
#include "joule/sources/hwmon/watts_pair.h"
#include "joule/sources/node/pdu_meter.h"
#include "joule/sources/node/redfish_meter.h"

#define RACK_PERIOD_S  5.0
#define RACK_MAX_WATTS 100000.0

/* One manufacturer. */
struct rack_kind {
    const char *domain, *variable; /* such as "cerebras", "JOULE_CEREBRAS" */
    const char *kind, *vendor;     /* names of its devices, such as "wse", "cerebras" */
    uint32_t cause;                /* its number among the causes CAUSE_GPU_GAIN */
};

struct rack_meter {
    enum { RACK_NONE, RACK_PDU, RACK_REDFISH, RACK_WATTS } method; /* RACK_NONE: nothing is configured */
    struct pdu_meter pdu;
    struct redfish_meter redfish;
    enum redfish_view view;
    struct watts_pair watts;
    struct channel *channel; /* NULL: none */
};

/* Adds a device of this kind with a serial or name. The source's arena owns it. Returns NULL if out of
 * memory. */
struct device *rack_add_device(struct source *source, const struct rack_kind *kind, const char *model,
                               const char *name);
/* Opens the meter that the variable names, for all devices of the source together. Returns OK also if the
 * variable is not set. On failure sets the source's state and remedy. */
joule_status rack_meter_open(struct source *source, const struct rack_kind *kind,
                             struct rack_meter *out_meter);
/* Reads the meter. share: fraction of time in which its devices worked, 0 to 1; NaN: unknown. Blocks for
 * seconds. */
void rack_meter_read(struct source *source, struct rack_meter *meter, struct sink *sink, double share);

#endif
