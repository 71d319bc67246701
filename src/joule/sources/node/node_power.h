/* joule/sources/node/node_power.h - the power of the whole machine, as something outside its processors tells it.
 *
 * Owns the channel that is the same whoever tells: management controller, power supplies or plugs. Asking is a source's.
 * Newcomers: all are views of the one zone "node", of which the best that answers counts.
 */
#ifndef JOULE_NODE_POWER_H
#define JOULE_NODE_POWER_H

#include "joule/sources/source.h"

struct node_power {
    const char *name, *label;
    uint32_t rank;  /* RANK_NODE_ */
    uint32_t cause; /* its own among those of CAUSE_HWMON_GAIN */
    double gain_sd, most_watts;
};

/* Read once in the period of the source's ops. NULL when memory is used up. */
struct channel *source_add_node_power(struct source *source, const struct node_power *power);

#endif
