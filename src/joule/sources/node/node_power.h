/* joule/sources/node/node_power.h - adds the channel for the power of the whole machine.
 *
 * The sources of management controllers, power supplies and metered plugs use this function. Note: all these
 * channels are views of the zone "node". The view with the lowest rank that answers is used. */
#ifndef JOULE_NODE_POWER_H
#define JOULE_NODE_POWER_H

#include "joule/sources/source.h"

struct node_power {
    const char *name, *label;
    uint32_t rank;  /* RANK_NODE_... */
    uint32_t cause; /* instance of CAUSE_HWMON_GAIN, different for each meter */
    double gain_sd, max_watts;
};

/* Adds the channel. The channel's update period is period_s of the source's ops. The source's arena owns the
 * channel. Returns NULL if out of memory. */
struct channel *source_add_node_power(struct source *source, const struct node_power *power);

#endif
