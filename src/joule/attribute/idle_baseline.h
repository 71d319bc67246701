/* joule/attribute/idle_baseline.h - measures idle power and subtracts it from a later run.
 *
 * Note: the gain error of a sensor is the same in both terms and cancels in the subtracted part. The
 * variation of the machine's idle power does not cancel.
 */
#ifndef JOULE_IDLE_BASELINE_H
#define JOULE_IDLE_BASELINE_H

#include "joule/meter/engine.h"

/* Returns the mean power of a domain, in watts, from begin_ns to end_ns, while the machine was idle. The
 * estimate has the error cause CAUSE_IDLE for the variation of power between parts of the interval. Common
 * errors of the sensors keep their causes. The estimate is unknown if the domain's energy is unknown. */
struct estimate baseline_watts(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns);

/* Returns `total` minus `idle`, in joules. idle: the joules of an idle machine over the same time. */
joule_quantity baseline_net(const struct estimate *total, const struct estimate *idle);

#endif
