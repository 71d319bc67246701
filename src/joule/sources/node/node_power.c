/* joule/sources/node/node_power.c - see node_power.h. */
#include "joule/sources/node/node_power.h"

#include "base/string.h"

struct channel *source_add_node_power(struct source *source, const struct node_power *power)
{
    struct channel *ch = source_add_channel(source);
    if (!ch)
        return NULL;
    ch->mode = CHANNEL_POWER;
    ch->rank = power->rank;
    ch->gain_sd = power->gain_sd;
    ch->cause = CAUSE(CAUSE_HWMON_GAIN, power->cause);
    ch->info.scope = JOULE_SCOPE_NODE;
    ch->info.reading = JOULE_READING_POWER;
    ch->info.cls = JOULE_CLASS_DERIVED;
    ch->integrator.period_s = source->ops->period_s;
    ch->integrator.max_watts = power->max_watts;
    string_copy(ch->info.name, sizeof ch->info.name, power->name);
    string_copy(ch->info.label, sizeof ch->info.label, power->label);
    string_copy(ch->info.device, sizeof ch->info.device, "node");
    string_copy(ch->zone, sizeof ch->zone, "node");
    return ch;
}
