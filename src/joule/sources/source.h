/* joule/sources/source.h - the interface of a source: one way of reading hardware.
 *
 * A source fills a table of functions (struct source_ops). It finds its hardware through the host, describes
 * each value that it can read as a channel, and reads all channels on request. The meter provides threads and
 * clocks, and does the arithmetic. To add a source, write one file with a source_ops and add one line to
 * table.c. */
#ifndef JOULE_SOURCE_H
#define JOULE_SOURCE_H

#include <joule/domain.h>
#include "base/arena.h"
#include "joule/curve/counter.h"
#include "joule/curve/curve.h"
#include "joule/host/host.h"
#include "joule/curve/integrate.h"
#include "joule/sources/mirror.h"
#include "joule/sources/cpu/cpu_info.h"

enum channel_mode {
    CHANNEL_COUNTER, /* raw counts, reported with sink_counter */
    CHANNEL_POWER,   /* watts, reported with sink_power */
    /* joules since the last reading, which the sensor itself computes; reported with sink_energy */
    CHANNEL_ENERGY,
    CHANNEL_GAUGE, /* degrees Celsius, megahertz or a ratio, reported with sink_gauge */
};

/* The quantity that a device's gauge measures. The meter selects gauges by role. */
enum gauge_role {
    ROLE_NONE,
    ROLE_BUSY,        /* fraction of time in which anything ran */
    ROLE_MEMORY_BUSY, /* fraction of time in which memory was read or written */
    ROLE_TEMPERATURE, /* temperature of the chip; the highest if there are several sensors */
    ROLE_MEMORY_TEMPERATURE,
    ROLE_CLOCK, /* clock of the compute units */
    ROLE_MEMORY_CLOCK,
    ROLE_SM_ACTIVITY,
    ROLE_TENSOR_ACTIVITY,
    ROLE_DRAM_ACTIVITY,
};

struct channel {
    /* Set by the source in open. */
    joule_domain info; /* name, label, device, scope, reading, class, vendor, model, uuid, update period */
    enum channel_mode mode;
    enum gauge_role role;
    /* the measured hardware: "cpu0/package", "gpu0/board"; equal zones mean views of the same hardware */
    char zone[48];
    char parent_zone[48]; /* the zone that contains this one; empty: none */
    /* Relative error of the sensor's scale, as one standard deviation. Channels with the same `cause` share
     * this error. */
    double gain_sd;
    uint32_t cause;
    /* RANK_...: if a zone has several views, the view with the lowest rank that answers is used. */
    uint32_t rank;
    /* CHANNEL_COUNTER: the source sets modulus, unit_joules, max_watts, tick_s. */
    struct counter counter;
    struct integrator integrator; /* CHANNEL_POWER and CHANNEL_ENERGY: the source sets period_s */
    /* Updated by the lane, under its lock. */
    struct curve curve;
    double gauge;
    int64_t read_ns; /* time of the last successful reading; 0: none yet */
    uint64_t readings, failures;
    bool moved; /* the curve has risen at least once, so the channel can be trusted */
    /* time of the last reading that showed power, or of the first reading; unused for counters */
    int64_t used_ns;
    struct {
        int64_t begin_ns, end_ns;
    } still;              /* the longest time in which readings showed no energy */
    struct mirror mirror; /* for package counters: whether this counter repeats the energy of another one */
};

/* Ranks of the views of one zone, the best one first. */
enum {
    RANK_PERF = 10,
    RANK_POWERCAP = 20,
    RANK_POWERCAP_MMIO = 25,
    RANK_MSR = 30,
    RANK_HELPER = 35, /* joule-helper's readings of the views above */
    RANK_DRIVER = 40,
    RANK_BOARD = 50,
    /* Sensors of the whole machine: an outlet, the power supplies, the chassis or control value of the
     * management controller (BMC), or other sensors of the BMC. */
    RANK_NODE_PDU = 51,
    RANK_NODE_SUPPLIES = 52,
    RANK_NODE_CHASSIS = 53,
    RANK_NODE_CONTROL = 54,
    RANK_NODE_IPMI = 55,
    RANK_INTEGRATED = 60,
    RANK_PROGRAM = 70, /* output of a vendor's program */
    RANK_MODEL = 100
};

struct device;       /* device.h */
struct device_facts; /* device.h */
struct gpu_list;     /* device.h */

struct source {
    const struct source_ops *ops;
    struct joule_host *host;
    const struct cpu_info *cpu; /* describes this machine */
    struct gpu_list *gpus;      /* for gpu_index */
    struct arena arena;         /* holds channels, names and the source's data; freed after close */
    struct channel **channels;  /* added by open with source_add_channel */
    size_t channel_count;
    struct device **devices; /* added by open with source_add_device */
    size_t device_count;
    /* Sampling period of a slow source, set by open if it differs from ops->period_s; otherwise 0. */
    double period_s;
    bool is_named;      /* the user named this source, instead of requesting all sources */
    joule_status state; /* result of open */
    char remedy[192];   /* what the user can do if state is not OK */
    void *data;         /* the source's own data, in the arena */
};

struct sink;
/* Receives the values that a source reads. The owner of the source implements these functions: a lane adds
 * points to curves (lane_sink.c), joule-helper stores values for its clients. Sources call the sink_...
 * functions below instead. */
