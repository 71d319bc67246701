/* joule/sources/rack/rack.h - accelerators in a separate rack, which report no power.
 *
 * The user sets one variable, either to the meter of their power or to their watts:
 *   JOULE_CEREBRAS="pdu raritan:pdu1:outlet.1.7"   PDU outlets, in the form of JOULE_PDU; class derived
 *   JOULE_CEREBRAS="redfish /etc/joule/cs.conf"    controller, in the form of JOULE_REDFISH; class derived
 *   JOULE_CEREBRAS="watts 9000,20000"              watts when idle and at full load; class assumed */
#ifndef JOULE_RACK_H
#define JOULE_RACK_H

#include "joule/sources/device.h"
#include "joule/sources/hwmon/watts_pair.h"
#include "joule/sources/node/pdu_meter.h"
#include "joule/sources/node/redfish_meter.h"

#define RACK_PERIOD_S  5.0
#define RACK_MAX_WATTS 100000.0

/* The devices of one manufacturer. */
struct rack_kind {
    const char *domain, *variable; /* such as "cerebras", "JOULE_CEREBRAS" */
    const char *kind, *vendor;     /* of the devices, such as "wse", "cerebras" */
    uint32_t cause;                /* index of CAUSE_GPU_GAIN for these devices */
};

struct rack_meter {
    enum { RACK_NONE, RACK_PDU, RACK_REDFISH, RACK_WATTS } method; /* RACK_NONE: nothing is configured */
    struct pdu_meter pdu;
    struct redfish_meter redfish;
    enum redfish_view view;  /* RACK_REDFISH: the power value of the controller that is read */
    struct watts_pair watts; /* RACK_WATTS */
    struct channel *channel; /* NULL: nothing is configured */
};

/* Adds a device of this kind. `name` is its serial number or name, or empty. The source's arena owns the
 * device. Returns NULL if out of memory. */
struct device *rack_add_device(struct source *source, const struct rack_kind *kind, const char *model,
                               const char *name);
/* Opens the meter that kind->variable describes, and adds one channel for all devices of the source. If the
 * variable is not set, returns OK without a channel. On failure sets the source's state and remedy. */
joule_status rack_meter_open(struct source *source, const struct rack_kind *kind,
                             struct rack_meter *out_meter);
/* Reads the meter, if one is configured, and reports its power to `sink`. share: for RACK_WATTS, the fraction
 * of time in which the devices worked, 0 to 1, or NaN if unknown. May block for seconds. */
void rack_meter_read(struct source *source, struct rack_meter *meter, struct sink *sink, double share);

#endif
