/* joule/sources/node/pdu_meter.h - reads the metered plugs that a user lists in an environment variable, and
 * returns the sum of their power. */
#ifndef JOULE_PDU_METER_H
#define JOULE_PDU_METER_H

#include "joule/sources/node/pdu_table.h"
#include "joule/sources/source.h"

struct pdu_meter {
    struct pdu_plugs plugs;
    double unit_watts[PDU_MAX_PLUGS]; /* watts per count, including the decimals */
};

/* Parses the list `plugs`, the value of the environment variable `variable`, and reads each plug once. On
 * failure sets the source's state and remedy, and returns this state. Blocks for seconds. */
joule_status pdu_meter_open(struct source *source, const char *variable, const char *plugs,
                            struct pdu_meter *out_meter);
/* Writes the sum of the power of all plugs, in watts. Fails if one plug does not answer. Blocks for seconds.
 */
joule_status pdu_meter_read(struct source *source, const struct pdu_meter *meter, double *out_watts);

#endif
