/* joule/cost/calibration.h - what was measured of one machine, in the place of what is typical of its family.
 *
 * Owns the figures of a calibration, the text that they are kept in (docs/calibration.schema.json), whether they are of a given
 * CPU, and putting them into a core and a table. `joule calibrate` makes them; where they lie is known to
 * sources/cpu/cpu_calibration.h.
 * Newcomers: time and energy are calibrated apart. Without a sensor there is no energy, and a table's prices stay assumed.
 */
#ifndef JOULE_COST_CALIBRATION_H
#define JOULE_COST_CALIBRATION_H

#include "joule/cost/core.h"

#define CALIBRATION_SCHEMA "joule-calibration-1"

/* A figure with its 5 % and 95 % points; NaN: there is none. */
struct cost_term {
    double value, low, high;
};

/* How fast a core is. Cycles are those of `hz`. */
struct cost_speeds {
    struct cost_term hz, overlap;
    struct cost_term per_cycle[COST_FEATURES], latency[COST_FEATURES];
    double log_sd;    /* of the cycles of programs that were not fitted */
    double hz_log_sd; /* from one moment to another */
};

/* What work costs. */
struct cost_prices {
    joule_class cls; /* of the source: MEASURED or DERIVED; NONE: no energy was measured */
    char source[48]; /* that the joules came from */
    struct cost_term joules[COST_FEATURES];
    double log_sd; /* of the joules of programs that were not fitted */
};

struct cost_calibration {
    char vendor[24], name[96], uarch[32];
    unsigned family, model, stepping; /* as cost_cpu; model: of Arm, the part */
    bool is_virtual;
    int64_t unix_seconds; /* when it was made */
    char joule_version[24];
    double temperature_celsius; /* NaN: unknown */
    struct cost_speeds speeds;
    struct cost_prices prices;
};

/* From text[0..size), which is changed. INVALID, with a message that begins with `what`, for all that does not keep the
 * schema; NO_MEMORY. */
joule_status cost_calibration_parse(char *text, size_t size, const char *what, struct cost_calibration *out,
                                    joule_error *out_error);
/* Whether it is of this CPU. A guest's is of a guest. */
bool cost_calibration_is_of(const struct cost_calibration *calibration, const struct cost_cpu *cpu,
                            unsigned stepping);
/* Puts what was measured into a core and a table of the same CPU; what was not stays. Caches stay. */
void cost_calibration_apply(const struct cost_calibration *calibration, struct cost_core *core,
                            struct cost_table *table);
/* "2026-11-22", in UTC. */
void cost_calibration_date(const struct cost_calibration *calibration, char out_date[16]);

#endif