struct sink_ops {
    void (*counter)(struct sink *sink, struct channel *channel, int64_t before_ns, int64_t after_ns,
                    uint64_t raw);
    void (*power)(struct sink *sink, struct channel *channel, int64_t sensor_ns, double watts);
    void (*fail)(struct sink *sink, struct channel *channel, joule_status status);
    /* The functions below may be NULL if the owner does not use their values. */
    void (*energy)(struct sink *sink, struct channel *channel, int64_t sensor_ns, double joules);
    void (*gauge)(struct sink *sink, struct channel *channel, double value);
    void (*discontinuity)(struct sink *sink, struct channel *channel);
    void (*facts)(struct sink *sink, struct device *device, const struct device_facts *facts);
    void (*device_fail)(struct sink *sink, struct device *device, joule_status status);
};
struct sink {
    const struct sink_ops *ops;
    struct joule_host *host;
};

/* Returns the host's CLOCK_MONOTONIC in nanoseconds. */
int64_t sink_now(struct sink *sink);
/* Reports the raw count of a counter. before_ns and after_ns: times from sink_now just before and after the
 * hardware access. If both are 0, the owner uses the times before and after the whole read. */
void sink_counter(struct sink *sink, struct channel *channel, int64_t before_ns, int64_t after_ns,
                  uint64_t raw);
/* Report a value of a channel: watts, joules since the last reading, or a gauge. sensor_ns: the sensor's own
 * CLOCK_MONOTONIC timestamp, or 0. A source may report several samples, oldest first. An impossible value
 * (not a number, negative, above the channel's max_watts) is rejected: the channel is FAILED until the next
 * reading. */
void sink_power(struct sink *sink, struct channel *channel, int64_t sensor_ns, double watts);
void sink_energy(struct sink *sink, struct channel *channel, int64_t sensor_ns, double joules);
void sink_gauge(struct sink *sink, struct channel *channel, double value);
/* Marks a discontinuity, such as a device's reset: the energy between the last reading and the next is
 * unknown. */
void sink_break(struct sink *sink, struct channel *channel);
/* Reports a failed reading: the channel is in state `status` until its next successful reading. */
void sink_fail(struct sink *sink, struct channel *channel, joule_status status);
/* Report the facts of a device, or that querying it failed with `status`. Call them only from
 * source_ops.query. */
void sink_facts(struct sink *sink, struct device *device, const struct device_facts *facts);
void sink_device_fail(struct sink *sink, struct device *device, joule_status status);

struct source_ops {
    const char *name; /* such as "rapl_perf" */
    /* name of the kind of measurement in reports; docs/report.schema.json lists all */
    const char *measurement;
    uint32_t tier;
    bool is_slow; /* uses a vendor's library, a bus or the network, so it has its own lane and thread */
    /* The readings carry the sensor's timestamps, so the time of the read does not matter. */
    bool is_stamped;
    /* The source is slow to open and reports no energy. It is opened only if devices are queried, and no
     * caller waits for it. */
    bool is_late;
    /* Folders in which all of the source's hardware would appear, separated by colons. If all are missing or
     * empty, a program that only measures does not open the source. NULL: the hardware can be found only by
     * opening the source. */
    const char *folder;
    /* Environment variable that configures the source; NULL: none. If the source has no folder, it is opened
     * only if the variable is set. Otherwise the variable names the library or program to use instead, and
     * the source is also opened if the variable is set. */
    const char *variable;
    double period_s; /* preferred sampling period; 0: the meter's period */
    /* Finds the hardware and adds channels. Returns OK if there is at least one channel. Otherwise returns
     * ABSENT, DENIED or another status, with the reason in source->remedy. A zone that exists but cannot be
     * read is still added, with info.state DENIED and a remedy, so that users can see it. */
    joule_status (*open)(struct source *source);
    void (*read)(struct source *source, struct sink *sink);
    /* Reports the facts of the source's devices with sink_facts. Called about once a second, if devices are
     * queried. May be NULL. */
    void (*query)(struct source *source, struct sink *sink);
    void (*close)(struct source *source); /* closes handles only; may be NULL */
    /* Closes the handles of a channel that is no longer read. If NULL, the handles remain open until
     * close. */
    void (*close_channel)(struct source *source, const struct channel *channel);
};

/* Adds a zeroed channel with the source's name, measurement and tier, and the default max_watts and cls. The
 * source's arena owns the channel. Returns NULL if out of memory. */
struct channel *source_add_channel(struct source *source);
/* Makes the channel a gauge of the quantity of `role`; ROLE_NONE means a ratio. zone: the zone that the gauge
 * describes, or empty. */
void channel_set_gauge(struct channel *channel, enum gauge_role role, const char *zone);
/* Sets state and remedy. `remedy` is a printf format. Returns `status`. */
joule_status source_set_state(struct source *source, joule_status status, const char *remedy, ...)
    __attribute__((format(printf, 3, 4)));

struct source_output {
    size_t length; /* length of the text */
    int exit_status;
};
/* Runs a vendor's program as host_ops.run does. Returns OK if the program ended, with any exit status.
 * Returns STALE if the program was stopped at the timeout; `text` then contains its output so far. Other
 * errors are as in status_of_errno. */
joule_status source_run(struct source *source, const char *const *argv, int64_t timeout_ns, char *text,
                        size_t size, struct source_output *out);

/* Detects a counter that does not move, so that a source can report UNSUPPORTED instead of 0 J. The counter
 * of a working board moves several times a second, also when the board is idle. */
struct standstill {
    uint64_t counts;
    int64_t since_ns; /* 0: none read yet */
};
/* Returns true if the count has stayed the same for 2 s. now_ns: from sink_now. */
bool standstill_check(struct standstill *still, int64_t now_ns, uint64_t counts);

/* All sources of this build, in the order in which users see them, ended by NULL. */
extern const struct source_ops *const source_table[];

#endif
