/* joule/sources/node/pdu_meter.h - reads metered plugs together, for the sources that use them. */
#ifndef JOULE_PDU_METER_H
#define JOULE_PDU_METER_H

#include "joule/sources/node/pdu_table.h"
#include "joule/sources/source.h"

struct pdu_meter {
    struct pdu_plugs plugs;
    double unit_watts[PDU_MAX_PLUGS]; /* watts per count, including the decimals */
};

/* Opens the listed plugs and reads them once. On failure sets the source's state and remedy, which name
 * `variable`. */
joule_status pdu_meter_open(struct source *source, const char *variable, const char *plugs,
                            struct pdu_meter *out_meter);
/* Reads the sum of all plugs. The sum is unknown if a plug does not answer. Blocks for seconds. */
joule_status pdu_meter_read(struct source *source, const struct pdu_meter *meter, double *out_watts);

#endif
