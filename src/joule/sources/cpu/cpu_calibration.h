/* joule/sources/cpu/cpu_calibration.h - finds the stored calibration of this machine's CPU.
 *
 * The user's file is $XDG_CONFIG_HOME/joule/calibration.json, or ~/.config/joule/calibration.json. The file
 * for all users is /etc/joule/calibration.json. cost/calibration.h describes the content.
 * Note: machines may share a home directory, so a file may belong to another CPU. Such a file is ignored and
 * reported as CALIBRATION_FOREIGN. */
#ifndef JOULE_CPU_CALIBRATION_H
#define JOULE_CPU_CALIBRATION_H

#include "joule/cost/calibration.h"
#include "joule/host/host.h"

#define CALIBRATION_SYSTEM_PATH "/etc/joule/calibration.json"
/* Age in days from which a calibration is reported as old: microcode updates or worse cooling may have
 * changed the CPU's speed. */
#define CALIBRATION_OLD_DAYS  180
#define CALIBRATION_PATH_SIZE 512

enum calibration_state {
    CALIBRATION_NONE, /* no file */
    CALIBRATION_GOOD,
    CALIBRATION_OLD,     /* older than CALIBRATION_OLD_DAYS; still used */
    CALIBRATION_FOREIGN, /* calibration of another CPU; not used */
    CALIBRATION_BROKEN,  /* cannot be read or parsed, see `error`; not used */
};

struct cpu_calibration {
    enum calibration_state state;
    char path[CALIBRATION_PATH_SIZE]; /* path of the file that `state` describes */
    double age_days;
    struct cost_calibration calibration; /* valid if cpu_calibration_is_used */
    joule_error error;
};

/* Writes the path of the user's file. Returns false if no home directory is known. */
bool cpu_calibration_path(struct joule_host *host, char out_path[CALIBRATION_PATH_SIZE]);
/* Finds the calibration of this CPU: the user's file if it can be used, else the file for all users. Always
 * sets `out`. */
void cpu_calibration_find(struct joule_host *host, const struct cost_cpu *cpu, struct cpu_calibration *out);
/* Returns true for CALIBRATION_GOOD and CALIBRATION_OLD. */
bool cpu_calibration_is_used(const struct cpu_calibration *found);

#endif
