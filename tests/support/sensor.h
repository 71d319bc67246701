/* support/sensor.h - energy counters of a known truth, with the troubles that real ones have.
 *
 * Owns the true power of a part of a scripted machine, the register that counts it, and the kernel's 64-bit count made
 * from that register. Where they are to be found is the machine's (machine.h).
 * Newcomers: a register counts from time 0 with its own unit, wraps at its modulus and moves at its ticks only; troubles
 * change what it shows, never the truth.
 */
#ifndef TEST_SENSOR_H
#define TEST_SENSOR_H

#include "joule/host/host.h"

#define LOAD_LEVELS     64
#define SENSOR_TROUBLES 4

/* Watts by level, each from its time on; the first from 0. Starts again every repeat_s where that is > 0. */
struct load {
    struct {
        double from_s, watts;
    } levels[LOAD_LEVELS];
    size_t count;
    double repeat_s;
};

struct load load_steady(double watts);
/* Adds a level after the last one; from_s grows. */
void load_add(struct load *load, double from_s, double watts);
/* True joules from time 0 to t_s. */
double load_joules(const struct load *load, double t_s);

enum trouble_kind {
    TROUBLE_NONE,
    TROUBLE_FREEZE,  /* shows from_s's count until until_s */
    TROUBLE_STEP,    /* counts `joules` more (less where negative) from from_s until until_s */
    TROUBLE_RESTART, /* counts from 0 again */
    TROUBLE_REFUSE,  /* answers -error */
};

struct trouble {
    enum trouble_kind kind;
    double from_s, until_s; /* until_s 0: for good */
    double joules;
    int error;
};

struct sensor {
    const struct load *load;
    double unit_joules;  /* of one count */
    uint64_t modulus;    /* counts; 0: 64 bits */
    double tick_s;       /* 0: moves at any time */
    double start_joules; /* at time 0 */
    double gain;         /* what it shows over the truth; 0: 1 */
    struct trouble troubles[SENSOR_TROUBLES];
};

int sensor_count(void *sensor, int64_t time_ns, uint64_t *out_count);               /* script_value_fn */
ssize_t sensor_microjoules(void *sensor, int64_t time_ns, char *text, size_t size); /* script_file_fn */
ssize_t sensor_microwatts(void *sensor, int64_t time_ns, char *text,
                          size_t size); /* power at the last tick */

/* The kernel's count of 2^-32 J: the register's difference, as a signed number of 32 bits, is added at each reading and
 * at each beat of the kernel's own timer. */
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
