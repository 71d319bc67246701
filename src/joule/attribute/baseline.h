/* joule/attribute/baseline.h - idle power: learnt in a quiet moment, taken off a later run.
 *
 * Owns what a baseline is worth at another time, and the difference of the two. Where it is kept is its user's business.
 * Newcomers: what was read with the same sensor errs alike, so that its error of scale leaves the difference with the part
 * that is taken off; how much the machine's idling varies does not.
 */
#ifndef JOULE_BASELINE_H
#define JOULE_BASELINE_H

#include "joule/meter/engine.h"

/* Mean power over a stretch in which the machine idled. Under CAUSE_IDLE stands how far parts of it differ; the sensors'
 * common errors stay under their own causes. Unknown where the domain is. */
struct estimate baseline_watts(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns);

/* `total` joules less what idling alone would have used meanwhile. */
joule_quantity baseline_net(const struct estimate *total, const struct estimate *idle);

#endif
