/* joule/sources/source.h - one way of reading hardware.
 *
 * Owns the table of functions that each source fills, and the channel: one value that a source can read. A source
 * finds its hardware through the host, describes each channel once, and then reads all of them on request; it has
 * no threads, no clocks and no arithmetic of its own.
 * Newcomers: to add a source write one file with a source_ops and add one line to table.c.
 */
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
    CHANNEL_COUNTER, /* raw counts: sink_counter */
    CHANNEL_POWER,   /* watts: sink_power */
    CHANNEL_ENERGY,  /* joules used since the last reading, as the meter itself says: sink_energy */
    CHANNEL_GAUGE,   /* degrees Celsius, megahertz or a share: sink_gauge */
};

/* What a gauge of a device says: how it is found again. */
enum gauge_role {
    ROLE_NONE,
    ROLE_BUSY,        /* share of time in which anything ran */
    ROLE_MEMORY_BUSY, /* share of time in which memory was read or written */
    ROLE_TEMPERATURE, /* of the chip; of several the highest */
    ROLE_MEMORY_TEMPERATURE,
    ROLE_CLOCK, /* of what computes */
    ROLE_MEMORY_CLOCK,
    ROLE_SM_ACTIVITY,
    ROLE_TENSOR_ACTIVITY,
    ROLE_DRAM_ACTIVITY,
};

struct channel {
    /* Described by the source in open. */
    joule_domain info; /* name, label, device, scope, reading, class, vendor, model, uuid, update period */
    enum channel_mode mode;
    enum gauge_role role;
    char zone[48]; /* what is covered, the same for twin views: "cpu0/package", "cpu0/dram", "gpu0/board" */
    char parent_zone[48]; /* the zone that contains this one; empty: none */
    double gain_sd;       /* relative error of the sensor's scale, one sd, common to `cause` */
    uint32_t cause;
    uint32_t rank;                /* among twin views the lowest that answers wins: see RANK_ */
    struct counter counter;       /* COUNTER: modulus, unit_joules, max_watts, tick_s set by the source */
    struct integrator integrator; /* POWER and ENERGY: period_s ... set by the source */
    /* Kept by the lane, under its lock. */
    struct curve curve;
    double gauge;
    int64_t read_ns; /* last reading that answered; 0: none yet */
    uint64_t readings, failures;
    bool moved;      /* the curve has risen at least once: the channel may be trusted */
    int64_t used_ns; /* last reading that showed power, or the first one; not for counters */
    struct {
        int64_t begin_ns, end_ns;
    } still;              /* the longest time in which readings showed no energy */
    struct mirror mirror; /* PACKAGE counters: whether it repeats another one's energy */
};

/* Twin views of one zone, best first. */
enum {
    RANK_PERF = 10,
    RANK_POWERCAP = 20,
    RANK_POWERCAP_MMIO = 25,
    RANK_MSR = 30,
    RANK_HELPER = 35, /* of what joule-helper reads in one of the ways above */
    RANK_DRIVER = 40,
    RANK_BOARD = 50,
    /* The whole machine from outside. At the plug, supplies, what the controller says of them, or of its own sensors. */
    RANK_NODE_PDU = 51,
    RANK_NODE_SUPPLIES = 52,
    RANK_NODE_CHASSIS = 53,
    RANK_NODE_CONTROL = 54,
    RANK_NODE_IPMI = 55,
    RANK_INTEGRATED = 60,
    RANK_PROGRAM = 70, /* what a vendor's program prints */
    RANK_MODEL = 100
};

struct device;   /* device.h */
struct gpu_list; /* device.h */

struct source {
    const struct source_ops *ops;
    struct joule_host *host;
    const struct cpu_info *cpu; /* of this machine */
    struct gpu_list *gpus;      /* for gpu_index */
    struct arena arena;         /* channels, names, and what the source keeps; freed after close */
    struct channel **channels;  /* filled by open through source_add_channel */
    size_t channel_count;
    struct device **devices; /* filled by open through source_add_device */
    size_t device_count;
    double period_s;    /* set by open of a slow source whose pace is not that of ops; else 0 */
    bool is_named;      /* somebody asked for it by name, and not for all there are */
    joule_status state; /* of open */
    char remedy[192];   /* what to do where state is not OK */
    void *data;         /* the source's own, from the arena */
};

