/* joule/cost/calibration.h - the measured speeds and prices of one machine, which replace the typical ones of
 * its family.
 *
 * `joule calibrate` measures them. docs/calibration.schema.json describes the file;
 * sources/cpu/cpu_calibration.h finds the file.
 * Note: time and energy are calibrated separately. Without an energy sensor, the prices remain assumed.
 */
#ifndef JOULE_COST_CALIBRATION_H
#define JOULE_COST_CALIBRATION_H

#include "joule/cost/core.h"

#define CALIBRATION_SCHEMA "joule-calibration-1"

/* A value with its 5 % and 95 % points; NaN: not measured. */
struct cost_term {
    double value, low, high;
};

/* The speed of a core. Cycles refer to `hz`. */
struct cost_speeds {
    struct cost_term hz, overlap;
    struct cost_term per_cycle[COST_FEATURES], latency[COST_FEATURES];
    double log_sd;    /* error of predicted cycles, for programs that were not fitted */
    double hz_log_sd; /* variation of the frequency over time */
};

/* The energy of work. */
struct cost_prices {
    joule_class cls; /* class of the energy source: MEASURED or DERIVED; NONE: no energy was measured */
    char source[48]; /* name of the energy source */
    struct cost_term joules[COST_FEATURES];
    double log_sd; /* error of predicted joules, for programs that were not fitted */
};

/* The calibration of one machine. */
struct cost_calibration {
    char vendor[24], name[96], uarch[32];
    /* as in struct cost_cpu; model: the part number on Arm */
    unsigned family, model, stepping;
    bool is_virtual;
    int64_t unix_seconds; /* time of the calibration */
    char joule_version[24];
    double temperature_celsius; /* NaN: unknown */
    struct cost_speeds speeds;
    struct cost_prices prices;
};

/* Parses text[0..size) into *out and modifies the text. Returns INVALID if the text violates the schema; the
 * message begins with `what`. Returns NO_MEMORY if out of memory. */
joule_status cost_calibration_parse(char *text, size_t size, const char *what, struct cost_calibration *out,
                                    joule_error *out_error);
/* Returns true if the calibration was made on this model and stepping of CPU. Calibrations of virtual
 * machines apply only to virtual machines, and the reverse. */
bool cost_calibration_is_of(const struct cost_calibration *calibration, const struct cost_cpu *cpu,
                            unsigned stepping);
/* Applies a calibration to `core` and `table` of the same CPU. Measured speeds replace the typical ones. If
 * energy was measured, its prices replace all prices; those that were not measured become unknown. Cache
 * sizes do not change. */
void cost_calibration_apply(const struct cost_calibration *calibration, struct cost_core *core,
                            struct cost_table *table);
/* Writes the date in UTC, such as "2026-11-22". */
void cost_calibration_date(const struct cost_calibration *calibration, char out_date[16]);

#endif
