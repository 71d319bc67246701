/* joule/sources/cpu/cpu_calibration.h - the calibration of this machine's CPU, where one is kept.
 *
 * Owns where it lies: $XDG_CONFIG_HOME/joule/calibration.json, or ~/.config/joule/calibration.json; then
 * /etc/joule/calibration.json, for all users. What is in it is cost/calibration.h's.
 * Newcomers: homes are shared between machines, so a file may be of another CPU; it is then passed over, and said to be.
 */
#ifndef JOULE_CPU_CALIBRATION_H
#define JOULE_CPU_CALIBRATION_H

#include "joule/cost/calibration.h"
#include "joule/host/host.h"

#define CALIBRATION_SYSTEM_PATH "/etc/joule/calibration.json"
#define CALIBRATION_KEPT_DAYS   180 /* microcode, cooling and dust */
#define CALIBRATION_PATH_SIZE   512

enum calibration_state {
    CALIBRATION_NONE, /* no file */
    CALIBRATION_GOOD,
    CALIBRATION_OLD,     /* older than the days above; used all the same */
    CALIBRATION_FOREIGN, /* of another CPU; not used */
    CALIBRATION_BROKEN,  /* cannot be read; `error` says why; not used */
};

struct cpu_calibration {
    enum calibration_state state;
    char path[CALIBRATION_PATH_SIZE]; /* of the file that `state` is about */
    double age_days;
    struct cost_calibration calibration; /* where it is used */
    joule_error error;
};

/* The user's own path; false where no home is known. */
bool cpu_calibration_path(struct joule_host *host, char out_path[CALIBRATION_PATH_SIZE]);
/* Looks for one of this CPU: the user's, else the machine's. Always answers. */
void cpu_calibration_find(struct joule_host *host, const struct cost_cpu *cpu, struct cpu_calibration *out);
/* Whether it is to be used. */
bool cpu_calibration_is_used(const struct cpu_calibration *found);

#endif
