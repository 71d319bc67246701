/* hal/rates.h - the rates and prices of a device, from which a schedule computes seconds and joules.
 *
 * Note: the rates are those that good kernels reach, not peaks of data sheets.
 */
#ifndef FORGE_HAL_RATES_H
#define FORGE_HAL_RATES_H

#include <joule/quantity.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Levels of memory from which a core gets bytes, nearest first. */
enum rate_level { RATE_L2, RATE_LLC, RATE_MEMORY, RATE_LEVELS };

/* The rates and prices of one device. */
struct device_rates {
    unsigned cores;      /* number of cores that a launch can use; at least 1 */
    double flop_per_s;   /* of one core, in f32; in f64 the rate is half */
    double l2_bytes;     /* second-level cache of one core; 0: none */
    double llc_bytes;    /* last-level cache, which all cores share; 0: none */
    double launch_s;     /* additional seconds per launch, in which its cores wake and wait */
    double static_watts; /* power that does not depend on the number of busy cores */
    double core_watts;   /* additional power of each busy core */
    double flop_joules;
    double core_bytes_per_s[RATE_LEVELS];  /* bytes/s that one core gets from each level */
    double total_bytes_per_s[RATE_LEVELS]; /* bytes/s that all cores together get at most; INFINITY: no limit
                                            * but that of the cores */
    double byte_joules[RATE_LEVELS];
    bool is_calibrated; /* the rates or the prices were measured by `joule calibrate` */
};

/* Returns the level from which `cores` cores read a value, if they use `distance` bytes between its last use
 * and this one. */
static inline enum rate_level rates_level(const struct device_rates *rates, unsigned cores, double distance)
{
    if (distance <= cores * rates->l2_bytes)
        return RATE_L2;
    return distance <= rates->llc_bytes ? RATE_LLC : RATE_MEMORY;
}

/* The part of a launch's work that only its device knows. */
struct launch_work {
    double plain_s; /* seconds of a reference kernel on one core; 0: the launch has a kernel of the
                     * instruction set */
    size_t parts;   /* number of parts into which the launch can be divided; at least 1 */
};

#endif
