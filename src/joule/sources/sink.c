/* joule/sources/sink.c - calls the functions of a sink's owner; see source.h. */
#include "joule/sources/source.h"

int64_t sink_now(struct sink *sink)
{
    return sink->host->ops->clock_ns(sink->host, CLOCK_MONOTONIC);
}

void sink_counter(struct sink *sink, struct channel *channel, int64_t before_ns, int64_t after_ns,
                  uint64_t raw)
{
    sink->ops->counter(sink, channel, before_ns, after_ns, raw);
}

void sink_power(struct sink *sink, struct channel *channel, int64_t sensor_ns, double watts)
{
    sink->ops->power(sink, channel, sensor_ns, watts);
}

void sink_fail(struct sink *sink, struct channel *channel, joule_status status)
{
    sink->ops->fail(sink, channel, status);
}

void sink_energy(struct sink *sink, struct channel *channel, int64_t sensor_ns, double joules)
{
    if (sink->ops->energy)
        sink->ops->energy(sink, channel, sensor_ns, joules);
}

void sink_gauge(struct sink *sink, struct channel *channel, double value)
{
    if (sink->ops->gauge)
        sink->ops->gauge(sink, channel, value);
}

void sink_break(struct sink *sink, struct channel *channel)
{
    if (sink->ops->discontinuity)
        sink->ops->discontinuity(sink, channel);
}

void sink_facts(struct sink *sink, struct device *device, const struct device_facts *facts)
{
    if (sink->ops->facts)
        sink->ops->facts(sink, device, facts);
}

void sink_device_fail(struct sink *sink, struct device *device, joule_status status)
{
    if (sink->ops->device_fail)
        sink->ops->device_fail(sink, device, status);
}
