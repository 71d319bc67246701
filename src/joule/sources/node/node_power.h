/* joule/sources/node/node_power.h - adds the channel for the power of the whole machine.
 *
 * The channel is the same for management controllers, power supplies and outlets. Note: all are views of the
 * zone "node", and the best one that answers is used. */
#ifndef JOULE_NODE_POWER_H
#define JOULE_NODE_POWER_H

#include "joule/sources/source.h"

struct node_power {
    const char *name, *label;
    uint32_t rank;  /* RANK_NODE_... */
    uint32_t cause; /* its number among the causes CAUSE_HWMON_GAIN; different for each meter */
    double gain_sd, max_watts;
};

/* Adds the channel, with the period of the source's ops. Returns NULL if out of memory. */
struct channel *source_add_node_power(struct source *source, const struct node_power *power);

#endif