/* Where a source puts what it reads. before_ns and after_ns bracket the hardware access: take them with
 * sink_now; 0, 0 lets the lane use its own stamps around the whole read. */
struct sink;
int64_t sink_now(struct sink *sink);
void sink_counter(struct sink *sink, struct channel *channel, int64_t before_ns, int64_t after_ns,
                  uint64_t raw);
/* sensor_ns: the sensor's own CLOCK_MONOTONIC stamp, or 0. Several samples may be given, oldest first. What cannot be
 * (not a number, negative, above the channel's max_watts) is no reading: the channel is FAILED until the next. */
void sink_power(struct sink *sink, struct channel *channel, int64_t sensor_ns, double watts);
void sink_energy(struct sink *sink, struct channel *channel, int64_t sensor_ns, double joules);
void sink_gauge(struct sink *sink, struct channel *channel, double value);
/* What is read next cannot be compared with what was before, as after a device's reset: the energy between is unknown. */
void sink_break(struct sink *sink, struct channel *channel);
/* The reading failed: the channel is `status` until it answers again. */
void sink_fail(struct sink *sink, struct channel *channel, joule_status status);

struct source_ops {
    const char *name;        /* "rapl_perf" */
    const char *measurement; /* the report's word, from the closed list */
    uint32_t tier;
    bool is_slow; /* vendor library or network: gets a lane and thread of its own */
    /* What it tells was read elsewhere, at times that come along: it does not matter when it is asked. */
    bool is_stamped;
    bool
        is_late; /* slow to find the little that it reads, and no joules: starts when somebody watches, nobody waits */
    /* Where all that it reads would be found, several folders with colons between them; empty or absent: it will find
     * nothing, and who only measures does not open it to learn that. NULL: it must be opened to know. */
    const char *folder;
    /* Environment variable that a source needs to find anything, for sources that must be configured; else
     * NULL. If the source also has a folder, the variable names the library or program to use instead. */
    const char *variable;
    double period_s; /* preferred sampling period; 0: the meter's */
    /* Looks for the hardware and adds channels. OK with at least one channel, or ABSENT, DENIED ... with the
     * reason in source->remedy. A zone that exists but may not be read is still added, with info.state DENIED and
     * a remedy, so that people can see it. */
    joule_status (*open)(struct source *source);
    void (*read)(struct source *source, struct sink *sink);
    /* The facts of its devices, about once a second where somebody asked for devices: sink_facts. May be NULL. */
    void (*look)(struct source *source, struct sink *sink);
    void (*close)(struct source *source); /* handles only; may be NULL */
    /* Closes the handles of a channel that is no longer read. May be NULL: they stay open. */
    void (*drop)(struct source *source, const struct channel *channel);
};

/* A zeroed channel with the source's name, measurement and tier filled in, max_watts and cls at their defaults;
 * NULL when memory is used up. */
struct channel *source_add_channel(struct source *source);
/* Makes it a gauge of what the role says, with ROLE_NONE of a share; `zone`, which may be empty, is the one it tells of. */
void channel_set_gauge(struct channel *channel, enum gauge_role role, const char *zone);
/* Sets state and remedy; returns the status. */
joule_status source_say(struct source *source, joule_status status, const char *remedy, ...)
    __attribute__((format(printf, 3, 4)));

struct source_output {
    size_t length; /* of the text */
    int exit_status;
};
/* Runs a vendor's program, as host_ops.run: OK when it has ended, well or badly. STALE: it did not in time, and `text`
 * holds what it wrote until then. */
joule_status source_run(struct source *source, const char *const *argv, int64_t timeout_ns, char *text,
                        size_t size, struct source_output *out);

/* Whether a board's counter stands: one that works moves several times a second, also when idle. A source that asks this of
 * each reading can say UNSUPPORTED instead of 0 J. True once the same count has come for 2 s. */
struct standstill {
    uint64_t counts;
    int64_t since_ns; /* 0: none read yet */
};
bool standstill_notice(struct standstill *still, int64_t now_ns, uint64_t counts);

/* All sources of this build, ended by NULL, in the order in which people should see them. */
extern const struct source_ops *const source_table[];

#endif
