/* support/sensor.h - energy counters with known truth, and with the faults of real counters.
 *
 * Models the true power of a part of a scripted machine, the register that counts it, and the kernel's 64-bit
 * count of that register. machine.h adds them as files and events. Note: a register counts from time 0 in its
 * own unit, wraps at its modulus, and changes only at its ticks. Faults change what a register shows, not the
 * truth. */
#ifndef TEST_SENSOR_H
#define TEST_SENSOR_H

#include "joule/host/host.h"

#define LOAD_LEVELS     64
#define SENSOR_TROUBLES 4

/* True power as a list of levels. A level's watts apply from its time from_s on. The first level begins at 0.
 * If repeat_s is above 0, the list repeats after this time. */
struct load {
    struct {
        double from_s, watts;
    } levels[LOAD_LEVELS];
    size_t count;
    double repeat_s;
};

struct load load_steady(double watts);
/* Adds a level after the last one; from_s must increase. */
void load_add(struct load *load, double from_s, double watts);
/* Returns the true joules from time 0 to t_s. */
double load_joules(const struct load *load, double t_s);

enum trouble_kind {
    TROUBLE_NONE,
    TROUBLE_FREEZE,  /* from from_s until until_s, shows the count of from_s */
    TROUBLE_STEP,    /* from from_s until until_s, shows `joules` more (or fewer, if negative) */
    TROUBLE_RESTART, /* restarts from count 0 */
    TROUBLE_REFUSE,  /* fails with -error */
};

struct trouble {
    enum trouble_kind kind;
    double from_s, until_s; /* until_s 0 means no end */
    double joules;
    int error;
};

struct sensor {
    const struct load *load;
    double unit_joules;  /* joules per count */
    uint64_t modulus;    /* in counts; 0 means 2^64 */
    double tick_s;       /* seconds between changes; 0 means that the count changes continuously */
    double start_joules; /* joules counted at time 0 */
    double gain;         /* ratio of shown to true energy; 0 means 1 */
    struct trouble troubles[SENSOR_TROUBLES];
};

int sensor_count(void *sensor, int64_t time_ns, uint64_t *out_count);               /* script_value_fn */
ssize_t sensor_microjoules(void *sensor, int64_t time_ns, char *text, size_t size); /* script_file_fn */
/* script_file_fn that shows the power at the last tick. */
ssize_t sensor_microwatts(void *sensor, int64_t time_ns, char *text, size_t size);

/* The kernel's count in units of 2^-32 J. At each reading and each tick of its timer, the kernel adds the
 * register's difference as a signed 32-bit number. */
struct kernel_count {
    struct sensor *sensor;
    int register_bits; /* the register's unit is 2^-register_bits J */
    double timer_s;
    bool is_open;
    uint32_t previous;
    int64_t beat_ns;
    uint64_t count;
};

int kernel_count_value(void *kernel_count, int64_t time_ns, uint64_t *out_count); /* script_value_fn */

#endif
