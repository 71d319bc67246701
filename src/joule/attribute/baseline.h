/* joule/attribute/baseline.h - measures idle power and subtracts it from a later run.
 *
 * Note: errors of the same sensor's gain cancel in the subtracted part. Variation of the
 * machine's idle power does not.
 */
#ifndef JOULE_BASELINE_H
#define JOULE_BASELINE_H

#include "joule/meter/engine.h"

/* Returns the mean power in watts over an interval in which the machine was idle. CAUSE_IDLE holds the
 * variation between parts of the interval; the sensors' common errors keep their own causes. Unknown if
 * the domain is unknown. */
struct estimate baseline_watts(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns);

/* Returns `total` joules minus the joules of idling over the same time. */
joule_quantity baseline_net(const struct estimate *total, const struct estimate *idle);

#endif
